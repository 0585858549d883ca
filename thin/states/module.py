"""Execution functions as states. Salt: ``salt/states/module.py``.

``run`` takes both of Salt's forms: functions as keys, each with a list of arguments::

    module.run:
      - test.echo: [hello]

and one function as ``name``, with its arguments at the same level (``m_name``, ``m_fun``, ``m_state``, ``m_saltenv``,
``m_names`` for arguments that have these names)::

    module.run:
      - name: test.echo
      - text: hello
"""

from thin.exceptions import SaltInvocationError
from thin.log import getLogger
from thin.utils import args as signatures

__any_arguments__ = True  # arguments are data or options of a program: none is reported as misspelt
__usual__ = True

log = getLogger(__name__)

#: Argument names that have another meaning in a state.
_TAKEN = ("name", "fun", "names", "state", "saltenv")


def wait(name, **kwargs):
    """
    Call a function only when something that it watches changed

    name
        The function
    """
    return {"name": name, "changes": {}, "result": True, "comment": ""}


watch = wait


def run(**kwargs):
    """
    Call one or more execution functions

    name
        The function, in the older form
    """
    keys = [key for key in kwargs if key not in ("name", "__reqs__", "sfun")]
    if any("." not in key for key in keys) or (not keys and kwargs):
        log.debug("Detected legacy module.run syntax: %s", __low__["__id__"])
        return _one(**kwargs)
    log.debug("Using new style module.run syntax: %s", __low__["__id__"])
    return _several(kwargs)


mod_watch = run


def _several(kwargs):
    kwargs.pop("name", None)
    ret = {"name": list(kwargs), "changes": {}, "comment": "", "result": None}
    functions = [key for key in kwargs if "." in key]
    if not functions:
        return dict(ret, comment="No function provided.", result=False)
    names = [key.split(":")[0] for key in functions]
    missing = [name for name in names if name not in __salt__]
    tests = [name for name in names if name in __salt__] if __opts__["test"] else []
    if missing or tests:
        parts = []
        if missing:
            ret["result"] = False
            parts.append("Unavailable function%s: %s." % (len(missing) > 1 or "", ", ".join(missing)))
        if tests:
            parts.append("Function%s %s to be executed." % (len(tests) > 1 or "", ", ".join(tests)))
        return dict(ret, comment=" ".join(parts))
    failures, success = [], []
    for key, name in zip(functions, names):
        try:
            value = _call(name, kwargs[key])
        except TypeError as exc:  # SaltInvocationError is one
            failures.append("'%s' failed: %s" % (key, exc))
            continue
        if _succeeded(value):
            success.append("%s: %s" % (key, value.get("comment", "Success") if isinstance(value, dict) else value))
            ret["changes"][key] = value
        elif isinstance(value, dict):
            failures.append("'%s' failed: %s" % (key, value.get("comment", "(error message N/A)")))
        else:
            failures.append("'%s': %s" % (key, value))
    return dict(ret, comment=", ".join(failures + success), result=not failures)


def _call(name, given):
    """Call with a list in which one-key dicts are arguments by name."""
    function, args, kwargs = __salt__[name], [], {}
    for item in given or []:
        if isinstance(item, dict):
            kwargs.update(item)
        else:
            args.append(item)
    shape = signatures.spec(function)
    wanted = shape.required
    missing = [word for word in wanted[len(args) :] if word not in kwargs]
    if missing:
        raise SaltInvocationError("Missing arguments: %s" % ", ".join(missing))
    if shape.keywords is None:
        kwargs = {key: kwargs[key] for key in kwargs if key in shape.args or key in shape.kwonly}
    return function(*args, **kwargs)


def _one(name, **kwargs):
    ret = {"name": name, "changes": {}, "comment": "", "result": None}
    if name not in __salt__:
        return dict(ret, comment="Module function %s is not available" % name, result=False)
    if __opts__["test"]:
        return dict(ret, comment="Module function %s is set to execute" % name)
    shape = signatures.spec(__salt__[name])
    defaults, args, missing, more = shape.optional, [], [], {}
    for word in shape.args:
        given = _alias(word)
        if given in kwargs:
            args.append(kwargs.pop(given))
        elif word in kwargs:
            args.append(kwargs.pop(word))
        elif word in defaults:
            args.append(defaults[word])
        else:
            missing.append(given)
    if missing:
        return dict(ret, comment="The following arguments are missing: %s" % " ".join(missing), result=False)
    if shape.varargs and _alias(shape.varargs) in kwargs:
        rest = kwargs.pop(_alias(shape.varargs))
        if not isinstance(rest, list):
            return dict(ret, comment="'%s' must be a list." % shape.varargs, result=False)
        args.extend(rest)
    if shape.keywords and shape.keywords in kwargs:
        more = kwargs.pop(shape.keywords)
        if not isinstance(more, dict):
            return dict(ret, comment="'%s' must be a dict." % shape.keywords, result=False)
    more.update((word, kwargs[word]) for word in shape.kwonly if word in kwargs)
    try:
        value = __salt__[name](*args, **more)
    except Exception as exc:
        return dict(ret, result=False, comment="Module function %s threw an exception. Exception: %s" % (name, exc))
    ret.update(changes={"ret": value}, comment="Module function %s executed" % name, result=_succeeded(value))
    return ret


def _alias(word):
    return "m_" + word if word in _TAKEN else word


def _succeeded(value):
    """False if the value is False, or contains ``result: False`` or a ``retcode`` other than 0, at any depth."""
    if isinstance(value, bool):
        return value
    if not isinstance(value, dict):
        return True
    for key, item in value.items():
        if (key == "result" and item is False) or (key == "retcode" and item != 0):
            return False
        if isinstance(item, dict) and not _succeeded(item):
            return False
    return True
