"""Salt's ``schedule:`` configuration: which functions are called, and when. Salt: ``salt/utils/schedule.py``."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pushsalt.errors import ConfigError
from pushsalt.watch import cron

_HINT: Final = "schedule: {name: {function: MODULE.FUNCTION, minutes: 10}}; see docs/watch.md"
_UNITS: Final = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400}
#: Keys of ``schedule`` that are not names of jobs.
_OF_ALL: Final = frozenset(("enabled", "splay", "skip_function", "skip_during_range"))
_KNOWN: Final = frozenset(
    (
        *_UNITS,
        *("function", "args", "kwargs", "cron", "splay", "maxrunning", "return_job", "run_on_start", "enabled"),
        *("tgt", "tgt_type", "returner", "jid_include", "metadata", "name", "return_kwargs", "return_config"),
    )
)


@dataclass(frozen=True)
class Entry:
    """One job of the schedule.

    ``seconds``: the interval; or ``times``: those of cron. ``splay``: lower and upper limit of random seconds that are
    added. ``tgt``: the targets of an execution function; None for a runner function.
    """

    name: str
    function: str
    args: list[Any] = field(default_factory=list)
    kwargs: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    times: cron.Cron | None = None
    splay: tuple[int, int] = (0, 0)
    maxrunning: int = 1
    return_job: bool = True
    run_on_start: bool = False
    tgt: Any = None
    tgt_type: str = "glob"
    returners: tuple[str, ...] = ()

    def first(self, now: float) -> float:
        """The time of the first run, if the service begins at ``now``."""
        return now if self.run_on_start else self.after(now)

    def after(self, moment: float) -> float:
        """The time of the next run after ``moment``."""
        due = self.times.after(moment) if self.times is not None else moment + self.seconds
        low, high = self.splay
        return due + (random.randint(low, high) if high else 0)  # noqa: S311 - no secret


def entries(opts: Mapping[str, Any]) -> tuple[list[Entry], list[str]]:
    """The enabled jobs, and warnings. Raises ConfigError for an invalid schedule."""
    given = opts.get("schedule") or {}
    if not isinstance(given, Mapping):
        raise ConfigError(f"schedule is a mapping of names to jobs, not {type(given).__name__}", _HINT)
    if given.get("enabled") is False:
        return [], []
    entries, warnings = [], []
    for name, job in given.items():
        if name in _OF_ALL:
            continue
        if not isinstance(job, Mapping):
            raise ConfigError(f"schedule: {name} is a mapping, not {type(job).__name__}", _HINT)
        if job.get("enabled") is False:
            continue
        unknown = sorted(str(key) for key in job.keys() - _KNOWN)
        if unknown:
            warnings.append(f"schedule: {name} is not run: it has {', '.join(unknown)}, which pushsalt does not know")
            continue
        entries.append(_entry(str(name), job, given.get("splay")))
    return entries, warnings


def _entry(name: str, job: Mapping[str, Any], splay: Any) -> Entry:
    function = job.get("function")
    if not isinstance(function, str) or "." not in function:
        raise ConfigError(f"schedule: {name}: {function!r} is no function", _HINT)
    seconds, times = _times(name, job)
    args, kwargs = job.get("args") or [], job.get("kwargs") or {}
    if not isinstance(kwargs, Mapping):
        raise ConfigError(f"schedule: {name}: kwargs is a mapping", _HINT)
    returners = job.get("returner") or ()
    names = returners.split(",") if isinstance(returners, str) else list(returners)
    return Entry(
        name,
        function,
        list(args) if isinstance(args, list | tuple) else [args],
        {str(key): value for key, value in kwargs.items()},
        seconds,
        times,
        _splay(name, job.get("splay", splay)),
        _integer(name, "maxrunning", job.get("maxrunning", 1)),
        bool(job.get("return_job", True)),
        bool(job.get("run_on_start", times is None)),
        job.get("tgt"),
        str(job.get("tgt_type") or "glob"),
        tuple(map(str, names)),
    )


def _times(name: str, job: Mapping[str, Any]) -> tuple[float, cron.Cron | None]:
    units = [unit for unit in _UNITS if unit in job]
    if bool(units) == ("cron" in job):
        raise ConfigError(f"schedule: {name} has an interval ({', '.join(_UNITS)}), or cron", _HINT)
    if units:
        total = float(sum(_integer(name, unit, job[unit]) * _UNITS[unit] for unit in units))
        if total < 1:
            raise ConfigError(f"schedule: {name}: its interval is at least one second", _HINT)
        return total, None
    try:
        times = cron.parse(str(job["cron"]))
        times.after(0.0)
    except ValueError as exc:
        raise ConfigError(f"schedule: {name}: cron: {exc}", _HINT) from None
    return 0.0, times


def _splay(name: str, given: Any) -> tuple[int, int]:
    if not given:
        return 0, 0
    if isinstance(given, Mapping):
        low, high = _integer(name, "splay", given.get("start", 0)), _integer(name, "splay", given.get("end", 0))
        if high < low:
            raise ConfigError(f"schedule: {name}: the end of splay is before its start", _HINT)
        return low, high
    return 1, max(1, _integer(name, "splay", given))


def _integer(name: str, what: str, value: Any) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = -1
    if number < 0:
        raise ConfigError(f"schedule: {name}: {what}: {value!r} is no number", _HINT)
    return number
