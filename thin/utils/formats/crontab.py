"""Parses and writes crontabs. The lines below a marker are managed by Salt, those above it are not changed.

A crontab is ``{"pre": [line], "env": [{"name", "value"}], "crons": [job], "special": [job]}``. A job of ``crons`` has
``minute hour daymonth month dayweek``, one of ``special`` has ``spec`` (@daily); both have ``cmd``, ``comment``,
``identifier`` (None if there is none) and ``commented`` (whether it is commented out).
"""

MARK = "# Lines below here are managed by Salt, do not edit"
OFF = "#DISABLED#"
IDENTIFIER = "SALT_CRON_IDENTIFIER"
TIMES = ("minute", "hour", "daymonth", "month", "dayweek")


def parse(text):
    """The parsed crontab; lines below the marker that are no job, variable or comment are dropped."""
    parsed = {"pre": [], "crons": [], "special": [], "env": []}
    lines = text.splitlines()
    if MARK not in lines:
        parsed["pre"] = lines
        return parsed
    at = lines.index(MARK)
    parsed["pre"] = lines[:at]
    comment = identifier = None
    for line in lines[at + 1 :]:
        off = line.startswith(OFF)
        line = line[len(OFF) :] if off else line
        words = line.split(" ")
        if line.startswith("#"):
            remark, marked, rest = line.lstrip("# ").partition(IDENTIFIER)
            if marked:
                remark, identifier = remark.rstrip(), rest[1:] or identifier
            comment = remark if comment is None else comment + "\n" + remark
            continue
        about = {"identifier": identifier, "comment": comment, "commented": off}
        if line.startswith("@"):
            words = line.split()
            if len(words) < 2:
                continue
            parsed["special"].append(dict(about, spec=words[0], cmd=" ".join(words[1:])))
        elif line.find("=") > 0 and (" " not in line or line.index("=") < line.index(" ")):
            name, _, value = line.partition("=")
            parsed["env"].append({"name": name, "value": value})
            continue
        elif len(words) > 5:
            parsed["crons"].append(dict(about, cmd=" ".join(words[5:]), **dict(zip(TIMES, words))))
        else:
            continue
        comment = identifier = None
    return parsed


def text(tab):
    """The text of a parsed crontab."""
    lines = tab["pre"] + [MARK] + ["%s=%s" % (env["name"], env["value"] or '""') for env in tab["env"]]
    for job in tab["crons"] + tab["special"]:
        if job["comment"] is not None or job["identifier"] is not None:
            comment = " " + job["comment"].rstrip().replace("\n", "\n# ") if job["comment"] else ""
            lines.append("#%s%s" % (comment, " %s:%s" % (IDENTIFIER, job["identifier"]) if job["identifier"] else ""))
        when = [job["spec"]] if "spec" in job else [job[name] for name in TIMES]
        lines.append("%s%s %s" % (OFF if job["commented"] is True else "", " ".join(when), job["cmd"]))
    return "\n".join(lines) + "\n"


def matched(job, command, identifier=None):
    """Whether a job is the one with this identifier. A job without an identifier is compared by its command."""
    if job["identifier"]:
        return bool(identifier) and str(job["identifier"]) == str(identifier)
    return job["cmd"] == command


def differs(old, new):
    """Whether the value ``old`` of a job has to change to ``new``. None keeps any value, ``random`` any fixed time."""
    return old != new and new is not None and (new != "random" or old in ("*", None))


def wanted(times, spec, command, comment, commented, identifier):
    """A job with the wanted values; None means: keep the present value."""
    job = {"cmd": command, "comment": comment, "commented": commented, "identifier": identifier or None}
    if spec is not None:
        job["spec"] = spec
    else:
        job.update((name, None if value is None else str(value).lower()) for name, value in zip(TIMES, times))
    return job


def drift(job, desired):
    """Whether a job differs from the wanted job ``desired``."""
    return ("spec" in job) != ("spec" in desired) or any(differs(job.get(key), desired[key]) for key in desired)


def merged(job, desired):
    """The new job: the values of ``desired``, and those of ``job`` that need no change."""
    return {key: desired[key] if differs(job.get(key), desired[key]) else job.get(key) for key in desired}


def drawn(job):
    """The job with random numbers in place of ``random`` and of ranges ``a:b``."""
    import random

    ranges = {"minute": (0, 59), "hour": (0, 23), "month": (1, 12), "dayweek": (0, 6)}
    out = dict(job)
    for name in ("minute", "hour", "month", "dayweek"):
        if job[name] == "random":
            out[name] = str(random.randint(*ranges[name]))  # noqa: S311
        elif job[name].count(":") == 1:
            out[name] = str(random.randint(*sorted(int(end) for end in job[name].split(":"))))  # noqa: S311
    if job["daymonth"] == "random":
        last = 31 if out["month"] in "1 3 5 7 8 10 12".split() else 30 if out["month"] in "4 6 9 11".split() else 28
        out["daymonth"] = str(random.randint(1, last))  # noqa: S311
    return out
