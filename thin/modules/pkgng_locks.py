"""Packages that are locked against changes: a part of ``pkg``. Salt: modules/pkgng.py

Salt: modules/pkgng.py
"""

from thin.exceptions import CommandExecutionError
from thin.utils.outputs import pkgngout
from thin.utils.packages import pkgholds
from thin.utils.programs import pkgngrun

__virtualname__ = "pkg"
__fits__ = {"os": ("FreeBSD",), "kernel": ("DragonFly",)}
__reads__ = ("list_holds", "list_locked", "locked")
__changes__ = ("hold", "unhold", "lock", "unlock")


def __virtual__():
    reason = pkgngrun.refused(__grains__)
    return (False, reason) if reason else __virtualname__


def hold(name=None, pkgs=None, **kwargs):
    """
    Keep packages at their version: ``{name: {name, changes, result, comment}}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.hold pkgs='["nginx", "redis"]'
    """
    return {
        target: pkgholds.hold(target, locked(target, **kwargs), lambda pkg: lock(pkg, **kwargs), __opts__["test"])
        for target in pkgholds.targets(name, pkgs)
    }


def unhold(name=None, pkgs=None, **kwargs):
    """
    Let packages be upgraded again: ``{name: {name, changes, result, comment}}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.unhold nginx
    """
    return {
        target: pkgholds.unhold(target, locked(target, **kwargs), lambda pkg: unlock(pkg, **kwargs), __opts__["test"])
        for target in pkgholds.targets(name, pkgs)
    }


def list_holds(pattern=None, full=True, **kwargs):
    """
    Return the held packages as list_locked has them, or without ``full`` their names

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.list_holds full=False
    """
    return list_locked(**kwargs) if full else _locks(None, None, kwargs)


def list_locked(**kwargs):
    """
    Return the locked packages, as ``name-version``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.list_locked
    """
    return ["%s-%s" % (name, __salt__["pkg.version"](name, **kwargs)) for name in _locks(None, None, kwargs)]


def locked(name, **kwargs):
    """
    Whether a package is locked

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.locked nginx
    """
    return name in _locks(None, None, kwargs)


def lock(name, **kwargs):
    """
    Lock a package, against upgrades and removal; returns whether it is locked

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.lock nginx
    """
    return name in _locks("lock", name, kwargs)


def unlock(name, **kwargs):
    """
    Unlock a package; returns whether it is unlocked

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.unlock nginx
    """
    return name not in _locks("unlock", name, kwargs)


def _locks(action, name, kwargs):
    """The names of the locked packages, after the action."""
    words = [action or "lock", "-y", "--quiet", "--show-locked"] + ([name] if name else [])
    done = _run(words, *[kwargs.get(word) for word in ("jail", "chroot", "root")])
    if done["retcode"] != 0:
        raise CommandExecutionError("Problem encountered %sing packages" % words[0], info={"result": done})
    return pkgngout.locked(done["stdout"])


def _run(args, jail=None, chroot=None, root=None):
    return pkgngrun.run(__salt__, __opts__, pkgngrun.place(jail, chroot, root), args)
