"""Runs OpenSSH's programs with an argument list, without a shell and without secrets in it.

They ask for passphrases and PINs themselves: on the terminal if stdin is one, else by SSH_ASKPASS; otherwise they get
an empty input.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

from pushsalt.ca import CaError

#: Time limit of a program that may ask, in seconds: the operator may have to fetch a token first.
PATIENCE: Final = 600.0
_MAX_WORDS: Final = 4000
#: The socket of our temporary agent; empty to use the user's agent.
AGENT: ContextVar[str] = ContextVar("agent", default="")


@dataclass(frozen=True)
class Done:
    """The result of a program. ``words``: its stderr; empty if that was the terminal."""

    code: int
    out: str
    words: str


def has_agent() -> bool:
    return bool(AGENT.get() or os.environ.get("SSH_AUTH_SOCK"))


def can_ask() -> bool:
    """Whether OpenSSH can ask for a passphrase: on a terminal, or with a program."""
    try:
        if sys.stdin is not None and os.isatty(0):
            return True
    except OSError:
        pass
    if not os.environ.get("SSH_ASKPASS"):
        return False
    force = os.environ.get("SSH_ASKPASS_REQUIRE") == "force"
    return force or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def run(
    argv: Sequence[str],
    *,
    asks: bool = False,
    stdin: bytes | None = None,
    patience: float = PATIENCE,
) -> Done:
    """Run a program to its end. ``asks``: it may ask for a passphrase, so it gets the terminal. ``patience``: the time
    limit in seconds. Raises CaError.
    """
    terminal = asks and stdin is None and _is_terminal()
    try:
        done = subprocess.run(
            list(argv),
            input=stdin,
            stdin=None if stdin is not None or terminal else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=None if terminal else subprocess.PIPE,
            check=False,
            timeout=patience,
            env={**os.environ, **({"SSH_AUTH_SOCK": AGENT.get()} if AGENT.get() else {}), "LC_ALL": "C"},
        )
    except FileNotFoundError:
        raise CaError(f"there is no {argv[0]} on this machine", hint="install OpenSSH's client programs") from None
    except OSError as exc:
        raise CaError(f"{argv[0]} cannot be run: {exc.strerror}", hint="look at the installed OpenSSH") from exc
    except subprocess.TimeoutExpired:
        raise CaError(
            f"{argv[0]} did not end within {patience:g} s", hint="check whether the agent or the token responds"
        ) from None
    words = (done.stderr or b"").decode("utf-8", "replace")[-_MAX_WORDS:].strip()
    return Done(done.returncode, done.stdout.decode("utf-8", "replace"), words)


def _is_terminal() -> bool:
    try:
        return os.isatty(0)
    except OSError:
        return False


def last_words(done: Done) -> str:
    """The last line of the program's stderr, for an error message."""
    lines = [line.strip() for line in done.words.splitlines() if line.strip()]
    return lines[-1] if lines else f"code {done.code}"
