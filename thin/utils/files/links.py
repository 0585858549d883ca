"""Symbolic and hard links: look, and change without a moment in which there is none where ``atomic`` asks for it."""

import os

from thin.exceptions import CommandExecutionError, SaltInvocationError


def refusal(name, user, group, target=None):
    """All reasons at once why no such link can be made, or ""."""
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
    """(user, group) of the link itself, by name where there is one."""
    from thin.utils.files import owner

    st = os.lstat(path)
    return owner.uid_to_user(st.st_uid), owner.gid_to_group(st.st_gid)


def owned(path, user, group):
    from thin.utils.files import owner

    st = os.lstat(path)
    return owner.same_user(user, st.st_uid) and owner.same_group(group, st.st_gid)


def own(path, user, group):
    """Give the link to user and group. True when that holds afterwards."""
    from thin.utils.files import owner

    try:
        owner.chown(path, user, group, follow_symlinks=False)
    except OSError:
        pass
    return owned(path, user, group)


def make(target, path, force=False, atomic=False, follow_symlinks=True):
    """Make ``path`` a link to ``target``. True; raises SaltInvocationError, CommandExecutionError. Salt:
    ``file.symlink``."""
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
            if force and os.path.lexists(path):
                _clear(path)
            os.symlink(target, path)
    except OSError as exc:
        raise CommandExecutionError("Could not create '%s': %s" % (path, exc.strerror))
    return True


def _swap(target, path):
    from thin.utils.files import atomic

    temp = os.path.join(os.path.dirname(path), ".pushsalt-%s" % os.urandom(12).hex())
    os.symlink(target, temp)
    try:
        os.rename(temp, path)
    except OSError:
        atomic._discard(temp)
        raise


def _clear(path):
    if os.path.isdir(path) and not os.path.islink(path):
        from thin.utils import osutil

        osutil.rmtree(path)
    else:
        os.unlink(path)


def same_inode(name, target):
    """True when both are the same file."""
    try:
        return os.path.samestat(os.lstat(name), os.lstat(target))
    except OSError:
        return False
