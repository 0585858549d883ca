"""The destinations of ``file.recurse`` for directories of the file server.

``required`` lists what ``clean`` must not remove, also for ``file.directory``. ``Outcome`` builds the return.
"""

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
        self.directories = {}  # ordered; the values are None
        self.links = {}
        self.keep = set()
        self._occupied = set()

    def occupied(self, path):
        """Whether an earlier entry has this path, or is a file or link above it."""
        if path in self._occupied:
            return True
        while True:
            if path in self.files or path in self.links:
                return True
            parent = os.path.dirname(path)
            if parent == path:
                return False
            path = parent

    def has(self, path):
        """Whether the path is a planned file, link or directory, or a directory above one."""
        return path in self._occupied or path in self.files or path in self.links

    def add_directory(self, path):
        self.directories[path] = None
        self._note(path)

    def _note(self, path):
        while path not in self._occupied and path != os.sep:
            self._occupied.add(path)
            path = os.path.dirname(path)


def existing(sources, saltenv):
    """The source URLs that are directories of the file server. Raises CommandExecutionError with Salt's texts."""
    sources = [sources] if isinstance(sources, str) else sources
    urls = [str(source).rstrip("/") for source in sources]
    for url in urls:
        if not url.startswith("salt://"):
            raise CommandExecutionError("Invalid source '%s' (must be a salt:// URI)" % url)
    result = [url for url in urls if link.tree(url, saltenv) is not None]
    if not result:
        raise CommandExecutionError("none of the specified sources were found")
    return result


def plan_of(low, saltenv):
    """The Plan of a file.recurse chunk."""
    options = ("keep_symlinks", "include_pat", "exclude_pat", "maxdepth", "include_empty", "merge")
    chosen = {option: low[option] for option in options if option in low}
    return plan(low["name"], existing(low.get("source", []), saltenv), saltenv, **chosen)


def plan(
    name,
    sources,
    saltenv,
    keep_symlinks=False,
    include_pat=None,
    exclude_pat=None,
    maxdepth=None,
    include_empty=False,
    merge=False,
):
    """The Plan of copying source directories to ``name``: only the first source, or with ``merge`` all of them; then
    the first source that has a path provides it."""
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
                continue  # a link to a directory: its content is listed separately
            size = None  # it would be the size of the link
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
        _drop_broken_links(made, name, folders)


def _place_links(made, name, entries, links, fits):
    """Add the links of one source. Returns the destinations of links to a directory whose path is a file in the
    plan."""
    pointless, with_files = set(), _folders_of([entry[0] for entry in entries if entry[1] != "d"] if links else ())
    for relpath in sorted(links):
        destination = os.path.join(name, relpath)
        if not fits(relpath) or made.occupied(destination):
            continue
        target = _target(destination, links[relpath])
        has_files = relpath in with_files
        # an earlier source may have put a file at the target of the link
        if has_files and target in made.files:
            pointless.add(destination)
        elif has_files or target not in made.directories:
            made.links[destination] = links[relpath]
            made.keep.add(destination)
    return pointless


def _folders_of(paths):
    """All parent folders of these relative paths."""
    result = set()
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and folder not in result:
            result.add(folder)
            folder = folder.rpartition("/")[0]
    return result


def _drop_broken_links(made, name, folders):
    """Remove links to directories that are not created because they are empty; links that were broken are kept."""
    dropped = True
    while dropped:
        dropped = False
        for destination in list(made.links):
            target = _target(destination, made.links[destination])
            if os.path.relpath(target, name) in folders and not made.has(target):
                del made.links[destination]
                dropped = True


def _target(destination, target):
    return os.path.normpath(os.path.join(os.path.dirname(destination), target))


def _through(relpath, links):
    """Whether the path is a link, or below one."""
    parts = relpath.split("/")
    return any("/".join(parts[:count]) in links for count in range(1, len(parts) + 1))


def in_link_order(links):
    """The keys of ``{path: target}``, sorted so that a link follows those that it points to."""
    done, left = [], dict(links)
    while left:
        ready = [path for path, target in left.items() if _target(path, target) not in left] or list(left)
        done += ready
        for path in ready:
            del left[path]
    return done


def required(name, require, lowstate, saltenv):
    """The paths at or below ``name`` that the required file states manage. ``require``: the requisites of the state."""
    keep = set()
    for requisite in require if isinstance(require, list) else ():
        wanted = requisite.get("file") if isinstance(requisite, dict) else None
        if wanted is None:
            continue
        for low in lowstate:
            if low.get("state") != "file" or wanted not in (low.get("name"), low.get("__id__")):
                continue
            path = low["name"]
            if not os.path.isdir(path):
                keep.add(path)
            elif walk.is_child(path, name):
                keep.update(_recursed(low, saltenv) if low["fun"] == "recurse" else walk.below(path))
    return keep


def _recursed(low, saltenv):
    """The destinations of a file.recurse chunk; none if its sources do not exist."""
    try:
        return plan_of(low, saltenv).keep
    except CommandExecutionError:
        return ()


class Outcome(object):
    """Builds the return of a recursion (fills ``ret``) from those of the files, directories and links in it."""

    def __init__(self, ret, test):
        self._ret = ret
        self._test = test
        self._comments = {}

    def add(self, path, one):
        """Merge ``one``, the return of the state of a path."""
        if one["result"] is False or self._ret["result"] is True:
            self._ret["result"] = one["result"]
        if one["result"] is not True and one["comment"]:
            self._comments.setdefault(path, []).append(one["comment"])
        if one["changes"]:
            self._ret["changes"][path] = one["changes"]

    def cleared(self, path, kind, replacement):
        """Remove a file of the wrong kind at ``path``. False in a dry run, in which nothing more is known about it."""
        if self._test:
            self.add(
                path, {"result": None, "changes": {}, "comment": "Replacing %s%s with a %s" % (kind, path, replacement)}
            )
            return False
        walk.remove(path)
        return True

    def clean(self, paths):
        """Remove the paths that are not part of the recursion."""
        if self._test:
            if paths:
                self._ret["result"] = self._ret["result"] and None
                self._comments.setdefault("removed", []).extend(paths)
            return
        gone = [path for path in paths if walk.remove(path)]
        if gone:
            self._ret["changes"]["removed"] = gone

    def finished(self):
        """The return, with its comment."""
        ret, comments = self._ret, self._comments.items()
        ret["comment"] = "\n".join("\n#### %s ####\n%s" % (key, "\n".join(words)) for key, words in comments).strip()
        if not ret["comment"]:
            ret["comment"] = "Recursively updated %s" % ret["name"]
        if not ret["changes"] and ret["result"]:
            ret["comment"] = "The directory %s is in the correct state" % ret["name"]
        return ret
