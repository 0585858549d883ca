"""Answers to the questions of Debian packages, set before installation. Salt: states/debconfmod.py"""

from thin.exceptions import CommandExecutionError

__virtualname__ = "debconf"
__func_alias__ = {"set_": "set"}


def __virtual__():
    if __grains__.get("os_family") != "Debian":
        return False, "debconf state only runs on Debian systems"
    if "debconf.show" not in __salt__:
        return False, "The debconfmod module could not be loaded: debconf-utils is not installed."
    return __virtualname__


def set_(name, data, **kwargs):
    """The questions of the package ``name`` are answered: ``data`` is ``{question: {"type", "value"}}``.

    changes: ``{question: value}``; a password is not shown.
    """
    ret = {"name": name, "changes": {}, "result": True, "comment": ""}
    try:
        now = __salt__["debconf.show"](name) or []
        for question, answer in data.items():
            kind, value = answer["type"], answer["value"]
            if kind == "boolean":  # debconf accepts only these words, which differ from Python's
                value = "true" if value in (True, "true", "True", "yes") else "false"
            shown = "(password hidden)" if kind == "password" else str(value)
            if [question, kind, str(value)] in now:
                ret["comment"] = (ret["comment"] or "Unchanged answers: ") + "%s " % question
            elif __opts__["test"]:
                ret["result"] = None
                ret["changes"][question] = "New value: %s" % shown
            else:
                __salt__["debconf.set"](name, question, kind, value)
                ret["changes"][question] = shown
    except (CommandExecutionError, KeyError, TypeError) as exc:
        words = str(exc) if isinstance(exc, CommandExecutionError) else "each question needs a type and a value"
        return dict(ret, result=False, comment="Some settings failed to be applied: %s" % words)
    if not ret["changes"]:
        ret["comment"] = "All specified answers are already set"
    return ret


def set_file(name, source, template=None, context=None, defaults=None, **kwargs):
    """The answers in a file are set, each time. ``template``, ``context``, ``defaults``: render it."""
    ret = {"name": name, "changes": {}, "result": True, "comment": ""}
    for given, word in ((context, "Context"), (defaults, "Defaults")):
        if given is not None and not isinstance(given, dict):
            return dict(ret, result=False, comment="%s must be formed as a dict" % word)
    if __opts__["test"]:
        return dict(ret, result=None, comment="Debconf selections would have been set.")
    try:
        if template:
            done = __salt__["debconf.set_template"](source, template, context or {}, defaults or {}, __env__)
        else:
            done = __salt__["debconf.set_file"](source, __env__)
    except CommandExecutionError as exc:
        return dict(ret, result=False, comment="Unable to set debconf selections from file: %s" % exc)
    if not done:
        return dict(ret, result=False, comment="Unable to set debconf selections from file.")
    return dict(ret, comment="Debconf selections were set.")
