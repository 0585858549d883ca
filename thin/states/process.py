"""Processes that must not run. Salt: ``salt/states/process.py``."""

from thin import detail


def absent(name, user=None, signal=None):
    """
    No process runs whose command line matches this pattern

    user
        Only those of this user
    signal
        The signal to send, by default 15

    .. code-block:: yaml

        apache2:
          process.absent:
            - user: www-data
    """
    ret = {"name": name, "changes": {}, "result": True, "comment": "No matching processes running"}
    if __opts__["test"]:
        running = __salt__["ps.pgrep"](name, user=user)
        if running:
            ret["comment"] = "%d processes will be killed" % len(running)
        elif detail.on() and not __salt__["ps.pgrep"](name, user=user, full=True):
            detail.same()  # the run searches whole command lines, the dry run, as Salt's, only names
        return dict(ret, result=None)
    more = {"signal": signal} if signal else {}
    killed = __salt__["ps.pkill"](name, user=user, full=True, **more)
    if killed:
        ret["comment"], ret["changes"] = "Killed %d processes" % len(killed["killed"]), killed
    return ret
