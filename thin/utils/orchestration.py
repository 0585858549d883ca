"""The return of an orchestration's step, from the answers of its targets and runners. Pure.

Salt: ``salt/states/saltmod.py``.
An answer of a target is a dict: ``ret``, ``retcode``, ``out``, ``jid``; ``failed`` if there is no return.
"""


def state_function(highstate, top, sls):
    """The name and arguments of the function that applies these states; None if none are given."""
    if highstate:
        return "state.highstate", []
    if top:
        return "state.top", [top]
    if sls:
        return "state.sls", [",".join(sls) if isinstance(sls, list) else sls]
    return None, []


def succeeded(returns, recurse=True):
    """Whether returns of states, also nested ones, have no failure; other values are ignored with ``recurse``.

    Salt: ``state.check_result``.
    """
    if not isinstance(returns, dict) or not returns:
        return False
    for ret in returns.values():
        if not isinstance(ret, dict):
            if not recurse:
                return False
        elif "result" in ret:
            if ret["result"] is False:
                return False
        elif not succeeded(ret, recurse):
            return False
    return True


def states_outcome(answers, may_fail, allowed):
    """``result``, ``comment``, ``changes`` of a job that applied states.

    ``may_fail``: ids whose failure is ignored; ``allowed``: the number of further failures that are ignored.
    """
    changes, failed, unchanged = {}, [], []
    for id_, answer in answers.items():
        ret = False if answer.get("failed") else answer.get("ret", False)
        if answer.get("failed") or not succeeded(ret):
            if id_ not in may_fail:
                failed.append(id_)
            changes[id_] = ret
        elif any(isinstance(each, dict) and each.get("changes") for each in ret.values()):
            changes[id_] = ret
        else:
            unchanged.append(id_)
    outcome = {"result": True, "changes": {"out": "highstate", "ret": changes} if changes else {}}
    if len(failed) > allowed:
        details = [line for line in (_detail(id_, answers[id_]) for id_ in sorted(failed)) if line]
        comment = "\n".join(["Run failed on minions: %s" % ", ".join(failed)] + details)
        return dict(outcome, result=False, comment=comment)
    comment = "States ran successfully."
    if changes:
        comment += " Updating %s." % ", ".join(changes)
    if unchanged:
        comment += " No changes made to %s." % ", ".join(unchanged)
    return dict(outcome, comment=comment)


def _detail(id_, answer):
    """A line for a target that returned no states, else nothing."""
    if answer.get("failed") and "ret" not in answer:
        return "Minion %s did not return a state result." % id_
    ret = answer.get("ret")
    if isinstance(ret, dict):
        return ""
    if isinstance(ret, (list, tuple)):
        parts = [str(each) for each in ret if each]
        if not parts:
            return "Minion %s returned an empty error list." % id_
        return "Minion %s returned errors: %s" % (id_, "; ".join(parts))
    return "Minion %s returned %r instead of a state result." % (id_, ret)


def function_outcome(name, answers, may_fail, judge):
    """``result``, ``comment``, ``changes`` of a job that called a function.

    ``judge``: a function that decides whether a return is a success, or None. As in Salt, a retcode is a failure even
    for the ids of ``may_fail``.
    """
    if not answers:
        return {"result": False, "comment": "No minions responded", "changes": {}}
    changes, failed = {}, []
    for id_, answer in answers.items():
        ret = False if answer.get("failed") else answer.get("ret")
        good = not answer.get("failed") and ret is not False and (judge is None or bool(judge(ret)))
        if answer.get("retcode") or (not good and id_ not in may_fail):
            failed.append(id_)
        changes[id_] = ret
    if failed:
        comment = "Running function %s failed on minions: %s" % (name, ", ".join(failed))
    else:
        comment = "Function ran successfully."
    comment += " Function %s ran on %s." % (name, ", ".join(changes))
    return {"result": not failed, "comment": comment, "changes": {"ret": changes}}


def jid_of(answers):
    """``__jid__``, the id of the job that the answers are from, if it is known."""
    jids = [answer["jid"] for answer in answers.values() if answer.get("jid")]
    return {"__jid__": jids[0]} if jids else {}


def runner_outcome(name, kind, answer):
    """The return of a step that called a runner or wheel function (``kind``). ``answer``: ``return``, ``success``."""
    value = answer.get("return")
    success = bool(answer.get("success", True)) and not (isinstance(value, dict) and "Error" in value)
    words = "%s function '%s' %s." % (kind, name, "executed" if success else "failed")
    return dict(
        {"name": name, "changes": {"return": value}, "result": success, "comment": words}, **jid_of({"": answer})
    )


def runner_call(key, given):
    """``name`` and ``kwarg`` of one of the parallel runners, which is given as a list of mappings."""
    call = {}
    for each in [given] if isinstance(given, dict) else given or []:
        call.update(each)
    return {"name": call.get("name", key), "kwarg": dict(call.get("kwarg") or {})}


def parallel_outcome(outputs):
    """``result``, ``comment``, ``changes`` of parallel runners. ``outputs``: name -> return."""
    orchestrations = all(isinstance(out, dict) and out.get("outputter") == "highstate" for out in outputs.values())
    if orchestrations:
        failed = [key for key, out in outputs.items() if out.get("retcode")]
        changes = {key: _changes(out.get("data")) for key, out in outputs.items()}
        changes = {key: each for key, each in changes.items() if each}
    else:
        failed = [key for key, out in outputs.items() if isinstance(out, dict) and _has_failed(out)]
        changes = {"ret": outputs}
    if not failed:
        comment = "All runner functions executed successfully."
    elif len(failed) == 1:
        comment = "Runner %s failed." % failed[0]
    else:
        comment = "Runners %s failed." % ", ".join(failed)
    return {"result": not failed, "comment": comment, "changes": changes}


def _has_failed(out):
    """Whether a runner's return is a failure: an exit code, or the retcode of an orchestration."""
    return bool(out.get("exit_code") or (out.get("outputter") == "highstate" and out.get("retcode")))


def _changes(value):
    """All changes in nested returns; those of a step are the changes of its targets."""
    if not isinstance(value, dict):
        return {}
    changes = value.get("changes")
    if changes is not None:
        nested = isinstance(changes, dict) and changes.get("out") == "highstate" and "ret" in changes
        return changes["ret"] if nested else changes
    inner = {key: _changes(each) for key, each in value.items()}
    return {key: each for key, each in inner.items() if each}
