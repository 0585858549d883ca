"""Pythons by pyenv. Salt: states/pyenv.py

.. code-block:: yaml

    python-3.12.4:
      pyenv.installed:
        - default: true
"""

from thin import detail


def installed(name, default=False, user=None):
    """pyenv and this version of Python are installed. changes: ``{version: Installed}``.

    name
        The version, also with ``python-`` before it
    default
        It is the default
    user
        The user whose pyenv is used
    """
    version = _version(name)
    ret = {"name": name, "result": None, "changes": {}, "comment": ""}
    if __opts__["test"]:
        if detail.on() and _has(version, user) and (not default or _default(user) == version):
            detail.same()
        return dict(ret, comment="python %s is set to be installed" % version)
    if not __salt__["pyenv.is_installed"](user) and not __salt__["pyenv.install"](user):
        return dict(ret, result=False, comment="pyenv failed to install")
    if version in __salt__["pyenv.versions"](user):
        ret.update(result=True, comment="Requested python exists.", default=_default(user) == version)
    elif __salt__["pyenv.install_python"](version, runas=user) is not False:
        ret.update(result=True, comment="Successfully installed python", default=default)
        ret["changes"][version] = "Installed"
    else:
        return dict(ret, result=False, comment="Could not install python.")
    if default:
        __salt__["pyenv.default"](version, runas=user)
    return ret


def absent(name, user=None):
    """This version of Python is not installed. changes: ``{version: Uninstalled}``.

    name
        The version, also with ``python-`` before it
    user
        The user whose pyenv is used
    """
    version = _version(name)
    ret = {"name": name, "result": None, "changes": {}, "comment": ""}
    if __opts__["test"]:
        if detail.on() and not _has(version, user):
            detail.same()
        return dict(ret, comment="python %s is set to be uninstalled" % version)
    if not __salt__["pyenv.is_installed"](user):
        return dict(ret, result=True, comment="pyenv not installed, %s not either" % version)
    if version not in __salt__["pyenv.versions"](user):
        return dict(ret, result=True, comment="python %s is already absent" % version)
    ret["default"] = _default(user) == version
    if ret["default"]:
        __salt__["pyenv.default"]("system", runas=user)
    if not __salt__["pyenv.uninstall_python"](version, runas=user):
        return dict(ret, result=False, comment="Failed to uninstall python")
    return dict(ret, result=True, changes={version: "Uninstalled"}, comment="Successfully removed python")


def install_pyenv(name, user=None):
    """pyenv is installed.

    name
        Any text
    user
        The user whose pyenv is used
    """
    ret = {"name": name, "result": True, "changes": {}, "comment": "pyenv is already installed"}
    if __salt__["pyenv.is_installed"](user):
        return ret
    if __opts__["test"]:
        return dict(ret, result=None, comment="pyenv is set to be installed")
    if __salt__["pyenv.install"](user):
        return dict(ret, comment="pyenv installed")
    return dict(ret, result=False, comment="pyenv failed to install")


def _has(version, user):
    return __salt__["pyenv.is_installed"](user) and version in __salt__["pyenv.versions"](user)


def _version(name):
    return name[7:] if name.startswith("python-") else name


def _default(user):
    return __salt__["pyenv.default"](runas=user)
