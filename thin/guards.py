"""Guards of states: ``onlyif``, ``unless`` and ``creates`` before a state, ``check_cmd`` after it.

Each check returns a verdict: a dict with ``result`` (True: the state need not run), ``comment`` (text) and, if the
state is skipped, ``skip_watch``. Salt: ``State._run_check*``.
"""

import os

from thin import slots
from thin.exceptions import CommandExecutionError
from thin.log import getLogger
from thin.utils import data

#: Arguments of the state that are also passed to the commands of its guards, unless ``cmd_opts_exclude`` names them.
#: key of ``__context__``: a guard of this run has called a function
_CALLED = "thin.guards.called"
COMMAND_ARGUMENTS = ("cwd", "root", "runas", "env", "prepend_path", "umask", "timeout", "success_retcodes")

log = getLogger(__name__)


def before(low, functions, context):
    """The combined verdict of the chunk's guards; ``comment`` is a list. None if it has no guards."""
    checks = [check for name, check in (("onlyif", onlyif), ("unless", unless), ("creates", creates)) if name in low]
    if not checks:
        return None
    ret = {"result": False, "comment": []}
    for check in checks:
        verdict = check(low, functions, context)
        ret["result"] = verdict["result"] or ret["result"]
        if verdict.get("comment") is not None:
            ret["comment"].append(verdict["comment"])
        if verdict.get("skip_watch"):
            ret["skip_watch"] = True
    return ret


def onlyif(low, functions, context):
    """Skip when any command fails or any function returns something false."""
    verdict = {"result": False}
    for entry in _listed(low["onlyif"]):
        good = _holds("onlyif", entry, low, functions, context, failed=False)
        if good is None:
            verdict["comment"] = _complaint("onlyif", entry)
            return verdict
        if not good:
            return {"result": True, "comment": "onlyif condition is false", "skip_watch": True}
        verdict["comment"] = "onlyif condition is true"
    return verdict


def unless(low, functions, context):
    """Skip when all commands succeed and all functions return something true."""
    verdict = {"result": False}
    for entry in _listed(low["unless"]):
        good = _holds("unless", entry, low, functions, context, failed=True)
        if good is None:
            verdict.update(result=False, comment=_complaint("unless", entry))
            if isinstance(entry, dict):
                return verdict
            continue
        if not good:
            return {"result": False, "comment": "unless condition is false"}
        verdict = {"result": True, "comment": "unless condition is true", "skip_watch": True}
    return verdict


def creates(low, functions, context):
    """Skip when the path, or every path of the list, exists."""
    paths = low["creates"]
    if isinstance(paths, str) and os.path.exists(paths):
        return {"result": True, "comment": "%s exists" % paths, "skip_watch": True}
    if isinstance(paths, list) and all(os.path.exists(path) for path in paths):
        return {"result": True, "comment": "All files in creates exist", "skip_watch": True}
    return {"result": False, "comment": "Creates files not found"}


def check_cmd(low, functions):
    """The verdict after the state: it succeeded if every command succeeds."""
    verdict = {"result": False}
    for command in _listed(low["check_cmd"]):
        if functions["cmd.retcode"](command, ignore_retcode=True, python_shell=True):
            return {"comment": "check_cmd determined the state failed", "result": False}
        verdict = {"comment": "check_cmd determined the state succeeded", "result": True}
    return verdict


def _listed(value):
    return value if isinstance(value, list) else [value]


def _complaint(guard, entry):
    if isinstance(entry, dict):
        text = "no `fun` argument in %s: %s" % (guard, entry)
        log.warning("%s", text)
        return text
    return (
        "onlyif execution failed, bad type passed"
        if guard == "onlyif"
        else ("unless condition is false, bad type passed")
    )


def _holds(guard, entry, low, functions, context, failed):
    """Whether a command succeeds or a function returns a true value; None if the entry is malformed.

    ``failed`` is the result for a command that cannot be started: with it, the state is not run, for any kind of guard.
    """
    if isinstance(entry, str):
        try:
            return (
                functions["cmd.retcode"](entry, ignore_retcode=True, python_shell=True, **_command_arguments(low)) == 0
            )
        except CommandExecutionError as exc:
            log.debug("%s: %s", guard, exc)
            return failed
    if not isinstance(entry, dict) or "fun" not in entry:
        return None
    kwargs = dict(entry)
    name, args, path = kwargs.pop("fun"), kwargs.pop("args", []), kwargs.pop("get_return", None)
    if not context.get(_CALLED):  # Salt: a guard sees the code of an earlier failed command, except for the first guard
        context.pop("retcode", None)
        context[_CALLED] = True
    result = functions[name](
        *[slots.fill(arg, functions) for arg in args], **{key: slots.fill(kwargs[key], functions) for key in kwargs}
    )
    if path:
        result = data.traverse_dict_and_list(result, path)
    return False if context.get("retcode") else bool(result)


def _command_arguments(low):
    exclude = _listed(low.get("cmd_opts_exclude", []))
    given = {name: low.get(name) for name in COMMAND_ARGUMENTS if name not in exclude}
    if "shell" in low and "shell" not in exclude:
        given["shell"] = low["shell"]
    return given
