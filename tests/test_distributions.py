"""The wheel and the sdist: their files, and the demo in an environment that has only the wheel."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.gate, pytest.mark.timeout(240)]

ROOT = Path(__file__).parent.parent
#: the home before tests set another one: pip's cache is there
HOME = os.environ.get("HOME", "/")


def run(*arguments: object, folder: Path, **environment: str) -> str:
    """The output of the command; fails with all of it if the command fails."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(
        [str(word) for word in arguments],
        cwd=folder,
        env={**kept, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def build(top: Path, kind: str, folder: Path) -> Path:
    """Build a distribution of that kind from the tree in ``top``."""
    run(sys.executable, "-m", "hatchling", "build", "-d", folder, "-t", kind, folder=top)
    (found,) = folder.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return found


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, "wheel", tmp_path_factory.mktemp("wheel"))


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def files(folder: str) -> set[str]:
    """The files below a folder of the repository that git tracks or would track."""
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard", folder]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("this is no git checkout")
    return {name for name in done.stdout.splitlines() if (ROOT / name).is_file()}


def test_what_the_wheel_installs(wheel: Path) -> None:
    found = {name for name in contents(wheel) if ".dist-info/" not in name}
    assert {name.split("/")[0] for name in found} == {"pushsalt"}
    places = {"thin/": "pushsalt/_runtime/thin/", "formulas/": "pushsalt/demo/formulas/", "pushsalt/": "pushsalt/"}
    wanted = {place + name.removeprefix(folder) for folder, place in places.items() for name in files(folder)}
    assert found == wanted


def test_the_sdist_makes_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    with tarfile.open(build(ROOT, "sdist", tmp_path)) as archive:
        archive.extractall(tmp_path, filter="data")
    (top,) = (path for path in tmp_path.iterdir() if path.is_dir())
    assert contents(build(top, "wheel", tmp_path / "again")) == contents(wheel)
    for name in ("scripts/test.sh", "tests/conftest.py", "Makefile", "CONTRIBUTING.md", "docs/index.md"):
        assert (top / name).is_file(), name


def test_the_demo_runs_from_an_installed_wheel(wheel: Path, tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    run(sys.executable, "-m", "venv", venv, folder=tmp_path)
    run(venv / "bin/pip", "install", "--quiet", wheel, folder=tmp_path, HOME=HOME)
    (site,) = venv.glob("lib/python3*/site-packages")
    assert not (site / "thin").exists() and (site / "pushsalt/_runtime/thin").is_dir()
    # another project's package of that name is not imported as ours, and ours is not found without pushsalt
    (site / "thin.py").write_text("raise SystemExit('not ours')\n")
    command = "import pushsalt, thin.wire; print(thin.__file__)"
    assert "/_runtime/thin/" in run(venv / "bin/python", "-c", command, folder=tmp_path)
    (site / "thin.py").unlink()
    command = "import importlib.util; print(importlib.util.find_spec('thin'))"
    assert run(venv / "bin/python", "-c", command, folder=tmp_path) == "None\n"
    (tmp_path / "home").mkdir()
    shown = run(venv / "bin/pushsalt", "demo", folder=tmp_path, HOME=str(tmp_path / "home"))
    assert "2 changed" in shown and "9 unchanged" in shown


def test_the_versions_of_ci_fit() -> None:
    """constraints.txt pins the requirements of pushsalt, at least at the lower bound; also the tools of tests and the
    site.
    """
    pinned = dict(re.findall(r"^([\w.-]+)==([\d.]+)", (ROOT / "constraints.txt").read_text("utf-8"), re.M))
    versions = {name.lower().replace("_", "-"): version for name, version in pinned.items()}
    script = [sys.executable, str(ROOT / "scripts" / "constraints.py"), "lowest"]
    lowest = dict(line.split("==") for line in subprocess.check_output(script, text=True).splitlines())
    assert {"asyncssh", "typer", "Mako", "keyring"} <= lowest.keys()
    for name, version in lowest.items():
        low, high = ([int(part) for part in text.split(".")] for text in (version, versions[name.lower()]))
        assert low <= high, name
    assert {"pytest", "ruff", "hatchling", "mypy", "mkdocs"} <= versions.keys()
