"""What ``file.recurse`` makes of directories of the file server: destinations, and what belongs there."""

import os
import posixpath

from thin import link
from thin.exceptions import CommandExecutionError
from thin.utils.files import walk


class Plan(object):
    """Destinations of a recursion. All paths are absolute.

    ``files``        destination -> (URL, SHA-256, mode)
    ``directories``  destinations of directories, parents first
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

    def add_directory(self, path):
        if path not in self._occupied:
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
    real = {entry[0] for entry in entries if not (links and _through(entry[0], links))}

    for relpath in sorted(links):
        destination = os.path.join(name, relpath)
        if fits(relpath) and not made.occupied(destination) and _leads_somewhere(relpath, links[relpath], real):
            made.links[destination] = links[relpath]
            made.keep.add(destination)
    for relpath, kind, digest, mode, _ in entries:
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
        made.files[destination] = (url, digest, mode)
        made.keep.add(destination)
        made.add_directory(os.path.dirname(destination))
    if include_empty:
        for relpath, kind, _, _, _ in entries:
            destination = os.path.join(name, relpath)
            if kind == "d" and not _through(relpath, links) and fits(relpath) and not made.occupied(destination):
                made.add_directory(destination)
                made.keep.add(destination)


def _through(relpath, links):
    """True for a link and for what is only reached through one."""
    parts = relpath.split("/")
    return any("/".join(parts[:count]) in links for count in range(1, len(parts) + 1))


def _leads_somewhere(relpath, target, real):
    """False for a relative link within the tree to what the tree does not have."""
    where = posixpath.normpath(posixpath.join(posixpath.dirname(relpath), target))
    return posixpath.isabs(target) or where.startswith("..") or where == "." or where in real
