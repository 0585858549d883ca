"""Changed bytes: repaired, or IndexCorrupt; reported in each case; never a wrong answer."""

import os
import random
import shutil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pushsalt.errors import IndexCorrupt
from pushsalt.index import GrainIndex, ResourceIndex, filters, format, grains, journal, lock, resources

pytestmark = pytest.mark.slow


def resources_folder(folder):
    rng = random.Random(1)
    with ResourceIndex(folder) as index:
        index.put_many([(rng.choice("abc"), f"id{n}", f"m{rng.randrange(9)}") for n in range(200)])
        index.compact()
        for n in range(5):
            index.put("a", f"new{n}", "m1")
        index.delete("a", "new3")
        index.delete(*index.items()[0][:2])
        index.put_many([("c", f"id{n}", f"m{n % 7}") for n in range(0, 120, 7)] * 70)  # a segment above that of the log
        index.put("b", "last", "m2")
        index.delete("c", "id7")


def ask_resources(index):
    return (
        [index.by_type(type) for type in "abcd"],
        [index.by_manager(f"m{n}") for n in range(10)],
        [index.get(type, f"id{n}") for n in range(0, 200, 7) for type in "abc"],
        index.managers(),
    )


def grains_folder(folder):
    def docs(letter, count):
        values = [{"os": "xyz"[n % 3], "own": f"v{n}", "many": ["q", f"y{n}"], "n": n} for n in range(count)]
        return [(f"{letter}{n}", grains) for n, grains in enumerate(values)]

    with GrainIndex(folder) as index:
        index.put_many(docs("a", 300))
        index.put_many(docs("a", grains.MOST_ENTRIES + 6))
        index.put_many(docs("b", 5))
        index.delete("a7")


def ask_grains(index):
    return [index.ids(), *(index.match(expr) for expr in ("os:x", "own:v1*", "many:y2", "n:*3", "*:q"))]


KINDS = {
    "resources": (ResourceIndex, resources_folder, ask_resources),
    "grains": (GrainIndex, grains_folder, ask_grains),
}


@pytest.fixture(scope="module", params=sorted(KINDS))
def sound(request, tmp_path_factory):
    """(class, folder, question, the right answer)"""
    kind, make, ask = KINDS[request.param]
    folder = tmp_path_factory.mktemp("sound") / "index"
    make(folder)
    with kind(folder) as index:
        assert index.verify() == []
        yield kind, folder, ask, ask(index)


@pytest.mark.slow
@settings(max_examples=80)
@given(st.randoms(use_true_random=False), st.sampled_from(["flip", "flips", "zeros", "cut", "empty", "gone", "noise"]))
def test_any_cut_or_changed_byte(sound, tmp_path_factory, rng, how):
    kind, folder, ask, want = sound
    copy = tmp_path_factory.mktemp("damaged") / "index"
    shutil.copytree(folder, copy)
    path = rng.choice(sorted(path for path in copy.iterdir() if path.stat().st_size))
    before = path.read_bytes()
    data = bytearray(before)
    at = rng.randrange(len(data))
    if how in ("flip", "flips"):
        for _ in range(1 if how == "flip" else 6):
            data[at] ^= 1 << rng.randrange(8)
            at = rng.randrange(len(data))
    elif how == "zeros":
        data[at : at + 50] = bytes(len(data[at : at + 50]))
    elif how == "noise":
        data += rng.randbytes(100)
    else:
        del data[0 if how == "empty" else at :]
    path.write_bytes(data)
    if how == "gone":
        path.unlink()
    with kind(copy) as index:
        if data != before and not (how == "noise" and path.name == "lock"):
            assert index.verify(), f"{how} of {path.name} is not noticed"
    with kind(copy) as index:
        try:
            assert ask(index) == want, f"{how} of {path.name}"
        except IndexCorrupt as exc:
            assert how != "flip" or kind is GrainIndex or path.name == "log", f"{how} of {path.name} could be mended"
            assert exc.hint
            index.reset()
            assert index.verify() == []
            assert not any(ask(index)[0])
    shutil.rmtree(copy.parent)


@pytest.mark.slow
def test_one_damaged_byte_of_a_segment_is_mended(tmp_path, caplog):
    """The other copy has it, wherever it is; afterwards the files are intact."""
    resources_folder(tmp_path / "index")
    with ResourceIndex(tmp_path / "index") as index:
        want = ask_resources(index)
    segments = sorted((tmp_path / "index").glob("seg-*"))
    assert len(segments) == 3
    assert {path.read_bytes()[:8] for path in segments} == {b"psresrc3", b"psresrc4"}
    places = [(path, at) for path in segments for at in range(0, path.stat().st_size, path.stat().st_size // 15)]
    for segment, at in places:
        shutil.copytree(tmp_path / "index", tmp_path / "copy")
        path = tmp_path / "copy" / segment.name
        data = bytearray(path.read_bytes())
        data[at] ^= 4
        path.write_bytes(data)
        with ResourceIndex(tmp_path / "copy") as index:
            assert ask_resources(index) == want
            index.put("a", "more", "m1")
            index.compact()
        with ResourceIndex(tmp_path / "copy") as index:
            assert index.verify() == []
            assert index.delete("a", "more")
            assert ask_resources(index) == want
        shutil.rmtree(tmp_path / "copy")
    assert "repaired" in caplog.text


def test_a_filter_without_an_existing_entry(tmp_path, monkeypatch):
    """Its checksums are right, but it hides resources: this is detected."""
    with monkeypatch.context() as patch:
        patch.setattr(filters, "_MIX", 0x12345)
        resources_folder(tmp_path / "index")
    with ResourceIndex(tmp_path / "index") as index:
        assert "the filter lacks entries" in index.verify()


def test_zeros_anywhere_in_a_segment(tmp_path, caplog):
    """A hole that a file system left: no checksum accepts it as empty."""
    resources_folder(tmp_path / "index")
    with ResourceIndex(tmp_path / "index") as index:
        want = ask_resources(index)
    segments = sorted((tmp_path / "index").glob("seg-*"))
    for segment, at in [(path, at) for path in segments for at in range(0, path.stat().st_size, 97)]:
        shutil.copytree(tmp_path / "index", tmp_path / "copy")
        with (tmp_path / "copy" / segment.name).open("r+b") as stream:
            stream.seek(at)
            stream.write(bytes(min(40, segment.stat().st_size - at)))
        with ResourceIndex(tmp_path / "copy") as index:
            try:
                assert ask_resources(index) == want, at
            except IndexCorrupt:
                pass
        shutil.rmtree(tmp_path / "copy")
    assert "repaired" in caplog.text


@pytest.mark.parametrize("looks", [1, 40])
def test_a_segment_of_resources_that_is_cut_before_and_after_it_is_mapped(tmp_path, looks):
    with ResourceIndex(tmp_path) as index:
        index.put_many([("a", f"id{n}", "m") for n in range(200)])
        index.compact()
    with ResourceIndex(tmp_path) as index:  # the writer has it in memory
        assert {index.get("a", f"id{n}") for n in range(looks)} == {"m"}
        [segment] = tmp_path.glob("seg-*")
        os.truncate(segment, 100)
        with pytest.raises(IndexCorrupt, match="cut off"):
            for n in range(looks, 200):
                assert index.get("a", f"id{n}") == "m"


def test_a_segment_that_is_cut_while_it_is_mapped(tmp_path):
    """No read beyond the end of a mapped file, which would kill the process."""
    resources_folder(tmp_path)
    with ResourceIndex(tmp_path) as index:
        want = ask_resources(index)
        for segment in tmp_path.glob("seg-*"):
            with segment.open("r+b") as stream:
                stream.truncate(segment.stat().st_size // 2)
        try:
            assert ask_resources(index) == want
        except IndexCorrupt:
            pass
        assert index.verify()
    grains_folder(tmp_path / "grains")
    with GrainIndex(tmp_path / "grains") as index:
        index.match("os:x")
        for segment in (tmp_path / "grains").glob("seg-*"):
            with segment.open("r+b") as stream:
                stream.truncate(10)
        with pytest.raises(IndexCorrupt):
            index.match("own:v1*")


@pytest.mark.parametrize("cut", [1, 20, 60, 100])
@pytest.mark.parametrize("crashed", [True, False])
def test_the_end_of_the_log_is_lost(tmp_path, monkeypatch, caplog, cut, crashed):
    """After a crash of the machine the end is cut off, with a warning; without a crash it is damage. One of two copies
    suffices.
    """
    with ResourceIndex(tmp_path) as index:
        index.put("ssh", "a", "m")
        index.put("ssh", "b", "m")
    size = len(format.frame(1, b"Pssh\0b\0m"))
    with (tmp_path / "log").open("r+b") as stream:
        stream.truncate((tmp_path / "log").stat().st_size - min(cut, size))
    if crashed:
        monkeypatch.setattr(lock, "boot", lambda: b"another1")
    with ResourceIndex(tmp_path) as index:
        if cut < size // 2:
            assert index.by_type("ssh") == ["a", "b"]
        elif crashed:
            assert index.by_type("ssh") == ["a"]
            assert "lost its last 1 writes" in caplog.text
        else:
            with pytest.raises(IndexCorrupt, match="lost its last 1 writes"):
                index.by_type("ssh")
            return
        assert index.verify()
        index.put("ssh", "c", "m")
        assert index.by_type("ssh")[-1] == "c"
    with ResourceIndex(tmp_path) as index:
        assert index.by_type("ssh")[-1] == "c"
        assert index.verify() == []


@pytest.mark.parametrize("tail", [b"\xf5", *(format.frame(3, b"Pssh\0c\0m")[:size] for size in (10, 25)), bytes(100)])
def test_a_write_that_was_killed_halfway(tmp_path, tail):
    """The write never returned: readers ignore it, and the next writer cuts it off."""
    with ResourceIndex(tmp_path) as index, ResourceIndex(tmp_path) as reader:
        index.put("ssh", "a", "m")
        index.put("ssh", "b", "m")
        with (tmp_path / "log").open("ab") as stream:
            stream.write(tail)
        assert reader.by_type("ssh") == ["a", "b"]
        index.put("ssh", "d", "m")
        assert reader.by_type("ssh") == ["a", "b", "d"]
    with ResourceIndex(tmp_path) as index:
        assert index.by_type("ssh") == ["a", "b", "d"]
        assert index.verify() == []


def test_a_write_whose_first_copy_is_whole(tmp_path):
    """A reader may have seen the write, so it is kept."""
    with ResourceIndex(tmp_path) as index, ResourceIndex(tmp_path) as reader:
        index.put("ssh", "a", "m")
        pair = format.frame(2, b"Pssh\0b\0m")
        with (tmp_path / "log").open("ab") as stream:
            stream.write(pair[: len(pair) // 2 + 3])
        assert reader.by_type("ssh") == ["a", "b"]
        assert reader.by_type("ssh") == ["a", "b"]
        index.put("ssh", "c", "m")
        assert reader.by_type("ssh") == ["a", "b", "c"]
    with ResourceIndex(tmp_path) as index:
        assert index.by_type("ssh") == ["a", "b", "c"]
        assert index.verify() == []


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_everybody_notices_a_reset(tmp_path, kind):
    """Also a process that had the index open before the damage."""
    kind, make, ask = KINDS[kind]
    make(tmp_path)
    with kind(tmp_path) as reader, kind(tmp_path) as writer:
        before = ask(reader)
        assert ask(writer) == before
        data = bytearray((tmp_path / "log").read_bytes())
        data[16:] = bytes(len(data) - 16)
        (tmp_path / "log").write_bytes(data)  # the same file, as with damage
        with kind(tmp_path) as third:
            with pytest.raises(IndexCorrupt):
                ask(third)
            third.reset()
            assert not any(ask(third)[0])
        assert ask(reader) != before
        assert not any(ask(reader)[0])
        if kind is ResourceIndex:
            writer.put("a", "new", "m1")
            assert reader.items() == [("a", "new", "m1")]
        else:
            writer.put_many([("new", {"os": "x"})])
            assert reader.match("os:x") == ["new"]
        assert reader.verify() == []


def test_a_full_disk(tmp_path, monkeypatch):
    """A write that fails leaves nothing behind."""

    def refuse(*args):
        raise OSError(28, "No space left on device")

    with ResourceIndex(tmp_path) as index:
        index.put("ssh", "a", "m")
        monkeypatch.setattr(journal.os, "pwrite", refuse)
        with pytest.raises(OSError, match="No space"):
            index.put("ssh", "b", "m")
        monkeypatch.undo()
        assert index.by_type("ssh") == ["a"]
        index.put("ssh", "c", "m")
        assert index.by_type("ssh") == ["a", "c"]
        assert index.verify() == []


#: the system calls of each operation
CALLS = [(kind, call) for kind in (ResourceIndex, GrainIndex) for call in ("open", "write", "pwrite", "fsync")]


@pytest.mark.parametrize("kind, call", [*CALLS, (ResourceIndex, "ftruncate")])
def test_any_call_that_the_system_refuses(tmp_path, monkeypatch, kind, call):
    """Any system call of a write or a rewrite fails: the operation is done or not, and nothing else is damaged."""
    left = refused = 0
    real = getattr(os, call)

    def refuse(*args, **kwargs):
        nonlocal left, refused
        left -= 1
        if left == -1:
            refused += 1
            raise OSError(28, "No space left on device")
        return real(*args, **kwargs)

    def put(index, n):
        if kind is ResourceIndex:
            index.put_many([("t", f"{n}-{i}", f"m{n}") for i in range(70)])
        else:
            index.put_many([(f"{n}-{i}", {"n": f"m{n}"}) for i in range(70)])

    def size(index, n):
        return len(index.by_manager(f"m{n}") if kind is ResourceIndex else index.match(f"n:m{n}"))

    acknowledged = set()
    index = kind(tmp_path)
    put(index, 0)
    for n in range(1, 19):
        left = n // 2
        monkeypatch.setattr(os, call, refuse)
        try:
            if n % 2:
                put(index, n)
                acknowledged.add(n)
            else:
                put(index, n)
                left = n // 2
                index.compact()
        except OSError:
            pass
        finally:
            monkeypatch.undo()
        with kind(tmp_path) as other:
            for one in (index, other):
                found = {m for m in range(1, n + 1) if size(one, m) == 70}
                assert acknowledged <= found
                assert all(size(one, m) == 0 for m in range(1, n + 1) if m not in found)
                assert size(one, 0) == 70
                assert one.verify() == []
    assert refused
    index.close()


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_no_room_for_a_merge(tmp_path, monkeypatch, caplog, kind):
    """The write that would begin the merge succeeds; the failed merge is reported once."""
    kind, make, ask = KINDS[kind]
    make(tmp_path)
    with kind(tmp_path) as index:
        before = ask(index)

        def refuse(*args):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(journal.os, "fsync", refuse)
        monkeypatch.setattr(resources, "LOG_BYTES", 1000)
        for n in range(80):
            if kind is ResourceIndex:
                index.put("d", f"z{n}", "m1")
            else:
                index.put_many([(f"z{n}", {"os": "none"})])
        assert "cannot be merged: No space" in caplog.text
        monkeypatch.undo()
        assert ask(index) != before
        index.compact()
        assert len(index.by_type("d") if kind is ResourceIndex else index.match("os:none")) == 80


def test_what_else_may_lie_there(tmp_path):
    """A log of another kind is not read, and links are not followed."""
    grains_folder(tmp_path / "grains")
    with ResourceIndex(tmp_path / "grains") as index, pytest.raises(IndexCorrupt, match="no valid header"):
        index.by_type("a")
    (tmp_path / "linked").mkdir(mode=0o700)
    (tmp_path / "linked" / "log").symlink_to(tmp_path / "grains" / "log")
    with ResourceIndex(tmp_path / "linked") as index, pytest.raises(OSError, match="symbolic"):
        index.by_type("a")
    (tmp_path / "open").mkdir(mode=0o777)
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(PermissionError, match="others can write to"):
        ResourceIndex(tmp_path / "open")
