"""What ``file.recurse`` makes of directories of the file server: destinations, and what belongs there."""

import os

from thin import link
from thin.exceptions import CommandExecutionError
from thin.utils.files import walk


class Plan(object):
    """Destinations of a recursion. All paths are absolute.

    ``files``        destination -> (URL, SHA-256, mode, bytes or None)
    ``directories``  destinations of directories
    ``links``        destination -> target as written on the file server
    ``keep``         every destination, for ``clean``
    """

    def __init__(self):
        self.files = {}
        self.directories = []
        self.links = {}
        self.keep = set()
        self._occupied = set()

    def occupied(self, path):
        """True when something that came before already has this place, or a file or link one above it."""
        if path in self._occupied:
            return True
        while True:
            if path in self.files or path in self.links:
                return True
            parent = os.path.dirname(path)
            if parent == path:
                return False
            path = parent

    def there(self, path):
        """True for what is made, and for the directories above it."""
        return path in self._occupied or path in self.files or path in self.links

    def add_directory(self, path):
        if path not in self.directories:
            self.directories.append(path)
        self._note(path)

    def _note(self, path):
        while path not in self._occupied and path != os.sep:
            self._occupied.add(path)
            path = os.path.dirname(path)


def existing(sources, saltenv):
    """The source URLs that are directories of the file server. Raises CommandExecutionError with Salt's words."""
    sources = [sources] if isinstance(sources, str) else sources
    urls = [str(source).rstrip("/") for source in sources]
    for url in urls:
        if not url.startswith("salt://"):
            raise CommandExecutionError("Invalid source '%s' (must be a salt:// URI)" % url)
    found = [url for url in urls if link.tree(url, saltenv) is not None]
    if not found:
        raise CommandExecutionError("none of the specified sources were found")
    return found


def plan_of(low, saltenv):
    """The plan of a file.recurse chunk."""
    options = ("keep_symlinks", "include_pat", "exclude_pat", "maxdepth", "include_empty", "merge")
    chosen = {option: low[option] for option in options if option in low}
    return plan(low["name"], existing(low.get("source", []), saltenv), saltenv, **chosen)


def plan(name, sources, saltenv, keep_symlinks=False, include_pat=None, exclude_pat=None, maxdepth=None,
         include_empty=False, merge=False):
    """The Plan of copying the source directories to ``name``: the first of them, with ``merge`` all, the first
    winning."""
    made = Plan()

    def fits(relpath):
        if ".." in relpath.split("/"):
            return False
        if maxdepth is not None and relpath.strip("/").count("/") > maxdepth:
            return False
        return walk.check_include_exclude(relpath, include_pat, exclude_pat)

    for source in sources if merge else sources[:1]:
        entries = link.tree(source, saltenv) or []
        _one(made, name, source, saltenv, entries, fits, keep_symlinks, include_empty)
    return made


def _one(made, name, source, saltenv, entries, fits, keep_symlinks, include_empty):
    base, question, query = source.partition("?saltenv=")
    links = {entry[0]: entry[2] for entry in entries if entry[1] == "l"} if keep_symlinks else {}
    folders = {entry[0] for entry in entries if entry[1] == "d"}
    pointless = _place_links(made, name, entries, links, fits)
    for relpath, kind, digest, mode, size in entries:
        if kind == "d" or (links and _through(relpath, links)) or not fits(relpath):
            continue
        destination = os.path.join(name, relpath)
        if made.occupied(destination):
            continue
        url = "%s/%s%s%s" % (base.rstrip("/"), relpath, question, query)
        if kind == "l":
            digest = link.file_digest(url, saltenv)
            if digest is None:
                continue  # a link to a directory: what is in it is listed by itself
            size = None  # that of the link
        made.files[destination] = (url, digest, mode, size)
        made.keep.add(destination)
        made.add_directory(os.path.dirname(destination))
    if include_empty:
        for relpath in sorted(folders | {"."}):
            destination = os.path.join(name, relpath)
            if fits(relpath) and destination not in pointless and not made.occupied(destination):
                made.add_directory(destination)
                made.keep.add(destination)
    elif links:
        _drop_links_to_nothing(made, name, folders)


def _place_links(made, name, entries, links, fits):
    """Add the links of one source. Returns the destinations of those to a directory where a file is now."""
    pointless = set()
    for relpath in sorted(links):
        destination = os.path.join(name, relpath)
        if not fits(relpath) or made.occupied(destination):
            continue
        target = _target(destination, links[relpath])
        has_files = any(entry[1] != "d" and entry[0].startswith(relpath + "/") for entry in entries)
        # another source that comes before may have made something else of what the link leads to
        if has_files and target in made.files:
            pointless.add(destination)
        elif has_files or target not in made.directories:
            made.links[destination] = links[relpath]
            made.keep.add(destination)
    return pointless


def _drop_links_to_nothing(made, name, folders):
    """Without empty directories, links to one (or to a link to one) lead nowhere; those that never did are kept."""
    dropped = True
    while dropped:
        dropped = False
        for destination in list(made.links):
            target = _target(destination, made.links[destination])
            if os.path.relpath(target, name) in folders and not made.there(target):
                del made.links[destination]
                dropped = True


def _target(destination, target):
    return os.path.normpath(os.path.join(os.path.dirname(destination), target))


def _through(relpath, links):
    """True for a link and for what is only reached through one."""
    parts = relpath.split("/")
    return any("/".join(parts[:count]) in links for count in range(1, len(parts) + 1))
