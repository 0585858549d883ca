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


class Wish(object):
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


def describe_change(old, content, wish):
    """(text of ``changes["diff"]``, whether it matters under ``wish.ignore``) for a content that differs from that of
    the file ``old``; ``old`` is None if there is no file."""
    from thin.utils.files import diff

    if not wish.ignore and wish.obfuscate:
        return diff.OBFUSCATED, True
    if not wish.ignore and not wish.show_changes:
        return diff.HIDDEN, True
    if isinstance(content, contents_of.Data):
        text = diff.unified(b"" if old is None else contents_of.read_file(old), content.read())
    else:
        text = diff.of_files(old, content.fetched())
    matters = diff.matters(text, **wish.ignore) if wish.ignore else True
    if wish.obfuscate:
        text = diff.OBFUSCATED
    elif not wish.show_changes:
        text = diff.HIDDEN
    return text, matters


def predict(name, content, wish):
    """What ``manage`` would change: (changes, matters). ``matters`` is False if only ignored differences are found.

    A missing file is ``{"newfile": name}``, as in Salt. Nothing is changed; the source is only read if it differs.
    """
    st = owner.look(name, wish.follow_symlinks)
    if st is None:
        _note_new(name, content, wish)
        if not wish.new_file_diff or content is None:
            return {"newfile": name}, True
        text, _ = describe_change(None, content, wish)
        return {"diff": text}, True
    changes, matters = {}, False
    if content is not None:
        target = owner.found(name)
        if stat.S_ISLNK(st.st_mode) and not stat.S_ISREG(target.st_mode):
            changes["diff"], matters = REPLACES_LINK, True
        elif not stat.S_ISREG(target.st_mode):
            raise Failed(NO_FILE % name)
        elif not contents_of.same(content, name):
            changes["diff"], matters = describe_change(name, content, wish)
            if detail.on() and wish.show_changes and not wish.obfuscate:
                _note(name, changes["diff"], name, content)
        elif stat.S_ISLNK(st.st_mode):
            changes["diff"], matters = REPLACES_LINK, True
        st = target
    changes.update(owner.drift(st, wish.user, wish.group, None if stat.S_ISLNK(st.st_mode) else wish.mode))
    if wish.attrs or wish.selinux:
        from thin.utils.files import labels

        changes.update(labels.predict(name, wish.attrs, wish.selinux))
    return changes, matters


def _note_new(name, content, wish):
    """Record details for a plan: the diff or digest of a file that would be created, or that a source is a
    directory."""
    if not detail.on():
        return
    path = getattr(content, "path", None)
    if path and os.path.isdir(path):
        detail.need("path", path, "%s is a directory" % path)
    elif content is not None and wish.show_changes and not wish.obfuscate:
        _note(name, describe_change(None, content, wish)[0], None, content)


def _note(name, text, old, content):
    """Record the diff of a file as detail for a plan; if there are no lines to show, also the digests."""
    detail.diff(name, text)
    if not text.startswith("--- "):
        from thin.utils.files import hashes

        new = hashes.data_hash(content.read()) if isinstance(content, contents_of.Data) else None
        new = new or hashes.file_hash(content.fetched(), "sha256")
        detail.digests(name, None if old is None else hashes.file_hash(old, "sha256"), new)


def foretell(name, content, wish, ret):
    """Fill the state's return of a dry run."""
    changes, matters = predict(name, content, wish)
    ret["changes"] = changes
    if changes:
        safepath.check(name, wish.follow_symlinks)
        ret["result"] = None
        ret["comment"] = (
            "The file %s is set to be changed\nNote: No changes made, actual changes may\nbe different due to other "
            "states." % name
        )
        if wish.ignore and not matters:
            ret["skip_req"] = True
    else:
        ret["comment"] = "The file %s is in the correct state" % name
    return ret


def keep_content(name, ret, wish, test):
    """Fill the state's return for an existing file that keeps its content (``replace: false``)."""
    wish.backup = ""
    if test:
        before = owner.mode_text(owner.found(name, wish.follow_symlinks))
        ret["changes"], _ = predict(name, None, wish)
        if ret["changes"]:
            ret["result"] = None
        if wish.mode and wish.mode != before:
            ret["comment"] = "File %s will be updated with permissions %s from its current state of %s" % (
                name,
                wish.mode,
                before,
            )
        else:
            ret["comment"] = "File %s not updated" % name
        return ret
    settle(name, wish, ret)
    if not ret["changes"] and ret["result"]:
        ret["comment"] = "File %s exists with proper permissions. No changes made." % name
    return ret


def manage(name, content, wish, ret, from_source=False):
    """Give the file ``name`` the content (None: keep it) and the properties ``wish``. Fills and returns ``ret``.

    Raises CommandExecutionError (such as Failed) and OSError; then the file is unchanged.
    """
    try:
        st = os.lstat(name)
    except OSError:
        st = None
    if st is None:
        return _create(name, content, wish, ret, from_source)
    return _update(name, st, content, wish, ret)


def _update(name, st, content, wish, ret):
    path, replace_link, matters = name, False, False
    if stat.S_ISLNK(st.st_mode):
        replace_link = content is not None and not wish.follow_symlinks
        if wish.follow_symlinks:
            path = safepath.real(name)
            st = os.stat(path)
        elif replace_link:
            st = owner.found(name)  # the file that replaces the link gets owner and mode of the link's target
    if content is not None:
        if replace_link and not stat.S_ISREG(st.st_mode):
            ret["changes"]["diff"], matters = REPLACES_LINK, True
            st = owner.born(os.path.dirname(name), 0o600)
        elif not stat.S_ISREG(st.st_mode):
            raise Failed(NO_FILE % path)
        elif replace_link or not contents_of.same(content, path):
            ret["changes"]["diff"], matters = describe_change(path, content, wish)
            if not ret["changes"]["diff"]:
                ret["changes"]["diff"] = REPLACES_LINK
    link = stat.S_ISLNK(st.st_mode)
    wanted = {} if link else owner.drift(st, wish.user, wish.group, wish.mode)
    written = None
    if "diff" in ret["changes"] or (content is not None and _lent_rights(st, wanted, wish)):
        written = _write(path, content, wish, owner.mode_text(st) if replace_link and wish.mode is None else None)
    _settle(name, wanted, wish, ret, written)
    if ret["changes"]:
        _say(ret, "File %s updated" % name)
        if wish.ignore and not matters:
            ret["skip_req"] = True
    elif ret["result"]:
        ret["comment"] = "File %s is in the correct state" % name
    return ret


def _lent_rights(st, wanted, wish):
    """Whether another user's file gets a new owner and setuid or setgid. Then it is written anew, because the old owner
    may have it open for writing."""
    if not ("user" in wanted or "group" in wanted) or not st.st_uid or os.geteuid():
        return False
    return bool(wish.mode and owner.mode_bits(wish.mode) & 0o6000)


def _create(name, content, wish, ret, from_source):
    directory = os.path.dirname(name)
    if not os.path.isdir(directory):
        if not wish.makedirs:
            raise Failed("Parent directory not present")
        atomic.makedirs(name, wish.user, wish.group, owner.parent_mode(wish.dir_mode, wish.mode))
    # As in Salt, owner and mode are reported if they differ from those that the new file has at first: mode 0600 with a
    # source or a given mode, else what the umask leaves.
    private = wish.mode is not None or from_source
    born = owner.born(directory, 0o600 if private else owner.mode_bits(owner.default_mode()))
    change = NEW_FILE
    if wish.new_file_diff and content is not None:
        change = describe_change(None, content, wish)[0]
    mode = wish.mode if wish.mode is not None else owner.default_mode()
    wanted = owner.drift(born, wish.user, wish.group, mode)
    written = _write(name, content or contents_of.Data(b""), wish, mode)
    if content is None:
        ret["changes"]["new"] = "file %s created" % name
        ret["comment"] = "Empty file"
    else:
        ret["changes"]["diff"] = change
    _settle(name, wanted, wish, ret, written)
    if not ret["comment"]:
        ret["comment"] = "File %s updated" % name
    return ret


def _write(path, content, wish, mode=None):
    if wish.backup and os.path.exists(path):
        from thin.utils.files import backup

        backup.keep(path, wish.backup, wish.cachedir)
    uid = owner.user_to_uid(wish.user) if wish.user else None
    gid = owner.group_to_gid(wish.group) if wish.group else None
    mode = wish.mode if mode is None else mode
    try:
        return atomic.write(path, content.pieces(), uid, gid, None if mode is None else owner.mode_bits(mode))
    except safepath.Refused:
        raise
    except OSError as exc:
        raise Failed("Failed to commit change: %s%s" % (exc, "" if exc.filename else ": %r" % path))


def settle(name, wish, ret):
    """Set owner, mode, attributes and SELinux context of an existing file. Raises OSError if it no longer exists."""
    st = owner.found(name, wish.follow_symlinks)
    link = stat.S_ISLNK(st.st_mode)
    _settle(name, owner.drift(st, wish.user, wish.group, None if link else wish.mode), wish, ret)


def _settle(name, wanted, wish, ret, written=None):
    """Set what differs, and record in ``ret`` the changes made and what could not be set. ``written``: the stat result
    of the file that was just written."""
    words = []
    if wanted:
        done, words = owner.enforce(name, wanted, wish.follow_symlinks, written)
        ret["changes"].update(done)
    if wish.attrs is not None or wish.selinux:
        from thin.utils.files import labels

        changes, more = labels.enforce(name, wish.attrs, wish.selinux)
        ret["changes"].update(changes)
        words += more
    if words:
        ret["result"] = False
        ret["comment"] = "; ".join(([ret["comment"]] if ret["comment"] else []) + words)


def _say(ret, words):
    ret["comment"] = words if ret["result"] else "; ".join(filter(None, (words, ret["comment"])))


def check_command(command, content, wish, run_all, shell=None, directory=None, suffix=""):
    """Run ``check_cmd`` on a private copy of the new content. Returns None if it succeeds, else the state's partial
    return."""
    descriptor, temp = safepath.temporary(directory, suffix or "")
    try:
        with os.fdopen(descriptor, "wb") as target:
            for piece in content.pieces():
                target.write(piece)
        owner.enforce(temp, owner.drift(os.lstat(temp), wish.user, wish.group, wish.mode))
        options = {"shell": shell} if shell else {}
        return failed_check(run_all("%s %s" % (command, temp), **options))
    finally:
        safepath.unlink(temp)


def failed_check(result):
    """Salt's partial state return for the result of a check_cmd (from ``cmd.run_all``); None if it succeeded."""
    if result["retcode"] == 0:
        return None
    said = [result[key] for key in ("stdout", "stderr") if result.get(key)]
    return {"comment": "\n".join(["check_cmd execution failed"] + said), "skip_watch": True, "result": False}
