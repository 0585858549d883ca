"""The other tools, each in a separate virtual environment below a cache folder outside of the project."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Peer:
    """A tool by its requirements; ``distributions`` are those whose versions are reported."""

    name: str
    requirements: tuple[str, ...]
    distributions: tuple[str, ...]


PEERS = (
    Peer("salt", ("salt==3008.*",), ("salt",)),
    Peer("ansible", ("ansible-core==2.19.*",), ("ansible-core",)),
    # The last release that mitogen and this ansible-core both name as supported.
    Peer("mitogen", ("ansible-core==2.18.*", "mitogen>=0.3.54"), ("ansible-core", "mitogen")),
    Peer("pyinfra", ("pyinfra==3.*",), ("pyinfra",)),
)
_VERSION = "import importlib.metadata as m,sys;print(*(m.version(n) for n in sys.argv[1:]))"


def cache_dir() -> Path:
    """The folder in which the environments are kept between runs."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("PUSHSALT_BENCHMARK_CACHE") or base / "pushsalt-benchmarks")


class Venvs:
    """The environments of the peers: created if missing, or existing ones given as ``{peer: folder}``."""

    def __init__(self, folders: dict[str, Path]) -> None:
        self._folders = folders

    def bin(self, name: str, program: str) -> str:
        """The path of a program of a peer."""
        return str(self.folder(name) / "bin" / program)

    def folder(self, name: str) -> Path:
        return self._folders.get(name) or cache_dir() / name

    def make(self, peer: Peer) -> None:
        """Create an environment. Raises CalledProcessError if the installation fails."""
        folder = self.folder(peer.name)
        ready = folder / ".ready"
        if peer.name in self._folders or ready.exists():
            return
        print(f"installing {', '.join(peer.requirements)} into {folder}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        pip = [str(folder / "bin" / "pip"), "install", "-q", "--disable-pip-version-check"]
        subprocess.run([*pip, *peer.requirements], check=True)
        ready.touch()

    def versions(self, peer: Peer) -> str:
        """The versions of its distributions, as text; empty for a missing environment."""
        argv = [self.bin(peer.name, "python"), "-c", _VERSION, *peer.distributions]
        try:
            versions = subprocess.run(argv, check=True, capture_output=True, text=True).stdout.split()
        except (OSError, subprocess.CalledProcessError):
            return ""
        return " + ".join(f"{name} {version}" for name, version in zip(peer.distributions, versions, strict=True))

    def site_packages(self, name: str) -> Path:
        """The site-packages of an environment; a missing path if it was not made, since nothing runs in it."""
        lib = self.folder(name) / "lib"
        return next(lib.glob("python3.*/site-packages"), lib)
