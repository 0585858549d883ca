"""Types of installed packages, and of folders in the configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pushsalt.modules import resourcetypes


def install(folder: Path, name: str, files: dict[str, str], points: str) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    info = folder / f"{name}-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (info / "entry_points.txt").write_text(points)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    resourcetypes._installed.cache_clear()
    yield lambda *args: install(folder, *args)
    resourcetypes._installed.cache_clear()


def test_types_of_installed_packages_are_discovered_without_imports(bed, installed) -> None:
    boom = "raise RuntimeError('imported')\n"
    installed(
        "rack",
        {"rackful/inner/types/__init__.py": boom}  # rackful and inner are namespaces
        | {f"rackful/inner/types/rack/{path.partition('/')[2]}": text for path, text in bed.FULL_TYPE.items()},
        "[pushsalt.resources]\nfull = rackful.inner.types.rack\nlost = rackful.nowhere\n",
    )
    box = {f"saltext/boxes/resources/{path}": text for path, text in bed.BOX.items()}
    installed("boxes", {"saltext/boxes/__init__.py": boom, **box}, "[salt.loader]\nsaltext.boxes=saltext.boxes:load\n")
    assert resourcetypes.any_installed()
    assert sorted(bed.custom.by_kind["resources"]) == ["box", "full"]
    found, failed = bed.discover(full={"stem": "a"}, box=None)
    assert (sorted(found["full"]), sorted(found["box"]), failed) == (["a-0", "a-1"], ["one", "two words"], {})
    peer = bed.start({"type": "full", "id": "a-0", "declared": {"stem": "a"}})
    assert peer.call("tell.around")[:4] == ["full", "a-0", "a-0", "I am "]
    bed.write({"full/__init__.py": "def discover(opts):\n    return ['mine']\n"})
    assert list(bed.discover(full=None)[0]["full"]) == ["mine"], "those of the file roots come first"


def test_types_in_folders_of_module_dirs_are_discovered(bed, tmp_path: Path) -> None:
    for name, kind in (("one", "_resources"), ("two", "resources")):
        path = tmp_path / "dirs" / kind / name / "__init__.py"
        path.parent.mkdir(parents=True)
        path.write_text(f"def discover(opts):\n    return ['{name}']\n")
    bed.opts["module_dirs"] = [str(tmp_path / "dirs")]
    bed.write({"one/__init__.py": "", "three.py": "", "no-type/__init__.py": "", "empty/notes.txt": ""})
    assert sorted(bed.custom.by_kind["resources"]) == ["one", "two"]
    assert [list(ids) for ids in bed.discover(one=None, two=None)[0].values()] == [["one"], ["two"]]
