"""States for directories, links, and the absence of files, and for removing old files: a part of ``file``.

Salt: salt.states.file.
"""

import os

from thin.exceptions import CommandExecutionError
from thin.utils.files import owner, safepath
from thin.utils.files.states import failed, link_owner, make_way_to, preflight, state_return, user_of

__virtualname__ = "file"
__usual__ = True


def _required(name, require):
    """Paths at or below ``name`` that required file states manage, so that ``clean`` keeps them."""
    from thin.utils.files import trees

    return trees.required(name, require, __lowstate__, __env__)


def directory(
    name,
    user=None,
    group=None,
    recurse=None,
    max_depth=None,
    dir_mode=None,
    file_mode=None,
    makedirs=False,
    clean=False,
    require=None,
    exclude_pat=None,
    follow_symlinks=False,
    force=False,
    backupname=None,
    allow_symlink=True,
    children_only=False,
    win_owner=None,
    win_perms=None,
    win_deny_perms=None,
    win_inheritance=True,
    win_perms_reset=False,
    **kwargs,
):
    """A directory with owner and mode; optionally with those of everything below it, and without files that no required
    state manages.

    changes: {path: {"directory": "new"}} for a new directory; otherwise owner, mode and ``removed``.
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
    words = preflight(__opts__, name, user, group)
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
        return directories.make(name, ret, user, group, dir_mode, makedirs, test)
    tree = walk.walk(name, max_depth) if aspects or clean else []
    drifts = directories.drifts(name, tree, aspects, user, group, dir_mode, file_mode, follow_symlinks, children_only)
    removed = walk.unwanted(name, _required(name, require), exclude_pat) if clean else []
    if test:
        return directories.predicted(name, ret, drifts, removed)
    if not drifts and not removed:
        ret["comment"] = "The directory %s is in the correct state" % name
        return ret
    for word, value in (("user", user), ("group", group)):
        if word in aspects and not (value or isinstance(value, int)):
            return failed(ret, "%s not specified, but configured as a target for recursive ownership management" % word)
    return directories.converge(name, ret, drifts, removed, "silent" in aspects, children_only, follow_symlinks)


def symlink(
    name,
    target,
    force=False,
    backupname=None,
    makedirs=False,
    user=None,
    group=None,
    mode=None,
    win_owner=None,
    win_perms=None,
    win_deny_perms=None,
    win_inheritance=None,
    atomic=False,
    disallow_copy_and_unlink=False,
    inherit_user_and_group=False,
    follow_symlinks=True,
    **kwargs,
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
        return links.foretell(ret, name, target, force, user, group, exists, makedirs)
    if not os.path.isdir(parent):
        if not makedirs:
            return failed(ret, "Directory %s for symlink is not present" % parent)
        try:
            make_way_to(name, user, group, owner.normalize_mode(mode))
        except CommandExecutionError as exc:
            return failed(ret, str(exc))
    if is_link:
        if os.path.normpath(os.readlink(name)) == os.path.normpath(target):
            return links.settle(ret, name, user, group)
        if not atomic:
            safepath.unlink(name)
    elif exists(name):
        if backupname is not None:
            words = links.move_aside(name, target, backupname, force)
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
    """True if ``name`` exists; changes nothing."""
    name = os.path.expanduser(name)
    if not name:
        return failed(state_return(name), "Must provide name to file.exists")
    if not os.path.exists(name):
        return state_return(name, "Specified path %s does not exist" % name, False)
    return state_return(name, "Path %s exists" % name)


def missing(name, **kwargs):
    """True if ``name`` does not exist; changes nothing."""
    name = os.path.expanduser(name)
    if not name:
        return failed(state_return(name), "Must provide name to file.missing")
    if os.path.exists(name):
        return state_return(name, "Specified path %s exists" % name, False)
    return state_return(name, "Path %s is missing" % name)


def tidied(
    name,
    age=0,
    matches=None,
    rmdirs=False,
    size=0,
    exclude=None,
    full_path_match=False,
    followlinks=False,
    time_comparison="atime",
    age_size_logical_operator="OR",
    age_size_only=None,
    rmlinks=True,
    **kwargs,
):
    """No files below a directory that are so old (days) or so big and whose names match. changes: {"removed":
    [paths]}."""
    from thin.utils.files import tidying, walk

    name = os.path.expanduser(name)
    ret = state_return(name)
    if not os.path.isabs(name):
        return failed(ret, "Specified file %s is not an absolute path" % name)
    if not os.path.isdir(name):
        return failed(ret, "%s does not exist or is not a directory." % name)
    try:
        old = tidying.old(
            name,
            age,
            matches,
            rmdirs,
            size,
            exclude,
            full_path_match,
            followlinks,
            time_comparison,
            age_size_logical_operator,
            age_size_only,
            rmlinks,
        )
    except CommandExecutionError as exc:
        return failed(ret, str(exc))
    if not old:
        ret["comment"] = "Nothing to remove from directory %s" % name
        return ret
    if __opts__["test"]:
        ret["result"] = None
        ret["comment"] = "%s is set for tidy" % name
        ret["changes"]["removed"] = old
        return ret
    removed = ret["changes"]["removed"] = []
    for path in old:
        try:
            walk.remove(path)
            removed.append(path)
        except OSError as exc:
            return failed(ret, "Could not remove '%s': %s" % (path, exc))
    ret["comment"] = "Removed %d files or directories from directory %s" % (len(removed), name)
    return ret


def pruned(name, recurse=False, ignore_errors=False, older_than=None):
    """No empty directory at ``name``, with ``recurse`` none below it either. changes: {"deleted": path or paths}."""
    name = os.path.expanduser(name)
    ret = state_return(name)
    recurse = recurse or ignore_errors
    if not os.path.isdir(name):
        ret["comment"] = "Directory %s is not present" % name
        return ret
    if __opts__["test"]:
        ret["result"] = None
        ret["changes"]["deleted"] = name
        ret["comment"] = "Directory %s is set for removal" % name
        return ret
    done = __salt__["file.rmdir"](name, recurse=recurse, verbose=True, older_than=older_than)
    result = done.pop("result")
    if result and not recurse:
        ret["comment"] = "Removed directory %s" % name
        ret["changes"]["deleted"] = name
    elif result or (ignore_errors and done["deleted"]):
        if done["deleted"]:
            ret["comment"] = "Recursively removed empty directories under %s" % name
            ret["changes"]["deleted"] = sorted(done["deleted"])
    else:
        ret["changes"] = done
        return failed(ret, "Failed to remove directory %s" % name)
    return ret


def retention_schedule(name, retain, strptime_format=None, timezone=None):
    """Backups in a directory thinned out. changes: {"retained", "deleted", "ignored"}.

    ``retain`` has the numbers of most_recent, first_of_hour, _day, _week, _month and _year to keep, or ``all``.
    """
    from thin.utils.files import tidying, walk

    name = os.path.expanduser(name)
    ret = state_return(name)
    if not name:
        return failed(ret, "Must provide name to file.retention_schedule")
    if not os.path.isdir(name):
        return failed(ret, "Name provided to file.retention must be a directory")
    try:
        schedule = tidying.schedule(name, retain, strptime_format)
    except CommandExecutionError as exc:
        return failed(ret, str(exc))
    deleted = schedule["deleted"]
    if deleted:
        ret["changes"] = schedule
    if __opts__["test"]:
        ret["comment"] = "%d backups would have been removed from %s.\n" % (len(deleted), name)
        ret["result"] = None if deleted else True
        return ret
    for entry in deleted:
        try:
            walk.remove(os.path.join(name, entry))
        except OSError as exc:
            return failed(ret, "Could not remove '%s': %s" % (os.path.join(name, entry), exc))
    ret["comment"] = "%d backups were removed from %s.\n" % (len(deleted), name)
    return ret
