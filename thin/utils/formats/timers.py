"""Converts jobs of Salt's scheduler to systemd units: a timer and a oneshot service for each. Pure.

A job is the dict that ``schedule.build_schedule_item`` makes. pushsalt leaves no program on a target, so that a service
can only run commands: ``command`` converts the functions that have one.
"""

import re

from thin.exceptions import CommandExecutionError

#: The section and key of a timer that contain its job; systemd ignores sections that begin with ``X-``.
SECTION, KEY = "X-Salt", "Job"
_DAYS = ("Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_SHELL = ("cmd.run", "cmd.run_all", "cmd.run_stdout", "cmd.run_stderr", "cmd.retcode", "cmd.shell", "cmd.run_bg")
_SERVICES = {"service.%s" % verb: verb for verb in ("start", "stop", "restart", "reload", "enable", "disable")}
_MACHINE = {
    "system.reboot": "reboot",
    "system.poweroff": "poweroff",
    "system.halt": "halt",
    "system.shutdown": "poweroff",
}
_IGNORED = (
    "python_shell",
    "output_loglevel",
    "hide_output",
    "ignore_retcode",
    "rstrip",
    "raise_err",
    "use_vt",
    "bg",
    "redirect_stderr",
    "output_encoding",
    "reset_system_locale",
    "success_retcodes",
    "saltenv",
)
_CANNOT = ("range", "skip_during_range", "run_after_skip_range")


def refuse(words):
    raise CommandExecutionError(words)


def unit(name):
    """The name of a job's units, without the suffix."""
    return "salt-job-" + re.sub(r"[^A-Za-z0-9_.:-]", _hex, name)


def _hex(match):
    return "".join("\\x%02x" % octet for octet in match.group().encode("utf-8"))


def quoted(word):
    """A word of a command line in a unit file, quoted so that it is one argument."""
    word = str(word).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return '"%s"' % word.replace("%", "%%").replace("$", "$$")


def command(function, args, kwargs):
    """([word of the command], [additional line of the service]) of a function. Raises CommandExecutionError for a
    function or an argument that no command corresponds to."""
    args, kwargs = list(args or []), dict(kwargs or {})
    for key in [key for key in kwargs if key in _IGNORED or key.startswith("__")]:
        del kwargs[key]
    lines = []
    if function in _SHELL or function == "cmd.script":
        first = args.pop(0) if args else kwargs.pop("source" if function == "cmd.script" else "cmd", None)
        if not first:
            refuse("%s: there is no command among job_args" % function)
        for key, line in (
            ("cwd", "WorkingDirectory=%s"),
            ("runas", "User=%s"),
            ("group", "Group=%s"),
            ("umask", "UMask=%s"),
            ("timeout", "TimeoutStartSec=%s"),
        ):
            value = kwargs.pop(key, None)
            if value is not None:
                lines.append(line % str(value).replace("%", "%%").replace("\n", " "))
        env = kwargs.pop("env", None) or {}
        for part in env if isinstance(env, list) else [env]:
            lines += ["Environment=%s" % quoted("%s=%s" % pair).replace("$$", "$") for pair in part.items()]
        if function == "cmd.script":
            if not str(first).startswith("/"):
                refuse("cmd.script: a scheduled script has to lie on the target: %s is no absolute path" % first)
            words = [first] + (str(args.pop(0)).split() if args else str(kwargs.pop("args", "") or "").split())
        elif isinstance(first, list):
            words = [str(word) for word in first]
        else:
            words = [kwargs.pop("shell", None) or "/bin/sh", "-c", first]
        kwargs.pop("shell", None)
    elif function in _SERVICES:
        name = args.pop(0) if args else kwargs.pop("name", None)
        if not name or str(name).startswith("-"):
            refuse("%s: there is no service among job_args" % function)
        words = ["systemctl", _SERVICES[function], str(name)]
    elif function in _MACHINE:
        del args[:]
        words = ["systemctl", _MACHINE[function]]
    else:
        refuse(
            "The function %s cannot be scheduled: it takes an agent, and none stays on the target. These can: %s. "
            "States and all else are scheduled on the controller: a timer there that runs pushsalt."
            % (function, ", ".join(sorted(_SHELL + tuple(_SERVICES) + tuple(_MACHINE) + ("cmd.script",))))
        )
    if args or kwargs:
        refuse("%s: these arguments cannot be scheduled: %s" % (function, args or sorted(kwargs)))
    return words, lines


def timing(job):
    """The lines of the timer that set its times. Raises CommandExecutionError for what a timer cannot express."""
    bad = [name for name in _CANNOT if job.get(name)]
    if bad:
        refuse("A timer cannot express %s" % ", ".join(bad))
    factors = (("seconds", 1), ("minutes", 60), ("hours", 3600), ("days", 86400))
    every = sum(float(job[name]) * factor for name, factor in factors if name in job)
    lines = []
    if every:
        lines += ["OnActiveSec=%gs" % (0 if job.get("run_on_start") else every), "OnUnitActiveSec=%gs" % every]
    for expression in _listed(job.get("cron")):
        lines += ["OnCalendar=%s" % one for one in calendar_of_cron(expression)]
    for expression in _listed(job.get("when")):
        lines.append("OnCalendar=%s" % calendar_of_text(expression))
    if job.get("once"):
        lines.append("OnCalendar=%s" % moment(job["once"], job.get("once_fmt")))
    if not lines:
        refuse("The job has no time: it needs seconds, minutes, hours, days, when, cron or once")
    if job.get("run_on_start") and not every:
        lines.insert(0, "OnActiveSec=0s")
    splay = job.get("splay")
    if splay:
        low, high = (splay["start"], splay["end"]) if isinstance(splay, dict) else (0, splay)
        lines.append("RandomizedDelaySec=%ds" % max(int(high) - int(low), 0))
    return lines + ["AccuracySec=1s"]


def _listed(value):
    return value if isinstance(value, list) else [] if value is None else [value]


def calendar_of_cron(expression):
    """The OnCalendar values of the five fields of a crontab line, or of ``@daily`` and the like."""
    fields = str(expression).split()
    short = {
        "@hourly": "0 * * * *",
        "@daily": "0 0 * * *",
        "@midnight": "0 0 * * *",
        "@weekly": "0 0 * * 0",
        "@monthly": "0 0 1 * *",
        "@yearly": "0 0 1 1 *",
        "@annually": "0 0 1 1 *",
    }
    fields = short.get(str(expression), " ".join(fields)).split()
    if len(fields) != 5:
        refuse("%r does not have the five fields of a cron time" % expression)
    try:
        minute, hour = _field(fields[0], 0, 59), _field(fields[1], 0, 23)
        day, month = _field(fields[2], 1, 31), _field(fields[3], 1, 12, _MONTHS)
        week = _field(fields[4], 0, 7, [name.lower() for name in _DAYS[:7]])
    except (IndexError, ValueError):
        refuse("%r is not a valid cron time" % expression)
    week = "" if week == "*" else ",".join(_days(part) for part in week.split(","))
    clock = "%s:%s:00" % (hour, minute)
    if week and fields[2] != "*":  # cron runs the job if either matches
        return ["*-%s-%s %s" % (month, day, clock), "%s *-%s-* %s" % (week, month, clock)]
    return ["%s*-%s-%s %s" % (week + " " if week else "", month, day, clock)]


def _days(part):
    """The names of the days of a number or range. They are listed one by one: systemd's week begins on Monday."""
    first, _, last = part.partition("..")
    return ",".join(_DAYS[number] for number in range(int(first), int(last or first) + 1))


def _field(text, low, high, names=()):
    """A field of cron in systemd's syntax. Steps are listed one by one: in systemd they do not end with a range."""
    parts = []
    for part in text.lower().split(","):
        span, slash, step = part.partition("/")
        ends = [low, high] if span == "*" else [_number(end, names, low) for end in span.split("-")]
        if len(ends) > 2 or not all(low <= end <= high for end in ends) or ends[0] > ends[-1]:
            raise ValueError(text)
        if slash:
            last = ends[1] if len(ends) == 2 else high
            parts += [str(number) for number in range(ends[0], last + 1, int(step))]
        elif span == "*":
            return "*"
        else:
            parts.append("..".join(str(end) for end in ends))
    return ",".join(parts)


def _number(text, names, low):
    return list(names).index(text[:3]) + low if text[:3] in names else int(text)


def calendar_of_text(text):
    """The OnCalendar value of ``when``: a date and time, a time of every day, or a time of a day of the week."""
    text = str(text).strip()
    match = re.match(
        r"(?:(?P<date>\d{4}-\d\d-\d\d)[T ]?)?(?:(?P<day>[A-Za-z]{3,9}),?\s*)?"
        r"(?:(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?(?::(?P<second>\d\d))?\s*(?P<half>[AaPp]\.?[Mm]\.?)?)?$",
        text,
    )
    parts = match.groupdict() if match and text else {}
    day = (parts.get("day") or "")[:3].title()
    vague = bool(parts) and parts["hour"] and not (parts["minute"] or parts["half"])
    if not any(parts.values()) or (day and day not in _DAYS) or vague:
        refuse("%r: a timer takes a date (2030-01-31 17:00), a time (5:00pm), or a day and it (Monday 5:00pm)" % text)
    hour = int(parts["hour"] or 0)
    if parts["half"]:
        hour = hour % 12 + (12 if parts["half"][0] in "pP" else 0)
    clock = "%02d:%s:%s" % (hour, parts["minute"] or "00", parts["second"] or "00")
    return "%s%s %s" % (day + " " if day else "", parts["date"] or "*-*-*", clock)


def moment(text, form=None):
    """``YYYY-mm-dd HH:MM:SS`` from a date in the format ``form``, by default ISO. Raises CommandExecutionError."""
    import time

    text = str(text)
    for one in [form] if form else ["%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"]:
        try:
            return time.strftime("%Y-%m-%d %H:%M:%S", time.strptime(text, one))
        except ValueError:
            continue
    return refuse("%r is not a date as %s" % (text, form or "2030-01-31T17:00:00"))


def units(name, job, record):
    """(text of the timer, text of the service). ``record``: the job as one line of text."""
    if str(job.get("maxrunning", 1)) not in ("1", "None"):
        refuse("maxrunning: a service runs once at a time")
    words, lines = command(job["function"], job.get("args"), job.get("kwargs"))
    conditions = [
        'test "$(date +%%s)" -%s "$(date -d %s +%%s)"' % (how, _shell(moment(job[key])))
        for key, how in (("after", "ge"), ("until", "lt"))
        if job.get(key)
    ]
    for condition in conditions:
        lines.append("ExecCondition=/bin/sh -c %s" % quoted(condition))
    splay = job.get("splay")
    if isinstance(splay, dict) and int(splay["start"]):
        lines.append("ExecStartPre=/bin/sleep %d" % int(splay["start"]))
    title = " ".join(str(name).split()).replace("%", "%%")
    head = "[Unit]\nDescription=Salt job %s\n\n" % title
    service = head + "[Service]\nType=oneshot\n%sExecStart=%s\n" % (
        "".join("%s\n" % line for line in lines),
        " ".join(quoted(word) for word in words),
    )
    timer = head + "[Timer]\n%s\n\n[Install]\nWantedBy=timers.target\n\n[%s]\n%s=%s\n" % (
        "\n".join(timing(job)),
        SECTION,
        KEY,
        record,
    )
    return timer, service


def _shell(text):
    return "'%s'" % text.replace("'", "'\\''")
