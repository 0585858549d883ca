"""The run of a plan file compares each state with the look before it, at the last moment before it changes anything.

``apply FILE`` looks at a target (a dry run), compares that with the plan, and runs the states in the same session. What
changes on the target in between is found here: the message ``run`` of the look has ``look``, that of the run has
``planned``, the tags of the states whose effect is known. Of each of these states:

- before it is called, its dry run is repeated, and has to be what the look saw;
- where the look saw no change, that is all: the state is not called;
- before a ``file`` state changes a path that it names, or of which the look saw a difference, the file has to be the
  one that was there before this last dry run (device, inode, size, times, mode, owner). Not so for ``parallel``.

Otherwise the state fails, and ends the run.
"""

import os
import stat

from thin import detail
from thin.boot import sha256
from thin.requisites import tag_of
from thin.returns import masked, not_run
from thin.utils.canonical import canonical

STALE = (
    "Not run: what it would do is no longer what was planned, because this machine has changed since it was looked at. "
    "Make a new plan"
)
SWAPPED = "'%s' has changed since it was looked at, so it is left as it is now. Make a new plan"
#: The comment of the states after such a one.
AFTER = "State was not run because this machine has changed while the plan was applied"


class Looks(object):
    """What states were seen to do. ``planned``: tags of the states that a run compares; None while it is recorded."""

    def __init__(self):
        self.planned = None
        self.drifted = False
        self._seen = {}  # tag -> (digest of what it would do, changes nothing, paths with a difference)

    def note(self, low, ret, notes):
        """Take note of what a state would do by its dry run."""
        if self.planned is None:
            idle = ret["result"] is True and not ret["changes"]
            paths = list(notes.get("diffs") or ()) + list(notes.get("digests") or ())
            self._seen[tag_of(low)] = (_digest(low, ret, notes), idle, paths)

    def call(self, low, caller):
        """The return of a state of the run; ``caller`` is the engine's (thin.call_state.Caller)."""
        tag = tag_of(low)
        if low.get("__prereq__") or self.planned is None or tag not in self.planned or tag not in self._seen:
            return caller.call(low)
        seen, idle, paths = self._seen[tag]
        if idle and "retry" not in low and not low.get("parallel"):
            ret, notes = self._dry(low, caller)
            return ret if _digest(low, ret, notes) == seen else self._stale(low, ret["__run_num__"])
        guarded = low["state"] == "file" and not low.get("parallel")
        files = {path: _state(path) for path in _places([low["name"]] + paths)} if guarded else {}
        if _digest(low, *self._noted(lambda: caller.call(dict(low, __prereq__=True)))) != seen:
            return self._stale(low, caller.number())
        return self._guarded(files, lambda: caller.call(low))

    def _dry(self, low, caller):
        before, caller.opts["test"] = caller.opts.get("test", False), True
        try:
            return self._noted(lambda: caller.call(low))
        finally:
            caller.opts["test"] = before

    def _noted(self, call):
        detail.begin()
        try:
            ret = call()
        finally:
            notes = detail.end()
        return ret, notes

    def _stale(self, low, number):
        self.drifted = True
        return not_run(low, False, STALE, number)

    def _guarded(self, files, call):
        if not files:
            return call()
        from thin.utils.files import places

        def check(place):
            path = place.real_path()
            if path in files and files.pop(path) != _state(path):
                self.drifted = True
                raise places.Refused(SWAPPED % place.path)

        places.check = check
        try:
            return call()
        finally:
            places.check = None


def of(message, looks):
    """The ``Looks`` for a message ``run``; ``looks`` are those of the run before it in this session."""
    if message.get("look"):
        return Looks()
    if looks is not None and message.get("planned") is not None:
        looks.planned = frozenset(message["planned"])
        return looks
    return None


def _digest(low, ret, notes):
    """A digest of what a dry run tells of the run."""
    changes = masked(ret["changes"]) if low.get("no_log") else ret["changes"]
    told = [ret["result"] is False, ret["result"] is None or bool(changes), changes]
    if ret["result"] is None and not changes and "retry" not in low:  # it adds to the comment
        told.append(masked(ret["comment"]) if low.get("no_log") else ret["comment"])
    told += [notes.get("diffs"), notes.get("digests"), notes.get("needs")]
    return sha256(canonical(told).encode("utf-8", "surrogatepass")).digest()


def _places(names):
    """The paths, without links on the way, that these names have, and where they lead."""
    for name in names:
        if isinstance(name, str) and os.path.isabs(name) and "\0" not in name:
            name = os.path.normpath(name)
            yield os.path.join(os.path.realpath(os.path.dirname(name)), os.path.basename(name))
            yield os.path.realpath(name)


def _state(path):
    """What tells one state of a file from another; of a folder not its times, which change with what is in it."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    owned = (found.st_dev, found.st_ino, found.st_mode, found.st_uid, found.st_gid)
    return owned if stat.S_ISDIR(found.st_mode) else owned + (found.st_size, found.st_mtime_ns, found.st_ctime_ns)
