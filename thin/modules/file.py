"""Files, directories and links: reading, comparing, editing, owning. Salt: salt.modules.file.

Arguments, values and errors are Salt's. What files are compared and written with is in thin/utils/files/, shared with
the states of the same name.
"""

import os
import stat

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.log import getLogger
from thin.utils.files import owner

__func_alias__ = {"makedirs_": "makedirs"}
__controller__ = ("basename", "dirname", "join", "normpath", "pardir")

log = getLogger(__name__)


def _path(path):
    return os.path.expanduser(path)


def _absolute(path, words="File path must be absolute."):
    path = _path(path)
    if not os.path.isabs(path):
        raise SaltInvocationError(words)
    return path


def _cachedir():
    return __opts__.get("cachedir") or "/var/cache/salt/minion"


def _saltenv(saltenv=None):
    return saltenv or __opts__.get("saltenv") or "base"


def _lines_given(args, kwargs):
    """The lines of ``f(path, "a", "b")`` or ``f(path, args=["a", "b"])``."""
    if "args" in kwargs:
        return kwargs["args"] if isinstance(kwargs["args"], list) else [kwargs["args"]]
    return args


# -- paths --------------------------------------------------------------------------------------------------------


def basename(path):
    """The last part of a path."""
    return os.path.basename(path)


def dirname(path):
    """A path without its last part."""
    return os.path.dirname(path)


def join(*args):
    """Parts as one path; an absolute one starts anew."""
    return os.path.join(*[str(part) for part in args])


def normpath(path):
    """A path without ``.``, ``..`` and doubled separators."""
    return os.path.normpath(path)



def pardir():
    """The name of the parent directory: ``..``."""
    return os.path.pardir


# -- looking ------------------------------------------------------------------------------------------------------


def file_exists(path):
    """True for a regular file, also behind a link."""
    return os.path.isfile(_path(path))


def directory_exists(path):
    """True for a directory, also behind a link."""
    return os.path.isdir(_path(path))


def path_exists_glob(path):
    """True when a path with wildcards matches anything."""
    import glob

    return bool(glob.glob(_path(path)))


def access(path, mode):
    """True when we may do what ``mode`` (f, r, w, x) says."""
    path = _absolute(path, "Path to link must be absolute.")
    modes = {"f": os.F_OK, "r": os.R_OK, "w": os.W_OK, "x": os.X_OK}
    if mode not in modes and mode not in modes.values():
        raise SaltInvocationError("Invalid mode specified.")
    return os.access(path, modes.get(mode, mode))


def stats(path, hash_type=None, follow_symlinks=True):
    """inode, uid, gid, user, group, atime, mtime, ctime, size, mode, type and target of what is at ``path``."""
    return owner.stats(path, hash_type, follow_symlinks)


def lstat(path):
    """The numbers of lstat(2), {} when nothing is there."""
    path = _absolute(path, "Path to file must be absolute.")
    try:
        st = os.lstat(path)
    except OSError:
        return {}
    words = ("st_atime", "st_ctime", "st_gid", "st_mode", "st_mtime", "st_nlink", "st_size", "st_uid")
    return {word: getattr(st, word) for word in words}


def statvfs(path):
    """The numbers of statvfs(3) of the file system that holds ``path``."""
    path = _absolute(path)
    try:
        st = os.statvfs(path)
    except OSError:
        raise CommandExecutionError("Could not statvfs '%s'" % path)
    words = ("bavail", "bfree", "blocks", "bsize", "favail", "ffree", "files", "flag", "frsize", "namemax")
    return {"f_" + word: getattr(st, "f_" + word) for word in words}


def diskusage(path):
    """Bytes of the file, or of all files below a directory; those with several names count once."""
    path = _path(path)
    if os.path.isfile(path):
        return os.stat(path).st_size
    sizes = {}
    for folder, _, files in os.walk(path):
        for name in files:
            try:
                st = os.stat(os.path.join(folder, name))
            except OSError:
                continue
            sizes[st.st_dev, st.st_ino] = st.st_size
    return sum(sizes.values())


def readdir(path):
    """Names in a directory, with ``.`` and ``..``."""
    path = _absolute(path, "Dir path must be absolute.")
    if not os.path.isdir(path):
        raise SaltInvocationError("A valid directory was not specified: %s" % path)
    return [".", ".."] + os.listdir(path)


def find(path, *args, **kwargs):
    """Paths below ``path`` that pass the tests name, iname, regex, iregex, type, size, mtime, owner, group, grep,
    maxdepth and mindepth; ``print``, ``exec`` and ``delete`` say what is done with them."""
    from thin.utils.files import find as finder

    if "delete" in args:
        kwargs["delete"] = "f"
    elif "print" in args:
        kwargs["print"] = "path"
    try:
        return finder.find(path, kwargs)
    except ValueError as exc:
        return "error: %s" % exc


def open_files(by_pid=False):
    """{path: [pids]} of files that processes have open (Linux), or {pid: [paths]}."""
    found = {}
    for pid in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if not pid.isdigit():
            continue
        try:
            paths = {os.readlink("/proc/%s/fd/%s" % (pid, fd)) for fd in os.listdir("/proc/%s/fd" % pid)}
        except OSError:
            continue
        for path in sorted(paths):
            if path.startswith("/") and os.path.exists(path):
                key, value = (int(pid), path) if by_pid else (path, int(pid))
                found.setdefault(key, []).append(value)
    return found


# -- owners and modes ---------------------------------------------------------------------------------------------


def uid_to_user(uid):
    """The user's name, the uid itself when there is none."""
    return owner.uid_to_user(uid)


def user_to_uid(user):
    """The uid of a user, "" when there is none; without a user our own."""
    return owner.user_to_uid(user)


def gid_to_group(gid):
    """The group's name, the gid itself when there is none."""
    try:
        gid = int(gid)
    except ValueError:
        gid = owner.group_to_gid(gid)
    return "" if gid == "" else owner.gid_to_group(gid)


def group_to_gid(group):
    """The gid of a group, "" when there is none."""
    return owner.group_to_gid(group)


def get_uid(path, follow_symlinks=True):
    """The uid that owns a file."""
    return stats(path, None, follow_symlinks)["uid"]


def get_user(path, follow_symlinks=True):
    """The user that owns a file."""
    return stats(path, None, follow_symlinks)["user"]


def get_gid(path, follow_symlinks=True):
    """The gid that owns a file."""
    return stats(path, None, follow_symlinks)["gid"]


def get_group(path, follow_symlinks=True):
    """The group that owns a file."""
    return stats(path, None, follow_symlinks)["group"]


def get_mode(path, follow_symlinks=True):
    """The mode of a file, as text: "0644"."""
    return stats(path, None, follow_symlinks)["mode"]


def set_mode(path, mode):
    """Set the mode; the mode that holds then, or words about one that is none."""
    path = _path(path)
    if not os.path.exists(path):
        raise CommandExecutionError("%s: File not found" % path)
    digits = str(mode).lstrip("0Oo") or "0"
    try:
        os.chmod(path, int(digits, 8))
    except (ValueError, OSError, OverflowError):
        return "Invalid Mode " + digits
    return get_mode(path)


def chown(path, user, group):
    """Set the owner. None, or words about what does not exist."""
    path = _path(path)
    if not os.path.lexists(path):
        return _unknown_owners(user, group) + "File not found"
    return owner.chown(path, user, group, follow_symlinks=os.path.exists(path))


def lchown(path, user, group):
    """Set the owner of a link itself. None, or words about what does not exist."""
    return owner.chown(_path(path), user, group, follow_symlinks=False)


def chgrp(path, group):
    """Set the group. None, or words about what does not exist."""
    return chown(path, get_user(path), group)


def _unknown_owners(user, group):
    words = "User does not exist\n" if user and owner.user_to_uid(user) == "" else ""
    return words + ("Group does not exist\n" if group and owner.group_to_gid(group) == "" else "")


def check_perms(
    name, ret, user, group, mode, attrs=None, follow_symlinks=False, seuser=None, serole=None, setype=None, serange=None
):
    """Set owner, mode, attributes and context where they differ: (ret with changes and comment, what was found)."""
    from thin.utils.files import labels

    name = _path(name)
    mode = owner.normalize_mode(mode)
    listed = bool(ret) and isinstance(ret["comment"], list)
    ret = ret or {"name": name, "changes": {}, "comment": "", "result": True}
    words = list(ret["comment"]) if listed else [ret["comment"]] if ret["comment"] else []
    st = owner.look(name, follow_symlinks)
    if st is None:
        raise CommandExecutionError("Path not found: %s" % name)
    link = stat.S_ISLNK(st.st_mode)
    perms = {
        "luser": st.st_uid if isinstance(user, int) else owner.uid_to_user(st.st_uid),
        "lgroup": st.st_gid if isinstance(group, int) else owner.gid_to_group(st.st_gid),
        "lmode": owner.mode_text(st),
    }
    wanted = owner.drift(st, user or None, group or None, None if link else mode)
    perms.update(("c" + key, value) for key, value in wanted.items())
    selinux = {"seuser": seuser, "serole": serole, "setype": setype, "serange": serange}
    if __opts__["test"]:
        ret["changes"].update(wanted)
        if attrs is not None or any(selinux.values()):
            ret["changes"].update(labels.predict(name, attrs, selinux))
        if ret["changes"]:
            ret["result"] = None
    else:
        failed = []
        if wanted:
            done, failed = owner.enforce(name, wanted, follow_symlinks)
            ret["changes"].update(done)
        if attrs is not None or any(selinux.values()):
            changes, more = labels.enforce(name, attrs, selinux)
            ret["changes"].update(changes)
            failed += more
        if failed:
            ret["result"] = False
            words += failed
    ret["comment"] = words if listed else "; ".join(words)
    return ret, perms


def lsattr(path):
    """{path: [letters]} of a file's attributes, None where there are none to have."""
    from thin.utils.files import labels

    if not os.path.exists(path):
        raise SaltInvocationError("File or directory does not exist: " + path)
    return labels.lsattr(path)


def chattr(*files, **kwargs):
    """Add or remove attributes: ``operator`` is add or remove, ``attributes`` letters of aAcCdDeijPsStTu."""
    from thin.utils.files import labels

    operator, attributes = kwargs.get("operator"), kwargs.get("attributes")
    if operator not in ("add", "remove"):
        raise SaltInvocationError("Need an operator: 'add' or 'remove' to modify attributes.")
    if attributes is None:
        raise SaltInvocationError("Need attributes: [aAcCdDeijPsStTu]")
    return labels.chattr("+" if operator == "add" else "-", attributes, *files)


def get_selinux_context(path):
    """``user:role:type:range`` of a file, or a sentence that there is none."""
    from thin.utils.files import labels

    parts = labels.context(path)
    return ":".join(parts) if parts else "No selinux context information is available for %s" % path


def set_selinux_context(path, user=None, role=None, type=None, range=None, persist=False):
    """Set parts of a file's context; the context that holds then, or False."""
    from thin.utils.files import labels

    if not any((user, role, type, range)):
        return False
    if persist:
        result = __salt__["selinux.fcontext_add_policy"](path, sel_type=type, sel_user=user, sel_level=range)
        if result.get("retcode") != 0:
            raise CommandExecutionError("Problem setting fcontext: %s" % result)
    _, errors = labels.enforce(path, None, {"seuser": user, "serole": role, "setype": type, "serange": range})
    return False if errors else get_selinux_context(path)


def restorecon(path, recursive=False):
    """Give a file the context that the policy has for its name. True when that went well."""
    from thin.utils.files import labels

    return labels.run("restorecon", "-FR" if recursive else "-F", path)[0] == 0


# -- digests and sources ------------------------------------------------------------------------------------------


def get_hash(path, form="sha256", chunk_size=65536):
    """The hexadecimal digest of a file."""
    from thin.utils.files import hashes

    return hashes.file_hash(_path(path), form, chunk_size)


def get_sum(path, form="sha256"):
    """The hexadecimal digest of a file, or ``File not found``."""
    return get_hash(path, form) if os.path.isfile(_path(path)) else "File not found"


def check_hash(path, file_hash):
    """True when a file has the digest written as ``type=digest``, ``type:digest`` or just the digest."""
    from thin.utils.files import hashes

    return hashes.check(path, file_hash)


def extract_hash(hash_fn, hash_type="sha256", file_name="", source="", source_hash_name=None):
    """``{"hsum", "hash_type"}`` that a list of digests has for a file, or None."""
    from thin.utils.files import hashes

    with open(hash_fn, "rb") as lines:
        return hashes.extract(lines, hash_type, file_name, source, source_hash_name)


def get_source_sum(
    file_name="", source="", source_hash=None, source_hash_name=None, saltenv="base", verify_ssl=True,
    source_hash_sig=None, signed_by_any=None, signed_by_all=None, keyring=None, gnupghome=None, sig_backend="gpg"
):
    """``{"hsum", "hash_type"}`` of a ``source_hash`` in any of its forms."""
    from thin.utils.files import sources

    return sources.source_sum(file_name, source, source_hash, source_hash_name, saltenv, verify_ssl)


def source_list(source, source_hash, saltenv):
    """(source, source_hash); of a list of sources the first that exists."""
    from thin.utils.files import sources

    return sources.choose(source, source_hash, saltenv)


def apply_template_on_contents(contents, template, context, defaults, saltenv):
    """The text that a template given as text makes; a dict with ``result`` and ``comment`` when it cannot be
    rendered."""
    from thin import link
    from thin.utils.files import sources

    try:
        return sources.text(contents, saltenv, template, context, defaults).data.decode("utf-8")
    except link.LinkError as exc:
        return {"result": False, "comment": str(exc)}


def get_managed(
    name, template, source, source_hash, source_hash_name, user, group, mode, attrs, saltenv, context, defaults,
    skip_verify=False, verify_ssl=True, use_etag=False, source_hash_sig=None, signed_by_any=None, signed_by_all=None,
    keyring=None, gnupghome=None, ignore_ordering=False, ignore_whitespace=False, ignore_comment_characters=None,
    sig_backend="gpg", **kwargs
):
    """(path of the content, {"hash_type", "hsum"}, words about why there is none)."""
    from thin import link
    from thin.utils.files import sources

    if not source:
        return "", {}, ""
    try:
        content = _content(
            name, template, source, source_hash, source_hash_name, saltenv, context, defaults, skip_verify, verify_ssl
        )
        if template:
            return _spooled(content), {"hash_type": content.hash_type, "hsum": content.hsum}, ""
        kept = sources.scheme(source) == "salt"
        return "" if kept else content.fetched(), {"hash_type": content.hash_type, "hsum": content.hsum}, ""
    except (CommandExecutionError, link.LinkError) as exc:
        return "", {}, str(exc)


def _content(
    name, template, source, source_hash, source_hash_name, saltenv, context, defaults, skip_verify, verify_ssl
):
    from thin.utils.files import sources, web

    cache = web.cache_path(source, _cachedir(), saltenv) if sources.scheme(source) in sources.REMOTE else None
    found = None
    if not template or sources.scheme(source) != "salt":
        found = sources.resolve(name, source, source_hash, source_hash_name, saltenv, skip_verify, verify_ssl, cache)
    return sources.rendered(source, saltenv, template, context, defaults, "", "", found) if template else found


def _spooled(content):
    """The path of a private temporary file with these bytes; manage_file and its like take it away."""
    import tempfile

    from thin.utils.files import atomic

    descriptor, path = atomic.temporary(tempfile.gettempdir(), SPOOL)
    with os.fdopen(descriptor, "wb") as target:
        target.write(content.read())
    return path


SPOOL = ".spool"


def _unspool(path):
    if path and os.path.basename(path).startswith(".pushsalt-") and path.endswith(SPOOL):
        os.unlink(path)


def _given(name, sfn, source, source_sum, contents, saltenv, encoding=None, encoding_errors="strict"):
    """The content that the arguments of manage_file and check_file_meta describe, or None."""
    from thin.utils.files import content, sources

    if contents is not None:
        if not isinstance(contents, bytes):
            contents = str(contents).encode(encoding or "utf-8", encoding_errors if encoding else "surrogateescape")
        return content.Data(contents)
    wanted = source_sum if source_sum and "hsum" in source_sum else None
    if sfn:
        trusted = not source or sources.scheme(source) == "salt"
        return content.LocalFile(sfn, None if trusted and not wanted else wanted, sources.MISMATCH % (source or name))
    if not source:
        return None
    return content.Fetched(source, lambda: sources.fetch(source, saltenv), wanted, sources.MISMATCH % source)


def manage_file(
    name, sfn, ret, source, source_sum, user, group, mode, attrs, saltenv, backup, makedirs=False, template=None,
    show_changes=True, contents=None, dir_mode=None, follow_symlinks=True, skip_verify=False, keep_mode=False,
    encoding=None, encoding_errors="strict", seuser=None, serole=None, setype=None, serange=None, verify_ssl=True,
    use_etag=False, signature=None, source_hash_sig=None, signed_by_any=None, signed_by_all=None, keyring=None,
    gnupghome=None, ignore_ordering=False, ignore_whitespace=False, ignore_comment_characters=None, new_file_diff=False,
    sig_backend="gpg", **kwargs
):
    """Make a file hold what get_managed gave, or ``contents``; a state's return."""
    from thin.utils.files import managed, sources

    name = _path(name)
    ret = ret or {"name": name, "changes": {}, "comment": "", "result": True}
    try:
        if keep_mode and source:
            mode = sources.server_mode(source, saltenv)
        content = _given(name, sfn, source, None if skip_verify else source_sum, contents, saltenv, encoding,
                         encoding_errors)
        wish = _wish(user, group, mode, attrs, seuser, serole, setype, serange, follow_symlinks, ignore_ordering,
                     ignore_whitespace, ignore_comment_characters, new_file_diff)
        wish.makedirs, wish.dir_mode, wish.show_changes = makedirs, dir_mode, show_changes
        wish.backup, wish.cachedir = backup or __opts__.get("backup_mode", ""), _cachedir()
        return managed.manage(name, content, wish, ret, from_source=bool(source))
    except managed.Failed as exc:
        ret["changes"].pop("diff", None)
        return dict(ret, result=False, comment=str(exc))
    finally:
        _unspool(sfn)


def _wish(user, group, mode, attrs, seuser, serole, setype, serange, follow_symlinks, ignore_ordering=False,
          ignore_whitespace=False, ignore_comment_characters=None, new_file_diff=False):
    from thin.utils.files import managed

    selinux = {"seuser": seuser, "serole": serole, "setype": setype, "serange": serange}
    ignore = None
    if ignore_ordering or ignore_whitespace or ignore_comment_characters:
        ignore = {
            "ignore_ordering": ignore_ordering, "ignore_whitespace": ignore_whitespace,
            "ignore_comment_characters": ignore_comment_characters,
        }
    return managed.Wish(
        user, group, owner.normalize_mode(mode), attrs, selinux if any(selinux.values()) else None, follow_symlinks,
        obfuscate=__opts__.get("obfuscate_templates", False), ignore=ignore, new_file_diff=new_file_diff,
    )


def check_file_meta(
    name, sfn, source, source_sum, user, group, mode, attrs, saltenv, contents=None, seuser=None, serole=None,
    setype=None, serange=None, verify_ssl=True, follow_symlinks=False, ignore_ordering=False, ignore_whitespace=False,
    ignore_comment_characters=None, new_file_diff=False
):
    """The changes that manage_file would make; with something to ignore, (whether they matter, changes)."""
    from thin.utils.files import managed

    wish = _wish(user, group, mode, attrs, seuser, serole, setype, serange, follow_symlinks, ignore_ordering,
                 ignore_whitespace, ignore_comment_characters, new_file_diff)
    content = _given(name, sfn, source, source_sum, contents, saltenv)
    if contents is None and not (source_sum and "hsum" in source_sum):
        content = None
    changes, matters = managed.predict(_path(name), content, wish)
    return (matters, changes) if wish.ignore else changes


def check_managed_changes(
    name, source, source_hash, source_hash_name, user, group, mode, attrs, template, context, defaults, saltenv,
    contents=None, skip_verify=False, keep_mode=False, seuser=None, serole=None, setype=None, serange=None,
    verify_ssl=True, follow_symlinks=False, ignore_ordering=False, ignore_whitespace=False,
    ignore_comment_characters=None, new_file_diff=False, **kwargs
):
    """The changes that file.managed would make, or (False, words) when the source cannot be had."""
    from thin.utils.files import sources

    source, source_hash = source_list(source, source_hash, saltenv)
    sfn, source_sum = "", None
    if contents is None:
        sfn, source_sum, words = get_managed(
            name, template, source, source_hash, source_hash_name, user, group, mode, attrs, saltenv, context, defaults,
            skip_verify, verify_ssl
        )
        if words:
            return False, words
        if keep_mode and source:
            mode = sources.server_mode(source, saltenv)
    try:
        return check_file_meta(
            name, sfn, source, source_sum, user, group, mode, attrs, saltenv, contents, seuser, serole, setype, serange,
            verify_ssl, follow_symlinks, ignore_ordering, ignore_whitespace, ignore_comment_characters, new_file_diff
        )
    finally:
        _unspool(sfn)


def check_managed(
    name, source, source_hash, source_hash_name, user, group, mode, attrs, template, context, defaults, saltenv,
    contents=None, skip_verify=False, seuser=None, serole=None, setype=None, serange=None, follow_symlinks=False,
    **kwargs
):
    """(True, words) for a file that is as wished, (None, words) for one that would change, (False, words)."""
    changes = check_managed_changes(
        name, source, source_hash, source_hash_name, user, group, mode, attrs, template, context, defaults, saltenv,
        contents, skip_verify, False, seuser, serole, setype, serange, follow_symlinks=follow_symlinks
    )
    if isinstance(changes, tuple):
        return changes
    if changes:
        lines = "".join("%s: %s\n" % item for item in changes.items())
        return None, "The following values are set to be changed:\n" + lines
    return True, "The file %s is in the correct state" % name


def get_diff(
    file1, file2, saltenv="base", show_filenames=True, show_changes=True, template=False, source_hash_file1=None,
    source_hash_file2=None, ignore_ordering=False, ignore_whitespace=False, ignore_comment_characters=None
):
    """The unified diff of two files, which may be salt:// URLs; "" when they are equal."""
    from thin.utils.files import diff, edit, sources

    paths, missing = [], []
    for name in (file1, file2):
        path = sources.fetch(name, saltenv)
        paths.append(path)
        if not path:
            missing.append("File %s not found" % name)
    if missing:
        raise CommandExecutionError("Failed to cache one or more files", info=missing)
    try:
        old, new = (edit.read(path) for path in paths)
    except OSError as exc:
        raise CommandExecutionError("Failed to read %s: %s" % (exc.filename, exc.strerror))
    ignoring = ignore_ordering or ignore_whitespace or ignore_comment_characters
    if old == new:
        return (False, "") if ignoring else ""
    if template and __opts__.get("obfuscate_templates"):
        return diff.OBFUSCATED
    if not show_changes:
        return diff.HIDDEN
    text = diff.unified(old, new, *(paths if show_filenames else ("", "")))
    if ignoring:
        return diff.matters(text, ignore_ordering, ignore_whitespace, ignore_comment_characters), text
    return text


# -- reading ------------------------------------------------------------------------------------------------------


def read(path, binary=False):
    """What a file says: text, or bytes with ``binary``."""
    from thin.utils.files import edit

    data = edit.read(path)
    return data if binary is True else data.decode("utf-8", "surrogateescape")


def seek_read(path, size, offset):
    """``size`` bytes of a file from ``offset`` on."""
    with open(_path(path), "rb") as source:
        source.seek(int(offset))
        return source.read(int(size))


def _chunks(path):
    """The text of a file, as far as it is one; nothing for one that cannot be read."""
    try:
        with open(path, errors="surrogateescape", encoding="utf-8") as source:
            for line in source:
                yield line
    except OSError:
        return


def contains(path, text):
    """True when a file has this text, white space around it aside."""
    from thin.utils.files import edit

    try:
        return str(text).strip().encode("utf-8", "surrogateescape") in edit.read(_path(path))
    except OSError:
        return False


def contains_regex(path, regex, lchar=""):
    """True when a line matches; ``lchar`` are characters to leave out at its beginning."""
    import re

    search = re.compile(regex).search
    return any(search(line.lstrip(lchar) if lchar else line) for line in _chunks(_path(path)))


def contains_glob(path, glob_expr):
    """True when the whole text matches a glob."""
    import fnmatch

    path = _path(path)
    return os.path.isfile(path) and fnmatch.fnmatch("".join(_chunks(path)), glob_expr)


def search(path, pattern, flags=8, bufsize=1, ignore_if_missing=False, multiline=False):
    """True when a regular expression matches somewhere in a file."""
    from thin.utils.files import edit

    flags = edit.regex_flags(flags) | (8 if multiline else 0)
    return edit.search_file(path, pattern, flags, ignore_if_missing)


def grep(path, pattern, *opts):
    """``cmd.run_all`` of grep(1)."""
    import glob
    import shlex

    options = []
    for option in opts:
        words = shlex.split(option)
        if len(words) > 1:
            raise SaltInvocationError(
                "Passing multiple command line arguments in a single string is not supported, please pass the "
                "following arguments separately: %s" % option
            )
        options += words
    paths = sorted(glob.glob(_path(path))) or [_path(path)]
    try:
        return __salt__["cmd.run_all"](["grep"] + options + [pattern] + paths, python_shell=False)
    except OSError as exc:
        raise CommandExecutionError(exc.strerror)


# -- writing ------------------------------------------------------------------------------------------------------


def write(path, *args, **kwargs):
    """Make lines the whole content of a file."""
    from thin.utils.files import atomic, edit

    path, lines = _path(path), _lines_given(args, kwargs)
    new = not os.path.exists(path)
    atomic.write(os.path.realpath(path), edit.add_lines(b"", lines), mode=_new_mode() if new else None)
    return 'Wrote %d lines to "%s"' % (len(lines), path)


def _new_mode():
    return owner.mode_bits(owner.default_mode())


def append(path, *args, **kwargs):
    """Add lines at the end of a file."""
    from thin.utils.files import edit

    path, lines = _path(path), _lines_given(args, kwargs)
    edit.commit(path, edit.add_lines(edit.read(path), lines), keep_inode=True)
    return 'Wrote %d lines to "%s"' % (len(lines), path)


def prepend(path, *args, **kwargs):
    """Add lines at the beginning of a file, which is made when it is not there."""
    from thin.utils.files import atomic, edit

    path, lines = _path(path), _lines_given(args, kwargs)
    if os.path.exists(path):
        edit.commit(path, edit.preface(edit.read(path), lines), keep_inode=True)
    else:
        atomic.write(path, edit.preface(b"", lines), mode=_new_mode())
    return 'Prepended %d lines to "%s"' % (len(lines), path)


def touch(name, atime=None, mtime=None):
    """Make a file or set its times (seconds since 1970; now unless given)."""
    from thin.utils.files import times

    return times.touch(_path(name), atime, mtime)


def seek_write(path, data, offset):
    """Put bytes at an offset of a file; how many were written."""
    with open(_path(path), "r+b", buffering=0) as target:
        target.seek(int(offset))
        written = target.write(data if isinstance(data, bytes) else str(data).encode("utf-8"))
        os.fsync(target.fileno())
    return written


def truncate(path, length):
    """Cut a file (or lengthen it with zeros) to so many bytes."""
    with open(_path(path), "rb+") as target:
        target.truncate(int(length))


# -- editing ------------------------------------------------------------------------------------------------------


def replace(
    path, pattern, repl, count=0, flags=8, bufsize=1, append_if_not_found=False, prepend_if_not_found=False,
    not_found_content=None, backup=".bak", dry_run=False, search_only=False, show_changes=True, ignore_if_missing=False,
    preserve_inode=True, backslash_literal=False, encoding=None
):
    """Replace every match of a regular expression: the diff, or True or False when it is not to be shown."""
    from thin.utils.files import edit

    if search_only:
        if append_if_not_found or prepend_if_not_found:
            raise SaltInvocationError("search_only cannot be used with append/prepend_if_not_found")
        return edit.search_file(path, pattern, flags, ignore_if_missing, encoding)
    return edit.replace_in_file(
        path, pattern, repl, count, flags, append_if_not_found, prepend_if_not_found, not_found_content, backup,
        dry_run, show_changes, ignore_if_missing, preserve_inode, backslash_literal, encoding
    )


def line(
    path, content=None, match=None, mode=None, location=None, before=None, after=None, show_changes=True, backup=False,
    quiet=False, indent=True
):
    """Ensure, insert, replace or delete one line: the diff, True, or False when nothing changed."""
    from thin.utils.files import lines

    return lines.edit_file(
        path, content, match, mode, location, before, after, show_changes, backup, quiet, indent, __opts__["test"]
    )


def blockreplace(
    path, marker_start="#-- start managed zone --", marker_end="#-- end managed zone --", content="",
    append_if_not_found=False, prepend_if_not_found=False, backup=".bak", dry_run=False, show_changes=True,
    append_newline=False, insert_before_match=None, insert_after_match=None
):
    """Replace what is between two marker lines: the diff, or True or False when it is not to be shown."""
    from thin.utils.files import blocks

    return blocks.replace_in_file(
        path, marker_start, marker_end, content, append_if_not_found, prepend_if_not_found, backup, dry_run,
        show_changes, append_newline, insert_before_match, insert_after_match
    )


def comment(path, regex, char="#", backup=".bak"):
    """Comment matching lines out: their diff, False when there are none."""
    return comment_line(path, regex, char, True, backup)


def uncomment(path, regex, char="#", backup=".bak"):
    """Comment matching lines back in: their diff, False when there are none."""
    return comment_line(path, regex, char, False, backup)


def comment_line(path, regex, char="#", cmnt=True, backup=".bak"):
    """Comment matching lines out or back in: their diff, False when there are none."""
    from thin.utils.files import blocks

    return blocks.comment_line(path, regex, char, cmnt, backup)


def sed(
    path, before, after, limit="", backup=".bak", options="-r -e", flags="g", escape_all=False, negate_match=False
):
    """``cmd.run_all`` of sed(1); ``replace`` does more."""
    import shlex

    path = _path(path)
    if not os.path.exists(path):
        return False
    before, after, limit = (_sed_escaped(text, escape_all) for text in (before, after, limit))
    command = ["sed", "-i%s" % (backup or "")] + shlex.split(options)
    place = "/%s/ " % limit if limit else ""
    command.append("%s%ss/%s/%s/%s" % (place, "!" if negate_match else "", before, after, flags))
    return __salt__["cmd.run_all"](command + [path], python_shell=False)


def sed_contains(path, text, limit="", flags="g"):
    """True when sed(1) finds the expression."""
    path = _path(path)
    if not os.path.exists(path):
        return False
    place = "/%s/ " % _sed_escaped(limit, False) if limit else ""
    script = "%ss/%s/$/p%s" % (place, _sed_escaped(text, False), flags)
    return bool(__salt__["cmd.run"](["sed", "-n", "-r", "-e", script, path], python_shell=False))


def _sed_escaped(text, everything):
    text = str(text).replace("'", "'\"'\"'").replace("/", "\\/")
    return "".join("\\" + letter if letter in "^.[$()|*+?{" else letter for letter in text) if everything else text


def patch(originalfile, patchfile, options="", dry_run=False):
    """``cmd.run_all`` of patch(1), on a file or on the files of a directory."""
    import shlex

    path, given = _path(originalfile), shlex.split(options or "")
    command = ["patch"] + given
    if dry_run:
        command.append("-C" if __grains__.get("kernel") in ("FreeBSD", "OpenBSD") else "--dry-run")
    if "-N" not in given and "--forward" not in given:
        command.append("--forward")
    if not any(option.startswith(("-r", "--reject-file")) for option in given):
        command.append("--reject-file=-")
    command += ["-i", patchfile]
    if os.path.isdir(path):
        command += ["-d", path]
        if not any(option.startswith(("-p", "--strip=")) for option in given):
            command.append("--strip=0")
    else:
        command.append(path)
    return __salt__["cmd.run_all"](command, python_shell=False)


# -- making, moving, removing -------------------------------------------------------------------------------------


def mkdir(dir_path, user=None, group=None, mode=None):
    """Make a directory and those on the way to it. True."""
    path = os.path.normpath(_path(dir_path))
    if not os.path.isdir(path):
        makedirs_perms(path, user, group, mode)
    return True


def makedirs_(path, user=None, group=None, mode=None):
    """Make the directories on the way to ``path`` (all of it when it ends in a slash); words when they are there."""
    from thin.utils.files import atomic

    path = _path(path)
    parent = os.path.normpath(os.path.dirname(path))
    if os.path.isdir(parent):
        return "Directory '%s' already exists" % parent
    if os.path.exists(parent):
        return "The path '%s' already exists and is not a directory" % parent
    if not os.path.isabs(path):
        raise SaltInvocationError(
            "Recursive creation for path '%s' would result in an infinite loop. Please use an absolute path." % path
        )
    atomic.makedirs(os.path.join(parent, "file"), user, group, owner.normalize_mode(mode))
    return None


def makedirs_perms(name, user=None, group=None, mode="0755"):
    """Make a directory and those on the way to it, all with this owner and mode."""
    from thin.utils.files import atomic

    path = os.path.normpath(_path(name))
    mode = owner.normalize_mode(mode) if mode else None
    atomic.makedirs(path, user, group, mode)
    atomic.mkdir(path, user, group, mode)


def rmdir(path, recurse=False, verbose=False, older_than=None):
    """Remove an empty directory, with ``recurse`` the empty ones in it too. True when all of them went."""
    import time

    path = _absolute(path)
    if not os.path.isdir(path):
        raise SaltInvocationError("A valid directory was not specified: %s" % path)
    limit = time.time() - int(older_than) * 86400 if older_than else None
    folders = [path]
    if recurse:
        below = os.walk(path, topdown=False)
        folders = [os.path.join(root, name) for root, dirs, _ in below for name in dirs] + folders
    deleted, errors = [], []
    for folder in folders:
        if limit is not None and os.path.getmtime(folder) >= limit:
            continue
        try:
            os.rmdir(folder)
            deleted.append(folder)
        except OSError as exc:
            errors.append([folder, str(exc)])
    result = not errors and (path in deleted or recurse)
    return {"deleted": deleted, "errors": errors, "result": result} if verbose else result


def remove(path, **kwargs):
    """Remove a file, a link or a whole directory. False when nothing was there."""
    from thin.utils.files import walk

    path = _path(path)
    if not os.path.isabs(path):
        raise SaltInvocationError("File path must be absolute: %s" % path)
    try:
        return walk.remove(path)
    except OSError as exc:
        raise CommandExecutionError("Could not remove '%s': %s" % (path, exc))


def rename(src, dst):
    """Rename a file or directory. True."""
    src, dst = _absolute(src), _path(dst)
    try:
        os.rename(src, dst)
    except OSError:
        raise CommandExecutionError("Could not rename '%s' to '%s'" % (src, dst))
    return True


def move(src, dst, disallow_copy_and_unlink=False):
    """Move a file or directory, also to another file system. {"result", "comment"}."""
    import shutil

    src, dst = _path(src), _path(dst)
    for word, path in (("Source", src), ("Destination", dst)):
        if not os.path.isabs(path):
            raise SaltInvocationError("%s path must be absolute." % word)
    try:
        (os.rename if disallow_copy_and_unlink else shutil.move)(src, dst)
    except OSError as exc:
        raise CommandExecutionError("Unable to move '%s' to '%s': %s" % (src, dst, exc))
    return {"result": True, "comment": "'%s' moved to '%s'" % (src, dst)}


def copy(src, dst, recurse=False, remove_existing=False):
    """Copy a file, with ``recurse`` a directory, with its owner and mode. True."""
    from thin.utils.files import copying

    src, dst = _absolute(src), _path(dst)
    if not os.path.exists(src):
        raise CommandExecutionError("No such file or directory '%s'" % src)
    return copying.copy(src, dst, recurse, remove_existing)


def link(src, path):
    """Make ``path`` another name (a hard link) of the file ``src``. True."""
    src = _absolute(src)
    try:
        os.link(src, path)
    except OSError as exc:
        raise CommandExecutionError("Could not create '%s': %s" % (path, exc))
    return True


def symlink(src, path, force=False, atomic=False, follow_symlinks=True):
    """Make ``path`` a symbolic link to ``src``. True."""
    from thin.utils.files import links

    return links.make(src, _path(path), force, atomic, follow_symlinks)


def is_link(path, nostat=False):
    """True for a symbolic link."""
    return os.path.islink(_path(path))


def is_hardlink(path):
    """True for a file with more than one name."""
    found = lstat(path)
    return bool(found) and found["st_nlink"] > 1


def readlink(path, canonicalize=False):
    """Where a symbolic link leads, as it is written or, with ``canonicalize``, in the end."""
    path = os.path.expandvars(_path(path))
    if not os.path.isabs(path):
        raise SaltInvocationError("Path to link must be absolute: %s" % path)
    if not os.path.islink(path):
        raise SaltInvocationError("A valid link was not specified: %s" % path)
    return os.path.realpath(path) if canonicalize else os.readlink(path)


# -- device nodes -------------------------------------------------------------------------------------------------


def _is(path, test):
    try:
        return test(os.stat(_path(path)).st_mode)
    except FileNotFoundError:
        return False


def is_chrdev(name):
    """True for a character device."""
    return _is(name, stat.S_ISCHR)


def is_blkdev(name):
    """True for a block device."""
    return _is(name, stat.S_ISBLK)


def is_fifo(name):
    """True for a named pipe."""
    return _is(name, stat.S_ISFIFO)


def get_devmm(name):
    """(major, minor) of a device, (0, 0) of anything else."""
    name = _path(name)
    if not (is_chrdev(name) or is_blkdev(name)):
        return 0, 0
    device = os.stat(name).st_rdev
    return os.major(device), os.minor(device)


def mknod(name, ntype, major=0, minor=0, user=None, group=None, mode="0600"):
    """Make a character device (``c``), block device (``b``) or pipe (``p``); a state's return."""
    makers = {"c": mknod_chrdev, "b": mknod_blkdev}
    if ntype not in ("c", "b", "p"):
        raise SaltInvocationError(
            "Node type unavailable: '%s'. Available node types are character ('c'), block ('b'), and pipe ('p')."
            % ntype
        )
    makedirs_(name, user, group)
    if ntype == "p":
        return mknod_fifo(name, user, group, mode)
    return makers[ntype](name, major, minor, user, group, mode)


def mknod_chrdev(name, major, minor, user=None, group=None, mode="0660"):
    """Make a character device; a state's return."""
    return _mknod(name, stat.S_IFCHR, "Character device", os.makedev(int(major), int(minor)), user, group, mode)


def mknod_blkdev(name, major, minor, user=None, group=None, mode="0660"):
    """Make a block device; a state's return."""
    return _mknod(name, stat.S_IFBLK, "Block device", os.makedev(int(major), int(minor)), user, group, mode)


def mknod_fifo(name, user=None, group=None, mode="0660"):
    """Make a named pipe; a state's return."""
    return _mknod(name, stat.S_IFIFO, "Fifo pipe", 0, user, group, mode)


def _mknod(name, kind, words, device, user, group, mode):
    name = _path(name)
    ret = {"name": name, "changes": {}, "comment": "", "result": False}
    if os.path.lexists(name):
        ret["comment"] = "File %s exists and cannot be overwritten" % name
        return ret
    ret["changes"] = {"new": "%s %s created." % (words, name)}
    if __opts__["test"]:
        ret["result"] = None
        return ret
    os.mknod(name, kind | owner.mode_bits(mode or "0660"), device)
    ret["result"] = True
    check_perms(name, None, user, group, mode or None)
    return ret


# -- backups ------------------------------------------------------------------------------------------------------


def list_backups(path, limit=None):
    """{number: {"Backup Time", "Size", "Location"}} of the copies that ``backup: minion`` made, the newest is 0."""
    from thin.utils.files import backup

    return backup.listed(_path(path), _cachedir(), int(limit) if limit is not None else None)


def list_backups_dir(path, limit=None):
    """{name: list_backups} of the files of a directory that have copies."""
    from thin.utils.files import backup

    folder = os.path.join(backup.root(_cachedir()), _path(path).strip("/"))
    names = {backup.SUFFIX.sub("", name) for name in (os.listdir(folder) if os.path.isdir(folder) else ())}
    found = {name: list_backups(os.path.join(_path(path), name), limit) for name in sorted(names)}
    return {name: copies for name, copies in found.items() if copies}


def restore_backup(path, backup_id):
    """Put a copy back; the file as it is now is copied away before. {"result", "comment"}."""
    from thin.utils.files import atomic, backup

    path = _path(path)
    location, ret = _backup(path, backup_id)
    if location:
        try:
            if os.path.exists(path):
                backup.keep(path, "minion", _cachedir())
            atomic.write(path, atomic.pieces(location), mode=None if os.path.exists(path) else _new_mode())
            ret = {"result": True, "comment": "Successfully restored %s to %s" % (location, path)}
        except OSError as exc:
            ret["comment"] = "Unable to restore %s to %s: %s" % (location, path, exc)
    return ret


def delete_backup(path, backup_id):
    """Delete a copy. {"result", "comment"}."""
    location, ret = _backup(_path(path), backup_id)
    if location:
        try:
            os.unlink(location)
            ret = {"result": True, "comment": "Successfully removed %s" % location}
        except OSError as exc:
            ret["comment"] = "Unable to remove %s: %s" % (location, exc)
    return ret


remove_backup = delete_backup
list_backup = list_backups


def _backup(path, backup_id):
    """(path of the copy with that number or None, {"result", "comment"} that there is none)."""
    if not str(backup_id).isdigit() or str(int(backup_id)) != str(backup_id):
        return None, {"result": False, "comment": "Invalid backup_id '%s'" % backup_id}
    copies = list_backups(path)
    words = {"result": False, "comment": "backup_id '%s' does not exist for %s" % (backup_id, path)}
    return copies.get(int(backup_id), {}).get("Location"), words
