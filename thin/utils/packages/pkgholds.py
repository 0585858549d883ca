"""The returns of ``pkg.hold`` and ``pkg.unhold``, for all providers."""

from thin.exceptions import SaltInvocationError


def targets(name, pkgs, sources=None):
    """The package names in the arguments of these functions. Raises SaltInvocationError."""
    if not name and not pkgs and not sources:
        raise SaltInvocationError("One of name, pkgs, or sources must be specified.")
    if pkgs and sources:
        raise SaltInvocationError("Only one of pkgs or sources can be specified.")
    return [next(iter(item)) if isinstance(item, dict) else item for item in pkgs or sources or [name]]


def hold(target, held, lock, test, old=""):
    """``{"name", "changes", "result", "comment"}`` for holding ``target``. ``held``: whether it is held already;
    ``lock(target)``: holds it, returns whether that succeeded; ``old``: the former status."""
    ret = {"name": target, "changes": {}, "result": True, "comment": ""}
    if held:
        ret["comment"] = "Package %s is already set to be held." % target
    elif test:
        ret.update(result=None, comment="Package %s is set to be held." % target)
    elif lock(target):
        ret.update(comment="Package %s is now being held." % target, changes={"new": "hold", "old": old})
    else:
        ret.update(result=False, comment="Package %s was unable to be held." % target)
    return ret


def unhold(target, held, unlock, test, new=""):
    """As ``hold``, for releasing it."""
    ret = {"name": target, "changes": {}, "result": True, "comment": ""}
    if not held:
        ret["comment"] = "Package %s is not being held." % target
    elif test:
        ret.update(result=None, comment="Package %s is set to be unheld." % target)
    elif unlock(target):
        ret.update(comment="Package %s is no longer held." % target, changes={"new": new, "old": "hold"})
    else:
        ret.update(result=False, comment="Package %s was unable to be unheld." % target)
    return ret
