"""Programs under supervisord. Salt (until 3007): states/supervisord.py"""

from thin.exceptions import CommandNotFoundError

_STOPPED = ("STOPPED", "STOPPING", "EXITED", "FATAL")


def running(name, restart=False, update=False, user=None, conf_file=None, bin_env=None, **kwargs):
    """
    A program, or a group (``group:``, ``group:*``), runs

    restart
        Restart it, each time
    update
        Load the whole configuration first; without it, only a new program is added
    user, conf_file, bin_env
        The user that supervisorctl runs as, its configuration file, and its path or virtual environment

    changes: ``{name: what was done}``.

    .. code-block:: yaml

        web:
          supervisord.running:
            - update: True
            - watch: [file: /etc/supervisor/conf.d/web.conf]
    """
    name = name[:-1] if name.endswith(":*") else name
    ret = {"name": name, "result": True, "comment": "", "changes": {}}
    how = {"user": user, "conf_file": conf_file, "bin_env": bin_env}
    try:
        statuses = __salt__["supervisord.status"](**how)
    except CommandNotFoundError as exc:
        return dict(ret, result=False, comment="%s: is supervisor installed?" % exc)
    mine = _matching(name, statuses)
    if __opts__["test"]:
        return _foreseen(ret, name, mine)
    done, updated = [], False
    if update:
        answer = __salt__["supervisord.update"](**how)
        ret.update(_judged(answer, "Updating supervisor"))
        updated = "%s: updated" % name in answer
    elif not mine:
        __salt__["supervisord.reread"](**how)
        done.append("Adding service: %s" % name)
        ret.update(_judged(__salt__["supervisord.add"](name, **how), done[-1]))
    what = "" if not mine else " group" if name.endswith(":") else " service"
    if mine and not any(state in _STOPPED for state in mine.values()):
        if updated:
            ret["comment"] = "Not starting updated%s: %s" % (what, name)
        elif restart:
            done.append("Restarting%s: %s" % (what, name))
            ret.update(_judged(__salt__["supervisord.restart"](name, **how), done[-1]))
        else:
            ret["comment"] = "Not starting already running%s: %s" % (what, name)
    elif not updated:
        done.append("Starting%s: %s" % (what, name))
        ret.update(_judged(__salt__["supervisord.start"](name, **how), done[-1]))
    if ret["result"] and done:
        ret["changes"][name] = " ".join(done)
    return ret


def dead(name, user=None, conf_file=None, bin_env=None, **kwargs):
    """
    A program, or a group (``group:``, ``group:*``), does not run

    .. code-block:: yaml

        web:
          supervisord.dead: []
    """
    name = name[:-1] if name.endswith(":*") else name
    ret = {"name": name, "result": True, "comment": "", "changes": {}}
    if __opts__["test"]:
        return dict(ret, result=None, comment="Service %s is set to be stopped" % name)
    how = {"user": user, "conf_file": conf_file, "bin_env": bin_env}
    mine = _matching(name, __salt__["supervisord.status"](**how))
    if not mine:
        ret["comment"] = "Service %s doesn't exist" % name
    elif any(state in _STOPPED for state in mine.values()):
        ret["comment"] = "Service %s is not running" % name
    else:
        words = "Stopping service: %s" % name
        ret.update(_judged(__salt__["supervisord.stop"](name, **how), words))
        ret["changes"][name] = words
    return ret


def mod_watch(name, restart=True, update=False, user=None, conf_file=None, bin_env=None, **kwargs):
    """A watched state changed: the program is restarted."""
    return running(name, restart=restart, update=update, user=user, conf_file=conf_file, bin_env=bin_env)


def _matching(name, statuses):
    """{program: its state} of one, or of a group."""
    return {
        one: about["state"]
        for one, about in statuses.items()
        if one == name or (name.endswith(":") and one.startswith(name))
    }


def _foreseen(ret, name, mine):
    group = name.endswith(":")
    if not mine:
        what = "Group" if group else "Service"
        return dict(ret, result=None, comment="%s '%s' will be added and started" % (what, name))
    down = [one for one in mine if mine[one].lower() != "running"]
    if not down:
        words = "All services in group '%s' are already running" if group else "Service %s is already running"
        return dict(ret, comment=words % name)
    if not group:
        words = "Service %s will be started" % name
    elif len(down) == len(mine):
        words = "All services in group '%s' will be started" % name
    else:
        words = "The following services will be started: %s" % " ".join(down)
    return dict(ret, result=None, comment=words)


def _judged(output, words):
    """The return after this output of supervisorctl."""
    if "ERROR" in output and not ("already started" in output or "already active" in output):
        return {"comment": output, "result": False}
    return {"comment": words}
