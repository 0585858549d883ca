"""Scheduled jobs, as timers of systemd. In Salt (``salt/modules/schedule.py``) the minion runs them.

No process of pushsalt stays on a target, so a job must be a command: the ``cmd`` functions, starting and stopping
services, rebooting. Each job is a timer and a service below /etc/systemd/system, which only root can read.
schedule_agent.py has the functions that timers do not support.
"""

import os

from thin import process
from thin.exceptions import CommandExecutionError
from thin.log import getLogger
from thin.utils.files import safepath, serial
from thin.utils.formats import timers

log = getLogger(__name__)

__func_alias__ = {"list_": "list", "reload_": "reload"}
__reads__ = ("list", "is_enabled", "build_schedule_item", "show_next_fire_time", "job_status")
__changes__ = (
    "add",
    "modify",
    "delete",
    "purge",
    "run_job",
    "enable_job",
    "disable_job",
    "enable",
    "disable",
    "reload",
    "save",
)

_FOLDER = "/etc/systemd/system"
_TIMES = ("seconds", "minutes", "hours", "days")
_MORE = (
    "range",
    "when",
    "once",
    "once_fmt",
    "cron",
    "returner",
    "after",
    "return_config",
    "return_kwargs",
    "until",
    "run_on_start",
    "skip_during_range",
    "run_after_skip_range",
)


def __virtual__():
    if process.which("systemctl"):
        return True
    return False, "The schedule module needs systemd, whose timers run the jobs: there is no systemctl"


def list_(show_all=False, show_disabled=True, where=None, return_yaml=True, offline=False):
    """
    Return the jobs, as YAML or with ``return_yaml=False`` as ``{name: job}``

    show_all
        Include jobs whose names begin with ``__``
    show_disabled
        Include disabled jobs
    where, offline
        Have no effect

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' schedule.list
    """
    entries = {}
    for name, job in sorted(_jobs().items()):
        if (show_all or not name.startswith("__")) and (show_disabled or job["enabled"]):
            entries[name] = job
    if not return_yaml:
        return entries
    from thin.utils import yamlout

    return yamlout.dump({"schedule": {name: dict(job, saved=True) for name, job in entries.items()}})


def is_enabled(name=None):
    """
    Return the job of this name, {} if there is none; without a name, whether jobs run at all

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' schedule.is_enabled name=nightly
    """
    return list_(return_yaml=False).get(name, {}) if name else True


def build_schedule_item(name, **kwargs):
    """
    Return a job as it would be stored, or ``{comment, result: False}``

    function, job_args, job_kwargs
        What to run
    seconds, minutes, hours, days
        How often
    when, cron, once, once_fmt
        Times, the times of a crontab, or one date and time
    splay
        Seconds to wait at random, or ``{start, end}``
    run_on_start, until, after, enabled
        As soon as it is added; not later or earlier than; whether it is in force
    maxrunning, return_job, metadata, jid_include, returner, return_config, return_kwargs
        Are kept, and have no effect

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' schedule.build_schedule_item nightly function=state.apply job_args="['app']" seconds=86400
    """
    if not name:
        return {"comment": "Job name is required.", "result": False}
    problem = _conflict(kwargs)
    if problem:
        return {"comment": problem, "result": False}
    for key, kind, what in (("job_args", list, "list"), ("job_kwargs", dict, "dict")):
        if key in kwargs and not isinstance(kwargs[key], kind):
            return {"comment": "%s is not a %s. please correct and try again." % (key, what), "result": False}
    if "function" not in kwargs:
        return {"comment": "A function is required.", "result": False}
    job = {"function": kwargs["function"]}
    for key, mine in (
        [(key, key) for key in _TIMES]
        + [("return_job", "return_job"), ("metadata", "metadata")]
        + [("job_args", "args"), ("job_kwargs", "kwargs")]
    ):
        if key in kwargs:
            job[mine] = kwargs[key]
    for key, default in (("maxrunning", 1), ("name", name), ("enabled", True), ("jid_include", True)):
        job[key] = kwargs.get(key, default)
    for key in ("splay",) + _MORE:
        if key in kwargs:
            job[key] = kwargs[key]
    try:
        timers.units(name, job, "")
    except CommandExecutionError as exc:
        return {"comment": str(exc), "result": False}
    return job


def add(name, **kwargs):
    """
    Add a job; the arguments are those of ``schedule.build_schedule_item``, and ``test``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' schedule.add nightly function=state.apply job_args="['app']" seconds=86400
    """
    if name in _jobs():
        return {"comment": "Job %s already exists in schedule." % name, "result": False, "changes": {}}
    job = build_schedule_item(name, **kwargs)
    if job.get("result") is False:
        return dict(job, changes={})
    if kwargs.get("test"):
        return {"comment": "Job: %s would be added to schedule." % name, "result": True, "changes": {}}
    _put(name, job)
    return {"comment": "Added job: %s to schedule." % name, "result": True, "changes": {name: "added"}}


def modify(name, **kwargs):
    """
    Change a job; the arguments are those of ``schedule.add``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' schedule.modify nightly function=state.apply job_args="['app']" seconds=600
    """
    current = _jobs().get(name)
    if current is None:
        return {"comment": "Job %s does not exist in schedule." % name, "result": False, "changes": {}}
    job = build_schedule_item(name, **dict({"function": current["function"]}, **kwargs))
    if job.get("result") is False:
        return dict(job, changes={})
    ret = {"comment": "Job: %s would be modified in schedule." % name, "result": True}
    ret["changes"] = {name: {"old": current, "new": job}}
    if job == current:
        if _as_written(name, job):
            return {"comment": "Job %s in correct state" % name, "result": True, "changes": {}}
        ret["changes"] = {name: "repaired"}
    if not kwargs.get("test"):
        _put(name, job)
        ret["comment"] = "Modified job: %s in schedule." % name
    return ret


def delete(name, **kwargs):
    """
    Remove a job; ``test`` changes nothing

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' schedule.delete nightly
    """
    if name not in _jobs():
        return {"comment": "Job %s does not exist." % name, "result": False, "changes": {}}
    if kwargs.get("test"):
        return {"comment": "Job: %s would be deleted from schedule." % name, "result": True, "changes": {}}
    _drop(name)
    return {"comment": "Deleted Job %s from schedule." % name, "result": True, "changes": {name: "removed"}}


def purge(**kwargs):
    """
    Remove all jobs; ``test`` changes nothing

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' schedule.purge
    """
    ret = {"comment": [], "changes": {}, "result": True}
    for name in sorted(_jobs()):
        if kwargs.get("test"):
            ret["comment"].append("Job: %s would be deleted from schedule." % name)
        else:
            _drop(name)
            ret["comment"].append("Deleted job: %s from schedule." % name)
            ret["changes"][name] = "removed"
    return ret


def run_job(name, force=False):
    """
    Run a job now; a disabled one only with ``force``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' schedule.run_job nightly
    """
    job = _jobs().get(name)
    if job is None:
        return {"comment": "Job %s does not exist." % name, "result": False}
    if not job["enabled"] and not force:
        return {"comment": "Job %s is disabled." % name, "result": True}
    _systemctl("start", "--no-block", timers.unit(name) + ".service")
    return {"comment": "Scheduling Job %s on minion." % name, "result": True}


def enable_job(name, **kwargs):
    """
    Enable a job; ``test`` changes nothing

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' schedule.enable_job nightly
    """
    return _switched(name, True, kwargs)


def disable_job(name, **kwargs):
    """
    Disable a job, without removing it; ``test`` changes nothing

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' schedule.disable_job nightly
    """
    return _switched(name, False, kwargs)


def enable(**kwargs):
    """
    Enable the execution of all jobs

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' schedule.enable
    """
    return _all_switched("enable", kwargs)


def disable(**kwargs):
    """
    Disable the execution of all jobs, without removing them

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' schedule.disable
    """
    return _all_switched("disable", kwargs)


def reload_():
    """
    Make systemd reload the jobs

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' schedule.reload
    """
    _systemctl("daemon-reload")
    return {"comment": ["Reloaded schedule on minion."], "result": True}


def save(**kwargs):
    """
    Without effect: jobs are stored when they are added

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' schedule.save
    """
    return {"comment": "Schedule (non-pillar items) saved.", "result": True}


def show_next_fire_time(name, **kwargs):
    """
    Return ``{result, next_fire_time}`` of a job, from systemd

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' schedule.show_next_fire_time nightly
    """
    if name not in _jobs():
        return {"result": False, "comment": "Job %s does not exist." % name}
    wanted = ("NextElapseUSecRealtime", "NextElapseUSecMonotonic")
    shown = _systemctl("show", "-p", ",".join(wanted), timers.unit(name) + ".timer")
    values = dict(line.partition("=")[::2] for line in shown.splitlines())
    return {"result": True, "next_fire_time": values.get(wanted[0]) or values.get(wanted[1])}


def job_status(name, time_fmt="%Y-%m-%dT%H:%M:%S"):
    """
    Return systemd's data about the last run of a job: ``Result``, ``ExecMainStatus`` and times

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' schedule.job_status nightly
    """
    if name not in _jobs():
        return {}
    wanted = "Result,ExecMainStatus,ExecMainStartTimestamp,ExecMainExitTimestamp,ActiveState"
    shown = _systemctl("show", "-p", wanted, timers.unit(name) + ".service")
    return dict(line.partition("=")[::2] for line in shown.splitlines())


def _conflict(kwargs):
    if any(key in kwargs for key in _TIMES) and ("when" in kwargs or "cron" in kwargs):
        return 'Unable to use "seconds", "minutes", "hours", or "days" with "when" or "cron" options.'
    if "when" in kwargs and "cron" in kwargs:
        return 'Unable to use "when" and "cron" options together.  Ignoring.'
    return ""


def _jobs():
    """{name: job} of the timers that pushsalt created."""
    jobs = {}
    for entry in os.listdir(_FOLDER) if os.path.isdir(_FOLDER) else ():
        if entry.startswith("salt-job-") and entry.endswith(".timer"):
            with open(os.path.join(_FOLDER, entry), encoding="utf-8") as handle:
                record = [line for line in handle if line.startswith(timers.KEY + "=")]
            try:
                name, job = serial.loads(record[-1].partition("=")[2])
                job["enabled"] = bool(job["enabled"])
            except (IndexError, KeyError, TypeError, ValueError):
                log.warning("%s does not name the job that it belongs to, and is ignored", entry)
                continue
            jobs[name] = job
    return jobs


def _files(name, job):
    """{path: text} of a job's units."""
    place = os.path.join(_FOLDER, timers.unit(name))
    timer, service = timers.units(name, job, serial.dumps([name, job], sort_keys=True))
    return {place + ".timer": timer, place + ".service": service}


def _as_written(name, job):
    from thin.utils.files import textfile

    return all(textfile.read(path) == text for path, text in _files(name, job).items())


def _put(name, job):
    """Write the units of a job, and start or stop its timer."""
    from thin.utils.files import atomic

    unit = timers.unit(name)
    for path, text in _files(name, job).items():
        atomic.write(path, text.encode("utf-8"), mode=0o600)
    _systemctl("daemon-reload")
    if job["enabled"]:
        _systemctl("enable", unit + ".timer")
        _systemctl("restart", unit + ".timer")
    else:
        _systemctl("disable", "--now", unit + ".timer")


def _drop(name):
    unit = timers.unit(name)
    _systemctl("disable", "--now", unit + ".timer")
    for ending in (".timer", ".service"):
        path = os.path.join(_FOLDER, unit + ending)
        if os.path.exists(path):
            safepath.unlink(path)
    _systemctl("daemon-reload")


def _switched(name, on, kwargs):
    word = "enable" if on else "disable"
    job = _jobs().get(name)
    if job is None:
        return {"comment": "Job %s does not exist." % name, "result": False, "changes": {}}
    if kwargs.get("test"):
        return {"comment": "Job: %s would be %sd in schedule." % (name, word), "result": True, "changes": {}}
    changes = {}
    if job["enabled"] is not on:
        _put(name, dict(job, enabled=on))
        changes = {name: "%sd" % word}
    return {"comment": "%sd Job %s in schedule." % (word.title(), name), "result": True, "changes": changes}


def _all_switched(word, kwargs):
    if kwargs.get("test"):
        return {"comment": "Schedule would be %sd." % word, "result": True, "changes": {}}
    for name, job in _jobs().items():
        if job["enabled"] is not (word == "enable"):
            _put(name, dict(job, enabled=word == "enable"))
    return {"comment": "%sd schedule on minion." % word.title(), "result": True, "changes": {"schedule": word + "d"}}


def _systemctl(*args):
    done = __salt__["cmd.run_all"](["systemctl"] + list(args), python_shell=False, ignore_retcode=True)
    if done["retcode"]:
        raise CommandExecutionError("systemctl %s failed: %s" % (" ".join(args), done["stderr"] or done["stdout"]))
    return done["stdout"]
