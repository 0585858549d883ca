"""The second archive is sent when a part of it is needed, once for a target."""

from __future__ import annotations

import pytest

from pushsalt.errors import FunctionError
from pushsalt.model import Target
from tests.beds.project import Project, values


def kept(home, family):
    folder = home / ".cache" / "pushsalt"
    return sorted(path.suffix for path in folder.glob(f"{family}-*"))


async def test_it_comes_once(open_session, home):
    size = open_session.runtime.more.size
    plain = await open_session()
    assert await plain.call("test.ping") is True and plain.bytes_sent < open_session.runtime.size
    await plain.close()
    assert not kept(home, "more")
    first = await open_session()
    await first.call("sysfs.interfaces", ["class/net"])
    assert first.bytes_sent > size
    await first.close()
    assert kept(home, "more") == [".img", ".tar"]
    again = await open_session()
    await again.call("sysfs.interfaces", ["class/net"])
    assert again.bytes_sent < 100_000


@pytest.mark.parametrize("how", ["truncated", "flipped", "emptied"])
@pytest.mark.parametrize("which", ["tar", "img"])
async def test_a_damaged_one_is_replaced(open_session, home, which, how):
    first = await open_session()
    await first.call("sysfs.interfaces", ["class/net"])
    await first.close()
    [path] = (home / ".cache" / "pushsalt").glob(f"more-*.{which}")
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


async def test_what_is_nowhere_does_not_fetch_it(open_session, home):
    session = await open_session()
    with pytest.raises(FunctionError):
        await session.call("nothing.at_all")
    assert session.bytes_sent < open_session.runtime.size
    await session.close()
    assert not kept(home, "more")


def test_states_and_parallel_ones(tmp_path):
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
    assert list((tmp_path / "thin").glob("more-*"))
    project.json("clean", "it")
    assert not list((tmp_path / "thin").glob("*"))


def test_usual_states_do_without_it(tmp_path):
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
    assert list((tmp_path / "thin").glob("thin-*.tar")) and not list((tmp_path / "thin").glob("more-*"))
