"""Jobs that run once at a later time, by at(1), atq and atrm. Salt: ``salt/modules/at.py``."""

import re

from thin import process
from thin.exceptions import CommandNotFoundError

__reads__ = ("atq", "atc", "jobcheck")
__changes__ = ("atrm", "at")

#: the line with a job's tag, as Salt writes it
_TAG = re.compile(r"^### SALT: (\w+)", re.MULTILINE)
_BSD = ("OpenBSD", "FreeBSD")


def __virtual__():
    if process.which("at"):
        return True
    return False, "The at module could not be loaded: at command not found"


def atq(tag=None):
    """
    Return ``{jobs: [{job, date, time, queue, user, tag}]}`` of the pending jobs

    tag
        Only those with this tag, or the one with this number

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' at.atq
    """
    jobs = []
    red_hat = __grains__.get("os_family") == "RedHat"
    shown = _run("at", "-l") if red_hat else _run("atq")
    for line in shown.splitlines():
        job = _job(line)
        if job is None:
            continue
        match = _TAG.findall(_run("at", "-c", str(job["job"])))
        job["tag"] = match[-1] if match else ""
        if not tag or tag in (job["tag"], job["job"]):
            jobs.append(job)
    return {"jobs": jobs}


def _job(line):
    """The job of a line of atq; None for its heading."""
    import time

    words = line.split()
    system = __grains__.get("os")
    if system in _BSD:
        if words[:1] in (["Rank"], ["Date"]):
            return None
        if system == "OpenBSD":
            moment = time.strptime(" ".join(words[1:5]), "%b %d, %Y %H:%M")
            number, queue, user = words[6], words[7], words[5]
        else:
            moment = time.strptime(" ".join(words[1:4] + words[5:6]), "%b %d %H:%M:%S %Y")
            number, queue, user = words[8], words[7], words[6]
    else:
        if len(words) < 8:
            return None
        number, queue, user = int(words[0]), words[6], words[7]
        moment = time.strptime(" ".join(words[1:6]))
    return {
        "job": number,
        "date": time.strftime("%Y-%m-%d", moment),
        "time": time.strftime("%H:%M:%S", moment),
        "queue": queue,
        "user": user,
    }


def atrm(*args):
    """
    Remove jobs, and return ``{jobs: {removed: [numbers as text], tag}}``

    args
        Their numbers; or ``all``, and a tag

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' at.atrm 4 5
        pushsalt run '*' at.atrm 7 backup
    """
    if not args:
        return {"jobs": {"removed": [], "tag": None}}
    args = [str(one) for one in args]
    tag = args[1] if args[0] == "all" and len(args) > 1 else None
    queued = [str(job["job"]) for job in atq(tag)["jobs"]]
    removed = queued if args[0] == "all" else [number for number in queued if number in args]
    if removed:
        _run("at", "-d", *removed)
    return {"jobs": {"removed": removed, "tag": tag}}


def at(*args, **kwargs):
    """
    Add a job, and return it in the shape of ``at.atq``

    args
        When (as at understands it), and the command
    tag
        A word to find it by
    runas
        Whose job it is

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' at.at 'now +1 min' /sbin/reboot tag=reboot
    """
    if len(args) < 2:
        return {"jobs": []}
    stdin = " ".join(str(one) for one in args[1:]) + "\n"
    if "tag" in kwargs:
        stdin = "### SALT: %s\n%s" % (kwargs["tag"], stdin)
    more = {"runas": kwargs["runas"]} if "runas" in kwargs else {}
    output = __salt__["cmd.run"](
        [_program("at"), str(args[0])], stdin=stdin, python_shell=False, env={"LC_ALL": "C"}, **more
    )
    if output.endswith("Garbled time"):
        return {"jobs": [], "error": "invalid timespec"}
    match = re.search(r"^[Jj]ob (\S+)", output, re.MULTILINE)
    if not match:
        return {"jobs": [], "error": output}
    return atq(match.group(1) if __grains__.get("os") in _BSD else int(match.group(1)))


def atc(jobid):
    """
    Return the script that a job will run; ``{error: text}`` when there is no such job

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' at.atc 3
    """
    return _run("at", "-c", str(jobid)) or {"error": "invalid job id '%s'" % jobid}


def jobcheck(**kwargs):
    """
    Return the jobs that match all of: ``runas``, ``tag``, ``hour``, ``minute``, ``day``, ``month``, ``year``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' at.jobcheck runas=root hour=13
    """
    if all(name.startswith("__") for name in kwargs):
        return {"error": "You have given a condition"}
    wanted = {}
    for name, key, place in (
        ("hour", "time", 0),
        ("minute", "time", 1),
        ("year", "date", 0),
        ("month", "date", 1),
        ("day", "date", 2),
    ):
        if kwargs.get(name):
            short_year = name == "year" and int(kwargs[name]) < 100
            wanted[key, place] = ("20%02d" if short_year else "%02d") % int(kwargs[name])
    jobs = atq()["jobs"]
    if not jobs:
        return {"jobs": []}
    result = [
        job
        for job in jobs
        if kwargs.get("runas") in (None, "", job["user"])
        and kwargs.get("tag") in (None, "", job["tag"])
        and all(re.split("[-:]", job[key])[place] == value for (key, place), value in wanted.items())
    ]
    return {"jobs": result} if result else {"jobs": [], "note": "No match jobs or time format error"}


def _program(name):
    path = process.which(name)
    if not path:
        raise CommandNotFoundError("%s: command not found" % name)
    return path


def _run(name, *args):
    return __salt__["cmd.run_stdout"]([_program(name)] + list(args), python_shell=False, env={"LC_ALL": "C"})
