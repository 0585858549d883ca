"""The Pythons of this machine that targets may have: pyenv's, those in PATH, and those that a variable names.

``PUSHSALT_TEST_PYTHONS=/opt/python3.6/bin/python3:/other/python3`` names programs in other places. ``python -m
tests.beds.pythons 3.10`` prints the path of that one, or of the ``newest``.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from pathlib import Path

#: the oldest Python that targets may have, and the lowest version that counts as new: Debian 13 has it
OLDEST, NEW = "3.6", "3.13"


@functools.cache
def pythons() -> dict[str, str]:
    """version (``3.6``) -> path of a Python that starts, from the oldest supported version on, in order; includes this
    one.
    """
    found = {"{}.{}".format(*sys.version_info[:2]): sys.executable}
    for path in _candidates():
        version = _version(path)
        if version and _order(version) >= _order(OLDEST):
            found.setdefault(version, str(path))
    return {version: found[version] for version in sorted(found, key=_order)}


def ends() -> list[str]:
    """The paths of the oldest and of the newest one."""
    found = list(pythons().values())
    return list(dict.fromkeys((found[0], found[-1])))


def missing() -> str:
    """Which of the oldest and a new Python is missing, and how to install it; an empty text if both exist."""
    found = list(pythons())
    lacking = [] if OLDEST in found else [f"Python {OLDEST}"]
    if _order(found[-1]) < _order(NEW):
        lacking.append(f"Python {NEW} or newer")
    if not lacking:
        return ""
    how = f"`pyenv install {OLDEST} {NEW}` gets both, Debian 13 has python{NEW}; PUSHSALT_TEST_PYTHONS can name others"
    return f"there is no {' and no '.join(lacking)} on this machine: {how}"


def _candidates() -> list[Path]:
    named = [Path(word) for word in os.environ.get("PUSHSALT_TEST_PYTHONS", "").split(":") if word]
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    folders = [Path(word) for word in os.environ.get("PATH", "").split(":") if word and ".pyenv/shims" not in word]
    on_path = [folder / f"python3.{minor}" for minor in range(6, 30) for folder in folders]
    return [*named, *sorted(pyenv.glob("versions/3.*/bin/python3")), *on_path]


@functools.cache
def _version(path: Path) -> str:
    """The version that a program prints, or an empty text if it does not start."""
    if not os.access(path, os.X_OK):
        return ""
    words = [str(path), "-I", "-S", "-c", "import sys; print('%s.%s' % sys.version_info[:2])"]
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.strip()


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(word) for word in version.split("."))


def main(wanted: str) -> int:
    found = pythons()
    path = found.get(list(found)[-1] if wanted == "newest" else wanted)
    print(path or f"error: there is no Python {wanted} on this machine", file=sys.stdout if path else sys.stderr)
    return 0 if path else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
