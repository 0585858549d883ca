"""Salt: ``salt/utils/itertools.py``."""


def split(orig, sep=None):
    """Yield the parts of a text, separated by ``sep``."""
    return iter(orig.split(sep))


def read_file(fh_, chunk_size=1048576):
    """Yield the pieces of an open file, and close it."""
    try:
        for piece in iter(lambda: fh_.read(chunk_size), type(fh_.read(0))()):
            yield piece
    finally:
        fh_.close()


def fnmatch_multiple(candidates, pattern):
    """The first candidate that matches the glob, or None."""
    import fnmatch

    return next((one for one in candidates if fnmatch.fnmatch(one, pattern)), None)
