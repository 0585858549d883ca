"""States for tests and for messages: each returns what its name means, and changes nothing.

Salt: ``salt/states/test.py``.
"""

from thin.exceptions import SaltInvocationError

__any_arguments__ = True  # arguments are data or options of a program: none is reported as misspelt
__usual__ = True

CHANGED = {"testing": {"old": "Unchanged", "new": "Something pretended to change"}}


def nop(name, **kwargs):
    """
    Succeed without changes, with any arguments

    name
        A unique text
    """
    return succeed_without_changes(name)


def succeed_without_changes(name, **kwargs):
    """
    Succeed without changes

    name
        A unique text
    comment
        The comment of the return
    """
    return {"name": name, "changes": {}, "result": True, "comment": kwargs.get("comment", "Success!")}


def fail_without_changes(name, **kwargs):
    """
    Fail without changes, in test mode too

    name
        A unique text
    comment
        The comment of the return
    """
    comment = kwargs.get("comment", "Failure!")
    if __opts__["test"]:
        comment = "If we weren't testing, this would be a failure!"
    return {"name": name, "changes": {}, "result": False, "comment": comment}


def succeed_with_changes(name, **kwargs):
    """
    Succeed with changes

    name
        A unique text
    comment
        The comment of the return
    """
    ret = {"name": name, "changes": dict(CHANGED), "result": True, "comment": kwargs.get("comment", "Success!")}
    if __opts__["test"]:
        ret.update(result=None, comment="If we weren't testing, this would be successful with changes")
    return ret


def fail_with_changes(name, **kwargs):
    """
    Fail with changes

    name
        A unique text
    comment
        The comment of the return
    """
    ret = {"name": name, "changes": dict(CHANGED), "result": False, "comment": kwargs.get("comment", "Failure!")}
    if __opts__["test"]:
        ret.update(result=None, comment="If we weren't testing, this would be failed with changes")
    return ret


def configurable_test_state(name, changes=True, result=True, comment="", warnings=None, allow_test_mode_failure=False):
    """
    Return the given result and changes

    name
        A unique text
    changes
        Whether there are changes: True, False or ``Random``
    result
        Whether it succeeds: True, False or ``Random``
    comment
        The comment of the return
    warnings
        Text, or list of texts, for the return's ``warnings``
    allow_test_mode_failure
        With ``result: False``, fail in test mode too
    """
    ret = {"name": name, "changes": {}, "comment": comment}
    if _decide("changes", changes, "It must be either True, False, or 'Random'"):
        ret["changes"] = dict(CHANGED)
    ret["result"] = _decide("result", result, "It must be either True, False, or 'Random'")
    if isinstance(warnings, (str, list)):
        ret["warnings"] = [warnings] if isinstance(warnings, str) else warnings
    elif warnings is not None:
        raise SaltInvocationError(
            "You have specified the state option 'warnings' with invalid arguments. "
            "It must be a string or a list of strings"
        )
    if __opts__["test"]:
        ret["comment"] = comment or "This is a test"
        if not (allow_test_mode_failure and result is False):
            ret["result"] = True if changes is False else None
    return ret


def _decide(option, value, allowed):
    if isinstance(value, bool):
        return value
    if str(value).lower() != "random":
        raise SaltInvocationError(
            "You have specified the state option '%s' with invalid arguments. %s" % (option, allowed)
        )
    import random

    return random.choice((True, False))  # noqa: S311


def show_notification(name, text=None, **kwargs):
    """
    Show a text as the comment of a state that succeeds

    name
        A unique text
    text
        What to show
    """
    if not text:
        raise SaltInvocationError("Missing required argument text.")
    return {"name": name, "changes": {}, "result": True, "comment": text}


def mod_watch(name, sfun=None, **kwargs):
    """
    Report that a watched state changed
    """
    from thin.requisites import tag_of

    changed = [
        "%(state)s: %(__id__)s" % chunk
        for chunk in __low__.get("__reqs__", {}).get("watch", ())
        if __running__[tag_of(chunk)]["changes"]
    ]
    return {
        "name": name,
        "result": kwargs.get("result", True),
        "comment": kwargs.get("comment", "Watch statement fired."),
        "changes": kwargs.get("changes", {"Requisites with changes": changed}),
    }


def check_pillar(
    name, present=None, boolean=None, integer=None, string=None, listing=None, dictionary=None, verbose=False
):
    """
    Check that keys of the pillar exist and have the right type

    name
        A unique text
    present
        Keys (``a:b:c``), or one, that must be there
    boolean, integer, string, listing, dictionary
        Keys whose values must be of this type
    verbose
        Name the keys that passed, too
    """
    kinds = ((None, present), (bool, boolean), (int, integer), ((str,), string), (list, listing), (dict, dictionary))
    if not any(keys for _, keys in kinds):
        raise SaltInvocationError("Missing required argument text.")
    fine, bad = {}, {}
    for kind, keys in kinds:
        for key in [keys] if isinstance(keys, str) else keys or []:
            value = __salt__["pillar.get"](key, None)
            if value is None:
                bad[key] = None
            elif kind is not None and not isinstance(value, kind):
                bad[key] = kind
            else:
                fine[key] = kind
    lines = [
        'Pillar key "%s" is %s.\n' % (key, "missing" if kind is None else "not %s" % (kind,))
        for key, kind in bad.items()
    ]
    if verbose and fine:
        lines.append("Those keys passed the check:\n")
        lines.extend("- %s (%s)\n" % (key, fine[key]) for key in fine)
    return {"name": name, "changes": {}, "result": not bad, "comment": "".join(lines)}
