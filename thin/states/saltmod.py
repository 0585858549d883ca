"""Steps of an orchestration: jobs on targets, runners, events. The controller executes them.

Salt: ``salt/states/saltmod.py``. Outside of an orchestration the controller refuses to do so.
"""

import time

from thin import exceptions, link, parallel
from thin.utils import orchestration

__virtualname__ = "salt"
__any_arguments__ = True  # all arguments of runner and wheel are those of the called function

_WRONG_FAIL_MINIONS = "'fail_minions' needs to be a list or a comma separated string. Ignored."
_NO_NUMBER = "Passed invalid value for 'allow_fail', must be an int"


def __virtual__():
    return __virtualname__


def state(
    name,
    tgt,
    ssh=False,
    tgt_type="glob",
    ret="",
    ret_config=None,
    ret_kwargs=None,
    highstate=None,
    sls=None,
    top=None,
    saltenv=None,
    test=None,
    pillar=None,
    pillarenv=None,
    expect_minions=True,
    exclude=None,
    fail_minions=None,
    allow_fail=0,
    concurrent=False,
    timeout=None,
    batch=None,
    queue=False,
    subset=None,
    failhard=None,
    roster=None,
    batch_wait=None,
    max_fail=None,
    batch_check=None,
    batch_by=None,
    orchestration_jid=None,
    **kwargs,
):
    """
    States are applied to the targets of an expression

    tgt, tgt_type
        the target expression and its type
    sls
        names of SLS files
    highstate
        True: the highstate of each target, in place of ``sls``
    top
        another top file, in place of ``sls``
    saltenv, pillarenv, pillar, exclude, test, queue, concurrent
        as those of ``state.sls``; ``test`` overrides that of the orchestration
    expect_minions
        False: targets that do not answer are not failures
    fail_minions
        ids that may fail: a list, or a text with commas
    allow_fail
        number of targets that may fail
    timeout
        accepted; a job is waited for as long as it runs
    batch, batch_wait, max_fail, batch_check, batch_by, failhard
        the rollout, as the options of these names of ``pushsalt apply``
    subset
        number of targets that are chosen at random
    ret, ret_config, ret_kwargs
        returners of the job
    ssh, roster
        ignored: the inventory determines how targets are reached
    orchestration_jid
        accepted, as are unknown arguments

    .. code-block:: yaml

        deploy:
          salt.state:
            - tgt: 'web*'
            - sls: [apache, app]
            - batch: 10%
            - require: [salt: drain]
    """
    result = {"name": name, "changes": {}, "comment": "", "result": True}
    try:
        allowed = int(allow_fail)
    except (TypeError, ValueError):
        return dict(result, result=False, comment=_NO_NUMBER)
    if not isinstance(concurrent, bool):
        return dict(result, result=False, comment="Must pass in boolean for value of 'concurrent'")
    fun, arg = orchestration.state_function(highstate, top, sls)
    if fun is None:
        return dict(result, result=False, comment="No highstate or sls specified, no execution made")
    dry = __opts__.get("test") if test is None else test
    given = {"pillar": pillar or None, "pillarenv": pillarenv, "saltenv": saltenv, "exclude": exclude, "test": dry}
    kwarg = {key: value for key, value in given.items() if value is not None}
    kwarg.update(queue=queue, concurrent=concurrent)
    rollout = {"batch_wait": batch_wait, "max_fail": max_fail, "batch_check": batch_check, "batch_by": batch_by}
    returners = {"ret": ret, "ret_config": ret_config, "ret_kwargs": ret_kwargs}
    more = dict(rollout, **returners)
    given_kwarg = dict(kwarg)
    if test is None and not dry:
        given_kwarg.pop("test", None)
    asked = {"arg": arg, "kwarg": given_kwarg, "ret": ret, "timeout": timeout, "ret_config": ret_config}
    asked.update(ret_kwargs=ret_kwargs, batch=batch, subset=subset, tgt_type=tgt_type, ssh=ssh, roster=roster)
    more["told"] = _told("state", tgt, name, dict(asked, expect_minions=expect_minions), failhard)
    try:
        answers = _job(tgt, fun, tgt_type, arg, kwarg, batch, subset, failhard, expect_minions, more)
    except exceptions.SaltException as exc:
        return dict(result, result=False, comment=exc.message)
    may_fail, warnings = _ids(fail_minions)
    if warnings:
        result["warnings"] = warnings
    if not answers and expect_minions:
        return dict(result, result=False, comment="No minions returned")
    result.update(orchestration.states_outcome(answers, may_fail, allowed), **orchestration.jid_of(answers))
    if (test or __opts__.get("test")) and result["changes"] and result["result"] is True:
        result["result"] = None
    return result


def function(
    name,
    tgt,
    ssh=False,
    tgt_type="glob",
    ret="",
    ret_config=None,
    ret_kwargs=None,
    expect_minions=False,
    fail_minions=None,
    fail_function=None,
    arg=None,
    kwarg=None,
    timeout=None,
    batch=None,
    subset=None,
    failhard=None,
    roster=None,
    batch_wait=None,
    max_fail=None,
    batch_check=None,
    batch_by=None,
    **kwargs,
):
    """
    An execution function is called on the targets of an expression

    name
        the function
    tgt, tgt_type
        the target expression and its type
    arg
        list of its arguments
    kwarg
        mapping of its keyword arguments
    expect_minions
        True: targets that do not answer are failures
    fail_minions
        ids that may fail: a list, or a text with commas
    fail_function
        a function that is called here with each return; a false answer makes it a failure
    timeout
        accepted; a job is waited for as long as it runs
    batch, batch_wait, max_fail, batch_check, batch_by, failhard
        the rollout, as the options of these names of ``pushsalt run``
    subset
        number of targets that are chosen at random
    ret, ret_config, ret_kwargs
        returners of the job
    ssh, roster
        ignored: the inventory determines how targets are reached; unknown arguments, too

    .. code-block:: yaml

        cmd.run:
          salt.function:
            - tgt: 'lb*'
            - arg: [drain web1]
    """
    result = {"name": name, "changes": {}, "comment": "", "result": True}
    if isinstance(arg, str):
        result["warnings"] = ["Please specify 'arg' as a list of arguments."]
        arg = arg.split()
    kwarg = kwarg if isinstance(kwarg, dict) else {}  # Salt ignores anything else
    if __opts__["test"] is True:
        return dict(result, result=None, comment="Function %s would be executed on target %s" % (name, tgt))
    rollout = {"batch_wait": batch_wait, "max_fail": max_fail, "batch_check": batch_check, "batch_by": batch_by}
    returners = {"ret": ret, "ret_config": ret_config, "ret_kwargs": ret_kwargs}
    more = dict(rollout, **returners)
    asked = {"arg": arg or [], "kwarg": kwarg or {}, "ret": ret, "timeout": timeout, "ret_config": ret_config}
    asked.update(ret_kwargs=ret_kwargs, batch=batch, subset=subset, tgt_type=tgt_type, ssh=ssh, roster=roster)
    more["told"] = _told("function", tgt, name, dict(asked, expect_minions=expect_minions, _cmd_meta=True), failhard)
    try:
        answers = _job(tgt, name, tgt_type, arg or [], kwarg or {}, batch, subset, failhard, expect_minions, more)
    except exceptions.SaltException as exc:
        return dict(result, result=False, comment=exc.message)
    may_fail, warnings = _ids(fail_minions)
    if warnings:
        result.setdefault("warnings", []).extend(warnings)
    if batch is not None:
        for answer in answers.values():
            answer.pop("retcode", None)  # Salt does not get it in batches
    judge = __salt__[fail_function] if fail_function else None
    result.update(orchestration.function_outcome(name, answers, may_fail, judge), **orchestration.jid_of(answers))
    return result


def _job(tgt, fun, tgt_type, arg, kwarg, batch, subset, failhard, expect_minions, more):
    """id -> ``ret``, ``retcode``, ``out``, ``failed`` of a job that the controller runs for a step."""
    options = {key: value for key, value in more.items() if value not in (None, "")}
    if batch is not None:
        options["batch"] = str(batch)
    if subset is not None:
        options["subset"] = subset
    if failhard is True or __opts__.get("failhard"):
        options["failhard"] = True
    options.update(tgt_type=tgt_type, arg=arg, kwarg=kwarg, expect_minions=expect_minions, step=__low__.get("__id__"))
    return link.ask("orchestrate.job", [tgt, fun], options)


def _told(kind, tgt, name, asked, failhard):
    """The data of the event of a step's arguments, as Salt's has them: optional ones only if they are given."""
    optional = ("ret_config", "ret_kwargs", "batch", "subset", "roster")
    args = {key: value for key, value in asked.items() if key not in optional or value is not None}
    if args.get("batch") is not None:
        args["batch"] = str(args["batch"])
    if failhard is True or __opts__.get("failhard"):
        args["failhard"] = True
    return {"type": kind, "tgt": tgt, "name": name, "args": args}


def _ids(given):
    """The ids of ``fail_minions``, and warnings."""
    if given is None or isinstance(given, list):
        return given or [], []
    if isinstance(given, str):
        return [each.strip() for each in given.split(",")], []
    return [], [_WRONG_FAIL_MINIONS]


def wait_for_event(name, id_list, event_id="id", timeout=300, node="master"):
    """
    Events of a tag arrive for each id of a list

    Events from before the state begins do not count. To wait for an event of a later step, set ``parallel: True``.

    name
        the tag, with wildcards
    id_list
        the values that are waited for; each event removes its own
    event_id
        the key in the data of an event that has the value
    timeout
        seconds after which the state fails
    node
        accepted: events are read from the journal of the controller

    .. code-block:: yaml

        started:
          salt.wait_for_event:
            - name: salt/minion/*/start
            - id_list: [web1, web2]
            - require: [salt: reboot]
    """
    began = parallel.take_began() or time.time()
    result = {"name": name, "changes": {}, "comment": "", "result": False}
    if __opts__.get("test"):
        return dict(result, result=None, comment="Orchestration would wait for event '%s'" % name)
    try:
        waited = link.ask("orchestrate.wait_for_event", [name, list(id_list), event_id, timeout, began])
    except exceptions.SaltException as exc:
        return dict(result, comment=exc.message)
    if waited["seen"]:
        result["changes"] = {"minions_seen": waited["seen"]}
    if not waited["is_done"]:
        return dict(result, comment="Timeout value reached.")
    return dict(result, result=True, comment="All events seen in %s seconds." % waited["seconds"])


def runner(name, **kwargs):
    """
    A runner function has been called on the controller; all other arguments are its own

    .. code-block:: yaml

        manage.up:
          salt.runner: []
    """
    if __opts__.get("test"):
        words = "Runner function '%s' would be executed." % name
        return {"name": name, "result": None, "changes": {}, "comment": words}
    return _called(name, "Runner", kwargs)


def wheel(name, **kwargs):
    """
    A wheel function has been called on the controller; all other arguments are its own

    .. code-block:: yaml

        key.list_all:
          salt.wheel: []
    """
    if __opts__.get("test"):
        words = "Wheel function '%s' would be executed." % name
        return {"name": name, "result": None, "changes": {}, "comment": words}
    return _called(name, "Wheel", kwargs)


def _called(name, kind, kwargs):
    """The return of a step that calls a runner or wheel function."""
    try:
        args = [name, __env__] if kind == "Runner" else [name]
        answer = link.ask("orchestrate.%s" % kind.lower(), args, kwargs)
    except exceptions.SaltException as exc:
        return {"name": name, "result": False, "changes": {}, "comment": exc.message}
    return orchestration.runner_outcome(name, kind, answer)


def parallel_runners(name, runners, **kwargs):
    """
    Call runner functions on the controller in parallel

    runners
        name -> list with the ``name`` of a runner function and its ``kwarg``; or the name of one function

    .. code-block:: yaml

        both sites:
          salt.parallel_runners:
            - runners:
                left:
                  - name: state.orchestrate
                  - kwarg: {mods: orch.left}
                right:
                  - name: state.orchestrate
                  - kwarg: {mods: orch.right}
    """
    if isinstance(runners, str):
        runners = {runners: [{"name": runners}]}
    if not isinstance(runners, dict):
        words = "The runners parameter must be a string or dict."
        return {"name": name, "result": False, "changes": {}, "comment": words}
    calls = [orchestration.runner_call(key, given) for key, given in runners.items()]
    if __opts__.get("test"):  # Salt calls them, in a dry run too
        words = "Runner functions would be executed: %s." % ", ".join("'%s'" % call["name"] for call in calls)
        return {"name": name, "result": None, "changes": {}, "comment": words}
    try:
        found = link.ask("orchestrate.runners", [calls, __env__])
    except exceptions.SaltException as exc:
        words = "One of the runners raised an exception: %s" % exc
        missing = (
            getattr(exc, "exception", "") == "KeyError"
        )  # of an unknown function: Salt's return is a plain failure
        more = {} if missing else {"success": False}
        return dict({"name": name, "result": False, "changes": {}, "comment": words}, **more)
    outputs = {key: each.get("return") for key, each in zip(runners, found)}
    return dict(orchestration.parallel_outcome(outputs), name=name)
