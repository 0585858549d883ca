"""Reports entries of systemd's journal. Salt: ``salt/beacons/journald.py``."""

from datetime import datetime

from thin import process
from thin.utils import beacons
from thin.utils.files import serial

#: Fields that are numbers, as in python-systemd.
NUMBERS = frozenset(
    (
        *("PRIORITY", "LEADER", "USERSPACE_USEC", "INITRD_USEC", "KERNEL_USEC", "_UID", "_GID", "_PID"),
        *("SYSLOG_FACILITY", "SYSLOG_PID", "_AUDIT_SESSION", "_AUDIT_LOGINUID", "_SYSTEMD_OWNER_UID", "CODE_LINE"),
        *("ERRNO", "EXIT_STATUS", "COREDUMP_PID", "COREDUMP_UID", "COREDUMP_GID", "COREDUMP_SIGNAL"),
    )
)
TIMES = frozenset(("__REALTIME_TIMESTAMP", "_SOURCE_REALTIME_TIMESTAMP", "COREDUMP_TIMESTAMP"))
#: Maximum number of entries that are read at once, and of bytes of an entry.
MOST, LONGEST = 1000, 1024 * 1024
#: name of the beacon -> cursor of the last entry that was read; "" if there was none
_cursors = {}


def __virtual__():
    return (True, "") if process.which("journalctl") else (False, "there is no journalctl")


def validate(config):
    """Whether each service has a dict of fields."""
    if not isinstance(config, list):
        return beacons.no_list("journald")
    for fields in beacons.list_to_dict(config).get("services", {}).values():
        if not isinstance(fields, dict):
            return False, "Services configuration for journald beacon must be a list of dictionaries."
    return beacons.VALID


def beacon(config):
    """
    An event with the fields of each new entry that has all fields of a service; the tag ends with the service

    .. code-block:: yaml

        beacons:
          journald:
            - services:
                sshd:
                  SYSLOG_IDENTIFIER: sshd
                  PRIORITY: 6
    """
    config = beacons.list_to_dict(config)
    name = config.get("_beacon_name", "journald")
    if name not in _cursors:
        last = list(_entries(["-n", "1"]))
        _cursors[name] = last[-1].get("__CURSOR", "") if last else ""
        return []
    events = []
    for entry in _entries(["--after-cursor=" + _cursors[name]] if _cursors[name] else []):
        _cursors[name] = entry.get("__CURSOR", _cursors[name])
        entry = {key: _value(key, value) for key, value in entry.items() if value is not None}
        for service, fields in config.get("services", {}).items():
            if all(key in entry and str(entry[key]) == str(fields[key]) for key in fields):
                events.append(dict(entry, tag=service))
    return events


def close(config):
    """Forget the last entry: the next evaluation starts with the entries after it."""
    _cursors.pop(beacons.name_of(config, "journald"), None)


def _entries(words):
    """The entries that journalctl prints with these options, at most ``MOST``."""
    count = 0
    for line in _lines(process.output(["journalctl", "--quiet", "--no-pager", "--output=json"] + words)):
        try:
            entry = serial.loads(line.decode("utf-8", "replace"))
        except ValueError:
            continue
        if isinstance(entry, dict):
            yield entry
            count += 1
            if count >= MOST:
                return


def _lines(pieces):
    """The lines of a program's output, without those that are too long."""
    rest, skip = b"", False
    for piece in pieces:
        lines = (rest + piece).split(b"\n")
        rest = lines.pop()
        for line in lines:
            if not skip:
                yield line
            skip = False
        if len(rest) > LONGEST:
            rest, skip = b"", True


def _value(key, value):
    if isinstance(value, list) and all(isinstance(each, int) for each in value):  # bytes that are not valid text
        return bytes(each & 0xFF for each in value).decode("utf-8", "replace")
    if key in NUMBERS:
        try:
            return int(value)
        except (TypeError, ValueError):
            return value
    if key in TIMES and str(value).isdigit():
        return datetime.fromtimestamp(int(value) / 1e6).isoformat()
    return value
