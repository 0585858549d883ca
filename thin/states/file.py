"""Files, directories and links of the target. Salt: salt.states.file.

The functions have Salt's arguments, changes and comments. How it is done is in thin/utils/files/, a module for each
purpose, imported when a state first needs it. file_edit.py and file_more.py have the other functions of the same Salt
module. A file that is as it should be costs a stat and a digest of its bytes.
"""

import os

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.log import getLogger
from thin.utils.files import owner
from thin.utils.files.arguments import cachedir
from thin.utils.files.states import (
    accumulated,
    chunk_tag,
    failed,
    link_owner,
    make_way_to,
    state_return,
    texts,
    user_of,
)

log = getLogger(__name__)

_NO_VALUE = object()


# -- what several states share ------------------------------------------------------------------------------------


def _check_user(user, group):
    """Salt's words about owners that do not exist; in a dry run they may come from states before this one."""
    words = owner.missing_owners(user, group)
    if words and __opts__["test"]:
        log.warning("%s", words)
        return ""
    return words


def _preflight(name, user=None, group=None):
    """Why a state cannot even look, or ""."""
    words = _check_user(user, group)
    if not words and not os.path.isabs(name):
        words = "Specified file %s is not an absolute path" % name
    return words


def _web_cache(source):
    """Where a copy of a web source is kept, None for other sources."""
    from thin.utils.files import sources

    if not source or sources.scheme(source) not in sources.REMOTE:
        return None
    from thin.utils.files import web

    return web.cache_path(source, cachedir(__opts__), __env__)


# -- managed ------------------------------------------------------------------------------------------------------


def managed(
    name, source=None, source_hash="", source_hash_name=None, keep_source=True, user=None, group=None, mode=None,
    attrs=None, template=None, makedirs=False, dir_mode=None, context=None, replace=True, defaults=None, backup="",
    show_changes=True, create=True, contents=None, tmp_dir=None, tmp_ext="", contents_pillar=None, contents_grains=None,
    contents_newline=True, contents_delimiter=":", encoding=None, encoding_errors="strict", allow_empty=True,
    follow_symlinks=True, check_cmd=None, skip_verify=False, selinux=None, win_owner=None, win_perms=None,
    win_deny_perms=None, win_inheritance=True, win_perms_reset=False, verify_ssl=True, use_etag=False, signature=None,
    source_hash_sig=None, signed_by_any=None, signed_by_all=None, keyring=None, gnupghome=None, ignore_ordering=False,
    ignore_whitespace=False, ignore_comment_characters=None, new_file_diff=False, sig_backend="gpg", **kwargs
):
    """A file with the content of a source, a template or ``contents``, with owner and mode.

    changes: ``diff`` (a unified diff, ``New file`` or a sentence), ``user``, ``group``, ``mode``, ``attrs``,
    ``selinux``; in a dry run ``newfile`` for one that is not there. A source on the controller travels only when its
    digest differs.
    """
    from thin.utils.files import sources

    name = os.path.expanduser(name)
    ret = state_return(name)
    if not name:
        return failed(ret, "Destination file name is required")
    keep_mode = isinstance(mode, str) and mode.lower() == "keep"
    mode = None if keep_mode else owner.normalize_mode(mode)
    given = sum(value is not None for value in (contents, contents_pillar, contents_grains))
    if source and given:
        return failed(
            ret, "'source' cannot be used in combination with 'contents', 'contents_pillar', or 'contents_grains'"
        )
    if keep_mode and given:
        return failed(
            ret, "Mode preservation cannot be used in combination with 'contents', 'contents_pillar', or "
            "'contents_grains'"
        )
    if given > 1:
        return failed(ret, "Only one of 'contents', 'contents_pillar', and 'contents_grains' is permitted")
    if not source and not given and replace:
        replace = False
        log.warning(
            "State for file: %s - Neither 'source' nor 'contents' nor 'contents_pillar' nor 'contents_grains' was "
            "defined, yet 'replace' was set to 'True'. As there is no source to replace the file with, 'replace' has "
            "been set to 'False' to avoid reading the file unnecessarily.", name
        )
    if "file_mode" in kwargs:
        ret.setdefault("warnings", []).append(
            "The 'file_mode' argument will be ignored.  Please use 'mode' instead to set file permissions."
        )
    try:
        data = _contents(contents, contents_pillar, contents_grains, contents_delimiter, contents_newline, allow_empty,
                         encoding, encoding_errors, template, context, defaults)
    except CommandExecutionError as exc:
        return failed(ret, str(exc))

    user = user_of(kwargs, user)
    if not create and not os.path.isfile(name):
        ret["comment"] = "File %s is not present and is not set for creation" % name
        return ret
    if context is not None and not isinstance(context, dict):
        return failed(ret, "Context must be formed as a dict")
    if defaults and not isinstance(defaults, dict):
        return failed(ret, "Defaults must be formed as a dict")
    charged = accumulated(__context__, __instance_id__)[0].get(name)
    if charged is not None:
        context = dict(context or {}, accumulator=charged)
    wish = _wish(
        user, group, mode, backup, attrs=attrs, selinux=selinux, follow_symlinks=follow_symlinks, makedirs=makedirs,
        dir_mode=dir_mode, show_changes=show_changes, new_file_diff=new_file_diff,
        ignore=_ignored(ignore_ordering, ignore_whitespace, ignore_comment_characters),
    )

    trust = _trust(signature or source_hash_sig, sig_backend, signed_by_any, signed_by_all, keyring, gnupghome)
    if trust is not None and trust.verify is None:
        return failed(ret, "Cannot verify signatures because the %s module was not loaded" % sig_backend)

    def content():
        if not source:
            return data
        url, url_hash = sources.choose(source, source_hash, __env__)
        found = None
        if source_hash_sig and sources.is_list_of_hashes(url_hash):
            url_hash = _verified(trust, url_hash, source_hash_sig, verify_ssl)
        if not template or sources.scheme(url) != "salt":
            found = sources.resolve(
                name, url, url_hash, source_hash_name, __env__, skip_verify, verify_ssl, _web_cache(url),
                use_etag=use_etag
            )
        if __opts__["test"] and found is not None and not found.known and sources.scheme(url) in sources.REMOTE:
            found.fetched()  # that it cannot be had is part of the prediction
        if signature and found is not None:
            trust.check(found.fetched(), signature, __env__, verify_ssl, _web_cache)
        if template and sources.scheme(url) in ("", "file") and sources.local_path(url) == name:
            raise sources.NoContent("Source file cannot be the same as destination")
        if template:
            found = _rendered(url, template, context, defaults, found)
        if keep_mode:
            wish.mode = owner.normalize_mode(sources.server_mode(url, __env__))
        return found

    try:
        return _converge(name, ret, content, wish, replace, bool(source), check_cmd, tmp_dir, tmp_ext)
    finally:
        if source and not keep_source and not isinstance(source, list):
            _forget(source)


def _trust(wanted, *args):
    """Whose signatures count, when any are wanted."""
    if not wanted:
        return None
    from thin.utils.files import signatures

    return signatures.Trust(__salt__, *args)


def _verified(trust, source_hash, signature, verify_ssl):
    """The path of a list of digests that is well signed."""
    from thin.utils.files import sources

    path = sources.fetch(source_hash, __env__, verify_ssl, cache=_web_cache(source_hash))
    if not path:
        raise CommandExecutionError("Source hash file %s not found" % sources.redact(source_hash))
    trust.check(path, signature, __env__, verify_ssl, _web_cache)
    return path


def _wish(user, group, mode, backup="", **options):
    """What managed files shall be like, with what the minion's options say about all of them."""
    from thin.utils.files import managed as core

    return core.Wish(
        user, group, mode, backup=backup or __opts__.get("backup_mode", ""), cachedir=cachedir(__opts__),
        obfuscate=__opts__.get("obfuscate_templates", False), **options
    )


def _rendered(source, template, context, defaults, fetched=None):
    from thin.utils.files import sources

    sls = __low__.get("__sls__", "")
    return sources.rendered(source, __env__, template, context, defaults, chunk_tag(__low__), sls, fetched)


def _converge(name, ret, content, wish, replace, from_source, check_cmd=None, tmp_dir=None, tmp_ext=""):
    """The return of managing one file; ``content()`` gives what it shall hold, when that is needed."""
    from thin import link
    from thin.utils.files import content as contents_of
    from thin.utils.files import managed as core
    from thin.utils.files import sources

    words = _preflight(name, wish.user, wish.group)
    if words:
        return failed(ret, words)
    if os.path.isdir(name):
        return failed(ret, "Specified target %s is a directory" % name)
    if not replace and os.path.exists(name):
        return _permissions_only(name, ret, wish)
    try:
        wanted = content()
        if __opts__["test"]:
            changes, matters = core.predict(name, wanted, wish)
            return _predicted(name, ret, changes, matters or not wish.ignore)
        if check_cmd and wanted is not None and not _holds(name, wanted):
            failure = core.check_command(
                check_cmd, wanted, wish, __salt__["cmd.run_all"], __grains__.get("shell"), tmp_dir, tmp_ext
            )
            if failure:
                ret.update(failure)
                return ret
        return core.manage(name, wanted, wish, ret, from_source)
    except sources.NoContent as exc:
        words = str(exc) if __opts__["test"] else "Unable to manage file: %s" % exc
    except contents_of.Failed as exc:
        words = str(exc)
    except (CommandExecutionError, SaltInvocationError, link.LinkError, OSError) as exc:
        words = "Unable to manage file: %s" % exc
    ret["changes"] = {}
    return failed(ret, words)


def _ignored(ordering, whitespace, comment_characters):
    if not (ordering or whitespace or comment_characters):
        return None
    return {
        "ignore_ordering": ordering,
        "ignore_whitespace": whitespace,
        "ignore_comment_characters": comment_characters,
    }


def _holds(name, content):
    from thin.utils.files import content as contents_of

    return os.path.isfile(name) and contents_of.same(content, name)


def _forget(source):
    """Keep no copy of a source here (``keep_source: false``)."""
    from thin import link
    from thin.utils.files import sources

    try:
        if sources.scheme(source) == "salt":
            link.drop(source, __env__)
        else:
            os.unlink(_web_cache(source))
    except (OSError, TypeError, link.LinkError):
        pass


def _permissions_only(name, ret, wish):
    """``replace: false`` for a file that exists."""
    from thin.utils.files import managed as core

    wish.backup = ""
    if __opts__["test"]:
        before = owner.mode_text(owner.look(name, wish.follow_symlinks))
        ret["changes"], _ = core.predict(name, None, wish)
        if ret["changes"]:
            ret["result"] = None
        if wish.mode and wish.mode != before:
            ret["comment"] = "File %s will be updated with permissions %s from its current state of %s" % (
                name, wish.mode, before
            )
        else:
            ret["comment"] = "File %s not updated" % name
        return ret
    core.settle(name, wish, ret)
    if not ret["changes"] and ret["result"]:
        ret["comment"] = "File %s exists with proper permissions. No changes made." % name
    return ret


def _predicted(name, ret, changes, matters):
    ret["changes"] = changes
    if changes:
        ret["result"] = None
        ret["comment"] = (
            "The file %s is set to be changed\nNote: No changes made, actual changes may\nbe different due to other "
            "states."
            % name
        )
        if not matters:
            ret["skip_req"] = True
    else:
        ret["comment"] = "The file %s is in the correct state" % name
    return ret


def _contents(contents, contents_pillar, contents_grains, delimiter, newline, allow_empty, encoding, encoding_errors,
              template, context, defaults):
    """The content that ``contents``, ``contents_pillar`` or ``contents_grains`` gives, or None.

    Raises CommandExecutionError with the state's comment.
    """
    from thin import link
    from thin.utils.files import content, sources

    if contents_pillar is not None:
        value, label = _looked_up("Pillar", contents_pillar, delimiter), "contents_pillar %s" % contents_pillar
    elif contents_grains is not None:
        value, label = _looked_up("Grain", contents_grains, delimiter), "contents_grains %s" % contents_grains
    elif contents is not None:
        value, label = contents, "'contents'"
    else:
        return None
    if not value and not allow_empty:
        raise CommandExecutionError(
            "%s value would result in empty contents. Set allow_empty to True to allow the managed file to be "
            "empty." % label
        )
    try:
        parts = texts(value, encoding)
    except UnicodeDecodeError:
        if template:
            raise CommandExecutionError(
                "Contents specified by contents/contents_pillar/contents_grains appears to be binary data, and as "
                "will not be able to be treated as a Jinja template."
            )
        return content.Data(value)
    if not parts:
        raise CommandExecutionError(
            "Contents specified by contents/contents_pillar/contents_grains is not a string or list of strings, and "
            "is not binary data. SLS is likely malformed."
        )
    text = "".join(line + "\n" for part in parts for line in part.splitlines())
    if not newline:
        text = text.rstrip("\n").rstrip("\r")
    if template:
        try:
            sls = __low__.get("__sls__", "")
            text = sources.text(text, __env__, template, context, defaults, chunk_tag(__low__), sls).data
        except link.LinkError as exc:
            raise CommandExecutionError(str(exc))
        if not encoding:
            return content.Data(text)
        text = text.decode("utf-8")
    try:
        return content.Data(text.encode(encoding or "utf-8", encoding_errors if encoding else "surrogateescape"))
    except (LookupError, UnicodeError) as exc:
        raise CommandExecutionError("Unable to manage file: %s" % exc)


def _looked_up(word, keys, delimiter):
    """The value of a pillar or grains key; those of a list of keys as lines."""
    fetch = __salt__["pillar.get" if word == "Pillar" else "grains.get"]
    options = {"unmask": True} if word == "Pillar" else {}
    values = []
    for key in keys if isinstance(keys, list) else [keys]:
        value = fetch(key, _NO_VALUE, delimiter=delimiter, **options)
        if value is _NO_VALUE:
            raise CommandExecutionError("%s %s does not exist" % (word, key))
        values.append(value)
    return "\n".join(values) if isinstance(keys, list) else values[0]


# -- directory ----------------------------------------------------------------------------------------------------


def directory(
    name, user=None, group=None, recurse=None, max_depth=None, dir_mode=None, file_mode=None, makedirs=False,
    clean=False, require=None, exclude_pat=None, follow_symlinks=False, force=False, backupname=None,
    allow_symlink=True, children_only=False, win_owner=None, win_perms=None, win_deny_perms=None, win_inheritance=True,
    win_perms_reset=False, **kwargs
):
    """A directory with owner and mode, on request of all below it, on request clean of what no required state manages.

    changes: {path: {"directory": "new"}} for one that is made; owner, mode and ``removed`` otherwise.
    """
    from thin.utils.files import directories, walk

    name = os.path.expanduser(name)
    ret = state_return(name)
    if not name:
        return failed(ret, "Must provide name to file.directory")
    if name[-1] == "/" and name != "/":
        name = name[:-1]
    if max_depth is not None and clean:
        return failed(ret, "Cannot specify both max_depth and clean")
    user = user_of(kwargs, user)
    if not dir_mode:
        dir_mode = kwargs.get("mode", dir_mode)
    dir_mode = owner.normalize_mode(dir_mode)
    file_mode = owner.normalize_mode(file_mode) or dir_mode
    words = _preflight(name, user, group)
    if words:
        return failed(ret, words)
    try:
        aspects = walk.aspects(recurse)
    except (TypeError, ValueError) as exc:
        return failed(ret, str(exc))
    test = __opts__["test"]
    words = directories.make_way(name, ret, force, backupname, allow_symlink, test)
    if words or "backup" in ret["changes"]:
        return failed(ret, words) if words else ret

    st = owner.look(name)
    if st is None or not os.path.isdir(name):
        return _new_directory(name, ret, user, group, dir_mode, makedirs)
    tree = walk.walk(name, max_depth) if aspects or clean else []
    drifts = directories.drifts(name, tree, aspects, user, group, dir_mode, file_mode, follow_symlinks, children_only)
    removed = walk.unwanted(name, _required_paths(name, require), exclude_pat) if clean else []
    if test:
        return directories.predicted(name, ret, drifts, removed)
    if not drifts and not removed:
        ret["comment"] = "The directory %s is in the correct state" % name
        return ret
    for word, value in (("user", user), ("group", group)):
        if word in aspects and not (value or isinstance(value, int)):
            return failed(
                ret, "%s not specified, but configured as a target for recursive ownership management" % word
            )
    return directories.converge(name, ret, drifts, removed, "silent" in aspects, children_only, follow_symlinks)


def _new_directory(name, ret, user, group, mode, makedirs):
    from thin.utils.files import atomic

    if __opts__["test"]:
        ret["changes"][name] = {"directory": "new"}
        ret["result"] = None
        ret["comment"] = "The following files will be changed:\n%s: directory - new\n" % name
        return ret
    parent = os.path.dirname(name)
    ret["changes"][name] = {"directory": "new"}  # where it fails, too: so it is with Salt
    if not os.path.isdir(parent) and not makedirs:
        return failed(ret, "No directory to create %s in" % name)
    try:
        atomic.makedirs(name, user, group, mode)
        atomic.mkdir(name, user, group, mode)
    except OSError as exc:
        return failed(ret, "Failed to create directory %s: %s" % (exc.filename or name, exc.strerror))
    ret["comment"] = ""
    return ret


def _required_paths(name, require):
    """What the file states that this one requires manage at or below ``name``, so that ``clean`` leaves it alone."""
    from thin.utils.files import walk

    keep = set()
    for requisite in require if isinstance(require, list) else ():
        wanted = requisite.get("file") if isinstance(requisite, dict) else None
        if wanted is None:
            continue
        for low in __lowstate__:
            if low.get("state") != "file" or wanted not in (low.get("name"), low.get("__id__")):
                continue
            path = low["name"]
            if not os.path.isdir(path):
                keep.add(path)
            elif walk.is_child(path, name):
                keep.update(_recursed_paths(low) if low["fun"] == "recurse" else walk.below(path))
    return keep


def _recursed_paths(low):
    """The destinations of a file.recurse state."""
    from thin.utils.files import trees

    try:
        return trees.plan_of(low, __env__).keep
    except CommandExecutionError:
        return ()


# -- links, absence, presence -------------------------------------------------------------------------------------


def symlink(
    name, target, force=False, backupname=None, makedirs=False, user=None, group=None, mode=None, win_owner=None,
    win_perms=None, win_deny_perms=None, win_inheritance=None, atomic=False, disallow_copy_and_unlink=False,
    inherit_user_and_group=False, follow_symlinks=True, **kwargs
):
    """A symbolic link to ``target``. changes: ``new``, ``change`` (dry run) or ``ownership``."""
    from thin.utils.files import links, walk

    name = os.path.expanduser(name)
    ret = state_return(name)
    if not name:
        return failed(ret, "Must provide name to file.symlink")
    user = user_of(kwargs, user)
    is_link = os.path.islink(name)
    if inherit_user_and_group and is_link:
        now = links.ownership(name)
        user, group = now[0] if user is None else user, now[1] if group is None else group
    user, group = link_owner(__opts__, user, group)
    words = links.refusal(name, user, group)
    if words:
        return failed(ret, words)
    parent = os.path.dirname(name)
    exists = os.path.exists if follow_symlinks else os.path.lexists
    if __opts__["test"]:
        return _predicted_symlink(ret, name, target, force, user, group, exists, makedirs)
    if not os.path.isdir(parent):
        if not makedirs:
            return failed(ret, "Directory %s for symlink is not present" % parent)
        try:
            make_way_to(name, user, group, owner.normalize_mode(mode))
        except CommandExecutionError as exc:
            return failed(ret, str(exc))
    if is_link:
        if os.path.normpath(os.readlink(name)) == os.path.normpath(target):
            return _own_symlink(ret, name, user, group)
        if not atomic:
            os.unlink(name)
    elif exists(name):
        if backupname is not None:
            words = _move_aside(name, target, backupname, force)
            if words:
                return failed(ret, words)
        elif not force and not atomic:
            kind = "File" if os.path.isfile(name) else "Directory" if os.path.isdir(name) else "File system entry"
            return failed(ret, "%s exists where the symlink %s should be" % (kind, name))
    try:
        if atomic and force and os.path.isdir(name) and not os.path.islink(name):
            walk.remove(name)
        links.make(target, name, force, atomic, follow_symlinks)
    except (CommandExecutionError, OSError) as exc:
        return failed(ret, "Unable to create new symlink %s -> %s: %s" % (name, target, exc))
    ret["comment"] = "Created new symlink %s -> %s" % (name, target)
    ret["changes"]["new"] = name
    if not links.owned(name, user, group) and not links.own(name, user, group):
        ret["result"] = False
        ret["comment"] += ", but was unable to set ownership to %s:%s" % (user, group)
    return ret


def _predicted_symlink(ret, name, target, force, user, group, exists, makedirs):
    from thin.utils.files import links

    ret["result"] = None
    if os.path.islink(name):
        if os.readlink(name) != target:
            ret["changes"]["change"] = name
            ret["comment"] = "Link %s target is set to be changed to %s" % (name, target)
        else:
            ret["comment"] = "The symlink %s is present" % name
            ret["result"] = True
            if not links.owned(name, user, group):
                now = links.ownership(name)
                ret["result"] = None
                ret["changes"]["ownership"] = "%s:%s" % now
                ret["comment"] += (
                    ", but the ownership of the symlink would be changed from %s:%s to %s:%s" % (now + (user, group))
                )
    elif not exists(name):
        ret["changes"]["new"] = name
        ret["comment"] = "Symlink %s to %s is set for creation" % (name, target)
    elif force:
        ret["comment"] = "The file or directory %s is set for removal to make way for a new symlink targeting %s" % (
            name, target
        )
    else:
        failed(ret, "File or directory exists where the symlink %s should be. Did you mean to use force?" % name)
    parent = os.path.dirname(name)
    if not os.path.isdir(parent):
        ret["comment"] += (
            "\n%s will be created" % parent if makedirs else "\nDirectory %s for symlink is not present" % parent
        )
    return ret


def _own_symlink(ret, name, user, group):
    from thin.utils.files import links

    if links.owned(name, user, group):
        ret["comment"] = "Symlink %s is present and owned by %s:%s" % (name, user, group)
    elif links.own(name, user, group):
        ret["comment"] = "Set ownership of symlink %s to %s:%s" % (name, user, group)
        ret["changes"]["ownership"] = "%s:%s" % (user, group)
    else:
        failed(ret, "Failed to set ownership of symlink %s to %s:%s" % (name, user, group))
    return ret


def _move_aside(name, target, backupname, force):
    """Rename what is in a link's way to its backup name; words when that cannot be."""
    from thin.utils.files import walk

    if not os.path.isabs(backupname):
        if backupname != os.path.basename(backupname):
            return "Backupname must be an absolute path or a file name: %s" % backupname
        backupname = os.path.join(os.path.dirname(os.path.normpath(name)), backupname)
    if os.path.lexists(backupname):
        if not force:
            return "Symlink & backup dest exists and Force not set. %s -> %s - backup: %s" % (name, target, backupname)
        walk.remove(backupname)
    try:
        os.rename(name, backupname)
    except OSError as exc:
        return "Unable to rename %s to backup %s -> : %s" % (name, backupname, exc)
    return ""


def absent(name, **kwargs):
    """No file, link or directory at ``name``. changes: {"removed": name}."""
    from thin.utils.files import walk

    name = os.path.expanduser(name)
    ret = state_return(name)
    if not name:
        return failed(ret, "Must provide name to file.absent")
    if not os.path.isabs(name):
        return failed(ret, "Specified file %s is not an absolute path" % name)
    if os.path.normpath(name) in ("/", "//"):
        return failed(ret, 'Refusing to make "/" absent')
    if not os.path.lexists(name):
        ret["comment"] = "File %s is not present" % name
        return ret
    kind = "directory" if os.path.isdir(name) and not os.path.islink(name) else "file"
    if __opts__["test"]:
        ret["result"] = None
        ret["comment"] = "%s %s is set for removal" % (kind.capitalize(), name)
    else:
        try:
            walk.remove(name)
        except OSError as exc:
            if kind == "directory":
                return failed(ret, "Failed to remove directory %s: %s" % (name, exc))
            return failed(ret, "Could not remove '%s': %s" % (name, exc))
        ret["comment"] = "Removed %s %s" % (kind, name)
    ret["changes"]["removed"] = name
    return ret


def exists(name, **kwargs):
    """True when something is at ``name``; changes nothing."""
    name = os.path.expanduser(name)
    if not name:
        return failed(state_return(name), "Must provide name to file.exists")
    if not os.path.exists(name):
        return state_return(name, "Specified path %s does not exist" % name, False)
    return state_return(name, "Path %s exists" % name)


def missing(name, **kwargs):
    """True when nothing is at ``name``; changes nothing."""
    name = os.path.expanduser(name)
    if not name:
        return failed(state_return(name), "Must provide name to file.missing")
    if os.path.exists(name):
        return state_return(name, "Specified path %s exists" % name, False)
    return state_return(name, "Path %s is missing" % name)


def mod_run_check_cmd(cmd, filename, **check_cmd_opts):
    """True when ``cmd filename`` ends well, else a partial return with its output."""
    from thin.utils.files import managed as core

    return core.failed_check(__salt__["cmd.run_all"]("%s %s" % (cmd, filename), **check_cmd_opts)) or True


# -- whole trees --------------------------------------------------------------------------------------------------


def recurse(
    name, source, keep_source=True, clean=False, require=None, user=None, group=None, dir_mode=None, file_mode=None,
    sym_mode=None, template=None, context=None, replace=True, defaults=None, include_empty=False, backup="",
    include_pat=None, exclude_pat=None, maxdepth=None, keep_symlinks=False, force_symlinks=False, win_owner=None,
    win_perms=None, win_deny_perms=None, win_inheritance=True, merge=False, **kwargs
):
    """A directory of the file server below ``name``, each file as by file.managed. changes: {path: its changes}."""
    from thin import link
    from thin.utils.files import atomic, sources, trees, walk

    name = os.path.expanduser(name)
    ret = state_return(name)
    user = user_of(kwargs, user)
    if "mode" in kwargs:
        return failed(ret, "'mode' is not allowed in 'file.recurse'. Please use 'file_mode' and 'dir_mode'.")
    dir_mode = owner.normalize_mode(dir_mode)
    keep_mode = isinstance(file_mode, str) and file_mode.lower() == "keep"
    file_mode = None if keep_mode else owner.normalize_mode(file_mode)
    words = _preflight(name, user, group)
    if words:
        return failed(ret, words)
    try:
        found = trees.existing(source, __env__)
        plan = trees.plan(
            name, found, __env__, keep_symlinks, include_pat, exclude_pat, maxdepth, include_empty, merge
        )
    except (CommandExecutionError, link.LinkError) as exc:
        return failed(ret, "Recurse failed: %s" % exc)
    if not os.path.isdir(name):
        if os.path.exists(name):
            return failed(ret, "The path %s exists and is not a directory" % name)
        if not __opts__["test"]:
            try:
                atomic.makedirs(os.path.join(name, "file"), user, group, dir_mode)
            except OSError as exc:
                return failed(ret, "Unable to create directory %s: %s" % (name, exc.strerror))
    comments = {}

    def merge_return(path, one):
        if one["result"] is False or ret["result"] is True:
            ret["result"] = one["result"]
        if one["result"] is not True and one["comment"]:
            comments.setdefault(path, []).append(one["comment"])
        if one["changes"]:
            ret["changes"][path] = one["changes"]

    def cleared(path, kind, replacement):
        """Take away what is of the wrong kind at ``path``. False when a dry run says no more about it."""
        if __opts__["test"]:
            merge_return(path, state_return(name, "Replacing %s%s with a %s" % (kind, path, replacement), None))
            return False
        walk.remove(path)
        return True

    for path in sorted(plan.directories):
        if clean and os.path.lexists(path) and not os.path.isdir(path):
            if not cleared(path, "", "directory"):
                continue
            ret["changes"][path] = {"diff": "Replaced file with a directory"}
        merge_return(path, directory(path, user=user, group=group, recurse=[], dir_mode=dir_mode, makedirs=True))
    options = ("attrs", "follow_symlinks", "selinux", "show_changes", "new_file_diff")
    options = {key: kwargs[key] for key in options if key in kwargs}
    if replace and not template:
        link.foresee([(url, digest, size, path) for path, (url, digest, _, size) in plan.files.items()], __env__)
    for path, (url, digest, mode, _) in plan.files.items():
        if clean and replace and os.path.isdir(path) and not os.path.islink(path):
            if not cleared(path, "directory ", "file"):
                continue
        wish = _wish(user, group, "%04o" % mode if keep_mode else file_mode, backup, makedirs=True, **options)

        def content(url=url, digest=digest):
            return _rendered(url, template, context, defaults) if template else sources.served(url, digest, __env__)

        merge_return(path, _converge(path, state_return(path), content, wish, replace, True))
    for path in _in_link_order(plan.links):
        merge_return(path, symlink(
            path, plan.links[path], makedirs=True, force=force_symlinks, user=user, group=group, mode=sym_mode
        ))
    if clean and os.path.isdir(name):
        gone = walk.unwanted(name, plan.keep | _required_paths(name, require), exclude_pat)
        if __opts__["test"]:
            if gone:
                ret["result"] = ret["result"] and None
                comments.setdefault("removed", []).extend(gone)
        else:
            gone = [path for path in gone if walk.remove(path)]
            if gone:
                ret["changes"]["removed"] = gone
    ret["comment"] = "\n".join("\n#### %s ####\n%s" % (key, "\n".join(said)) for key, said in comments.items()).strip()
    if not ret["comment"]:
        ret["comment"] = "Recursively updated %s" % name
    if not ret["changes"] and ret["result"]:
        ret["comment"] = "The directory %s is in the correct state" % name
    return ret


def _in_link_order(links):
    """Links to other links of the tree after those."""
    done, left = [], dict(links)
    while left:
        ready = [path for path, target in left.items()
                 if os.path.normpath(os.path.join(os.path.dirname(path), target)) not in left] or list(left)
        done += ready
        left = {path: target for path, target in left.items() if path not in ready}
    return done
