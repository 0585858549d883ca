"""The sealed image of pillar: it answers what the entries contain, also if they changed since it was made."""

import os
import random
import shutil
import time

import pytest

from pushsalt.cache import pillarimage
from pushsalt.cache.pillar import PillarBank
from pushsalt.targeting import Subject, matches

TERMS = [
    ("pillar", "role:web"),
    ("pillar", "role:*"),
    ("pillar_pcre", "vhost:v1?\\."),
    ("pillar_exact", "role:web*"),
    ("pillar", "deep:list:1"),
    ("pillar", "*:web"),
    ("pillar_exact", "deep:on:True"),
    ("pillar", "5:five"),
]


def pillar(n):
    deep = {"list": [n % 2, "x"], "on": n % 5 == 0}
    made = {"role": ["web", "db", "we*b"][n % 3], "vhost": f"v{n}.example", "deep": deep}
    return {**made, 5: "five"} if n % 7 == 0 else made


def opened(folder, key="key"):
    return PillarBank(folder / "cache", "pillar", folder / key / "cache.key")


@pytest.fixture
def make(tmp_path):
    return lambda key="key": opened(tmp_path, key)


@pytest.fixture(scope="module")
def stocked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stocked")
    bank = opened(folder)
    for n in range(250):
        bank.put(f"id{n}", pillar(n))
    return folder


@pytest.fixture
def full(stocked, make, tmp_path):
    shutil.copytree(stocked, tmp_path, dirs_exist_ok=True)
    return make()


def ask(view, tgt_type, expr):
    found = view.grain(expr, regex=tgt_type == "pillar_pcre", exact=tgt_type == "pillar_exact")
    return view.ids(found)


def check(bank):
    """Compare the answers to all terms with the entries."""
    entries = {key: value for key, value, _ in bank.entries()}
    view = bank.view()
    for tgt_type, expr in TERMS:
        want = sorted(id for id, value in entries.items() if matches(expr, tgt_type, Subject(id, {}, value)))
        assert ask(view, tgt_type, expr) == want, expr
    assert view.ids(view.everything) == sorted(entries)


def image(bank):
    """The bytes of the image, and of its list of later changes."""
    return [path.read_bytes() for path in map(bank.images._file, ("all", "since")) if path.exists()]


def settle(bank):
    """Set all times back, as if nothing had changed for a while."""
    os.utime(bank.path, ns=(0, time.time_ns() - 60 * 10**9))


def test_the_image_answers_as_the_entries_do(make, full):
    check(full)
    first, since = image(full)
    assert not any(word in first + since for word in (b"example", b"vhost", b"id7"))
    check(make())
    assert image(full)[0] == first


def test_files_are_not_checked_if_the_folder_is_unchanged(full, monkeypatch):
    settle(full)
    check(full)
    with monkeypatch.context() as patch:
        patch.setattr(pillarimage, "_look", lambda *args: pytest.fail("looked"))
        patch.setattr(full, "open_file", lambda path: pytest.fail("opened"))
        assert len(ask(full.view(), "pillar", "role:web")) == 84
    full.put("id1", {"role": "web"})
    settle(full)
    check(full)
    with monkeypatch.context() as patch:
        patch.setattr(pillarimage, "_look", lambda *args: pytest.fail("looked"))
        assert len(ask(full.view(), "pillar", "role:web")) == 85
    full.path.joinpath(full._file("id1").name).unlink()
    check(full)


@pytest.mark.slow
def test_any_changes_of_entries(make, full):
    pick = random.Random(3)
    for _ in range(12):
        for _ in range(pick.choice([1, 5, 120])):
            n = pick.randrange(300)
            act = pick.random()
            if act < 0.5:
                full.put(f"id{n}", pillar(pick.randrange(300)))
            elif act < 0.6:
                full.path.joinpath(full._file(f"id{n}").name).unlink(missing_ok=True)  # written by another program
            elif act < 0.8 and full._file(f"id{n}").exists():
                os.utime(full._file(f"id{n}"), (pick.random() * 1e9,) * 2)
        check(make() if pick.random() < 0.5 else full)


def test_an_entry_in_the_place_of_another_is_not_taken_for_it(full):
    """The file system may give a new file the inode and the time of the replaced one."""
    check(full)
    path = full._file("id3")
    before = path.stat()
    full.put("id3", {"role": "db", "vhost": "other"})
    data = path.read_bytes()
    full.put("id3", pillar(3))
    check(full)
    path.write_bytes(data)  # written in place: the same inode
    os.utime(path, ns=(before.st_mtime_ns + 1,) * 2)
    check(full)


def test_damage_is_never_an_answer(make, full, caplog):
    check(full)
    path = full._file("id6")
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    full._file("id9").write_bytes(b"something else")
    # damage alone does not change the image: it answers from earlier entries until an entry is read
    os.utime(full.path)
    view = make().view()
    # id6 is recognized by the checksum that it had before the damage
    assert "id9" not in ask(view, "pillar", "role:web")
    for path in full.images.path.iterdir():
        path.write_bytes(path.read_bytes()[:-9] + b"123456789")
    bank = make()
    assert not {"id6", "id9"} & set(ask(bank.view(), "pillar", "role:web"))
    check(bank)


def test_without_the_key_the_cache_is_empty(make, full):
    check(full)
    other = make("another")
    view = other.view()
    assert view.ids(view.everything) == []
    assert PillarBank(full.path.parent, "pillar", None).view() is None
    check(make())


@pytest.mark.parametrize(
    "forget", [lambda bank: bank.delete("id4"), lambda bank: bank.clear(), lambda bank: bank.expire(time.time() + 1)]
)
def test_deleted_entries_are_removed_from_the_image(full, forget):
    check(full)
    assert image(full)
    assert forget(full)
    assert not image(full)
    check(full)


def test_ages(full):
    os.utime(full._file("id5"), (1000, 1000))
    view = full.view()
    assert view.oldest(view.everything) == 1000
    os.utime(full._file("id5"))
    settle(full)
    full.view()
    view = full.view(look=True)
    assert view.oldest(view.everything) > 1000
    assert view.oldest(view.bits(["nobody"])) is None


def test_there_may_be_nothing(make):
    view = make().view()
    assert view.ids(view.everything) == [] == ask(view, "pillar", "role:web")


def test_an_entry_that_was_read_is_renewed_without_opening_it_again(make):
    first, other = pillar(1), pillar(2)
    mine, another = make(), make()
    mine.put("web1", first)
    path = mine._file("web1")
    os.utime(path, (1, 1))
    assert not mine.renew("web1", first)  # the entry was not read before
    assert mine.bytes_of("web1")
    assert not mine.renew("web1", other)
    assert mine.renew("web1", first) and path.stat().st_mtime > 1
    assert mine.bytes_of("web1")
    os.utime(path, (1, 1))
    another.put("web1", other)  # written by another controller
    assert not mine.renew("web1", first) and mine.get("web1") == other
