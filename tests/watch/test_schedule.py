"""Salt's schedule: its options, and errors in it."""

from __future__ import annotations

import pytest

from pushsalt.errors import ConfigError
from pushsalt.watch.schedule import entries


def one(**job):
    found, warnings = entries({"schedule": {"job": {"function": "test.arg", **job}}})
    assert warnings == []
    return found[0]


def test_an_interval():
    entry = one(minutes=2, seconds=30, args=[1], kwargs={"a": 2})
    assert (entry.seconds, entry.args, entry.kwargs, entry.maxrunning, entry.return_job) == (
        150,
        [1],
        {"a": 2},
        1,
        True,
    )
    assert entry.first(1000) == 1000 and entry.after(1000) == 1150
    assert one(seconds=10, run_on_start=False).first(1000) == 1010


def test_cron_does_not_run_at_the_start():
    entry = one(cron="0 3 * * *")
    assert entry.first(1000) > 1000


@pytest.mark.parametrize("splay, low, high", [(10, 1, 10), ({"start": 5, "end": 6}, 5, 6), (0, 0, 0)])
def test_splay(splay, low, high):
    entry = one(seconds=100, splay=splay)
    for _ in range(20):
        assert 1100 + low <= entry.after(1000) <= 1100 + high


def test_disabled_entries_are_left_out():
    jobs = {"a": {"function": "test.arg", "seconds": 1, "enabled": False}, "b": {"function": "test.arg", "seconds": 1}}
    assert [entry.name for entry in entries({"schedule": jobs})[0]] == ["b"]
    assert entries({"schedule": {"enabled": False, **jobs}})[0] == []


def test_a_job_with_unknown_keys_is_reported_and_not_run():
    found, [text] = entries({"schedule": {"a": {"function": "test.arg", "when": "5pm"}}})
    assert found == [] and "a is not run" in text and "when" in text


@pytest.mark.parametrize(
    "job, text",
    [
        ({"seconds": "x", "function": "test.arg"}, "no number"),
        ({"seconds": 0, "function": "test.arg"}, "at least one second"),
        ({"function": "test.arg"}, "an interval"),
        ({"seconds": 1, "cron": "* * * * *", "function": "test.arg"}, "an interval"),
        ({"seconds": 1}, "no function"),
        ({"seconds": 1, "function": "nothing"}, "no function"),
        ({"cron": "61 * * * *", "function": "test.arg"}, "61"),
        ({"cron": "0 0 30 2 *", "function": "test.arg"}, "no time"),
        ({"seconds": 1, "function": "test.arg", "splay": {"start": 5, "end": 1}}, "splay"),
        ({"seconds": 1, "function": "test.arg", "kwargs": [1]}, "kwargs"),
        ("x", "is a mapping"),
    ],
)
def test_invalid_entries(job, text):
    with pytest.raises(ConfigError, match=text):
        entries({"schedule": {"a": job}})
