"""Salt: ``salt/utils/itertools.py``."""


def split(orig, sep=None):
    """The parts of a text, one after the other."""
    return iter(orig.split(sep))


def read_file(fh_, chunk_size=1048576):
    """The pieces of an open file, which is closed then."""
    try:
        for piece in iter(lambda: fh_.read(chunk_size), type(fh_.read(0))()):
            yield piece
    finally:
        fh_.close()


def fnmatch_multiple(candidates, pattern):
    """The first of these that fits a glob, or None."""
    import fnmatch

    return next((one for one in candidates if fnmatch.fnmatch(one, pattern)), None)
