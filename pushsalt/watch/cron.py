"""Times of cron: five fields, in local time.

``* , - /``, English names of months and days, ``@hourly`` and the like have the same meaning as for cron. If both the
day of the month and the day of the week are restricted, a day that matches either is enough, as for cron.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

_WORDS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTHS: Final = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAYS: Final = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
#: name, lowest and highest value, words for values, the value of the first word
_FIELDS: Final[tuple[tuple[str, int, int, list[str], int], ...]] = (
    ("minute", 0, 59, [], 0),
    ("hour", 0, 23, [], 0),
    ("day of the month", 1, 31, [], 0),
    ("month", 1, 12, _MONTHS, 1),
    ("day of the week", 0, 7, _DAYS, 0),
)
#: Number of days that are searched for the next time: a leap day may be eight years away.
_DAYS_AHEAD: Final = 366 * 9


@dataclass(frozen=True)
class Cron:
    """The allowed values of each field. ``either``: a match of one of the two day fields is enough."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either: bool

    def after(self, moment: float) -> float:
        """The first time after ``moment``, in seconds since 1970. Raises ValueError if there is none."""
        first = datetime.fromtimestamp(moment).replace(second=0, microsecond=0) + timedelta(minutes=1)
        for ahead in range(_DAYS_AHEAD):
            day = (first + timedelta(days=ahead)).date()
            if day.month not in self.months or not self._is_day(day.day, day.isoweekday() % 7):
                continue
            for hour in sorted(self.hours):
                for minute in sorted(self.minutes):
                    candidate = datetime(day.year, day.month, day.day, hour, minute)
                    if candidate >= first and candidate.timestamp() > moment:
                        return candidate.timestamp()
        raise ValueError("it names no time that will come")

    def _is_day(self, day: int, weekday: int) -> bool:
        if self.either:
            return day in self.days or weekday in self.weekdays
        return day in self.days and weekday in self.weekdays


def parse(text: str) -> Cron:
    """The times of an expression. Raises ValueError."""
    fields = _WORDS.get(text.strip().lower(), text).split()
    if len(fields) != len(_FIELDS):
        raise ValueError(f"{text!r} has {len(fields)} fields, not five")
    values = [_values(field, *about) for field, about in zip(fields, _FIELDS, strict=True)]
    weekdays = frozenset(value % 7 for value in values[4])
    either = not fields[2].startswith("*") and not fields[4].startswith("*")
    return Cron(values[0], values[1], values[2], values[3], weekdays, either)


def _values(field: str, name: str, lowest: int, highest: int, words: list[str], first: int) -> frozenset[int]:
    values: set[int] = set()
    for part in field.lower().split(","):
        match = re.fullmatch(r"(\*|[a-z0-9]+(?:-[a-z0-9]+)?)(?:/([0-9]{1,3}))?", part)
        if match is None or match[2] == "0":
            raise ValueError(f"{part!r} is no {name}")
        step = int(match[2] or 1)
        if match[1] == "*":
            low, high = lowest, highest
        else:
            begin, _, end = match[1].partition("-")
            low = _number(begin, name, words, first)
            high = _number(end, name, words, first) if end else (highest if match[2] else low)
        if not lowest <= low <= high <= highest:
            raise ValueError(f"{part!r} is no {name} from {lowest} to {highest}")
        values.update(range(low, high + 1, step))
    return frozenset(values)


def _number(word: str, name: str, words: list[str], first: int) -> int:
    if word in words:
        return words.index(word) + first
    if not word.isdigit() or len(word) > 2:
        raise ValueError(f"{word!r} is no {name}")
    return int(word)
