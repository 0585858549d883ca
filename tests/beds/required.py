"""Requirements of a test run: with ``REQUIRE=machines,sshd,pythons,salt`` a skip that one of them causes is a failure.

``python -m tests.beds.required`` prints what `.ci/run` requires on this machine: machines if this machine can boot
them, and all others.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable

import pytest

from tests.beds import machines, pythons, sshd


def no_salt() -> str:
    """The reason why no comparison with real Salt is possible, or an empty text."""
    named = os.environ.get("SALT_PYTHON")
    if not named:
        return "no real Salt to compare with: `make differential` installs it, or set SALT_PYTHON"
    return "" if os.access(named, os.X_OK) else f"SALT_PYTHON={named} is no program"


#: requirement -> a function that returns the reason why it is missing. The words are also markers of tests.
LACKING: dict[str, Callable[[], str]] = {
    "machines": machines.missing,
    "sshd": sshd.missing,
    "pythons": pythons.missing,
    "salt": no_salt,
}


def required() -> set[str]:
    """The words of ``REQUIRE``. Raises pytest.UsageError for an unknown or a missing one."""
    words = set(filter(None, os.environ.get("REQUIRE", "").split(",")))
    unknown = sorted(words - LACKING.keys())
    if unknown:
        raise pytest.UsageError(f"REQUIRE: {', '.join(unknown)}: known are {', '.join(LACKING)}")
    for word in sorted(words):
        if reason := LACKING[word]():
            raise pytest.UsageError(f"REQUIRE={word}: {reason}")
    return words


def forbids(words: set[str], markers: Iterable[str], reason: str) -> str:
    """The required word that caused a skip, or an empty text.

    The reason of the skip decides, else the markers of its test. ``optional`` marks tests that need something which no
    package provides.
    """
    about = {word for word, lacking in LACKING.items() if reason and reason == lacking()}
    if not about and "optional" not in markers:
        about = LACKING.keys() & set(markers)
    return min(about & words, default="")


def main() -> int:
    words = [word for word in ("machines", "sshd", "pythons") if word != "machines" or not machines.missing()]
    if "machines" not in words:
        print(f"machines are not required: {machines.missing()}", file=sys.stderr)
    print(",".join(words))
    return 0


if __name__ == "__main__":
    sys.exit(main())
