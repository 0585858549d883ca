"""Grains on disk: the index answers what the files contain, also after damage."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from pushsalt.cache.grains import GrainBank
from pushsalt.cache.store import Bank

GRAINS = {f"web{n}": {"os": "Debian" if n % 2 else "Rocky", "n": n} for n in range(8)}


def matching(bank, expr="os:Debian"):
    view = bank.view()
    return view.ids(view.grain(expr))


@pytest.fixture
def bank(tmp_path):
    bank = GrainBank(tmp_path)
    yield bank
    bank.close()


def test_every_return_is_in_both(bank):
    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(lambda item: bank.put(*item), GRAINS.items()))
    assert matching(bank) == ["web1", "web3", "web5", "web7"]
    bank.put("web1", {"os": "Rocky"})
    assert matching(bank) == ["web3", "web5", "web7"]
    assert bank.delete("web3")
    assert (matching(bank), bank.get("web3")) == (["web5", "web7"], None)
    assert bank.put_many({"web3": {"os": "Debian"}, "web9": {"os": "Debian"}})
    assert matching(bank) == ["web3", "web5", "web7", "web9"]


def test_what_was_there_before_the_index_is_in_it_with_its_age(tmp_path, bank):
    old = Bank(tmp_path, "grains")
    old.put("web1", {"os": "Debian"})
    [entry] = old.path.iterdir()
    os.utime(entry, (6000, 6000))
    view = bank.view()
    assert (view.ids(view.grain("os:Debian")), view.oldest(view.everything)) == (["web1"], 6000)


@pytest.mark.parametrize("harm", ["flip", "cut", "empty", "foreign"])
def test_a_damaged_index_is_reported_once_and_rebuilt(tmp_path, bank, harm, caplog):
    for item in GRAINS.items():
        bank.put(*item)
    bank.close()
    log = bank.index_path / "log"
    content = log.read_bytes()
    harmed = {
        "flip": bytes(byte ^ 0x55 if at >= 16 else byte for at, byte in enumerate(content)),
        "cut": content[: len(content) // 2],
        "empty": b"",
        "foreign": b"not an index at all, but a long enough text that is none",
    }
    log.write_bytes(harmed[harm])
    again = GrainBank(tmp_path)
    assert matching(again) == ["web1", "web3", "web5", "web7"]
    assert matching(again) == ["web1", "web3", "web5", "web7"]
    again.close()
    assert len([text for text in caplog.messages if "damaged" in text]) <= 1


def test_an_index_that_cannot_be_used_costs_nothing_but_time(tmp_path, bank, caplog):
    bank.index_path.write_text("a file where the folder should be")
    assert bank.put("web1", {"os": "Debian"})
    assert bank.view() is None
    assert bank.get("web1") == {"os": "Debian"}
    assert len(caplog.messages) == 1
    assert "each entry is read instead" in caplog.messages[0]


WRITER = """
import sys
from pathlib import Path
from pushsalt.cache.grains import GrainBank
bank = GrainBank(Path(sys.argv[1]))
for n in range(40):
    bank.put(f"{sys.argv[2]}{n}", {"os": "Debian", "who": sys.argv[2]})
"""


def test_two_controllers_share_a_cache(tmp_path, bank):
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, tmp_path, name]) for name in "ab"]
    for n in range(20):
        bank.put(f"c{n}", {"os": "Debian"})
        matching(bank)
    assert [writer.wait(60) for writer in writers] == [0, 0]
    assert matching(bank) == sorted([f"{name}{n}" for name in "ab" for n in range(40)] + [f"c{n}" for n in range(20)])
