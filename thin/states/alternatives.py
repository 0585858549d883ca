"""The program that a generic name refers to. Salt (until 3007): states/alternatives.py"""

__func_alias__ = {"set_": "set"}

#: how the first line of ``--display`` ends in automatic mode: update-alternatives, alternatives (Red Hat)
_AUTO = (" auto mode", " status is auto.")


def __virtual__():
    return True if "alternatives.auto" in __salt__ else (False, "alternatives module could not be loaded")


def install(name, link, path, priority):
    """The path is one of the alternatives of the name. changes: ``{name, link, path, priority}``."""
    about = {"name": name, "link": link, "path": path, "priority": priority}
    ret = dict(about, result=True, changes={}, comment="")
    if __salt__["alternatives.check_exists"](name, path):
        return _with(ret, True, "Alternative %s for %s is already registered" % (path, name))
    if __opts__["test"]:
        return _with(ret, None, "Alternative will be set for %s to %s with priority %s" % (name, path, priority))
    answer = __salt__["alternatives.install"](name, link, path, priority)
    if not __salt__["alternatives.check_exists"](name, path):
        return _with(ret, False, "Alternative for %s not installed: %s" % (name, answer))
    ret["changes"] = about
    if __salt__["alternatives.check_installed"](name, path):
        return _with(ret, True, "Alternative for %s set to path %s with priority %s" % (name, path, priority))
    words = "Alternative %s for %s registered with priority %s and not set to default"
    return _with(ret, True, words % (path, name, priority))


def remove(name, path):
    """The path is not an alternative of the name. changes: ``{path: the path that it refers to now}``, {} if no
    alternative is left.
    """
    ret = {"name": name, "path": path, "result": True, "changes": {}, "comment": ""}
    if __salt__["alternatives.check_exists"](name, path):
        if __opts__["test"]:
            return _with(ret, None, "Alternative for %s will be removed" % name)
        answer = __salt__["alternatives.remove"](name, path)
        if __salt__["alternatives.check_exists"](name, path):
            return _with(ret, False, "Alternative for %s not removed: %s" % (name, answer))
        current = __salt__["alternatives.show_current"](name)
        if not current:
            return _with(ret, True, "Alternative for %s removed" % name)
        ret["changes"] = {"path": current}
        return _with(ret, True, "Alternative for %s removed. Falling back to path %s" % (name, current))
    current = __salt__["alternatives.show_current"](name)
    if current:
        return _with(ret, True, "Alternative for %s is set to it's default path %s" % (name, current))
    return _with(ret, False, "Alternative for %s doesn't exist" % name)


def auto(name):
    """The name refers to the alternative with the highest priority. changes: ``{result: output of the program}``."""
    ret = {"name": name, "result": True, "changes": {}, "comment": ""}
    shown = __salt__["alternatives.display"](name).splitlines() or [""]
    if shown[0].endswith(_AUTO):
        return _with(ret, True, "%s already in auto mode" % name)
    if __salt__["alternatives.show_current"](name) is False:
        return _with(ret, False, "Alternative for %s doesn't exist" % name)
    if __opts__["test"]:
        return _with(ret, None, "%s will be put in auto mode" % name)
    ret["changes"] = {"result": __salt__["alternatives.auto"](name)}
    return ret


def set_(name, path):
    """The name refers to the path, which is one of its alternatives. changes: ``{path: path}``."""
    ret = {"name": name, "path": path, "result": True, "changes": {}, "comment": ""}
    if __salt__["alternatives.check_installed"](name, path):
        return _with(ret, True, "Alternative for %s already set to %s" % (name, path))
    if not __salt__["alternatives.check_exists"](name, path):
        return _with(ret, False, "Alternative %s for %s doesn't exist" % (path, name))
    if __opts__["test"]:
        return _with(ret, None, "Alternative for %s will be set to path %s" % (name, path))
    answer = __salt__["alternatives.set"](name, path)
    if not __salt__["alternatives.check_installed"](name, path):
        return _with(ret, False, "Alternative for %s not updated: %s" % (name, answer))
    ret["changes"] = {"path": path}
    return _with(ret, True, "Alternative for %s set to path %s" % (name, path))


def _with(ret, result, comment):
    ret["result"] = result
    ret["comment"] = comment
    return ret
