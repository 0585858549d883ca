"""What must be there for a run to count: with ``REQUIRE=machines,sshd,pythons,salt`` a skip for its lack is a failure.

``python -m tests.beds.required`` prints what `.ci/run` requires on this machine: machines where they can be booted at
all, and the rest everywhere.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable

import pytest

from tests.beds import machines, pythons, sshd


def no_salt() -> str:
    """Why nothing can be compared with real Salt here, or an empty text."""
    named = os.environ.get("SALT_PYTHON")
    if not named:
        return "no real Salt to compare with: `make differential` installs it, or set SALT_PYTHON"
    return "" if os.access(named, os.X_OK) else f"SALT_PYTHON={named} is no program"


#: what can be required: a function that gives the reason why it is not there. The words are markers of tests, too.
LACKING: dict[str, Callable[[], str]] = {
    "machines": machines.missing,
    "sshd": sshd.missing,
    "pythons": pythons.missing,
    "salt": no_salt,
}


def required() -> set[str]:
    """The words of ``REQUIRE``. Raises pytest.UsageError for one that is not known, or that is not there."""
    words = set(filter(None, os.environ.get("REQUIRE", "").split(",")))
    unknown = sorted(words - LACKING.keys())
    if unknown:
        raise pytest.UsageError(f"REQUIRE: {', '.join(unknown)}: known are {', '.join(LACKING)}")
    for word in sorted(words):
        if reason := LACKING[word]():
            raise pytest.UsageError(f"REQUIRE={word}: {reason}")
    return words


def forbids(words: set[str], markers: Iterable[str], reason: str) -> str:
    """The required word that a skip is about, or an empty text.

    A skip is about what its reason says is missing, else about the markers of its test. ``optional`` marks tests that
    need something more, which no package has.
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
