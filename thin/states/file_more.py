"""States for times, copies, names, device nodes and cached sources: a part of ``file``. Salt: salt.states.file."""

import os
import stat

from thin.exceptions import CommandExecutionError
from thin.utils.files import owner, safepath
from thin.utils.files.states import failed, link_owner, make_way_to, state_return, user_of

__virtualname__ = "file"
__func_alias__ = {"copy_": "copy"}
__usual__ = True


def touch(name, atime=None, mtime=None, makedirs=False):
    """A file with its times set (to now unless told otherwise). changes: {"new": name} or {"touched": name}."""
    from thin.utils.files import times

    name = os.path.expanduser(name)
    ret = state_return(name)
    if not name:
        return failed(ret, "Must provide name to file.touch")
    if not os.path.isabs(name):
        return failed(ret, "Specified file %s is not an absolute path" % name)
    exists = os.path.exists(name)
    if __opts__["test"]:
        ret["result"] = None
        if not exists:
            ret["changes"]["new"] = name
            ret["comment"] = "File %s is set to be created" % name
        elif times.differ(name, atime, mtime):
            ret["changes"]["touched"] = name
            ret["comment"] = "Times set to be updated on file %s" % name
        else:
            ret["changes"]["new"] = name
            ret["result"] = True
            ret["comment"] = "File %s exists and has the correct times" % name
        return ret
    try:
        if makedirs:
            make_way_to(name)
        if not os.path.isdir(os.path.dirname(name)):
            return failed(ret, "Directory not present to touch file %s" % name)
        times.touch(name, atime, mtime)
    except CommandExecutionError as exc:
        return failed(ret, str(exc))
    if exists:
        ret["comment"] = "Updated times on %s %s" % ("directory" if os.path.isdir(name) else "file", name)
        ret["changes"]["touched"] = name
    else:
        ret["comment"] = "Created empty file %s" % name
        ret["changes"]["new"] = name
    return ret


def copy_(
    name,
    source,
    force=False,
    makedirs=False,
    preserve=False,
    user=None,
    group=None,
    mode=None,
    dir_mode=None,
    subdir=False,
    **kwargs,
):
    """A copy of a file or directory of the target, made once unless forced. changes: {name: source}."""
    from thin.utils.files import content

    name, source = os.path.expanduser(name), os.path.expanduser(source)
    ret = state_return(name, 'Copied "%s" to "%s"' % (source, name))
    if not name:
        return failed(ret, "Must provide name to file.copy")
    if not os.path.isabs(name):
        return failed(ret, "Specified file %s is not an absolute path" % name)
    if not os.path.exists(source):
        return failed(ret, 'Source file "%s" is not present' % source)
    st = os.stat(source)
    if preserve:
        user, group, mode = owner.uid_to_user(st.st_uid), owner.gid_to_group(st.st_gid), owner.mode_text(st)
    else:
        user, group = link_owner(__opts__, user_of(kwargs, user), group)
        mode = owner.normalize_mode(mode) or owner.mode_text(st)
        words = owner.missing_owners(user, group)
        if words and not __opts__["test"]:
            return failed(ret, words)
    if os.path.isdir(name) and subdir:
        name = os.path.join(name, os.path.basename(source))
    if os.path.lexists(name):
        if not force:
            ret["comment"] = 'The target file "%s" exists and will not be overwritten' % name
            return ret
        if os.path.isfile(name) and os.path.isfile(source) and content.same(content.LocalFile(source), name):
            ret["comment"] += " - files are identical but force flag is set"
    if __opts__["test"]:
        ret["result"] = None
        ret["comment"] = 'File "%s" is set to be copied to "%s"' % (source, name)
        return ret
    parent = os.path.dirname(name)
    try:
        if not os.path.isdir(parent):
            if not makedirs:
                return failed(ret, "The target directory %s is not present" % parent)
            make_way_to(name, user, group, owner.parent_mode(dir_mode, mode))
        made = _copied(source, name, st)
        if os.path.isdir(source):
            owner.chown_tree(name, user, group)
        ret["changes"] = {name: source}
        words = []
        if not preserve:
            wanted = owner.drift(made, user, group, mode)
            wanted.update(owner.drift(os.stat(name), user, group, mode))
            done, words = owner.enforce(name, wanted) if wanted else ({}, [])
            ret["changes"].update(done)
    except (CommandExecutionError, OSError) as exc:
        ret["changes"] = {}
        return failed(ret, 'Failed to copy "%s" to "%s": %s' % (source, name, exc))
    return failed(ret, "; ".join([ret["comment"]] + words)) if words else ret


def _copied(source, name, st):
    """Copy, and set the wanted owner and the mode of the source; returns the properties of the copy."""
    from thin.utils.files import copying, walk

    if os.path.isdir(source) or not os.path.isfile(name):
        walk.remove(name)
    copying.copy(source, name, recurse=True)
    made = owner.born(os.path.dirname(name), st.st_mode)  # even if the mode is to be preserved
    with safepath.at(name, follow=True) as place, place.pin() as pinned:
        if pinned.stat().st_uid != st.st_uid and not os.geteuid():
            raise safepath.Refused("'%s' was exchanged by another user while it was copied" % name)
        pinned.chown(made.st_uid, made.st_gid)
        if not os.path.islink(name):
            pinned.chmod(stat.S_IMODE(st.st_mode))
    return made


def shortcut(
    name,
    target,
    arguments=None,
    working_dir=None,
    description=None,
    icon_location=None,
    force=False,
    backupname=None,
    makedirs=False,
    user=None,
    **kwargs,
):
    """Shortcuts exist only on Windows: the state fails, as in Salt on other systems."""
    return failed(state_return(name), "Shortcuts are only supported on Windows")


def rename(name, source, force=False, makedirs=False, **kwargs):
    """The file at ``source`` is moved to ``name``. changes: {name: source}."""
    from thin.utils.files import walk

    name, source = (os.path.expandvars(os.path.expanduser(path)) for path in (name, source))
    ret = state_return(name)
    if not name:
        return failed(ret, "Must provide name to file.rename")
    if not os.path.isabs(name):
        return failed(ret, "Specified file %s is not an absolute path" % name)
    if not os.path.lexists(source):
        ret["comment"] = 'Source file "%s" has already been moved out of place' % source
        return ret
    if os.path.lexists(name) and not force:
        ret["comment"] = 'The target file "%s" exists and will not be overwritten' % name
        return ret
    if __opts__["test"]:
        ret["result"] = None
        ret["comment"] = 'File "%s" is set to be moved to "%s"' % (source, name)
        return ret
    parent = os.path.dirname(name)
    try:
        if not os.path.isdir(parent):
            if not makedirs:
                return failed(ret, "The target directory %s is not present" % parent)
            make_way_to(name)
        if os.path.isdir(name) or os.path.isdir(source):
            walk.remove(name)
        _move(source, name)
    except (CommandExecutionError, OSError) as exc:
        return failed(ret, 'Failed to move "%s" to "%s": %s' % (source, name, exc))
    ret["comment"] = 'Moved "%s" to "%s"' % (source, name)
    ret["changes"] = {name: source}
    return ret


def _move(source, name):
    """Rename, or copy and remove if the destination is on another file system."""
    import errno

    try:
        safepath.rename(source, name)
    except OSError as exc:
        if exc.errno != errno.EXDEV:
            raise
        from thin.utils.files import copying

        copying.move(source, name)


def hardlink(name, target, force=False, makedirs=False, user=None, group=None, dir_mode=None, **kwargs):
    """Another name for the file ``target``. changes: ``new``, ``change`` (dry run), ``forced``."""
    from thin.utils.files import links

    name = os.path.expanduser(name)
    ret = state_return(name)
    if not name:
        return failed(ret, "Must provide name to file.hardlink")
    user, group = link_owner(__opts__, user_of(kwargs, user), group)
    words = links.refusal(name, user, group, target)
    if words:
        return failed(ret, words)
    exists, test = os.path.lexists(name), __opts__["test"]
    if exists and not os.path.isdir(name) and links.same_inode(name, target):
        if test:
            ret["comment"] = "The hard link %s is presently targetting %s" % (name, target)
        else:
            ret["comment"] = "Target of hard link %s is already pointing to %s" % (name, target)
        return ret
    if not os.path.exists(target):
        return failed(ret, "Target %s for hard link does not exist" % target)
    for path, word in ((target, "from"), (name, "to")):
        if os.path.isdir(path):
            return failed(ret, "Unable to hard link %s directory %s" % (word, path))
    other_link = exists and os.lstat(name).st_nlink > 1
    if test:
        return _predicted_hardlink(ret, name, target, exists, other_link, force)
    try:
        if not os.path.isdir(os.path.dirname(name)):
            if not makedirs:
                return failed(ret, "Directory %s for hard link is not present" % os.path.dirname(name))
            make_way_to(name, user, group, owner.normalize_mode(dir_mode))
        if exists and not other_link:
            if not force:
                return failed(ret, "File exists where the hard link %s should be" % name)
            ret["changes"]["forced"] = "File for hard link was forcibly replaced"
        if exists:
            safepath.unlink(name)
        safepath.link(target, name)
    except (CommandExecutionError, OSError) as exc:
        word = "set target of" if other_link else "create new"
        return failed(ret, "Unable to %s hard link %s -> %s: %s" % (word, name, target, exc))
    ret["comment"] = "%s hard link %s -> %s" % ("Set target of" if other_link else "Created new", name, target)
    ret["changes"]["new"] = name
    return ret


def _predicted_hardlink(ret, name, target, exists, other_link, force):
    ret["result"] = None
    if not exists:
        ret["changes"]["new"] = name
        ret["comment"] = "Hard link %s to %s is set for creation" % (name, target)
    elif other_link:
        ret["changes"]["change"] = name
        ret["comment"] = "Link %s target is set to be changed to %s" % (name, target)
    elif force:
        ret["comment"] = "The file or directory %s is set for removal to make way for a new hard link targeting %s" % (
            name,
            target,
        )
    else:
        failed(ret, "File or directory exists where the hard link %s should be. Did you mean to use force?" % name)
    return ret


def mknod(name, ntype, major=0, minor=0, user=None, group=None, mode="0600"):
    """A character device (``c``), block device (``b``) or named pipe (``p``). changes: {"new": words}."""
    name = os.path.expanduser(name)
    ret = state_return(name, result=False)
    if not name:
        return failed(ret, "Must provide name to file.mknod")
    kinds = {"c": ("character device", "chrdev"), "b": ("block device", "blkdev"), "p": ("fifo pipe", "fifo")}
    if ntype not in kinds:
        return failed(
            ret,
            "Node type unavailable: '%s'. Available node types are character ('c'), block ('b'), and pipe "
            "('p')" % ntype,
        )
    words, test = kinds[ntype]
    title = words.capitalize()
    if os.path.isfile(name):
        return failed(ret, "File %s exists and is not a %s. Refusing to continue" % (name, words))
    if not __salt__["file.is_" + test](name):
        if __opts__["test"]:
            ret["result"] = None
            ret["comment"] = "%s %s is set to be created" % (title, name)
            return ret
        return __salt__["file.mknod"](name, ntype, major, minor, user, group, mode)
    numbers = __salt__["file.get_devmm"](name)
    if ntype != "p" and (major, minor) != tuple(numbers):
        return failed(
            ret,
            "%s %s exists and has a different major/minor %s/%s. Refusing to continue"
            % ((title, name) + tuple(numbers)),
        )
    ret = __salt__["file.check_perms"](name, None, user, group, mode)[0]
    if not ret["changes"]:
        ret["comment"] = "%s %s is in the correct state" % (title, name)
    return ret


# -- cached sources


def cached(
    name,
    source_hash="",
    source_hash_name=None,
    skip_verify=False,
    saltenv="base",
    use_etag=False,
    source_hash_sig=None,
    signed_by_any=None,
    signed_by_all=None,
    keyring=None,
    gnupghome=None,
    sig_backend="gpg",
):
    """A source fetched to this machine. changes: {"hash": {"old", "new"}}."""
    from thin import link
    from thin.utils.files import hashes, signatures, sources

    ret = state_return(name)
    kind, shown = sources.scheme(name), sources.redact(name)
    if not (skip_verify or source_hash or use_etag) and kind in sources.REMOTE:
        return failed(
            ret,
            "Unable to verify upstream hash of source file %s, please set source_hash or set skip_verify or "
            "use_etag to True" % shown,
        )
    try:
        signed = signatures.checker(
            source_hash_sig,
            __salt__,
            __opts__,
            saltenv,
            backend=sig_backend,
            signed_by_any=signed_by_any,
            signed_by_all=signed_by_all,
            keyring=keyring,
            gnupghome=gnupghome,
        )
        wanted = None
        if source_hash:
            wanted = sources.source_sum("", name, source_hash, source_hash_name, saltenv, signed=signed)
        form = wanted["hash_type"] if wanted else "sha256"
        check = wanted if not skip_verify else None
        if kind in ("", "file") and not __opts__["test"]:
            return _present(ret, os.path.realpath(os.path.expanduser(sources.local_path(name))), form, check)
        path = __salt__["cp.is_cached"](name, saltenv=saltenv)
        before = hashes.file_hash(path, form) if path else None
        if __opts__["test"]:
            return dict(ret, result=None, comment=_to_be_cached(path, wanted, before) % name)
        if not (check and before == check["hsum"]):
            path = __salt__["cp.cache_file"](name, saltenv=saltenv, use_etag=use_etag)
            if not path:
                return failed(ret, "Failed to cache %s, check minion log for more information" % shown)
    except (CommandExecutionError, link.LinkError, OSError) as exc:
        return failed(ret, str(exc))
    after = hashes.file_hash(path, form)
    if before != after:
        ret["changes"]["hash"] = {"old": before, "new": after}
    if not check:
        ret["comment"] = "File is cached to %s" % path
    elif after == check["hsum"]:
        ret["comment"] = "File is already cached to %s with hash %s" % (path, after)
    else:
        return failed(
            ret,
            "File is cached to %s, but the hash (%s) does not match the specified hash (%s)"
            % (path, after, check["hsum"]),
        )
    return ret


def _to_be_cached(path, wanted, before):
    """The comment of a dry run of ``cached``."""
    if not path:
        return "File will be cached: %s"
    if not wanted:
        return "No hash found. File will be cached: %s"
    if before == wanted["hsum"]:
        return "File already cached: %s"
    return "Hashes don't match.\nFile will be cached: %s"


def _present(ret, path, form, check):
    """``cached`` for a local path."""
    from thin.utils.files import hashes

    if not os.path.exists(path):
        return failed(ret, "File %s is not present on the minion" % path)
    ret["comment"] = "File %s is present on the minion" % path
    if check:
        digest = hashes.file_hash(path, form)
        if digest != check["hsum"]:
            return failed(
                ret,
                "%s, but the hash (%s) does not match the specified hash (%s)"
                % (ret["comment"], digest, check["hsum"]),
            )
        ret["comment"] += " and has hash %s" % digest
    return ret


def not_cached(name, saltenv="base"):
    """No copy of a source on this machine. changes: {"deleted": True}."""
    from thin.utils.files import sources

    ret = state_return(name)
    if sources.scheme(name) in ("", "file"):
        path = os.path.realpath(os.path.expanduser(sources.local_path(name)))
        ret["comment"] = "File %s is a local path, no action taken" % path
        return ret
    path = __salt__["cp.is_cached"](name, saltenv=saltenv)
    if not path:
        ret["comment"] = "%s is not cached" % name
        return ret
    if __opts__["test"]:
        ret["result"] = None
        ret["comment"] = "%s is set for removal" % path
        ret["changes"]["deleted"] = True
        return ret
    try:
        safepath.unlink(path)
    except OSError as exc:
        return failed(ret, "Failed to delete %s: %s" % (path, exc))
    ret["changes"]["deleted"] = True
    ret["comment"] = "%s was deleted" % path
    return ret
