"""The file systems from which the machines of a case file start: cached layers of packages over a Debian root, and an
apt repository.

A layer is the upper folder of an overlay. Its name is a digest of its content; it is made once under a lock, and not
changed afterwards. Changes by the machines go to separate upper folders.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from pushsalt.demo.machines import _host_apt_settings, _locked, _overlay, _run  # the same tools for the same roots
from tests.beds.machines import base_root, cache_dir

#: increase it when the content of layers changes
VERSION = 1
REPOSITORY = "/srv/repository"
NSPAWN = ["systemd-nspawn", "--quiet", "--keep-unit", "--register=no", "--resolv-conf=off", "--timezone=off"]
NSPAWN += ["--console=pipe"]
REFUSE_START = "#!/bin/sh\nexit 101\n"


def _key(*parts: Any) -> str:
    return hashlib.sha256(json.dumps([VERSION, *parts], sort_keys=True).encode()).hexdigest()[:12]


def lower_dirs(packages: list[str], suite: str = "bookworm") -> list[Path]:
    """The read-only folders of a machine with these Debian packages, topmost first."""
    root = base_root(suite)
    return [packages_layer(sorted(set(packages)), root, suite), root] if packages else [root]


def packages_layer(packages: list[str], root: Path, suite: str) -> Path:
    """The layer that contains the files of these packages."""
    layer = cache_dir() / f"layer-{_key(packages, root.name)}"
    with _locked(layer.with_suffix(".lock")):
        if layer.exists():
            return layer
        temporary = Path(tempfile.mkdtemp(dir=cache_dir(), prefix="making-layer-"))
        try:
            upper, work, merged = (temporary / name for name in ("upper", "work", "merged"))
            for path in (upper, work, merged):
                path.mkdir()
            mount = f"lowerdir={root},upperdir={upper},workdir={work}"
            _run("mount", "-t", "overlay", "overlay", "-o", mount, merged)
            try:
                _install(merged, packages, suite)
            finally:
                _run("umount", merged)
            upper.chmod(0o755)
            upper.rename(layer)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    return layer


def _install(merged: Path, packages: list[str], suite: str) -> None:
    resolv, policy = merged / "etc/resolv.conf", merged / "usr/sbin/policy-rc.d"
    before = resolv.read_bytes()
    resolv.write_bytes(Path("/etc/resolv.conf").read_bytes())
    settings = set((merged / "etc/apt/apt.conf.d").iterdir())
    _host_apt_settings(merged, suite)
    policy.write_text(REFUSE_START)
    policy.chmod(0o755)
    names = " ".join(packages)
    script = f"apt-get -q update && apt-get -qy --no-install-recommends install {names} && apt-get clean"
    _run(*NSPAWN, f"--directory={merged}", "--setenv=DEBIAN_FRONTEND=noninteractive", "sh", "-c", script)
    policy.unlink()
    for path in set((merged / "etc/apt/apt.conf.d").iterdir()) - settings:
        path.unlink()
    for path in (merged / "var/lib/apt/lists").iterdir():
        if path.is_file():
            path.unlink()
    resolv.write_bytes(before)
    (merged / "etc/machine-id").unlink(missing_ok=True)


def repository(packages: list[str | dict[str, Any]], suite: str = "bookworm") -> Path:
    """A flat repository of Debian packages (a name; includes their dependencies) and of small ones made from a
    mapping.
    """
    root = base_root(suite)
    folder = cache_dir() / f"apt-{_key(packages, root.name)}"
    with _locked(folder.with_suffix(".lock")):
        if folder.exists():
            return folder
        temporary = Path(tempfile.mkdtemp(dir=cache_dir(), prefix="making-apt-"))
        try:
            names = [package for package in packages if isinstance(package, str)]
            if names:
                _download(temporary, names, root, suite)
            for number, package in enumerate(packages):
                if isinstance(package, dict):
                    with tempfile.TemporaryDirectory() as scratch:
                        _build(Path(scratch) / str(number), temporary, **package)
            index = _run("apt-ftparchive", "packages", ".", cwd=temporary).stdout
            lines = [line for line in index.splitlines(True) if not line.startswith("W: ")]
            (temporary / "Packages").write_text("".join(lines))
            temporary.chmod(0o755)
            temporary.rename(folder)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
    return folder


def _download(folder: Path, names: list[str], root: Path, suite: str) -> None:
    with _overlay(root) as merged:
        (merged / "etc/resolv.conf").write_bytes(Path("/etc/resolv.conf").read_bytes())
        _host_apt_settings(merged, suite)
        script = f"apt-get -q update && apt-get -qy --no-install-recommends --download-only install {' '.join(names)}"
        _run(*NSPAWN, f"--directory={merged}", "sh", "-c", script)
        for deb in (merged / "var/cache/apt/archives").glob("*.deb"):
            shutil.copy(deb, folder / deb.name)


def _build(
    tree: Path,
    folder: Path,
    package: str,
    version: str = "1.0",
    control: str = "",
    files: dict[str, str] | None = None,
    conffiles: list[str] | None = None,
    scripts: dict[str, str] | None = None,
    architecture: str = "all",
) -> None:
    """A package: files with an executable ``#!`` first line are programs; files below /etc are conffiles by default."""
    (tree / "DEBIAN").mkdir(parents=True)
    header = f"Package: {package}\nVersion: {version}\nArchitecture: {architecture}\nMaintainer: T <t@example.org>\n"
    fields = control.strip() + "\n" if control.strip() else ""
    (tree / "DEBIAN/control").write_text(f"{header}{fields}Description: test {package}\n long text\n")
    for path, text in (files or {}).items():
        file = tree / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        if text.startswith("#!"):
            file.chmod(0o755)
    names = conffiles if conffiles is not None else [path for path in files or {} if path.startswith("/etc/")]
    if names:
        (tree / "DEBIAN/conffiles").write_text("\n".join(names) + "\n")
    for name, text in (scripts or {}).items():
        (tree / "DEBIAN" / name).write_text(text)
        (tree / "DEBIAN" / name).chmod(0o755)
    target = folder / f"{package}_{version.replace(':', '%3a')}_{architecture}.deb"
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    argv = ["dpkg-deb", "-b", "--root-owner-group", str(tree), str(target)]
    subprocess.run(argv, stdout=subprocess.DEVNULL, check=True, env=environment)
