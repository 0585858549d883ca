"""Symbolic and hard links: inspects and changes them. With ``atomic``, a link is replaced by a rename.

``foretell``, ``settle`` and ``move_aside`` are steps of the state ``file.symlink``.
"""

import os

from thin.exceptions import CommandExecutionError, SaltInvocationError


def refusal(name, user, group, target=None):
    """The error text with all reasons why the link cannot be made, or ""."""
    from thin.utils.files import owner

    errors = []
    if owner.user_to_uid(user) == "":
        errors.append("User %s does not exist" % user)
    if owner.group_to_gid(group) == "":
        errors.append("Group %s does not exist" % group)
    if not os.path.isabs(name):
        errors.append("Specified file %s is not an absolute path" % name)
    if target is not None and not os.path.isabs(target):
        errors.append("Specified target %s is not an absolute path" % target)
    return ". ".join(errors) + ("." if len(errors) > 1 else "")


def ownership(path):
    """(user, group) of the link itself, as names if they exist."""
    from thin.utils.files import owner

    st = os.lstat(path)
    return owner.uid_to_user(st.st_uid), owner.gid_to_group(st.st_gid)


def owned(path, user, group):
    from thin.utils.files import owner

    st = os.lstat(path)
    return owner.same_user(user, st.st_uid) and owner.same_group(group, st.st_gid)


def own(path, user, group):
    """Set user and group of the link itself. Whether it has them afterwards."""
    from thin.utils.files import owner

    try:
        owner.chown(path, user, group, follow_symlinks=False)
    except OSError:
        pass
    return owned(path, user, group)


def make(target, path, force=False, atomic=False, follow_symlinks=True):
    """Make ``path`` a link to ``target``. Returns True; raises SaltInvocationError, CommandExecutionError. Salt:
    ``file.symlink``."""
    from thin.utils.files import safepath

    if not os.path.isabs(path):
        raise SaltInvocationError("Link path must be absolute: %s" % path)
    exists = os.path.exists(path) if follow_symlinks else os.path.lexists(path)
    if os.path.islink(path):
        if os.path.normpath(os.readlink(path)) == os.path.normpath(target):
            return True
        if not force and not atomic:
            raise CommandExecutionError("Found existing symlink: %s" % path)
    elif exists and not force and not atomic:
        raise CommandExecutionError("Existing path is not a symlink: %s" % path)
    try:
        if atomic:
            _swap(target, path)
        else:
            if force:
                safepath.remove(path)
            safepath.symlink(target, path)
    except OSError as exc:
        raise CommandExecutionError("Could not create '%s': %s" % (path, exc.strerror))
    return True


def _swap(target, path):
    from thin.utils.files import safepath

    with safepath.at(path) as place:
        temp = place.sibling(".pushsalt-%s" % os.urandom(12).hex())
        temp.symlink(target)
        try:
            place.take(temp.name)
        except OSError:
            place.discard(temp.name)
            raise


def same_inode(name, target):
    """Whether both paths are the same file."""
    try:
        return os.path.samestat(os.lstat(name), os.lstat(target))
    except OSError:
        return False


def foretell(ret, name, target, force, user, group, exists, makedirs):
    """Fill the return of a dry run. ``exists``: a function that tells whether a path exists."""
    from thin.utils.files.states import failed

    ret["result"] = None
    if os.path.islink(name):
        if os.readlink(name) != target:
            ret["changes"]["change"] = name
            ret["comment"] = "Link %s target is set to be changed to %s" % (name, target)
        else:
            ret["comment"] = "The symlink %s is present" % name
            ret["result"] = True
            if not owned(name, user, group):
                now = ownership(name)
                ret["result"] = None
                ret["changes"]["ownership"] = "%s:%s" % now
                ret["comment"] += ", but the ownership of the symlink would be changed from %s:%s to %s:%s" % (
                    now + (user, group)
                )
    elif not exists(name):
        ret["changes"]["new"] = name
        ret["comment"] = "Symlink %s to %s is set for creation" % (name, target)
    elif force:
        ret["comment"] = "The file or directory %s is set for removal to make way for a new symlink targeting %s" % (
            name,
            target,
        )
    else:
        failed(ret, "File or directory exists where the symlink %s should be. Did you mean to use force?" % name)
    parent = os.path.dirname(name)
    if not os.path.isdir(parent):
        ret["comment"] += (
            "\n%s will be created" % parent if makedirs else "\nDirectory %s for symlink is not present" % parent
        )
    return ret


def settle(ret, name, user, group):
    """Set the owners of a link that has the right target. Fills and returns ``ret``."""
    from thin.utils.files.states import failed

    if owned(name, user, group):
        ret["comment"] = "Symlink %s is present and owned by %s:%s" % (name, user, group)
    elif own(name, user, group):
        ret["comment"] = "Set ownership of symlink %s to %s:%s" % (name, user, group)
        ret["changes"]["ownership"] = "%s:%s" % (user, group)
    else:
        failed(ret, "Failed to set ownership of symlink %s to %s:%s" % (name, user, group))
    return ret


def move_aside(name, target, backupname, force):
    """Rename the file or folder at ``name`` to its backup name. Returns the error text if that fails, else ""."""
    from thin.utils.files import safepath

    if not os.path.isabs(backupname):
        if backupname != os.path.basename(backupname):
            return "Backupname must be an absolute path or a file name: %s" % backupname
        backupname = os.path.join(os.path.dirname(os.path.normpath(name)), backupname)
    if os.path.lexists(backupname):
        if not force:
            return "Symlink & backup dest exists and Force not set. %s -> %s - backup: %s" % (name, target, backupname)
        safepath.remove(backupname)
    try:
        safepath.rename(name, backupname)
    except OSError as exc:
        return "Unable to rename %s to backup %s -> : %s" % (name, backupname, exc)
    return ""
