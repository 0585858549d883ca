"""Manages one regular file: compare, change, compare again. For ``file.managed``, ``file.manage_file`` and their dry
runs."""

import os
import stat

from thin import detail
from thin.utils.files import atomic, owner, safepath
from thin.utils.files import content as contents_of
from thin.utils.files.content import Failed

NEW_FILE = "New file"
REPLACES_LINK = "Replace symbolic link with regular file"
NO_FILE = "Specified target %s is neither a regular file nor a symbolic link"


class Desired(object):
    """The wanted properties of a managed file, except for its content. ``mode`` is normalized; None: do not change."""

    def __init__(
        self,
        user=None,
        group=None,
        mode=None,
        attrs=None,
        selinux=None,
        follow_symlinks=True,
        makedirs=False,
        dir_mode=None,
        backup="",
        cachedir="",
        show_changes=True,
        obfuscate=False,
        ignore=None,
        new_file_diff=False,
    ):
        self.user = user
        self.group = group
        self.mode = mode
        self.attrs = attrs
        self.selinux = selinux or {}
        self.follow_symlinks = follow_symlinks
        self.makedirs = makedirs
        self.dir_mode = dir_mode
        self.backup = backup
        self.cachedir = cachedir
        self.show_changes = show_changes
        self.obfuscate = obfuscate
        #: Keyword arguments of diff.matters, if some kinds of differences are ignored.
        self.ignore = ignore
        self.new_file_diff = new_file_diff


def describe_change(old, content, desired):
    """(text of ``changes["diff"]``, whether it matters under ``desired.ignore``) for a changed content.

    ``old`` is the file before the change, or None if there is none.
    """
    from thin.utils.files import diff

    if not desired.ignore and desired.obfuscate:
        return diff.OBFUSCATED, True
    if not desired.ignore and not desired.show_changes:
        return diff.HIDDEN, True
    if isinstance(content, contents_of.Data):
        text = diff.unified(b"" if old is None else contents_of.read_file(old), content.read())
    else:
        text = diff.of_files(old, content.fetched())
    matters = diff.matters(text, **desired.ignore) if desired.ignore else True
    if desired.obfuscate:
        text = diff.OBFUSCATED
    elif not desired.show_changes:
        text = diff.HIDDEN
    return text, matters


def predict(name, content, desired):
    """What ``manage`` would change: (changes, matters). ``matters`` is False if only ignored differences are found.

    A missing file is ``{"newfile": name}``, as in Salt. Nothing is changed; the source is only read if it differs.
    """
    st = owner.look(name, desired.follow_symlinks)
    if st is None:
        _note_new(name, content, desired)
        if not desired.new_file_diff or content is None:
            return {"newfile": name}, True
        text, _ = describe_change(None, content, desired)
        return {"diff": text}, True
    changes, matters = {}, False
    if content is not None:
        target = owner.existing(name)
        if stat.S_ISLNK(st.st_mode) and not stat.S_ISREG(target.st_mode):
            changes["diff"], matters = REPLACES_LINK, True
        elif not stat.S_ISREG(target.st_mode):
            raise Failed(NO_FILE % name)
        elif not contents_of.same(content, name):
            changes["diff"], matters = describe_change(name, content, desired)
            if detail.on() and desired.show_changes and not desired.obfuscate:
                _note(name, changes["diff"], name, content)
        elif stat.S_ISLNK(st.st_mode):
            changes["diff"], matters = REPLACES_LINK, True
        st = target
    changes.update(owner.drift(st, desired.user, desired.group, None if stat.S_ISLNK(st.st_mode) else desired.mode))
    if desired.attrs or desired.selinux:
        from thin.utils.files import labels

        changes.update(labels.predict(name, desired.attrs, desired.selinux))
    return changes, matters


def _note_new(name, content, desired):
    """Record details for a plan: the diff or digest of a file that would be created, or that a source is a
    directory."""
    if not detail.on():
        return
    path = getattr(content, "path", None)
    if path and os.path.isdir(path):
        detail.need("path", path, "%s is a directory" % path)
    elif content is not None and desired.show_changes and not desired.obfuscate:
        _note(name, describe_change(None, content, desired)[0], None, content)


def _note(name, text, old, content):
    """Record the diff of a file as detail for a plan; if there are no lines to show, also the digests."""
    detail.diff(name, text)
    if not text.startswith("--- "):
        from thin.utils.files import hashes

        new = hashes.data_hash(content.read()) if isinstance(content, contents_of.Data) else None
        new = new or hashes.file_hash(content.fetched(), "sha256")
        detail.digests(name, None if old is None else hashes.file_hash(old, "sha256"), new)


def foretell(name, content, desired, ret):
    """Fill the state's return of a dry run."""
    changes, matters = predict(name, content, desired)
    ret["changes"] = changes
    if changes:
        safepath.check(name, desired.follow_symlinks)
        ret["result"] = None
        ret["comment"] = (
            "The file %s is set to be changed\nNote: No changes made, actual changes may\nbe different due to other "
            "states." % name
        )
        if desired.ignore and not matters:
            ret["skip_req"] = True
    else:
        ret["comment"] = "The file %s is in the correct state" % name
    return ret


def keep_content(name, ret, desired, test):
    """Fill the state's return for an existing file that keeps its content (``replace: false``)."""
    desired.backup = ""
    if test:
        before = owner.mode_text(owner.existing(name, desired.follow_symlinks))
        ret["changes"], _ = predict(name, None, desired)
        if ret["changes"]:
            ret["result"] = None
        if desired.mode and desired.mode != before:
            ret["comment"] = "File %s will be updated with permissions %s from its current state of %s" % (
                name,
                desired.mode,
                before,
            )
        else:
            ret["comment"] = "File %s not updated" % name
        return ret
    settle(name, desired, ret)
    if not ret["changes"] and ret["result"]:
        ret["comment"] = "File %s exists with proper permissions. No changes made." % name
    return ret


def manage(name, content, desired, ret, from_source=False):
    """Give the file ``name`` the content (None: keep it) and the properties ``desired``. Fills and returns ``ret``.

    Raises CommandExecutionError (such as Failed) and OSError; then the file is unchanged.
    """
    try:
        st = os.lstat(name)
    except OSError:
        st = None
    if st is None:
        return _create(name, content, desired, ret, from_source)
    return _update(name, st, content, desired, ret)


def _update(name, st, content, desired, ret):
    path, replace_link, matters = name, False, False
    if stat.S_ISLNK(st.st_mode):
        replace_link = content is not None and not desired.follow_symlinks
        if desired.follow_symlinks:
            path = safepath.real(name)
            st = os.stat(path)
        elif replace_link:
            st = owner.existing(name)  # the file that replaces the link gets owner and mode of the link's target
    if content is not None:
        if replace_link and not stat.S_ISREG(st.st_mode):
            ret["changes"]["diff"], matters = REPLACES_LINK, True
            st = owner.born(os.path.dirname(name), 0o600)
        elif not stat.S_ISREG(st.st_mode):
            raise Failed(NO_FILE % path)
        elif replace_link or not contents_of.same(content, path):
            ret["changes"]["diff"], matters = describe_change(path, content, desired)
            if not ret["changes"]["diff"]:
                ret["changes"]["diff"] = REPLACES_LINK
    link = stat.S_ISLNK(st.st_mode)
    wanted = {} if link else owner.drift(st, desired.user, desired.group, desired.mode)
    written = None
    if "diff" in ret["changes"] or (content is not None and _lent_rights(st, wanted, desired)):
        written = _write(path, content, desired, owner.mode_text(st) if replace_link and desired.mode is None else None)
    _settle(name, wanted, desired, ret, written)
    if ret["changes"]:
        _say(ret, "File %s updated" % name)
        if desired.ignore and not matters:
            ret["skip_req"] = True
    elif ret["result"]:
        ret["comment"] = "File %s is in the correct state" % name
    return ret


def _lent_rights(st, wanted, desired):
    """Whether another user's file gets a new owner and setuid or setgid. Then it is written anew, because the old owner
    may have it open for writing."""
    if not ("user" in wanted or "group" in wanted) or not st.st_uid or os.geteuid():
        return False
    return bool(desired.mode and owner.mode_bits(desired.mode) & 0o6000)


def _create(name, content, desired, ret, from_source):
    directory = os.path.dirname(name)
    if not os.path.isdir(directory):
        if not desired.makedirs:
            raise Failed("Parent directory not present")
        atomic.makedirs(name, desired.user, desired.group, owner.parent_mode(desired.dir_mode, desired.mode))
    # As in Salt, owner and mode are reported if they differ from those that the new file has at first: mode 0600 with a
    # source or a given mode, else what the umask leaves.
    private = desired.mode is not None or from_source
    born = owner.born(directory, 0o600 if private else owner.mode_bits(owner.default_mode()))
    change = NEW_FILE
    if desired.new_file_diff and content is not None:
        change = describe_change(None, content, desired)[0]
    mode = desired.mode if desired.mode is not None else owner.default_mode()
    wanted = owner.drift(born, desired.user, desired.group, mode)
    written = _write(name, content or contents_of.Data(b""), desired, mode)
    if content is None:
        ret["changes"]["new"] = "file %s created" % name
        ret["comment"] = "Empty file"
    else:
        ret["changes"]["diff"] = change
    _settle(name, wanted, desired, ret, written)
    if not ret["comment"]:
        ret["comment"] = "File %s updated" % name
    return ret


def _write(path, content, desired, mode=None):
    if desired.backup and os.path.exists(path):
        from thin.utils.files import backup

        backup.keep(path, desired.backup, desired.cachedir)
    uid = owner.user_to_uid(desired.user) if desired.user else None
    gid = owner.group_to_gid(desired.group) if desired.group else None
    mode = desired.mode if mode is None else mode
    try:
        return atomic.write(path, content.pieces(), uid, gid, None if mode is None else owner.mode_bits(mode))
    except safepath.Refused:
        raise
    except OSError as exc:
        raise Failed("Failed to commit change: %s%s" % (exc, "" if exc.filename else ": %r" % path))


def settle(name, desired, ret):
    """Set owner, mode, attributes and SELinux context of an existing file. Raises OSError if it no longer exists."""
    st = owner.existing(name, desired.follow_symlinks)
    link = stat.S_ISLNK(st.st_mode)
    _settle(name, owner.drift(st, desired.user, desired.group, None if link else desired.mode), desired, ret)


def _settle(name, wanted, desired, ret, written=None):
    """Set what differs, and record in ``ret`` the changes made and what could not be set. ``written``: the stat result
    of the file that was just written."""
    words = []
    if wanted:
        done, words = owner.enforce(name, wanted, desired.follow_symlinks, written)
        ret["changes"].update(done)
    if desired.attrs is not None or desired.selinux:
        from thin.utils.files import labels

        changes, more = labels.enforce(name, desired.attrs, desired.selinux)
        ret["changes"].update(changes)
        words += more
    if words:
        ret["result"] = False
        ret["comment"] = "; ".join(([ret["comment"]] if ret["comment"] else []) + words)


def _say(ret, words):
    ret["comment"] = words if ret["result"] else "; ".join(filter(None, (words, ret["comment"])))


def check_command(command, content, desired, run_all, shell=None, directory=None, suffix=""):
    """Run ``check_cmd`` on a private copy of the new content. Returns None if it succeeds, else the state's partial
    return."""
    descriptor, temp = safepath.temporary(directory, suffix or "")
    try:
        with os.fdopen(descriptor, "wb") as target:
            for piece in content.pieces():
                target.write(piece)
        owner.enforce(temp, owner.drift(os.lstat(temp), desired.user, desired.group, desired.mode))
        options = {"shell": shell} if shell else {}
        return failed_check(run_all("%s %s" % (command, temp), **options))
    finally:
        safepath.unlink(temp)


def failed_check(result):
    """Salt's partial state return for the result of a check_cmd (from ``cmd.run_all``); None if it succeeded."""
    if result["retcode"] == 0:
        return None
    output = [result[key] for key in ("stdout", "stderr") if result.get(key)]
    return {"comment": "\n".join(["check_cmd execution failed"] + output), "skip_watch": True, "result": False}
