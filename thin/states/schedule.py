"""Scheduled jobs, as timers of systemd. In Salt (``salt/states/schedule.py``) the minion runs them.

No process of pushsalt stays on a target, so a job must be a command: the ``cmd`` functions, starting and stopping
services, rebooting. Any other function is a failure.
"""

__any_arguments__ = True  # arguments are data or options of a program: none is reported as misspelt


def present(name, **kwargs):
    """
    A job is scheduled

    function, job_args, job_kwargs
        What to run: ``cmd.run`` and its like, ``cmd.script`` with a path on the target, ``service.restart`` and its
        like, ``system.reboot`` and its like
    seconds, minutes, hours, days
        How often
    when
        A date and a time, a time of each day, or a day and a time (``Monday 5:00pm``); or a list
    cron
        Times of a crontab
    once, once_fmt
        One date and time, and how that is written
    splay
        Seconds to wait at random, or ``{start, end}``
    run_on_start
        Also run it as soon as it is added
    until, after
        Dates and times between which it runs
    enabled
        False: the job exists, but does not run
    maxrunning, jid_include, return_job, metadata, persist, offline, returner, return_config, return_kwargs
        Accepted without effect; ``range``, ``skip_during_range`` and
        ``run_after_skip_range`` are refused

    changes: ``{name: added}``, ``{name: {old, new}}``, or ``{name: repaired}`` if the units were changed by others.

    .. code-block:: yaml

        report:
          schedule.present:
            - function: cmd.run
            - job_args: [/usr/local/bin/report]
            - when: [Monday 9:00am, Friday 4:00pm]
            - splay: 300
    """
    ret = {"name": name, "result": True, "changes": {}, "comment": ""}
    test = {"test": True} if __opts__["test"] else {}
    current = __salt__["schedule.list"](show_all=True, return_yaml=False)
    if name not in current:
        done = __salt__["schedule.add"](name, **dict(kwargs, **test))
        if not done["result"]:
            return dict(ret, result=False, comment=done["comment"])
        ret["changes"] = {name: "added"}
        if test:
            return dict(ret, result=None, comment=done["comment"])
        return dict(ret, comment="Adding new job %s to schedule" % name)
    done = __salt__["schedule.modify"](name, **dict(kwargs, **test))
    if not done["result"]:
        return dict(ret, result=False, comment=done["comment"])
    ret["changes"] = done["changes"]
    if not done["changes"]:
        return dict(ret, comment=done["comment"])
    if test:
        return dict(ret, result=None, comment=done["comment"])
    return dict(ret, comment="Modifying job %s in schedule" % name)


def absent(name, **kwargs):
    """
    A job is not scheduled

    .. code-block:: yaml

        report:
          schedule.absent: []
    """
    return _changed(name, "delete", "Removed job %s from schedule", kwargs)


def enabled(name, **kwargs):
    """
    An existing job is enabled

    .. code-block:: yaml

        report:
          schedule.enabled: []
    """
    return _changed(name, "enable_job", "Enabled job %s from schedule", kwargs, True)


def disabled(name, **kwargs):
    """
    An existing job is disabled

    .. code-block:: yaml

        report:
          schedule.disabled: []
    """
    return _changed(name, "disable_job", "Disabled job %s from schedule", kwargs, False)


def _changed(name, function, words, kwargs, on=None):
    ret = {"name": name, "result": True, "changes": {}, "comment": ""}
    current = __salt__["schedule.list"](show_all=True, return_yaml=False)
    if name not in current:
        return dict(ret, comment="Job %s not present in schedule" % name)
    if on is not None and current[name]["enabled"] is on:
        return dict(ret, comment="Job %s is already %s in schedule" % (name, "enabled" if on else "disabled"))
    test = {"test": True} if __opts__["test"] else {}
    done = __salt__["schedule." + function](name, **dict(kwargs, **test))
    if not done["result"]:
        return dict(ret, result=False, comment=done["comment"], changes=done["changes"])
    if test:
        return dict(ret, result=None, comment=done["comment"])
    return dict(ret, comment=words % name, changes=done["changes"])
