"""The journal in JetStream has the events, cursors and states of the one in SQLite, for several controllers."""

from __future__ import annotations

import random
from types import SimpleNamespace

import pytest

from pushsalt.errors import CommandError
from pushsalt.journal.interface import EventJournal
from pushsalt.journal.reactions import NAME
from pushsalt.journal.store import Bounds, Journal
from pushsalt.workers import eventstate, jobevents
from pushsalt.workers.eventstream import JournalError, StreamJournal


@pytest.fixture
def make(server, tmp_path):
    """Makes the journal of a further controller of the same user."""
    made = []

    def make(name: str = "one") -> StreamJournal:
        config = SimpleNamespace(cache_dir=tmp_path / name, project=None)
        made.append(StreamJournal(config, server.url, Bounds(3600.0, 64 << 20)))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def journal(make):
    return make()


def check_common_behaviour(journal: EventJournal) -> None:
    """Assert the behaviour that both journals have."""
    assert (journal.last(), journal.first(), journal.after(0), journal.since(0.0)) == (0, 0, [], 0)
    one = journal.put("a/one", {"n": 1, "text": "ä"})
    more = journal.put_many([("a/two", {"n": n}) for n in range(2, 30)])
    numbers = [one.number, *(each.number for each in more)]
    assert numbers == sorted(set(numbers)) and journal.last() == numbers[-1] and journal.first() == numbers[0]
    found = journal.after(0)
    assert found == [one, *more] and journal.after(one.number, 2) == more[:2]
    assert journal.after(numbers[-1]) == [] and journal.after(numbers[9]) == found[10:]
    assert journal.at(one.number) == one and journal.at(numbers[-1] + 1) is None
    assert journal.since(one.stamp - 5) == one.number - 1 and journal.since(one.stamp + 3600) == numbers[-1]
    later = journal.put("later", {})
    assert journal.since(later.stamp) == later.number - 1 and journal.after(numbers[-1]) == [later]
    assert journal.cursor("shipper ä *") is None
    journal.move("shipper ä *", one.number)
    assert journal.cursor("shipper ä *") == one.number


def test_it_behaves_like_the_journal_in_sqlite(journal, tmp_path):
    check_common_behaviour(Journal(tmp_path))
    check_common_behaviour(journal)


def test_events_and_cursors_are_those_of_all_controllers(make):
    first, second = make(), make("two")
    event = first.put("app/up", {"n": 1})
    assert second.after(0) == [event]
    first.move("shipper", event.number)
    assert second.cursor("shipper") == event.number
    other = second.put("app/down", {})
    assert first.after(event.number) == [other]


def test_a_large_event_is_stored_in_parts(make):
    texts = [random.Random(seed).randbytes(500_000).hex() for seed in range(3)]
    event = make().put("app/large", {"texts": texts})
    assert make("two").after(0) == [event]


def test_the_server_sees_no_content(journal, server):
    journal.put("app/secret-tag", {"text": "nobody-reads-this"})
    journal.move("secret-name", 1)
    journal.close()
    server.kill()
    stored = b"".join(path.read_bytes() for path in server.folder.rglob("*") if path.is_file())
    assert b"secret-tag" not in stored and b"nobody-reads" not in stored and b"secret-name" not in stored


def test_forged_events_are_left_out(journal, server):
    event = journal.put("app/up", {})

    async def forge() -> None:
        made = await journal.connected()
        await made.store("pushsalt.events.log", b"x" * 60)

    journal.call(forge())
    later = journal.put("app/down", {})
    assert journal.after(0) == [event, later]


def test_it_continues_after_an_outage_of_the_server(journal, server):
    event = journal.put("app/up", {})
    assert journal.after(0) == [event]
    server.kill()
    server.start()
    later = journal.put("app/down", {})
    assert journal.after(event.number) == [later] and journal.after(0) == [event, later]


def test_a_missing_server_is_a_clear_error(journal, server):
    server.kill()
    with pytest.raises(JournalError, match=r"the NATS server at .* cannot be used"):
        journal.last()


def test_what_was_taken_is_continued_by_another_controller(make):
    first = make()
    reactions = eventstate.StreamReactions(first)
    event = first.put("app/up", {})
    reactions.take(event.number)
    assert first.cursor(NAME) == event.number
    reactions.begins(event.number, "a.sls|x", "20261126101500000000")
    reactions.begins(event.number, "b.sls|y", "20261126101500000001")
    reactions.returned(event.number, "a.sls|x", "web1")
    reactions.ends(event.number, "b.sls|y", [("pushsalt/react/failed/b", {"n": 1})], ("first", "b.sls"))
    second = make("two")
    other = eventstate.StreamReactions(second)
    assert other.taken() == [event.number]
    begun = other.begun(event.number)
    assert {name: (each.jid[-1], each.is_done, each.ids) for name, each in begun.items()} == {
        "a.sls|x": ("0", False, frozenset({"web1"})),
        "b.sls|y": ("1", True, frozenset()),
    }
    [failed] = second.after(event.number)
    assert (failed.tag, failed.cause) == ("pushsalt/react/failed/b", ("first", "b.sls"))
    other.done(event.number, [], ())
    assert other.taken() == [] and other.begun(event.number) == {}


@pytest.mark.parametrize("stored", [False, True], ids=["before the event", "after the event"])
def test_a_process_that_ends_in_between_neither_loses_nor_repeats_an_event(make, stored):
    """The process is killed between two of these writes: value with pending event, event, value alone."""
    first = make()
    watched = eventstate.StreamWatched(first, ["web"])
    [row] = first.rows_of([("pushsalt/drift/w1", {"n": 1})], ())
    value = {"what": watched._what, "id": "w1", "tags": ["t"], "pending": [list(row)], "since": first.last()}
    first.call(first.put_value(watched._key("w1"), value))
    if stored:
        first.call(first.store([row]))
    second = make("two")
    assert eventstate.StreamWatched(second, ["web"]).tags("w1") == ["t"]
    assert eventstate.StreamWatched(second, ["web"]).tags("w1") == ["t"]
    assert [event.tag for event in second.after(0)] == ["pushsalt/drift/w1"]


def test_an_event_that_was_taken_before_the_cursor_moved_is_taken_once(make):
    first = make()
    event = first.put("app/up", {})
    eventstate.StreamReactions(first)
    first.call(first.put_value(f"react.{event.number}", {"reactions": {}}))
    other = eventstate.StreamReactions(make("two"))
    assert other.taken() == [event.number] and make("three").cursor(NAME) == event.number


def test_drift_is_that_of_all_controllers(make):
    first = make()
    eventstate.StreamWatched(first, ["web"]).change("w1", ["a", "b"], ("pushsalt/drift/w1", {}))
    eventstate.StreamWatched(first, ["web"]).change("w2", [], ("pushsalt/drift/w2", {}))
    [found] = jobevents.drifted(make("two"))
    assert (found.id, found.tags) == ("w1", ("a", "b"))
    assert [event.tag for event in first.after(0)] == ["pushsalt/drift/w1", "pushsalt/drift/w2"]


def test_one_controller_reacts_at_a_time(make):
    first, second = make(), make("two")
    said: list[str] = []

    def no(text: str) -> bool:
        said.append(text)
        return False

    with jobevents.only_one(first, no, "react"):
        assert first.last() == 0
        with pytest.raises(CommandError, match="another `pushsalt react` follows this journal"):  # noqa: SIM117
            with jobevents.only_one(second, no, "react"):
                raise AssertionError
    with jobevents.only_one(second, no, "react"):
        assert len(said) == 1


def test_a_process_that_has_lost_its_lease_does_nothing_more(make):
    first, second = make(), make("two")
    with jobevents.only_one(first, lambda text: False, "react"):
        lock = first.lock

        async def lose() -> None:
            lock._renewing.cancel()
            await lock.end()
            lock._until = 0.0

        second.call(second.connected())
        first.lock = None
        first.call(lose())
        first.lock = lock
        with jobevents.only_one(second, lambda text: False, "react"):
            with pytest.raises(JournalError, match="another process has taken over"):
                first.put("app/up", {})
            assert second.last() == 0
        first.put("app/up", {})  # the other one has ended
