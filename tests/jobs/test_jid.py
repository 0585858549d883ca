"""Job ids have Salt's form, and are never made twice."""

from datetime import datetime, timezone

import pytest

from pushsalt.jobs.jid import began, is_jid, new_jid


def test_jids_are_the_time_in_twenty_digits():
    before = datetime.now(timezone.utc)
    jid = new_jid()
    assert is_jid(jid)
    assert before <= began(jid)
    assert (began(jid) - before).total_seconds() < 60


def test_no_jid_is_made_twice_and_each_is_later():
    jids = [new_jid() for _ in range(5000)]
    assert jids == sorted(set(jids))


@pytest.mark.parametrize("text", ["", "2026", "2026112612000000000", "20261326120000000000", "2026112612000000000x", 1])
def test_other_texts_are_no_jids(text):
    assert not is_jid(text)
