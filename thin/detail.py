"""Notes of a state for a plan, besides its return: differences that the return does not show, and dependencies.

The engine collects them while a chunk runs in a dry run for a plan; otherwise nothing is noted (``on()``). The notes
of one state:

========= ==============================================================================================
diffs     {path: unified diff}; that of a new file contains all of its lines
digests   {path: [SHA-256 of the present file or None, SHA-256 of the new one]} of binary files
needs     [[kind, name, error text]]: what is missing now, and without which the state would fail: ``path`` (a
          directory), ``user``
asked     True: the controller rendered a template during the run, which may have read anything of this machine
real      the resolved path of the state's name, if it contains symbolic links
missing   the uppermost missing directory of the path in the state's name
blocked   a component of that path that is not a directory
dangling  True: the state's name is a symbolic link whose destination does not exist
nowhere   True: nor does the directory of that destination exist
same      True: the dry run reports a change, but the run would make none
unsure    a text: why the dry run does not tell what a run does
own       True: the state module is no file of the runtime, and does not declare with ``__dry_run__ = True`` (or names
          of functions) that its dry run reports what a run would do
========= ==============================================================================================
"""

#: Maximum number of characters of all diffs of a state; further diffs are left out.
LIMIT = 8 * 1024 * 1024

_notes = None
_copies = []


def on():
    """Whether notes are collected."""
    return _notes is not None


def begin():
    """Start with no notes."""
    global _notes
    _notes = {}


def end():
    """Stop collecting, and return the notes since ``begin``. Removes the files of ``temporary``."""
    global _notes
    notes, _notes = _notes, None
    if _copies:
        from thin.utils.files import safepath

        while _copies:
            try:
                safepath.unlink(_copies.pop())
            except OSError:
                pass  # the state has removed it
    return notes or {}


def temporary(path):
    """Remove this file at the end: a source from the web, which a plan does not put into the cache."""
    _copies.append(path)


def diff(path, text):
    """Note a file's unified diff. A message in its place (binary, too large, hidden) is ignored."""
    if _notes is not None and text.startswith("--- "):
        held = _notes.setdefault("diffs", {})
        if sum(map(len, held.values())) + len(text) <= LIMIT:
            held[path] = text


def digests(path, old, new):
    """Note the SHA-256 of a file's present content (None: the file is missing) and of its new content."""
    if _notes is not None:
        _notes.setdefault("digests", {})[path] = [old, new]


def need(kind, name, words):
    """Note that something is missing that an earlier state may provide; without it the state fails with ``words``."""
    if _notes is not None:
        _notes.setdefault("needs", []).append([kind, name, words])


def differs():
    """Whether a change of a file's content was noted."""
    return _notes is not None and bool(_notes.get("diffs") or _notes.get("digests"))


def same():
    """Record that the run would change nothing, although the dry run, as in Salt, may return changes."""
    if _notes is not None:
        _notes["same"] = True


def unsure(words):
    """Note that the dry run does not tell what a run does, and why."""
    if _notes is not None:
        _notes["unsure"] = words


def asked():
    """Record that the controller was asked to render: a template may read anything."""
    if _notes is not None:
        _notes["asked"] = True


def origin(space, function, name):
    """The namespace of the state's module, its function's name, and the state's name, which may be a path."""
    import os

    if _notes is None:
        return
    if not str(space["__file__"]).startswith("thin/states/"):
        origins = space.get("__dry_run__", ())
        if origins is not True and function not in origins:
            _notes["own"] = True
    if not isinstance(name, str) or not os.path.isabs(name) or "\0" in name:
        return
    if os.path.realpath(name) != os.path.normpath(name):
        _notes["real"] = os.path.realpath(name)
    folder, missing = os.path.dirname(os.path.normpath(name)), None
    while not os.path.lexists(folder):
        folder, missing = os.path.dirname(folder), folder
    if missing:
        _notes["missing"] = missing
    if not os.path.isdir(folder):
        _notes["blocked"] = folder
    if os.path.islink(name) and not os.path.exists(name):
        _notes["dangling"] = True
        if not os.path.isdir(os.path.dirname(os.path.realpath(name))):
            _notes["nowhere"] = True
