"""Times of cron."""

from __future__ import annotations

from datetime import datetime

import pytest

from pushsalt.watch import cron


@pytest.mark.parametrize(
    "text, now, then",
    [
        ("* * * * *", "2026-11-26 20:14:30", "2026-11-26 20:15"),
        ("*/15 * * * *", "2026-11-26 20:45", "2026-11-26 21:00"),
        ("0 3 * * *", "2026-11-26 03:00", "2026-11-27 03:00"),
        ("5,10-12 0 1 jan *", "2026-11-26 20:00", "2027-01-01 00:05"),
        ("5,10-12 0 1 jan *", "2027-01-01 00:05", "2027-01-01 00:10"),
        ("0 0 * * mon", "2026-11-26 20:00", "2026-11-30 00:00"),
        ("0 0 * * 7", "2026-11-26 20:00", "2026-11-29 00:00"),
        ("0 0 13 * fri", "2026-11-26 20:00", "2026-11-27 00:00"),  # either of both days
        ("0 0 29 2 *", "2026-11-26 20:00", "2028-02-29 00:00"),
        ("@hourly", "2026-11-26 20:14", "2026-11-26 21:00"),
        ("10/20 * * * *", "2026-11-26 20:14", "2026-11-26 20:30"),
    ],
)
def test_the_next_time(text, now, then):
    found = cron.parse(text).after(datetime.fromisoformat(now).timestamp())
    assert datetime.fromtimestamp(found) == datetime.fromisoformat(then)


@pytest.mark.parametrize(
    "text",
    ["", "* * * *", "60 * * * *", "* * 0 * *", "5-1 * * * *", "*/0 * * * *", "x * * * *", "* * * * * *", "-1 * * * *"],
)
def test_invalid_cron_expressions(text):
    with pytest.raises(ValueError):
        cron.parse(text)


def test_an_expression_that_never_matches():
    with pytest.raises(ValueError, match="no time"):
        cron.parse("0 0 30 2 *").after(0.0)
