"""What a plan tells of a state besides its return: differences that the return leaves out, and what it depends on.

Collected by the engine while a chunk runs in a dry run for a plan, else nothing is (``on()``). Notes of one state:

========= ==============================================================================================
diffs     {path: unified diff}; of a new file with all of its lines
digests   {path: [SHA-256 that is there or None, SHA-256 that comes]} of binary files
needs     [[kind, name, words]]: what is not there yet, and without which the state would fail: ``path`` (a
          directory), ``user``
asked     True: a template was rendered by the controller during the run, and may have asked this machine anything
real      the path that the state's name leads to, if links are on the way
missing   the uppermost directory that is missing on the way to the state's name
blocked   what is in the place of a directory on that way, and is none
dangling  True: the state's name is a link that leads nowhere
nowhere   True: and the directory that it leads into is not there either
same      True: the dry run speaks of a change, and the run would find none
own       True: the state module is no file of the runtime, and does not say ``__dry_run__ = True`` (or the names of
          functions): that what a dry run says of it is what a run does
========= ==============================================================================================
"""

#: Characters of all differences of a state; what is beyond is left out.
LIMIT = 8 * 1024 * 1024

_notes = None


def on():
    """Whether notes are collected."""
    return _notes is not None


def begin():
    """Start with no notes."""
    global _notes
    _notes = {}


def end():
    """The notes since ``begin``; nothing is collected any more."""
    global _notes
    found, _notes = _notes, None
    return found or {}


def diff(path, text):
    """A file's unified diff. A sentence in its place (binary, too large, hidden) is none."""
    if _notes is not None and text.startswith("--- "):
        held = _notes.setdefault("diffs", {})
        if sum(map(len, held.values())) + len(text) <= LIMIT:
            held[path] = text


def digests(path, old, new):
    """The SHA-256 of what a file holds (None: it is not there) and of what it shall hold."""
    if _notes is not None:
        _notes.setdefault("digests", {})[path] = [old, new]


def need(kind, name, words):
    """Something is missing that an earlier state may bring; without it the state fails with these words."""
    if _notes is not None:
        _notes.setdefault("needs", []).append([kind, name, words])


def differs():
    """Whether a file was noted whose content changes."""
    return _notes is not None and bool(_notes.get("diffs") or _notes.get("digests"))


def same():
    """Record that the run would change nothing, whatever the dry run returns (as Salt's does)."""
    if _notes is not None:
        _notes["same"] = True


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
        said = space.get("__dry_run__", ())
        if said is not True and function not in said:
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
