"""Runs the states of a plan file, and detects changes of the target since the dry run.

``apply FILE`` makes a dry run, compares it with the plan, and runs the states in the same session. The message ``run``
of the dry run has ``look``; that of the run has ``planned``, the tags of the states whose effect is known. Each of
these states is checked immediately before it changes something:

- its dry run is repeated, and the result must equal that of the first one;
- if the first one found no change, the state is not called at all;
- before a ``file`` state changes a path that it names, or for which the dry run found a difference, the file must be
  the one from before the repeated dry run (device, inode, size, times, mode, owner); not with ``parallel``.

Otherwise the state fails, and the run ends.
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
    """The results of the dry run. ``planned``: tags of the states that the run compares; None during the dry run."""

    def __init__(self):
        self.planned = None
        self.drifted = False
        self._seen = {}  # tag -> (digest of the dry run, whether it found no change, paths with a difference)

    def note(self, low, ret, notes):
        """Store the result of a state's dry run."""
        if self.planned is None:
            idle = ret["result"] is True and not ret["changes"]
            paths = list(notes.get("diffs") or ()) + list(notes.get("digests") or ())
            self._seen[tag_of(low)] = (_digest(low, ret, notes), idle, paths)

    def call(self, low, caller):
        """The return of a state of the run. ``caller``: the engine's (thin.call_state.Caller)."""
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
    """The ``Looks`` for a message ``run``. ``looks``: those of the previous run of this session."""
    if message.get("look"):
        return Looks()
    if looks is not None and message.get("planned") is not None:
        looks.planned = frozenset(message["planned"])
        return looks
    return None


def _digest(low, ret, notes):
    """A digest of those parts of a dry run that predict the run."""
    changes = masked(ret["changes"]) if low.get("no_log") else ret["changes"]
    predicted = [ret["result"] is False, ret["result"] is None or bool(changes), changes]
    if ret["result"] is None and not changes and "retry" not in low:  # it adds to the comment
        predicted.append(masked(ret["comment"]) if low.get("no_log") else ret["comment"])
    predicted += [notes.get("diffs"), notes.get("digests"), notes.get("needs")]
    return sha256(canonical(predicted).encode("utf-8", "surrogatepass")).digest()


def _places(names):
    """For each name, its path with links in its folder resolved, and its path with all links resolved."""
    for name in names:
        if isinstance(name, str) and os.path.isabs(name) and "\0" not in name:
            name = os.path.normpath(name)
            yield os.path.join(os.path.realpath(os.path.dirname(name)), os.path.basename(name))
            yield os.path.realpath(name)


def _state(path):
    """The properties that identify a file and its content; of a folder without its times, which entries change."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    identity = (status.st_dev, status.st_ino, status.st_mode, status.st_uid, status.st_gid)
    times = (status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return identity if stat.S_ISDIR(status.st_mode) else identity + times
