"""The system's time zone, and whether its hardware clock runs in UTC. Salt: modules/timezone.py

If systemd runs, ``timedatectl`` is used, otherwise the files ``/etc/localtime`` and ``/etc/adjtime``, and further files
of the distribution such as ``/etc/timezone`` or ``/etc/sysconfig/clock``.
"""

import os
import re

from thin import process
from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.files import safepath, textfile

__reads__ = ("get_zone", "get_zonecode", "get_offset", "list_zones", "zone_compare", "get_hwclock")
__changes__ = ("set_zone", "set_hwclock")

ZONES = "/usr/share/zoneinfo/"
LOCALTIME = "/etc/localtime"
ADJTIME = "/etc/adjtime"
FREEBSD_ZONE = "/var/db/zoneinfo"

#: family: key of the zone in /etc/sysconfig/clock
_SYSCONFIG = {"RedHat": "ZONE", "Suse": "TIMEZONE"}


def __virtual__():
    if __grains__.get("kernel") in ("Windows", "Darwin", "SunOS", "AIX"):
        return False, "The timezone module is for Linux and the BSDs"
    return "timezone"


# The time zone


def get_zone():
    """
    Return the name of the time zone, as ``America/Denver``

    Raises CommandExecutionError if it cannot be determined.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' timezone.get_zone
    """
    if _by_systemd():
        return _timedatectl(r"Time ?zone:\s+(\S+)")
    family, zone = __grains__.get("os_family"), None
    if family in _SYSCONFIG:
        zone = _setting("/etc/sysconfig/clock", "(?:TIME)?ZONE")
    elif family in ("Debian", "Gentoo"):
        zone = (textfile.read("/etc/timezone") or "").strip()
    return zone or _linked_zone()


def get_zonecode():
    """
    Return the abbreviation of the time zone, as ``MDT``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' timezone.get_zonecode
    """
    return __salt__["cmd.run"](["date", "+%Z"], python_shell=False)


def get_offset():
    """
    Return the present offset from UTC, as ``-0700``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' timezone.get_offset
    """
    return __salt__["cmd.run"](["date", "+%z"], python_shell=False)


def list_zones():
    """
    Return the sorted names of all time zones

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' timezone.list_zones
    """
    return sorted(name for name, _ in _zones())


def set_zone(timezone):
    """
    Set the time zone; returns True, or the text ``Zone does not exist: PATH``

    Daemons such as cron and syslog use the old one until they are restarted.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' timezone.set_zone Europe/Berlin
    """
    timezone = str(timezone).strip()
    path = _zone_file(timezone)
    if not os.path.isfile(path):
        return "Zone does not exist: " + path
    if _by_systemd():  # informs timedated; if it fails, the files are written nevertheless
        __salt__["cmd.retcode"](["timedatectl", "set-timezone", timezone], python_shell=False, ignore_retcode=True)
    fresh = "%s.%d" % (LOCALTIME, os.getpid())
    try:
        safepath.symlink(path, fresh)
        safepath.rename(fresh, LOCALTIME)
    except OSError as exc:
        if os.path.islink(fresh):
            safepath.unlink(fresh)
        raise CommandExecutionError("Could not set %s: %s" % (LOCALTIME, exc.strerror))
    family = __grains__.get("os_family")
    if family in _SYSCONFIG:
        _set_line("/etc/sysconfig/clock", "^%s=.*" % _SYSCONFIG[family], '%s="%s"' % (_SYSCONFIG[family], timezone))
    elif family in ("Debian", "Gentoo"):
        textfile.write("/etc/timezone", timezone + "\n")
    elif family == "FreeBSD":
        textfile.write(FREEBSD_ZONE, timezone + "\n")
    return True


def zone_compare(timezone):
    """
    Return whether this is the system's time zone

    Names are compared; if the system's zone has no name, the contents of the files. Raises SaltInvocationError if the
    given zone does not exist, and CommandExecutionError if the system's cannot be read. False if the system has no
    zone.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' timezone.zone_compare Europe/Berlin
    """
    try:
        return timezone == get_zone()
    except CommandExecutionError:
        path = _zone_file(timezone)
        wanted = _content(path) if os.path.isfile(path) else None
        if wanted is None:
            raise SaltInvocationError('Can\'t find a local timezone "%s"' % timezone)
        current = _content(LOCALTIME)
        if current is None and os.path.lexists(LOCALTIME):
            raise CommandExecutionError("Failed to read %s to determine current timezone" % LOCALTIME)
        return current == wanted


# The hardware clock


def get_hwclock():
    """
    Return ``UTC`` or ``localtime``; None if the machine has no hardware clock

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' timezone.get_hwclock
    """
    if _by_systemd():
        return "localtime" if _timedatectl(r"(?i)RTC in local TZ:\s+(\S+)").lower() == "yes" else "UTC"
    family, clock = __grains__.get("os_family"), None
    if family == "Debian":
        clock = {None: None, "yes": "UTC"}.get(_setting("/etc/default/rcS", "UTC"), "localtime")
    lines = textfile.lines(ADJTIME)
    if not clock and lines:
        clock = lines[-1].strip()
    if not clock and family == "Gentoo":
        clock = _setting("/etc/conf.d/hwclock", "clock")
    if clock:
        return "localtime" if clock.lower() in ("local", "localtime") else clock
    return "UTC" if os.path.exists("/dev/rtc") else None  # the default of hwclock without /etc/adjtime


def set_hwclock(clock):
    """
    Configure that the hardware clock runs in ``UTC`` or in ``localtime``; returns whether that worked

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' timezone.set_hwclock localtime
    """
    if clock not in ("UTC", "localtime"):
        raise SaltInvocationError("Only 'UTC' and 'localtime' are allowed")
    local = clock == "localtime"
    if _by_systemd():
        command = ["timedatectl", "set-local-rtc", "true" if local else "false"]
        return __salt__["cmd.retcode"](command, python_shell=False) == 0
    family = __grains__.get("os_family")
    if family == "Debian":
        _set_line("/etc/default/rcS", "^UTC=.*", "UTC=no" if local else "UTC=yes")
    elif family == "Gentoo":
        _set_line("/etc/conf.d/hwclock", "^clock=.*", 'clock="%s"' % ("local" if local else "UTC"))
    lines = textfile.lines(ADJTIME)
    if local or lines:
        kept = (lines + ["0.0 0 0.0\n", "0\n"][len(lines) :])[:2]
        textfile.write(ADJTIME, "".join(kept) + ("LOCAL\n" if local else "UTC\n"))
    return True


# Private functions


def _by_systemd():
    return os.path.isdir("/run/systemd/system") and bool(process.which("timedatectl"))


def _timedatectl(pattern):
    done = __salt__["cmd.run_all"](["timedatectl"], python_shell=False, ignore_retcode=True)
    if done["retcode"] != 0:
        raise CommandExecutionError("timedatectl failed: %s" % done["stderr"])
    match = re.search(pattern, done["stdout"])
    if not match:
        raise CommandExecutionError("Failed to parse timedatectl output: %s" % done["stdout"])
    return match.group(1)


def _zone_file(timezone):
    """The file of a zone. For a name that leads out of the folder of zones it is the folder, which is no zone."""
    path = ZONES + str(timezone)
    return path if os.path.normpath(path).startswith(ZONES) else ZONES


def _linked_zone():
    """The zone to which /etc/localtime links; for a copy, the zone with the same content."""
    try:
        path = os.path.normpath(os.path.join("/etc", os.readlink(LOCALTIME)))
    except OSError:
        if not os.path.exists(LOCALTIME):
            raise CommandExecutionError("%s does not exist" % LOCALTIME)
        if __grains__.get("os_family") == "FreeBSD":  # tzsetup copies the file of the zone, and stores its name
            return (textfile.read(FREEBSD_ZONE) or "").strip() or get_zonecode()
        content = _content(LOCALTIME)
        alike = sorted(name for name, file in _zones() if content == _content(file))
        if alike:
            return alike[0]
    else:
        if path.startswith(ZONES):
            return path[len(ZONES) :]
    raise CommandExecutionError("Unable to determine timezone")


def _zones():
    """``(name, path)`` of each zone; ``posix``, ``right`` and the tables have names in lower case."""
    for folder, folders, files in os.walk(ZONES):
        if folder == ZONES:
            folders[:] = [name for name in folders if not name[0].islower()]
        for name in files:
            path = os.path.join(folder, name)
            if not name[0].islower() and _content(path, 4) == b"TZif":
                yield path[len(ZONES) :], path


def _content(path, size=-1):
    try:
        with open(path, "rb") as source:
            return source.read(size)
    except OSError:
        return None


def _setting(path, key):
    """The value of ``key=value`` in a file of shell settings; None if there is none."""
    match = re.search(r"(?m)^\s*%s=[\"']?([^\"'\s]*)" % key, textfile.read(path) or "")
    return match.group(1) if match else None


def _set_line(path, pattern, line):
    """Change an existing setting; a file without it is not changed."""
    text = textfile.read(path) or ""
    changed = re.sub("(?m)" + pattern, lambda _: line, text)
    if changed != text:
        textfile.write(path, changed)
