"""A file with keys or certificates that a state manages: the common part of Salt's x509 and ssh_pki states.

``file.managed`` sets owner, mode and directories; its return is added as that of a separate state. Binary encodings are
written here, since ``contents`` of file.managed is text.
"""

import os

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.files import safepath

_FILE_ARGS = (
    "user",
    "group",
    "mode",
    "attrs",
    "makedirs",
    "dir_mode",
    "backup",
    "create",
    "follow_symlinks",
    "check_cmd",
    "tmp_dir",
    "tmp_ext",
    "selinux",
    "file_encoding",
    "encoding_errors",
    "win_owner",
    "win_perms",
    "win_deny_perms",
    "win_inheritance",
    "win_perms_reset",
)


def split(kwargs, internal):
    """(arguments of file.managed, the other arguments). ``internal``: names that are for the engine."""
    mine, rest = {"show_changes": False}, {}
    for key, value in kwargs.items():
        if key in _FILE_ARGS:
            mine["encoding" if key == "file_encoding" else key] = value
        elif key not in internal:
            rest[key] = value
    return mine, rest


class Found(object):
    """The result of examining the file. ``current``: what it contains (None: unusable); ``changes``; ``replaced``:
    whether it is replaced by another kind.
    """

    def __init__(self, current=None, changes=None, replaced=False):
        self.current, self.changes, self.replaced = current, changes or {}, replaced


class Managed(object):
    """One run of such a state.

    ``what``: its name in comments; ``file``: the arguments of file.managed; ``text``: whether the encoding is text;
    ``dunders``: the state module's globals.
    """

    def __init__(self, name, what, file, text, dunders):
        self.name, self.what, self.file, self.text = name, what, file, text
        self.opts, self.states, self.low = dunders["__opts__"], dunders["__states__"], dunders["__low__"]
        self.backup_mode = dunders["__salt__"]["config.backup_mode"]
        self.ret = {"name": name, "changes": {}, "result": True, "comment": "The %s is in the correct state" % what}

    def run(self, examine, make, exists_counts=False):
        """The state's return.

        ``examine(path) -> Found`` examines the present file; ``make(found) -> bytes`` returns its new content.
        ``exists_counts``: the comment for any file that existed is "recreated", not only for a readable one.
        """
        try:
            return self._run(examine, make, exists_counts)
        except (CommandExecutionError, SaltInvocationError) as exc:
            self.ret.update(result=False, comment=str(exc), changes={})
            return self.ret

    def _run(self, examine, make, exists_counts):
        ret, early = self.ret, self.managed(test=True, replace=False)
        if early["result"] is False:
            ret.update(result=False, comment="Problem while testing file.managed changes, see its output")
            return self.with_sub(early)
        if "is not present and is not set for creation" in early["comment"]:
            return self.with_sub(early)
        path, linked = self.name, False
        if os.path.islink(path):
            if self.file.get("follow_symlinks", True):
                path = safepath.real(path)
            else:
                linked = True
        exists = os.path.isfile(path) and not linked
        examined = examine(path) if exists else Found(changes={"created": self.name})
        changes = examined.changes
        if examined.replaced or linked:
            changes["replaced"] = self.name
        if not changes and early["result"] and not early["changes"]:
            return self.with_sub(early)
        ret["changes"] = changes
        verb = "recreated" if changes and (exists if exists_counts else examined.current) else "created"
        if self.opts["test"]:
            ret["result"] = None if changes else True
            if changes:
                ret["comment"] = "The %s would have been %s" % (self.what, verb)
            return self.with_sub(early)
        content = None
        if changes:
            content = make(examined)
            ret["comment"] = "The %s has been %s" % (self.what, verb)
        if linked:
            safepath.unlink(self.name)
        if changes and not self.text:
            done = self.managed(replace=False)
            self.with_sub(done)
            if done["result"] is False:
                return self.failed(examined.current)
            self._write(path, content)
            return ret
        how = {"contents": content.decode("ascii"), "replace": True} if changes else {"replace": False}
        done = self.managed(**how)
        self.with_sub(done)
        return self.failed(examined.current) if done["result"] is False else ret

    def managed(self, test=None, **kwargs):
        """Call file.managed and return its return."""
        before = self.opts["test"]
        self.opts["test"] = test or before
        try:
            return self.states["file.managed"](self.name, **dict(self.file, **kwargs))
        finally:
            self.opts["test"] = before

    def with_sub(self, sub):
        """The state's return, with that of file.managed added."""
        low = {"name": self.name, "state": "file", "__id__": self.low.get("__id__", self.name), "fun": "managed"}
        self.ret.setdefault("sub_state_run", []).append(dict(sub, low=low))
        return self.ret

    def failed(self, current):
        """The state's return if file.managed failed."""
        verb = "update" if current else "create"
        self.ret.update(result=False, changes={}, comment="Could not %s file, see file.managed output" % verb)
        return self.ret

    def _write(self, path, content):
        from thin.utils.files import atomic, backup
        from thin.utils.files.arguments import cachedir

        try:
            backup.keep(path, self.backup_mode(self.file.get("backup") or ""), cachedir(self.opts))
            atomic.write(path, content)
        except OSError as exc:
            raise CommandExecutionError("Unable to write %s: %s" % (path, exc.strerror))
