"""Selects files to remove: by age and size, or by a retention schedule."""

import os
import re
import stat
import time

from thin.exceptions import CommandExecutionError

UNITS = "bkmgtpezy"
#: Rule of a retention schedule -> the parts of a time that are equal for files of the same period.
RULES = {
    "first_of_year": ("year",),
    "first_of_month": ("year", "month"),
    "first_of_week": ("year", "week"),
    "first_of_day": ("year", "month", "day"),
    "first_of_hour": ("year", "month", "day", "hour"),
    "most_recent": ("year", "month", "day", "hour", "time"),
}


def size_of(text):
    """The bytes of "5k", "1MiB", "1MB" (1000 * 1000) or a number; 0 for another text."""
    match = re.match(r"([0-9.]*)\s*(b|[kmgtpezy](?:i?b)?)?$", str(text).strip().lower())
    try:
        number = float(match.group(1))
    except (AttributeError, ValueError):
        return 0
    unit = match.group(2) or "b"
    metric = len(unit) == 2 and unit[1] == "b"
    return int(number * (1000 if metric else 1024) ** UNITS.index(unit[0]))


def _patterns(texts):
    try:
        return [re.compile(text) for text in texts]
    except re.error as exc:
        raise CommandExecutionError("Invalid regular expression: %s" % exc)


def old(top, age, matches, rmdirs, size, exclude, full_path_match, followlinks, comparison, operator, only, rmlinks):
    """The paths that file.tidied removes; content precedes its directory."""
    size = size_of(size) if isinstance(size, str) else size
    comparison = comparison.lower() if isinstance(comparison, str) else ""
    field = "st_" + (comparison if comparison in ("atime", "ctime", "mtime") else "atime")
    operator, only = str(operator).upper(), str(only).lower()
    wanted, unwanted = _patterns([".*"] if matches is None else matches), _patterns(exclude or [])
    today = _day(time.time())
    result = []
    for root, dirs, files in os.walk(top, topdown=False, followlinks=followlinks):
        for name in files + dirs:
            path = os.path.join(root, name)
            link = os.path.islink(path)
            try:
                st = os.lstat(path) if link else os.stat(path)
            except OSError:
                continue
            folder = stat.S_ISDIR(st.st_mode)
            if (link and not rmlinks) or (folder and not rmdirs):
                continue
            old_enough = abs(today - _day(getattr(st, field))) >= age
            big_enough = (0 if link or folder else st.st_size) >= size
            if only in ("age", "size"):
                due = old_enough if only == "age" else big_enough
            else:
                due = old_enough and big_enough if operator == "AND" else old_enough or big_enough
            text = path if full_path_match else name
            if due and any(p.match(text) for p in wanted) and not any(p.match(text) for p in unwanted):
                result.append(path)
    return result


def _day(seconds):
    """The ordinal of the day (local time) of a time."""
    from datetime import date

    return date.fromtimestamp(seconds).toordinal()


def schedule(folder, retain, strptime_format=None):
    """``{"retained", "deleted", "ignored"}``: the names in a directory under a retention schedule, in reverse order."""
    from datetime import datetime

    times, ignored = {}, []
    for name in [".", ".."] + os.listdir(folder):
        try:
            if strptime_format:
                times[name] = datetime.strptime(name, strptime_format)
            elif name in (".", ".."):
                raise ValueError(name)
            else:
                times[name] = datetime.fromtimestamp(os.lstat(os.path.join(folder, name)).st_mtime)
        except (ValueError, OSError):
            ignored.append(name)
    retained = set()
    for rule, count in retain.items():
        if rule not in RULES:
            raise CommandExecutionError("Unknown rule '%s' of retain; known are %s" % (rule, ", ".join(sorted(RULES))))
        firsts = {}  # period -> its first file
        for name, when in sorted(times.items(), key=lambda item: (item[1], item[0])):
            firsts.setdefault(tuple(_part(when, part) for part in RULES[rule]), name)
        newest = sorted(firsts, reverse=True)
        if count != "all":
            newest = newest[: int(count) + (1 if rule == "first_of_week" else 0)]
        retained.update(firsts[key] for key in newest)
    return {
        "retained": sorted(retained, reverse=True),
        "deleted": sorted(set(times) - retained, reverse=True),
        "ignored": sorted(ignored, reverse=True),
    }


def _part(when, part):
    if part == "week":
        return when.isocalendar()[1]
    return when if part == "time" else getattr(when, part)
