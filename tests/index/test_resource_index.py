"""ResourceIndex: its answers, for any writer, in the log and in segments."""

import math
import os
import subprocess
import sys
import tempfile
from zlib import crc32

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pushsalt
from pushsalt.errors import IndexCorrupt
from pushsalt.index import ResourceIndex, build, compaction, filters, output, resources, segment, table
from pushsalt.index.format import CHECKPOINT, HEAD_SIZE, last_checkpoint

pytestmark = pytest.mark.slow

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


@pytest.fixture(params=["usual bounds", "small bounds"])
def bounds(request):
    """With low limits there are many segments at once, and all ways of merging them."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "small bounds":
            small = {"LOG_WRITES": 4, "LOG_ENTRIES": 6, "BATCH": 5, "AT_ONCE": 12, "FEW": 3, "MOST": 5, "IN_MEMORY": 8}
            small["CHECKPOINT_WRITES"] = 2
            for name, value in small.items():
                patch.setattr(resources, name, value)
                if hasattr(compaction, name):
                    patch.setattr(compaction, name, value)
            # without a process for each merge: the writer merges, as it does if it cannot start one
            patch.setattr(compaction.Child, "start", lambda *args: False)
        yield


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.booleans(), operations), max_size=30))
def test_any_writes_of_two(bounds, steps):
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
    monkeypatch.setattr(table, "CHUNK", chunk)
    monkeypatch.setattr(output, "CHUNK", chunk)
    monkeypatch.setattr(resources, "IN_MEMORY", 50)
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


def load(folder, what):
    """After each write by two processes: bytes and writes of the log, its entries, segments; then the expected
    content.
    """
    model = {}
    with ResourceIndex(folder) as one, ResourceIndex(folder) as other:
        for n in range(0, 6000, what):
            entries = [(f"t{m % 3}", f"h{m * 7919 % 6000}", f"m{m % 50}") for m in range(n, n + what)]
            index = other if n // what % 5 == 0 else one
            if what == 1:
                index.put(*entries[0])
            else:
                index.put_many(entries)
            model.update({entry[:2]: entry[2] for entry in entries})
            if n % 10 == 0 and index.delete("t0", f"h{n}"):
                del model["t0", f"h{n}"]
            journal = index._journal
            yield os.stat(folder / "log").st_size, journal.number, index._recent.count, len(journal.segments)
        for index in (one, other):
            assert index.items() == sorted((*key, manager) for key, manager in model.items())
            assert index.by_manager("m7") == sorted(key for key, manager in model.items() if manager == "m7")
            assert index.verify() == []


@pytest.mark.parametrize("what", [1, 10, 60, 700])
def test_what_a_fresh_process_reads_is_bounded(tmp_path, monkeypatch, what):
    """The size of the log and the number of segments are bounded at any time, with single writes and with batches."""
    small = {"LOG_BYTES": 6000, "LOG_WRITES": 40, "LOG_ENTRIES": 100, "BATCH": 50, "BATCH_BYTES": 3000, "AT_ONCE": 500}
    for name, value in small.items():
        monkeypatch.setattr(resources, name, value)
    for size, writes, entries, segments in load(tmp_path, what):
        assert size < 2 * 6000 + 2 * 3000
        assert writes <= 2 * 40 + 1
        assert entries <= 2 * 100 + 50
        assert segments <= compaction.MOST + 1  # a batch may add two


def test_the_usual_bounds():
    """The log is read in a millisecond or two, and there are few segments."""
    most = resources.PATIENCE * resources.LOG_BYTES + 2 * resources.BATCH_BYTES
    assert most < 1 << 20
    assert resources.PATIENCE * max(resources.LOG_WRITES, resources.LOG_ENTRIES) <= 2048
    assert compaction.FEW < compaction.MOST <= 16


@given(st.lists(st.integers(min_value=1, max_value=3000), min_size=1, max_size=400))
def test_how_often_an_entry_is_written_anew(flushed):
    """Segments stay few; the total work is the number of entries times its logarithm."""
    counts, work = [], 0
    for count in flushed:
        counts.append(count)
        work += count
        chosen = compaction.due(counts)
        if chosen > 1:
            merged = sum(counts[-chosen:])
            counts[-chosen:] = [merged]
            work += merged
        assert len(counts) < compaction.MOST
    assert work <= sum(flushed) * (2 + math.log2(sum(flushed)))


def test_many_segments_are_merged_by_another_process(tmp_path, monkeypatch):
    monkeypatch.setattr(resources, "AT_ONCE", 0)
    monkeypatch.setattr(resources, "BATCH", 100)
    with ResourceIndex(tmp_path) as index:
        for round in range(compaction.FEW + 1):
            index.put_many([("ssh", f"host-{round}-{n}", "m") for n in range(200)])
        index._child.wait()
        assert len(list(tmp_path.glob("seg-*"))) == 1
        assert len(index.by_type("ssh")) == 200 * (compaction.FEW + 1)


def test_concurrent_writes_during_a_large_batch(tmp_path, monkeypatch):
    """A batch counts from its end: earlier writes are below it, later ones above."""
    monkeypatch.setattr(resources, "BATCH", 2)
    one, other = ResourceIndex(tmp_path), ResourceIndex(tmp_path)
    one.put("ssh", "a", "first")
    merge, step = build.merge, []

    def merge_while_others_write(path, base, changes, **how):
        merge(path, base, changes, **how)
        if not step:
            step.append(1)
            other.put("ssh", "a", "second")
            other.put_many([("ssh", "b", "second"), ("ssh", "x", "second")])
            other.delete("ssh", "a")
            assert other.get("ssh", "c") is None

    monkeypatch.setattr(build, "merge", merge_while_others_write)
    one.put_many([("ssh", name, "batch") for name in "abc"])
    other.put("ssh", "c", "third")
    for index in (one, other):
        assert index.owners("ssh") == {"a": "batch", "b": "batch", "c": "third", "x": "second"}
        assert index.by_manager("second") == [("ssh", "x")]
        assert index.by_manager("first") == []
        assert index.verify() == []


def as_before(path):
    """Convert a segment to the format without filters; the bytes of the filter are unused."""
    data = path.read_bytes()
    form = segment._HEADER_BEFORE
    magic = {b"psresrc3": b"psresrc1", b"psresrc4": b"psresrc2"}[data[:8]]
    size = len(data) - segment.HEADER.size + form.size
    header = magic + data[8:16] + size.to_bytes(8, "little") + data[24 : form.size - 4]
    header += crc32(header).to_bytes(4, "little")
    path.write_bytes(header + data[form.size : -segment.HEADER.size] + header)


def test_segments_of_before(tmp_path, monkeypatch):
    """Without a filter, with and without removed entries: they are read unchanged, and merged into new ones."""
    monkeypatch.setattr(resources, "BATCH", 10)
    model = {}
    with ResourceIndex(tmp_path) as index:
        for part in range(3):
            batch = {("ssh", f"h{n}"): f"m{n % 3}-{part}" for n in range(part * 40, part * 40 + 60)}
            model.update(batch)
            index.put_many([(*key, manager) for key, manager in batch.items()])
            if part == 1:
                assert index.delete("ssh", "h7")
                del model["ssh", "h7"]
    for path in tmp_path.glob("seg-*"):
        as_before(path)
    assert {path.read_bytes()[:8] for path in tmp_path.glob("seg-*")} == {b"psresrc1", b"psresrc2"}
    managers = sorted(set(model.values()))
    for _ in range(2):
        with ResourceIndex(tmp_path) as index:
            assert index.items() == sorted((*key, manager) for key, manager in model.items())
            assert index.managers() == managers
            for manager in managers:
                assert index.by_manager(manager) == sorted(key for key, of in model.items() if of == manager)
            assert [index.get("ssh", f"h{n}") for n in range(150)] == [model.get(("ssh", f"h{n}")) for n in range(150)]
            assert index.verify() == []
            index.compact()
    assert [path.read_bytes()[:8] for path in tmp_path.glob("seg-*")] == [b"psresrc3"]


def test_segments_that_know_nothing_are_not_looked_into(tmp_path, monkeypatch):
    """The first look-up of a process reads only the tables of segments that may have the entry."""
    monkeypatch.setattr(resources, "BATCH", 10)
    monkeypatch.setattr(compaction.Child, "start", lambda *args: True)
    count = compaction.FEW + 2
    with ResourceIndex(tmp_path) as index:
        for part in range(count):
            entries = [("ssh", f"h{part}-{n}", f"m{part}") for n in range(2000)]
            index._put_above({"ssh": {id: manager for _, id, manager in entries}})
        assert len(index._journal.segments) == count
    looked = []
    find = table.Table.find
    monkeypatch.setattr(table.Table, "find", lambda self, name: looked.append(name) or find(self, name))
    with ResourceIndex(tmp_path) as index:
        assert index.get("ssh", "h0-7") == "m0"
        assert len(looked) <= 4
        assert index.get("ssh", "nobody") is None
    del looked[:]
    with ResourceIndex(tmp_path) as index:
        assert len(index.by_manager("m0")) == 2000
        assert len(looked) - count < 100  # each resource in each newer segment would be 14,000


@given(st.lists(st.tuples(st.sampled_from(TYPES), st.text(max_size=9)), max_size=400, unique=True), st.randoms())
def test_filter(tmp_path_factory, keys, rng):
    """Inserted values pass, in one block or in all; hardly any other value does."""
    path = tmp_path_factory.mktemp("filter") / "filter"
    found = [filters.hash_key(*key) for key in keys]
    blocks = filters.blocks_for(len(keys))
    data, *place = filters.written(blocks, [found])
    half = len(found) // 2
    path.write_bytes(data)
    first = filters.Filter(table.File(str(path)), filters.Place(0, *place))
    assert all(map(first.has, found))
    one = filters.Filter(table.File(str(path)), filters.Place(0, *place))
    assert one.among(keys, found) == keys
    others = [rng.getrandbits(32) for _ in range(500)]
    assert one.among(others, others) == [one_hash for one_hash in others if first.has(one_hash)]
    assert len(one.among(others, others)) < 25
    older, *before = filters.written(blocks, [found[:half]])
    path.write_bytes(older)
    old = filters.Filter(table.File(str(path)), filters.Place(0, *before))
    assert filters.written(blocks, [found[half:]], old) == (data, *place)
    assert list(filters.hash_keys("t", b"a\0b")) == [filters.hash_key("t", "a"), filters.hash_key("t", "b")]


def test_an_index_of_before(tmp_path, monkeypatch):
    """With one segment and a log without limit: it is read unchanged, and the first writer shortens the log."""
    with monkeypatch.context() as patch:
        for name in ("LOG_BYTES", "LOG_WRITES", "LOG_ENTRIES", "BATCH", "BATCH_BYTES"):
            patch.setattr(resources, name, 1 << 40)
        with ResourceIndex(tmp_path) as index:
            index.put_many([("ssh", f"h{n}", "m") for n in range(300)])
            index.compact()
            for n in range(3000):
                index.put("ssh", f"h{n}", "later")
            index.delete("ssh", "h7")
    [path] = tmp_path.glob("seg-*")
    as_before(path)
    assert path.read_bytes()[:8] == b"psresrc1"
    with ResourceIndex(tmp_path) as index:
        assert len(index.by_type("ssh")) == 2999
        index.put("ssh", "h7", "new")
        assert index._journal.number == 0
        assert len(index.by_manager("later")) == 2999
    with ResourceIndex(tmp_path) as index:
        assert index.by_manager("new") == [("ssh", "h7")]
        assert index.verify() == []


def test_who_opens_a_long_log_begins_at_its_last_checkpoint(tmp_path):
    """Earlier writes are not read, so damage there has no effect; a damaged checkpoint only costs time."""
    count = 2 * resources.CHECKPOINT_WRITES + 40
    with ResourceIndex(tmp_path) as index, ResourceIndex(tmp_path) as other:
        for n in range(count):
            index.put("ssh", f"h{n}", f"m{n % 3}")
            if n == 300:
                assert index.delete("ssh", "h4")
                assert len(other.by_type("ssh")) == 300
        whole = index.items()
        assert len(whole) == count - 1
        assert other.items() == whole
        assert other._recent.count == index._recent.count
    path = tmp_path / "log"
    data = path.read_bytes()
    place, number = last_checkpoint(data[16:])
    assert number == 2 * resources.CHECKPOINT_WRITES + 1
    assert data[16 + place + HEAD_SIZE :].startswith(CHECKPOINT)

    def opened(changed):
        path.write_bytes(changed)
        with ResourceIndex(tmp_path) as index:
            assert index.items() == whole
            return index._recent.count, index._journal.notes

    every_write = count + 1
    without_the_one_replaced = count  # the put of h4 is in no checkpoint
    assert opened(data) == (without_the_one_replaced, [])
    early = data.index(b"h9\0")
    assert opened(data[:early] + b"X" + data[early + 1 :]) == (without_the_one_replaced, [])
    first, second = (at for at in range(len(data)) if data.startswith(CHECKPOINT, at) and at > 16 + place)
    one = data[: first + 20] + b"XX" + data[first + 22 :]
    assert opened(one)[0] == every_write
    assert opened(data[: second + 20] + b"XX" + data[second + 22 :])[0] == every_write
    both = one[: second + 20] + b"XX" + one[second + 22 :]
    with pytest.raises(IndexCorrupt):
        opened(both)


def test_unchanged_data_is_not_written_again(tmp_path):
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


@pytest.mark.parametrize(
    "code, without",
    [
        ("import pushsalt.index", ["typing", "re", "pathlib", "msgpack", "logging"]),
        (
            "from pushsalt.index import ResourceIndex",
            ["msgpack", "logging", "dataclasses", "hashlib", "pushsalt.index.build"],
        ),
    ],
)
def test_lookups_import_only_needed_modules(code, without):
    """A lookup of a resource imports no module that it does not need."""
    root = os.path.dirname(os.path.dirname(pushsalt.__file__))
    code = f"import sys; sys.path.insert(0, {root!r}); {code}; print(*sys.modules)"
    found = subprocess.check_output([sys.executable, "-I", "-S", "-c", code], text=True).split()
    assert not set(without) & set(found)
