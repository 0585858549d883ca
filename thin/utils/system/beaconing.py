"""Evaluates the configured beacons of a session at their intervals.

Salt: ``salt.beacons.Beacon.process``, which a minion calls each second. Other than in Salt, an invalid configuration is
logged once, not each second. An error of a beacon is logged once, and is an event with the text as ``error``. Other
beacons are still evaluated.
"""

import copy
import os
from time import monotonic

from thin import waiting
from thin.log import getLogger
from thin.utils import beacons as words

log = getLogger(__name__)

#: Seconds between two evaluations. Salt: ``loop_interval``.
INTERVAL = 1.0
#: Limits: events of one evaluation of a beacon, characters of the data of an event, levels of that data.
EVENTS, CHARACTERS, LEVELS = 1000, 256 * 1024, 30
#: Options that are not passed to a beacon, as in Salt.
_RESERVED = ("interval", "disable_during_state_run", "enabled")


class Beacons(object):
    """The beacons of a session. ``modules``: their loader; ``id``: that of the target."""

    def __init__(self, modules, config, id):
        self._modules = modules
        self._id = id
        self._next = 0.0
        self.active = []
        if isinstance(config, dict) and config.get("enabled", True):
            configured = [self._configured(name, given) for name, given in config.items() if name != "enabled"]
            self.active = [beacon for beacon in configured if beacon is not None]

    def _configured(self, name, given):
        """The beacon of this name; None if it is disabled, or if its configuration is invalid, which is logged."""
        settings = given if isinstance(given, dict) else None
        if isinstance(given, list) and all(isinstance(entry, dict) for entry in given):
            settings = words.list_to_dict(given)
        if settings is not None and not settings.get("enabled", True):
            return None
        module = settings.get("beacon_module") or name if settings is not None else name
        try:
            function = self._modules[module + ".beacon"]
            valid, comment = self._validated(module, given)
            if valid:
                return Active(name, given, settings, function, self._modules.get(module + ".close"))
        except (Exception, SystemExit) as exc:  # a user's file may raise anything
            comment = str(exc) or type(exc).__name__
        log.error("the beacon %s is not used, its configuration is invalid: %s", name, comment)
        return None

    def _validated(self, module, given):
        validate = self._modules.get(module + ".validate")
        if not isinstance(given, list) and validate is None:
            return False, "Configuration for beacon must be a list."
        if isinstance(given, list) and not all(isinstance(entry, dict) for entry in given):
            return False, "Configuration for beacon must be a list of dictionaries."
        return validate(copy.deepcopy(given)) if validate is not None else (True, "")

    def poll(self, seconds, lock):
        """Wait for events, at most so many seconds; returns them. ``lock``: see ``is_locked``."""
        end, events = monotonic() + seconds, []
        while not events:
            now = monotonic()
            if now < self._next:
                if self._next > end:
                    waiting.sleep(max(0.0, end - now))
                    return events
                waiting.sleep(self._next - now)
            self._next = monotonic() + INTERVAL
            for beacon in list(self.active):
                events += self._evaluate(beacon, lock)
            if monotonic() >= end:
                break
        return events

    def close(self):
        """End all beacons and the programs that they have started."""
        for beacon in self.active:
            beacon.end()
        self.active = []

    def _evaluate(self, beacon, lock):
        """The events of a beacon; none if it is not due."""
        if not beacon.is_due():
            return []
        if beacon.is_off_during_runs and lock and is_locked(lock):
            beacon.end()
            return []
        try:
            events = [self._event(beacon.name, data) for data in list(beacon.evaluate() or ())]
        except (Exception, SystemExit) as exc:
            return self._failed(beacon, "%s: %s" % (type(exc).__name__, exc))
        beacon.error = ""
        if beacon.runs_once:
            self.active.remove(beacon)
            beacon.end()
        if len(events) > EVENTS:
            log.warning("the beacon %s: %d of its events were dropped", beacon.name, len(events) - EVENTS)
        return events[:EVENTS]

    def _failed(self, beacon, text):
        """The event for an error; none if the last evaluation had the same error."""
        if beacon.error == text:
            return []
        beacon.error = text
        log.error("the beacon %s failed: %s", beacon.name, text)
        return [{"name": beacon.name, "tag": "", "data": {"error": text[:CHARACTERS], "id": self._id}}]

    def _event(self, name, data):
        """An event: ``name`` of the beacon, ``tag`` (the end of the event's tag), and ``data``. Raises ValueError."""
        if not isinstance(data, dict):
            raise ValueError("an event must be a dict, not %s" % type(data).__name__)
        data = Plain().of(data)
        tag = str(data.pop("tag", ""))
        data.setdefault("id", self._id)
        return {"name": name, "tag": tag, "data": data}


class Plain(object):
    """Copies data, and converts values that a message cannot contain to text. Raises ValueError for too much data."""

    def __init__(self):
        self._left = CHARACTERS

    def of(self, value, level=0):
        if isinstance(value, dict) and level < LEVELS:
            return {key if isinstance(key, int) else str(key): self.of(value[key], level + 1) for key in value}
        if isinstance(value, (list, tuple, set, frozenset)) and level < LEVELS:
            return [self.of(each, level + 1) for each in value]
        if isinstance(value, bytes):
            value = value.decode("utf-8", "replace")
        elif value is not None and not isinstance(value, (str, int, float)):
            value = repr(value)
        self._left -= len(value) if isinstance(value, str) else 8
        if self._left < 0:
            raise ValueError("an event has more than %d characters" % CHARACTERS)
        return value


class Active(object):
    """A beacon that is evaluated. ``given``: its configuration; ``settings``: the same merged into one dict."""

    def __init__(self, name, given, settings, function, close):
        self.name = name
        self._function = function
        self._close = close
        self.error = ""
        self.runs_once = bool(settings.get("run_once"))
        self.is_off_during_runs = bool(settings.get("disable_during_state_run"))
        self._interval = float(settings.get("interval") or 0)
        self._due = monotonic() + self._interval
        passed = [{key: entry[key] for key in entry if key not in _RESERVED} for entry in given]
        self._config = [entry for entry in passed if entry] + [{"_beacon_name": name}]

    def is_due(self):
        """Whether its interval has ended; if so, the next one starts."""
        now = monotonic()
        if now < self._due:
            return False
        self._due = max(self._due + self._interval, now)
        return True

    def evaluate(self):
        """The return of the beacon."""
        return self._function(copy.deepcopy(self._config))

    def end(self):
        """End the programs that it has started, and forget its state; the next evaluation starts again."""
        if self._close is not None:
            try:
                self._close(copy.deepcopy(self._config))
            except Exception as exc:
                log.debug("the beacon %s: %s", self.name, exc)


def is_locked(path):
    """Whether a process has locked this file, as runs of states do; False on systems other than Linux.

    This reads the kernel's table of locks. An attempt to take the lock could prevent a run.
    """
    try:
        inode = os.stat(path).st_ino
        with open("/proc/locks", encoding="ascii", errors="replace") as table:
            rows = [line.split() for line in table]
    except OSError:
        return False
    return any(row[1:2] == ["FLOCK"] and row[5].rpartition(":")[2] == str(inode) for row in rows if len(row) > 5)
