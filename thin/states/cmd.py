"""Commands and scripts as states. Salt: ``salt/states/cmd.py``.

A command has no state of its own: it runs each time, and every run is a change. ``unless``, ``onlyif``, ``creates`` and
``onchanges`` restrict this.

``stateful: True`` takes the result from the last line of the command's output: ``changed=yes comment='what it did'``,
or JSON with these keys. ``stateful: [{test_name: command}]`` names the command to run instead in test mode.
"""

import os

from thin.exceptions import CommandExecutionError, SaltInvocationError, SaltRenderError

__usual__ = True


def wait(
    name,
    cwd=None,
    root=None,
    runas=None,
    shell=None,
    env=(),
    stateful=False,
    output_loglevel="debug",
    hide_output=False,
    use_vt=False,
    success_retcodes=None,
    success_stdout=None,
    success_stderr=None,
    **kwargs,
):
    """
    Run a command only when something that it watches changed

    name
        The command line
    """
    # The arguments are intentionally ignored: mod_watch receives them.
    return {"name": name, "changes": {}, "result": True, "comment": ""}


watch = wait


def wait_script(
    name,
    source=None,
    template=None,
    cwd=None,
    runas=None,
    shell=None,
    env=None,
    stateful=False,
    use_vt=False,
    output_loglevel="debug",
    hide_output=False,
    success_retcodes=None,
    success_stdout=None,
    success_stderr=None,
    **kwargs,
):
    """
    Run a script only when something that it watches changed

    name
        The source, or with ``source`` the script's name and arguments
    """
    return {"name": name, "changes": {}, "result": True, "comment": ""}


def wait_call(
    name, func, args=(), kws=None, stateful=False, use_vt=False, output_loglevel="debug", hide_output=False, **kwargs
):
    """
    Call a Python function only when something that it watches changed
    """
    return {"name": name, "changes": {}, "result": True, "comment": ""}


def run(
    name,
    cwd=None,
    root=None,
    runas=None,
    password=None,
    shell=None,
    env=None,
    prepend_path=None,
    stateful=False,
    output_loglevel="debug",
    hide_output=False,
    timeout=None,
    ignore_timeout=False,
    use_vt=False,
    success_retcodes=None,
    success_stdout=None,
    success_stderr=None,
    **kwargs,
):
    """
    Run a command line in a shell

    name
        The command line
    cwd
        Where to run it; the user's home by default
    runas
        The user to run it as
    env
        Dict, or list of dicts, of environment variables
    prepend_path
        Folders to put before PATH
    stateful
        Take the changes from the command's output (see above)
    timeout, ignore_timeout
        Seconds until it is killed; whether that is no failure
    success_retcodes, success_stdout, success_stderr
        Return codes, or parts of the output, that are a success, too
    """
    ret = {"name": name, "changes": {}, "result": False, "comment": ""}
    stateful, test_name = _stateful(stateful)
    command = test_name if __opts__["test"] and test_name else name
    problem = _bad_type(env, (list, dict), "env", "See documentation.")
    if problem:
        return dict(ret, comment=problem)
    if __opts__["test"] and not test_name:
        ret.update(result=None, comment='Command "%s" would have been executed' % name, changes={"cmd": name})
        return _reinterpreted(ret) if stateful else ret
    if cwd and not os.path.isdir(cwd):
        return dict(ret, comment='Desired working directory "%s" is not available' % cwd)
    given = dict(
        kwargs,
        cwd=cwd,
        runas=runas,
        password=password,
        use_vt=use_vt,
        env=env,
        prepend_path=prepend_path,
        output_loglevel=output_loglevel,
        hide_output=hide_output,
        success_retcodes=success_retcodes,
        success_stdout=success_stdout,
        success_stderr=success_stderr,
        timeout=timeout,
    )
    given.update({"shell": shell} if shell else {})
    try:
        if root:
            result = __salt__["cmd.run_chroot"](root, command, python_shell=True, **given)
        else:
            result = __salt__["cmd.run_all"](command, python_shell=True, **given)
    except Exception as exc:
        return dict(ret, comment=str(exc))
    ret.update(changes=result, result=not result["retcode"], comment='Command "%s" run' % command)
    if ignore_timeout and result["retcode"] == 1 and "Timed out after" in result["stdout"]:
        result["retcode"], ret["result"] = 0, True
    return _finished(ret, result, stateful)


def script(
    name,
    source=None,
    template=None,
    cwd=None,
    runas=None,
    password=None,
    shell=None,
    env=None,
    stateful=False,
    timeout=None,
    use_vt=False,
    output_loglevel="debug",
    hide_output=False,
    defaults=None,
    context=None,
    success_retcodes=None,
    success_stdout=None,
    success_stderr=None,
    **kwargs,
):
    """
    Fetch a script and run it

    name
        The source, or with ``source`` the script's name; words after the first are arguments
    source
        ``salt://``, URL or path of the script
    template, context, defaults
        Render it first, with these variables
    cwd, runas, env, stateful, timeout
        As for ``run``
    args
        The script's arguments
    """
    stateful, test_name = _stateful(stateful)
    if __opts__["test"] and test_name:
        name = test_name
    ret = {"name": name, "changes": {}, "result": False, "comment": ""}
    problem = (
        _bad_type(env, (list, dict), "env", "See documentation.")
        or _bad_type(context or None, dict, "context", "Must be formed as a dict.")
        or _bad_type(defaults or None, dict, "defaults", "Must be formed as a dict.")
    )
    if problem:
        return dict(ret, comment=problem)
    source = name if source is None else source
    words = name.split(" ", 1)
    if not kwargs.get("args") and len(words) > 1:
        kwargs["args"] = words[1]
    if __opts__["test"] and not test_name:
        ret.update(result=None, comment="Command '%s' would have been executed" % name)
        return _reinterpreted(ret) if stateful else ret
    if cwd and not os.path.isdir(cwd):
        return dict(ret, comment='Desired working directory "%s" is not available' % cwd)
    given = dict(
        dict({"python_shell": True}, **kwargs),
        cwd=cwd,
        runas=runas,
        password=password,
        use_vt=use_vt,
        env=env,
        template=template,
        timeout=timeout,
        output_loglevel=output_loglevel,
        hide_output=hide_output,
        context=dict(defaults or {}, **(context or {})),
        saltenv=__env__,
        success_retcodes=success_retcodes,
        success_stdout=success_stdout,
        success_stderr=success_stderr,
    )
    given.update({"shell": shell} if shell else {})
    try:
        result = __salt__["cmd.script"](source, **given)
    except (CommandExecutionError, SaltInvocationError, SaltRenderError, OSError) as exc:
        return dict(ret, comment=str(exc))
    ret.update(changes=result, result=not result.get("retcode", 1), comment="Command '%s' run" % name)
    if result.get("cache_error"):
        ret["comment"] = "Unable to cache script %s from saltenv '%s'" % (source, __env__)
    return _finished(ret, result, stateful)


def call(name, func, args=(), kws=None, output_loglevel="debug", hide_output=False, use_vt=False, **kwargs):
    """
    Call a Python function, for states written in Python

    name
        A unique text
    func
        The function; its return value is the changes; True and None are success
    """
    ret = {"name": name, "changes": {}, "result": False, "comment": ""}
    value = func(*args, **(kws or {}))
    if isinstance(value, dict):
        ret.update(value)
        return ret
    ret.update(changes={"retval": value}, result=True if value is None else bool(value))
    if isinstance(value, str):
        ret["comment"] = value
    return ret


def mod_watch(name, **kwargs):
    """
    Run the command, script or function after a change of a watched state
    """
    kind = kwargs["sfun"]
    functions = {"wait": run, "run": run, "watch": run, "wait_script": script, "script": script}
    if kind in functions:
        stateful = kwargs.pop("stateful", False) if kwargs.get("stateful") else False
        ret = functions[kind](name, **kwargs)
        return _reinterpreted(ret) if stateful else ret
    if kind in ("call", "wait_call"):
        if kwargs.get("func"):
            return call(name, kwargs.pop("func"), **kwargs)
        comment = "cmd.%s needs a named parameter func" % kind
    else:
        comment = "cmd.%s does not work with the watch requisite, please use cmd.wait or cmd.wait_script" % kind
    return {"name": name, "changes": {}, "comment": comment, "result": False}


def _stateful(stateful):
    """``(whether it is stateful, the command for test mode)``."""
    if isinstance(stateful, list):
        return True, stateful[0].get("test_name") if stateful and isinstance(stateful[0], dict) else None
    return stateful is True, None


def _bad_type(value, kinds, name, hint):
    if value is None or isinstance(value, kinds):
        return None
    return "Invalidly-formatted '%s' parameter. %s" % (name, hint)


def _finished(ret, result, stateful):
    if stateful:
        ret = _reinterpreted(ret)
    if __opts__["test"] and result.get("retcode") == 0 and ret["changes"]:
        ret["result"] = None
    return ret


def _reinterpreted(state):
    """The return with the result from the command's output."""
    result, state["changes"], state["comment"] = state["changes"], {}, ""
    out = result.get("stdout")
    if not out:
        if result.get("stderr"):
            state["comment"] = result["stderr"]
        return state
    rest = ""
    try:
        data = _loads(out)
        if not isinstance(data, dict):
            state.update(comment="script JSON output must be a JSON object (e.g., {})!", result=False)
            return state
    except CommandExecutionError as exc:
        state.update(comment="Failed reading script output: %s" % exc, result=False, changes=result)
        return state
    except ValueError:
        from thin.utils import words

        text = out.rstrip()
        rest, _, last = text.rpartition("\n") if "\n" in text else ("", "", text)
        try:
            data = dict(item.split("=") for item in words.split(last))
        except ValueError:
            state.update(
                comment="Failed parsing script output! Stdout must be JSON or a line of name=value pairs.",
                result=False,
                changes=result,
            )
            return state
    changed = _truth(data.get("changed", "no"))
    state["comment"] = data.pop("comment", "")
    if changed:
        for key in result:
            data.setdefault(key, result[key])
        data["stdout"] = rest
        state["changes"] = data
    return state


def _loads(text):
    if text.lstrip()[:1] not in tuple('{["-0123456789tfnNI'):
        raise ValueError("no JSON")
    from thin.utils.files import serial

    return serial.loads(text)


def _truth(value):
    text = str(value).lower()
    if value and text in ("true", "yes", "1"):
        return True
    if text in ("false", "no", "0"):
        return False
    raise ValueError("Failed parsing boolean value: %s" % value)
