"""A target gets the first archive of its family, and a pack when a part of it is needed, once."""

from __future__ import annotations

import hashlib
import zlib

import pytest

from pushsalt.bundle import pack
from pushsalt.bundle.contents import FAMILIES, WORDS
from pushsalt.errors import FunctionError
from pushsalt.model import Target
from tests.beds.project import Project, values


def kept(home, family):
    folder = home / ".cache" / "pushsalt"
    return sorted(path.suffix for path in folder.glob(f"{family}-*"))


def pack_of(module):
    """(SHA-256, bytes) of the pack with a module."""
    built = pack.build()
    found = {}
    for archive in built.firsts.values():
        space = {}
        tar = zlib.decompress(archive.data)
        at = tar.index(b"thin/_packs.py\0")
        exec(tar[at + 512 : at + 512 + int(tar[at + 124 : at + 135], 8)], space)
        found = {name: row[0] for row in reversed(space["PACKS"]) for name in row[2].split()}
    return found[module], built.packs[found[module]]


async def test_a_pack_is_sent_once(open_session, home):
    sha, data = pack_of("thin.modules.sysfs")
    plain = await open_session()
    assert await plain.call("test.ping") is True
    await plain.close()
    assert not kept(home, "pack")
    first = await open_session()
    await first.call("sysfs.interfaces", ["class/net"])
    await first.close()
    assert kept(home, "pack") == [".img", ".tar"]
    [path] = (home / ".cache" / "pushsalt").glob("pack-*.tar")
    assert path.stem == f"pack-{sha}" and hashlib.sha256(path.read_bytes()).hexdigest() == sha
    again = await open_session()
    await again.call("sysfs.interfaces", ["class/net"])
    assert again.bytes_sent + len(data) < first.bytes_sent + 1000 < 100_000


async def test_all_listed_packs_are_sent_together(open_session, home):
    plain = await open_session()
    assert await plain.call("test.ping") is True
    await plain.close()
    asked = await open_session()
    assert "sysfs.interfaces" in await asked.call("sys.list_functions")
    assert asked.round_trips < 10
    assert len(kept(home, "pack")) > 40


@pytest.mark.parametrize("how", ["truncated", "flipped", "emptied"])
@pytest.mark.parametrize("which", ["tar", "img"])
async def test_a_damaged_archive_is_replaced(open_session, home, which, how):
    first = await open_session()
    await first.call("sysfs.interfaces", ["class/net"])
    await first.close()
    [path] = (home / ".cache" / "pushsalt").glob(f"pack-*.{which}")
    sound = path.read_bytes()
    flipped = bytearray(sound)
    flipped[len(sound) // 2] ^= 1
    path.write_bytes({"truncated": sound[:-600], "flipped": bytes(flipped), "emptied": b""}[how])
    again = await open_session()
    await again.call("sysfs.interfaces", ["class/net"])
    await again.close()
    assert path.stat().st_size and (which == "img" or path.read_bytes() == sound)


async def test_without_a_private_directory(open_session, tmp_path):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o777)
    session = await open_session(Target("here", transport="local", thin_dir=str(tmp_path / "shared")))
    await session.call("sysfs.interfaces", ["class/net"])
    assert list((tmp_path / "shared").iterdir()) == []


async def test_a_missing_function_does_not_request_a_pack(open_session, home):
    session = await open_session()
    with pytest.raises(FunctionError):
        await session.call("nothing.at_all")
    await session.close()
    assert not kept(home, "pack")


async def test_a_controller_without_a_record_of_the_target_finds_its_archives(open_session, home, runtime):
    await (await open_session()).close()
    [path] = (home / ".cache" / "pushsalt").glob("thin-*.tar")
    before = path.stat().st_mtime_ns
    runtime._bank.clear()
    runtime._memory.clear()
    again = await open_session()
    assert await again.call("test.ping") is True
    assert again.bytes_sent < 50_000 and path.stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("text", "family"),
    [
        ("ID=debian\n", "Debian"),
        ("NAME=x\nID=pop\nID_LIKE='ubuntu debian'\n", "Debian"),
        ('ID="rocky"\nID_LIKE="rhel centos fedora"\n', "RedHat"),
        ('ID="opensuse-leap"\nID_LIKE="suse opensuse"\n', "Suse"),
        ("ID=alpine\n", "Alpine"),
        ("ID=void\n", ""),
        (None, ""),
    ],
)
def test_a_target_chooses_its_family_by_id_and_id_like(tmp_path, text, family):
    place = tmp_path / "os-release"
    if text is not None:
        place.write_text(text)
    source = (pack.THIN / "coldstart.py").read_text().replace('"/etc/os-release"', repr(str(place)))
    space = {}
    exec(source.replace("/usr/lib/os-release", "/nowhere"), space)
    space["sys"] = type("sys", (), {"platform": "linux"})
    numbers = {name: number for number, name in enumerate(FAMILIES)}
    words = {word: numbers[name] for word, name in WORDS.items()}
    parameters = {"sha": "", "size": 0, "archives": [(name, 1) for name in FAMILIES], "words": words}
    space["choose"](parameters)
    assert (parameters["sha"], parameters["size"]) == (family, 1)


def test_states_and_parallel_states(tmp_path):
    project = Project(tmp_path, {"it": {"transport": "local", "thin_dir": str(tmp_path / "thin")}})
    project.write(
        "salt/it.sls",
        "".join(
            f"p{number}:\n  module.run:\n    - sysfs.interfaces: [{{root: class/net}}]\n    - parallel: true\n"
            for number in range(3)
        )
        + "s:\n  status.process: [{name: python}]\n",
    )
    done = values(project.json("apply", "it", "it").data["it"])
    assert [ret["result"] for ret in done[:3]] == [True, True, True], done
    assert list((tmp_path / "thin").glob("pack-*"))
    project.json("clean", "it")
    assert not list((tmp_path / "thin").glob("*"))


def test_usual_states_need_no_pack(tmp_path):
    project = Project(tmp_path, {"it": {"transport": "local", "thin_dir": str(tmp_path / "thin")}})
    project.write(
        "salt/it.sls",
        f"""
{tmp_path}/x: {{file.managed: [{{contents: x}}]}}
echo x: {{cmd.run: []}}
root: {{user.present: [], group.present: []}}
m: {{module.run: [{{test.ping: []}}]}}
""",
    )
    done = values(project.json("apply", "it", "it", "--test").data["it"])
    assert [ret["result"] for ret in done] == [None, None, True, True, None], done
    assert list((tmp_path / "thin").glob("thin-*.tar")) and not list((tmp_path / "thin").glob("pack-*"))
