"""Installs and removes packages of a dummy."""


def installed(name, version=None):
    """Ensure that the package is installed, in this version if one is given."""
    have = __salt__["pkg.version"](name)
    if have and version in (None, have):
        return _ret(name, True, {}, "The package %s is installed already" % name)
    wanted = version or "1.0"
    if __opts__["test"]:
        return _ret(name, None, {name: {"old": have, "new": wanted}}, "The package %s would be installed" % name)
    return _ret(name, True, __salt__["pkg.install"](name, version=wanted), "The package %s was installed" % name)


def removed(name):
    """Ensure that the package is not installed."""
    have = __salt__["pkg.version"](name)
    if not have:
        return _ret(name, True, {}, "The package %s is not installed" % name)
    if __opts__["test"]:
        return _ret(name, None, {name: {"old": have, "new": ""}}, "The package %s would be removed" % name)
    return _ret(name, True, __salt__["pkg.remove"](name), "The package %s was removed" % name)


def _ret(name, result, changes, comment):
    return {"name": name, "result": result, "changes": changes, "comment": comment}
