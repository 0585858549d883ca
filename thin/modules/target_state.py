"""Runs states for modules, on the target: ``__salt__["state.single"]``. Salt: modules/state.py

For command lines, the controller compiles states, with requisites and templates.
"""

from thin import slots
from thin.exceptions import SaltInvocationError

__virtualname__ = "state"
__reads_unless__ = {"single": {"test": (True,)}, "low": {"test": (True,)}}

#: Arguments for the run, not for the state.
_OF_THE_RUN = ("queue", "pillar", "pillar_enc", "pillarenv", "saltenv")


def single(fun, name, test=None, **kwargs):
    """
    Run one state function, and return ``{tag: its return}``

    fun
        ``module.function`` of the state
    name
        The name of the state
    test
        Change nothing, and report what would change
    kwargs
        The state's arguments

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' state.single pkg.installed name=nginx
    """
    module, dot, function = str(fun).partition(".")
    if not dot or not function:
        return "Invalid function passed"
    chunk = {"state": module, "fun": function, "__id__": name, "name": name}
    chunk["__env__"] = kwargs.get("saltenv") or __opts__.get("saltenv") or "base"
    chunk.update((key, kwargs[key]) for key in kwargs if key not in _OF_THE_RUN)
    return _run(chunk, test)


def low(data, test=None, **kwargs):
    """
    Run one low chunk, and return its return

    data
        The chunk: ``state``, ``fun``, ``name`` and the state's arguments
    test
        Change nothing, and report what would change

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' state.low '{state: pkg, fun: installed, name: vim}'
    """
    if not isinstance(data, dict):
        raise SaltInvocationError("state.low takes a low chunk (a dictionary)")
    missing = ['Missing "%s" data' % key for key in ("state", "fun", "name") if key not in data]
    if missing:
        return missing
    chunk = dict({"__id__": data["name"], "__env__": __opts__.get("saltenv") or "base"}, **data)
    return next(iter(_run(chunk, test).values()))


class _NoFunction(object):
    """Refuses all functions of guards and slots: for nested states, a dry run does not know which ones only read."""

    def __contains__(self, name):
        return True

    def __getitem__(self, name):
        return "a nested state calls %s, and this is a dry run: it was not called" % name


def _run(chunk, test):
    """A separate run: it has no requisites to the outer run, and its states are not reported."""
    from thin.engine import Engine

    before = __opts__.get("test", False)
    __opts__["test"] = before if test is None else test is not False
    chunk = dict({"__sls__": None, "order": 10000}, **chunk)
    if before:
        chunk[slots.REFUSED] = _NoFunction()
        if not chunk.get("test", True):  # only arguments that the controller has checked can end a dry run
            del chunk["test"]
    try:
        return Engine(__salt__._family).run([chunk])
    finally:
        __opts__["test"] = before
