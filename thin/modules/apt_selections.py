"""Holds and selections of dpkg: a part of ``pkg`` on Debian and similar systems. Salt: modules/aptpkg.py"""

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.outputs import aptout
from thin.utils.programs import aptrun

__virtualname__ = "pkg"
__fits__ = {"os_family": ("Debian",)}
__usual__ = True
__reads__ = ("get_selections",)
__changes__ = ("set_selections", "hold", "unhold")


def __virtual__():
    if __grains__.get("os_family") == "Debian":
        return __virtualname__
    return False, "The pkg module could not be loaded: unsupported OS family"


def get_selections(pattern=None, state=None):
    """
    ``{state: [packages]}`` of dpkg's selections (install, hold, deinstall, purge).

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.get_selections 'linux-image-*' state=hold
    """
    selections = aptout.selections(_run(["dpkg", "--get-selections", "--", pattern or "*"])["stdout"])
    return {state: selections.get(state, [])} if state else selections


def set_selections(path=None, selection=None, clear=False, saltenv="base"):
    """
    Set dpkg's selections: ``{package: {old, new}}`` of what changed

    path
        A file with lines of a package and its state, from any source.
    selection
        ``{state: [packages]}``, or its YAML; states are install, hold, deinstall and purge.
    clear
        Let all other packages be deinstalled.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.set_selections selection='{"hold": ["redis-server"]}'
    """
    if path and selection:
        raise SaltInvocationError(
            "The 'selection' and 'path' arguments to pkg.set_selections are mutually exclusive, "
            "and cannot be specified together"
        )
    if path:
        with open(__salt__["cp.cache_file"](path, saltenv), encoding="utf-8") as stream:
            selection = aptout.selections(stream.read())
    if isinstance(selection, str):
        from thin.utils.files import serial

        try:
            selection = serial.elsewhere("deserialize", "yaml", selection, {})
        except ValueError as exc:
            raise SaltInvocationError("Improperly-formatted selection: %s" % exc)
    if not selection:
        return {}
    unknown = [state for state in selection if state not in ("install", "hold", "deinstall", "purge")]
    if unknown:
        raise SaltInvocationError("Invalid state(s): %s" % ", ".join(unknown))
    if clear and not __opts__.get("test"):
        _checked(["dpkg", "--clear-selections"])
    current = {pkg: state for state, pkgs in get_selections().items() for pkg in pkgs}
    changes = {
        pkg: {"old": current.get(pkg), "new": state}
        for state, pkgs in selection.items()
        for pkg in pkgs
        if current.get(pkg) != state
    }
    if not changes or __opts__.get("test"):
        return {}
    _checked(["dpkg", "--set-selections"], "".join("%s %s\n" % (pkg, new["new"]) for pkg, new in changes.items()))
    return changes


def hold(name=None, pkgs=None, sources=None, **kwargs):
    """
    Keep packages at their version: ``{name: {"name", "changes", "result", "comment"}}``.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.hold pkgs='["postgresql-15", "redis-server"]'
    """
    return {target: _set_hold(target, True) for target in _targets(name, pkgs, sources)}


def unhold(name=None, pkgs=None, sources=None, **kwargs):
    """
    Let packages be upgraded again: ``{name: {"name", "changes", "result", "comment"}}``.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.unhold nginx
    """
    return {target: _set_hold(target, False) for target in _targets(name, pkgs, sources)}


def _set_hold(target, held):
    words = {"name": target, "changes": {}, "result": False, "comment": ""}
    state = next(iter(get_selections(pattern=target)), None)
    if state is None:  # for an unknown name dpkg only prints a warning
        words["comment"] = ("Package %s not currently held." if held else "Package %s does not have a state.") % target
    elif (state == "hold") == held:
        words["result"] = True
        words["comment"] = "Package %s is already set %s held." % (target, "to be" if held else "not to be")
    elif __opts__.get("test"):
        words["result"] = None
        words["comment"] = "Package %s is set %s held." % (target, "to be" if held else "not to be")
    else:
        words["changes"] = set_selections(selection={"hold" if held else "install": [target]})[target]
        words["result"] = True
        words["comment"] = "Package %s is %s being held." % (target, "now" if held else "no longer")
    return words


def _targets(name, pkgs, sources):
    if not name and not pkgs and not sources:
        raise SaltInvocationError("One of name, pkgs, or sources must be specified.")
    if pkgs and sources:
        raise SaltInvocationError("Only one of pkgs or sources can be specified.")
    return [next(iter(item)) if isinstance(item, dict) else item for item in pkgs or sources or [name]]


def _checked(command, stdin=None):
    done = _run(command, stdin=stdin)
    if done["retcode"] != 0:
        raise CommandExecutionError("Running %s failed: %s" % (" ".join(command), done["stderr"] or done["stdout"]))


def _run(command, **options):
    return aptrun.run(__salt__["cmd.run_all"], __opts__, command, **options)
