"""Users' own modules: which are found and packed, and the number of round trips."""

from __future__ import annotations

from pathlib import Path

import pytest

from pushsalt.fileserver import FileServer
from pushsalt.modules.custom import CustomModules
from pushsalt.session.start import Start

FILES = {
    "base/_modules/a.py": "def f():\n    return 'base'\n",
    "base/_modules/b.py": "__virtualname__ = 'bee'\n\n\ndef f():\n    return 1\n",
    "base/_modules/pack/__init__.py": "def f():\n    return 1\n",
    "base/_modules/pack/deep/__init__.py": "",
    "base/_modules/pack/deep/more.py": "",
    "base/_modules/folder/other.py": "",
    "base/_modules/a-b.py": "",
    "base/_modules/notes.txt": "",
    "base/_states/s.py": "def __virtual__():\n    return 'ess'\n",
    "base/_utils/latin.py": b"# -*- coding: latin-1 -*-\nword = '\xfc'\n",
    "base/_utils/neither.py": b"word = '\xfc'\n",
    "dev/_modules/a.py": "def f():\n    return 'dev'\n",
    "dev/_modules/d.py": "",
    "dirs/modules/a.py": "def f():\n    return 'dirs'\n",
    "dirs/_grains/g.py": "",
}


@pytest.fixture
def found(tmp_path: Path):
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())

    def find(saltenv: str = "base", **kwargs: object) -> CustomModules:
        roots = {env: [str(tmp_path / env)] for env in ("base", "dev")}
        opts = {"file_roots": roots, **kwargs}
        return CustomModules(FileServer(opts), opts, saltenv)

    return find


def text(modules: CustomModules, name: str) -> str:
    return modules.source(f"thin.modules.{name}").split("'")[1]


def test_found_modules(found, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    base = found()
    assert {kind: sorted(names) for kind, names in base.by_kind.items()} == {
        "modules": ["a", "b", "d", "pack"],
        "states": ["s"],
        "beacons": [],
        "grains": [],
        "utils": ["latin"],
        "resources": [],
    }
    assert "neither.py is left out" in caplog.text
    assert [one.name for one in base.called("modules", "bee")] == ["b"]
    assert [one.name for one in base.called("states", "ess")] == ["s"]
    assert sorted(base.by_kind["modules"]["pack"].parts) == [
        "pack/__init__.py",
        "pack/deep/__init__.py",
        "pack/deep/more.py",
    ]
    assert (text(base, "a"), text(found("dev"), "a")) == ("base", "dev")
    assert text(found("dev", module_dirs=[str(tmp_path / "dirs")]), "a") == "dirs"
    assert sorted(found(extmod_whitelist={"modules": ["b"]}).by_kind["modules"]) == ["b"]
    assert sorted(found(extmod_blacklist={"modules": ["b"]}).by_kind["modules"]) == ["a", "d", "pack"]


def test_the_archive_depends_on_the_content_alone(found, tmp_path: Path) -> None:
    first = found().archive
    (tmp_path / "base/_modules/b.py").touch()
    (tmp_path / "base/_modules/notes.txt").write_text("changed")
    assert found().archive == first
    assert found("dev").archive.digest != first.digest
    (tmp_path / "base/_modules/b.py").write_text("def f():\n    return 2\n")
    assert found().archive.digest != first.digest


def test_nothing_is_nothing(tmp_path: Path) -> None:
    opts = {"file_roots": {"base": [str(tmp_path)]}}
    assert CustomModules(FileServer(opts), opts).archive is None


async def test_turns(open_session, found) -> None:
    def call(fun: str) -> list[dict[str, object]]:
        return [{"k": "call", "fun": fun, "args": [], "kwargs": {}, "cli": True}]

    start = Start(custom=found().archive)
    plain = await open_session(first=call("test.ping"))
    await plain.close()
    # one for the archive, and one for the pack of the runtime that only users' modules need (thin/compat)
    lacking = await open_session(start=start, first=call("bee.f"))
    assert (await lacking.first[0], lacking.round_trips) == (1, 3)
    await lacking.close()
    warm = await open_session(start=start, first=call("pack.f"))
    assert (await warm.first[0], warm.info["warm"], warm.round_trips) == (1, True, 1)


async def test_a_target_without_a_runtime_gets_both_at_once(open_session, found) -> None:
    call = {"k": "call", "fun": "a.f", "args": [], "kwargs": {}, "cli": True}
    session = await open_session(start=Start(custom=found().archive), first=[call])
    assert (await session.first[0], session.info["warm"], session.round_trips) == ("base", False, 3), "compat's pack"
