"""ResourceIndex: what it answers, whoever wrote it, and wherever it lies by then: in the log or in a segment."""

import subprocess
import sys
import tempfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pushsalt.index import ResourceIndex, build, resources, segment

TYPES = ["ssh", "local", "t\0t", "", "\2a"]
IDS = ["web1", "web10", "web2", "a b", "x\0y", "x\1", "\2", "é", "\udc80z", "", "Z"]
MANAGERS = ["host1", "host2", "m\2", "", "mé"]

triples = st.tuples(st.sampled_from(TYPES), st.sampled_from(IDS), st.sampled_from(MANAGERS))
operations = st.one_of(
    st.tuples(st.just("put"), triples),
    st.tuples(st.just("put_many"), st.lists(triples, max_size=20)),
    st.tuples(st.just("delete"), triples),
    st.tuples(st.just("compact"), st.none()),
    st.tuples(st.just("reopen"), st.none()),
)


def agree(index, model):
    assert index.items() == sorted((*key, manager) for key, manager in model.items())
    assert index.types() == sorted({type for type, _ in model})
    assert index.managers() == sorted(set(model.values()))
    for type in TYPES:
        assert index.by_type(type) == sorted(id for of, id in model if of == type)
        assert index.owners(type) == {id: manager for (of, id), manager in model.items() if of == type}
        for id in IDS:
            assert index.get(type, id) == model.get((type, id))
    for manager in MANAGERS:
        assert index.by_manager(manager) == sorted(key for key, of in model.items() if of == manager)


@settings(max_examples=30)
@given(st.lists(st.tuples(st.booleans(), operations), max_size=30))
def test_any_writes_of_two(steps):
    with tempfile.TemporaryDirectory() as folder:
        model = {}
        both = [ResourceIndex(folder), ResourceIndex(folder)]
        for which, (what, given) in steps:
            index = both[which]
            if what == "put":
                index.put(*given)
                model[given[:2]] = given[2]
            elif what == "put_many":
                index.put_many(given)
                model.update({entry[:2]: entry[2] for entry in given})
            elif what == "delete":
                assert index.delete(*given[:2]) == (model.pop(given[:2], None) is not None)
            elif what == "compact":
                index.compact()
            else:
                index.close()
                both[which] = ResourceIndex(folder)
        agree(both[0], model)
        agree(both[1], model)
        assert both[0].verify() == []
        for index in both:
            index.close()


@pytest.mark.parametrize("chunk", [2, 256])
def test_many_of_one_type_across_blocks_and_merges(tmp_path, monkeypatch, chunk):
    """More than a block of names, changed in the middle, at both ends and across managers."""
    monkeypatch.setattr(segment, "CHUNK", chunk)
    monkeypatch.setattr(build, "CHUNK", chunk)
    model = {}
    with ResourceIndex(tmp_path / "index") as index:
        for round in range(4):
            numbers = range(round * 50, round * 50 + 300)
            entries = [("ssh", f"h{n * 7 % 1000:04}", f"m{(n + round) % 13}") for n in numbers]
            index.put_many(entries)
            model.update({entry[:2]: entry[2] for entry in entries})
            for n in range(round, 300, 37):
                key = ("ssh", f"h{n:04}")
                assert index.delete(*key) == (key in model)
                model.pop(key, None)
            index.compact()
            assert index.by_type("ssh") == sorted(id for _, id in model)
            for number in range(13):
                managed = sorted(key for key, of in model.items() if of == f"m{number}")
                assert index.by_manager(f"m{number}") == managed
            assert all(index.get("ssh", f"h{n:04}") == model.get(("ssh", f"h{n:04}")) for n in range(1000))
        assert index.verify() == []


def test_another_process_sees_it_at_once(tmp_path):
    code = (
        "import sys; from pushsalt.index import ResourceIndex\n"
        "with ResourceIndex(sys.argv[1]) as index:\n"
        "    print(index.by_type('ssh'), index.by_manager('host1'), index.get('ssh', 'web1'))"
    )

    def told():
        return subprocess.check_output([sys.executable, "-c", code, str(tmp_path / "index")], text=True).strip()

    with ResourceIndex(tmp_path / "index") as index:
        index.put("ssh", "web1", "host1")
        assert told() == "['web1'] [('ssh', 'web1')] host1"
        index.compact()
        assert told() == "['web1'] [('ssh', 'web1')] host1"
        index.delete("ssh", "web1")
        assert told() == "[] [] None"


def test_readers_keep_up_with_a_rewrite(tmp_path):
    writer, reader = ResourceIndex(tmp_path), ResourceIndex(tmp_path)
    writer.put_many([("ssh", "a", "m"), ("ssh", "b", "m")])
    assert reader.by_type("ssh") == ["a", "b"]
    writer.compact()
    assert reader.by_type("ssh") == ["a", "b"]
    writer.put("ssh", "c", "m")
    assert reader.get("ssh", "c") == "m"
    writer.compact()
    writer.delete("ssh", "a")
    assert reader.by_type("ssh") == ["b", "c"]


def test_the_log_is_merged_by_itself(tmp_path, monkeypatch):
    monkeypatch.setattr(resources, "LOG_LEAST", 10_000)
    with ResourceIndex(tmp_path) as index:
        for n in range(1000):
            index.put("ssh", f"h{n}", f"m{n % 3}")
        assert (tmp_path / "log").stat().st_size < 20_000
        assert len(index.by_type("ssh")) == 1000
        assert len(list(tmp_path.glob("seg-*"))) == 1


def test_a_long_log_is_merged_by_another_process(tmp_path, monkeypatch):
    monkeypatch.setattr(resources, "AT_ONCE", 0)
    index = ResourceIndex(tmp_path)
    index.put_many([("ssh", f"host-number-{n}", "m") for n in range(10_000)])
    index._child.wait()
    assert len(list(tmp_path.glob("seg-*"))) == 1
    assert len(index.by_type("ssh")) == 10_000
    assert (tmp_path / "log").stat().st_size < 1000
    index.close()


def test_what_is_the_same_is_not_written_again(tmp_path):
    with ResourceIndex(tmp_path) as index:
        index.put("ssh", "a", "m")
        index.compact()
        size = (tmp_path / "log").stat().st_size
        index.put("ssh", "a", "m")
        assert (tmp_path / "log").stat().st_size == size


@pytest.mark.parametrize("entry", [("ssh", 1, "m"), (None, "a", "m"), ("ssh", "a", None), ("ssh", "a", b"m")])
def test_names_are_text(tmp_path, entry):
    with ResourceIndex(tmp_path) as index:
        with pytest.raises(TypeError):
            index.put(*entry)
        with pytest.raises(TypeError):
            index.put_many([("ssh", "b", "m"), entry])
        assert index.items() == []


def test_private_files(tmp_path):
    with ResourceIndex(tmp_path / "deep" / "index") as index:
        index.put("ssh", "a", "m")
        index.compact()
    for path in (tmp_path / "deep" / "index").iterdir():
        assert path.stat().st_mode & 0o777 == 0o600, path
    assert (tmp_path / "deep").stat().st_mode & 0o777 == 0o700
