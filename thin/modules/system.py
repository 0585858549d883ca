"""The clock, the machine's description, halt, reboot and shutdown. Salt: modules/system.py

``utc_offset`` is ``[+-]HHMM``; without it times are the machine's local ones. Setting the time also sets the hardware
clock if that is possible.
"""

import os
import re

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.files import textfile

__reads__ = (
    "get_system_time",
    "get_system_date",
    "get_system_date_time",
    "has_settable_hwclock",
    "get_computer_desc",
    "get_computer_name",
)
__changes__ = (
    "halt",
    "init",
    "poweroff",
    "reboot",
    "shutdown",
    "set_system_time",
    "set_system_date",
    "set_system_date_time",
    "set_computer_desc",
    "set_computer_name",
)

MACHINE_INFO = "/etc/machine-info"

_TIMES = ("%I:%M:%S %p", "%I:%M %p", "%H:%M:%S", "%H:%M")
_DATES = ("%Y-%m-%d", "%m-%d-%Y", "%m-%d-%y", "%m/%d/%Y", "%m/%d/%y", "%Y/%m/%d")
_ESCAPES = (('"', '\\"'), ("\n", "\\n"), ("\t", "\\t"))


def __virtual__():
    if __grains__.get("kernel") in ("Windows", "Darwin", "SunOS"):
        return False, "The system module is for POSIX-like systems"
    return "system"


# Shutdown


def halt():
    """
    Halt the machine.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' system.halt
    """
    return _say("halt")


def init(runlevel):
    """
    Go to another runlevel.

    runlevel
        the runlevel

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' system.init 5
    """
    return _say("init", runlevel)


def poweroff():
    """
    Switch the machine off.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' system.poweroff
    """
    return _say("poweroff")


def reboot(at_time=None):
    """
    Restart the machine, now or in ``at_time`` minutes.

    at_time
        minutes from now, or a time; by default now

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' system.reboot 15
    """
    return _say("shutdown", "-r", at_time or "now")


def shutdown(at_time=None):
    """
    Shut the machine down, now or in ``at_time`` minutes.

    at_time
        minutes from now, or a time; by default now

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' system.shutdown 30
    """
    powers_off = __grains__.get("kernel") in ("FreeBSD", "NetBSD", "OpenBSD")
    return _say("shutdown", "-p" if powers_off else "-h", at_time or "now")


# The clock


def get_system_time(utc_offset=None):
    """
    The time as ``HH:MM:SS AM``.

    utc_offset
        the offset of the time zone meant: ``+0500``; else the machine's own zone

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' system.get_system_time utc_offset=+0500
    """
    return _now(utc_offset).strftime("%I:%M:%S %p")


def get_system_date(utc_offset=None):
    """
    The date as ``Sat 11/21/2026``.

    utc_offset
        the offset of the time zone meant: ``+0500``; else the machine's own zone

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' system.get_system_date
    """
    return _now(utc_offset).strftime("%a %m/%d/%Y")


def get_system_date_time(utc_offset=None):
    """
    Date and time as ``2026-11-21 17:05:09``.

    utc_offset
        the offset of the time zone meant: ``+0500``; else the machine's own zone

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' system.get_system_date_time
    """
    return _now(utc_offset).strftime("%Y-%m-%d %H:%M:%S")


def set_system_time(newtime, utc_offset=None):
    """
    Set the time: ``11:20``, ``11:20:05``, either with ``AM`` or ``PM``. False for anything else.

    newtime
        ``11:20``, ``11:20:05``, either with ``AM`` or ``PM``
    utc_offset
        the offset of the time zone meant: ``+0500``; else the machine's own zone

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' system.set_system_time '06:45 PM'
    """
    moment = _parsed(newtime, _TIMES)
    if moment is None:
        return False
    return set_system_date_time(hours=moment.hour, minutes=moment.minute, seconds=moment.second, utc_offset=utc_offset)


def set_system_date(newdate, utc_offset=None):
    """
    Set the date: ``YYYY-MM-DD``, ``YYYY/MM/DD``, or month, day and year with ``-`` or ``/`` between them.

    newdate
        ``YYYY-MM-DD``, ``YYYY/MM/DD``, or month, day and year with ``-`` or ``/`` between them
    utc_offset
        the offset of the time zone meant: ``+0500``; else the machine's own zone

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' system.set_system_date 2030-01-31
    """
    moment = _parsed(newdate, _DATES)
    if moment is None:
        raise SaltInvocationError("Invalid date format")
    return set_system_date_time(years=moment.year, months=moment.month, days=moment.day, utc_offset=utc_offset)


def set_system_date_time(years=None, months=None, days=None, hours=None, minutes=None, seconds=None, utc_offset=None):
    """
    Set the clock; parts that are not given are not changed. Returns True. Raises CommandExecutionError with the error
    of ``date``.

    years
        the year
    months
        the month
    days
        the day
    hours
        the hour
    minutes
        the minute
    seconds
        the second
    utc_offset
        the offset of the time zone meant: ``+0500``; else the machine's own zone

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' system.set_system_date_time years=2030 months=1 days=31
    """
    new = _now(utc_offset)
    given = {"year": years, "month": months, "day": days, "hour": hours, "minute": minutes, "second": seconds}
    try:
        new = new.replace(microsecond=0, **{part: int(value) for part, value in given.items() if value is not None})
    except (TypeError, ValueError) as exc:
        raise SaltInvocationError(str(exc))
    command = ["date"]
    if new.tzinfo is not None:
        from datetime import timezone

        new = new.astimezone(timezone.utc)
        command.append("-u")
    done = None
    for form in ("%m%d%H%M%Y.%S", "%m%d%H%M%Y"):  # POSIX date has no seconds
        done = __salt__["cmd.run_all"](command + [new.strftime(form)], python_shell=False, ignore_retcode=True)
        if done["retcode"] == 0:
            break
    else:
        raise CommandExecutionError("date failed: %s" % done["stderr"])
    if has_settable_hwclock():
        __salt__["cmd.run_all"](["hwclock", "--systohc"], python_shell=False)
    return True


def has_settable_hwclock():
    """
    Whether there is a hardware clock that can be set.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' system.has_settable_hwclock
    """
    if not __salt__["cmd.which"]("hwclock"):
        return False
    command = ["hwclock", "--test", "--systohc"]
    return __salt__["cmd.retcode"](command, python_shell=False, output_loglevel="quiet", ignore_retcode=True) == 0


# Names


def get_computer_desc():
    """
    The description (``PRETTY_HOSTNAME`` of /etc/machine-info); False if there is none.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' system.get_computer_desc
    """
    if _by_systemd():
        text = __salt__["cmd.run"](["hostnamectl", "status", "--pretty"], python_shell=False)
    else:
        lines = [line for line in _machine_info() if _is_description(line)]
        if not lines:
            return False
        text = lines[-1].partition("=")[2].strip()
        if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
            text = text[1:-1]
    escaped = {long: short for short, long in _ESCAPES}
    escaped["\\\\"] = "\\"
    return re.sub(r"\\[\\\"nt]", lambda found: escaped[found.group()], text)


def set_computer_desc(desc):
    """
    Set the description; returns whether it worked.

    desc
        the description

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' system.set_computer_desc 'The web server'
    """
    for short, long in _ESCAPES:
        desc = str(desc).replace(short, long)
    if _by_systemd():
        command = ["hostnamectl", "set-hostname", "--pretty", desc]
        return __salt__["cmd.retcode"](command, python_shell=False) == 0
    lines = [line for line in _machine_info() if not _is_description(line)]
    try:
        textfile.write(MACHINE_INFO, "".join(line + "\n" for line in lines + ['PRETTY_HOSTNAME="%s"' % desc]))
    except CommandExecutionError:
        return False
    return True


def get_computer_name():
    """
    The host name.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' system.get_computer_name
    """
    return __salt__["network.get_hostname"]()


def set_computer_name(hostname):
    """
    Set the host name.

    hostname
        the name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' system.set_computer_name web1
    """
    return __salt__["network.mod_hostname"](hostname)


# Private functions


def _by_systemd():
    """Whether hostnamectl works: in a container without systemd it only fails."""
    return os.path.isdir("/run/systemd/system") and bool(__salt__["cmd.which"]("hostnamectl"))


def _say(*words):
    return __salt__["cmd.run"]([str(word) for word in words], python_shell=False)


def _now(utc_offset):
    from datetime import datetime, timedelta, timezone

    if utc_offset is None:
        return datetime.now()
    match = re.match(r"([+-]?)(\d\d)(\d\d)\Z", str(utc_offset))
    if not match:
        raise SaltInvocationError("Invalid UTC offset")
    minutes = int(match.group(2)) * 60 + int(match.group(3))
    return datetime.now(timezone(timedelta(minutes=-minutes if match.group(1) == "-" else minutes)))


def _parsed(text, forms):
    from datetime import datetime

    for form in forms:
        try:
            return datetime.strptime(str(text), form)
        except ValueError:
            continue
    return None


def _machine_info():
    return textfile.read(MACHINE_INFO, "").splitlines()


def _is_description(line):
    return re.match(r"\s*PRETTY_HOSTNAME=", line) is not None
