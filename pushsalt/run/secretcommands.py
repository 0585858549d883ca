"""Commands of the operator's inventory that print a password: ``passwd_command`` and the like.

They are run without a shell, each once in a job, however many targets have it; what they print is shown nowhere. Their
first line is the value, as `pass` prints it. Borg and restic have options of this kind, for one repository each.
"""

from __future__ import annotations

import re
import shlex
import threading
from concurrent.futures import Future
from typing import Final

from pushsalt.errors import TargetError
from pushsalt.programs import bounded

#: Seconds for one command: it may ask a person, on the terminal, to unlock a store.
SECONDS: Final = 120.0
_MOST: Final = 65536
#: Ids that mean themselves wherever they are put, also where the operator's command is one of a shell.
_PLAIN: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:@-]*")


class SecretCommands:
    """All threads may ask at once: those that want the same command wait for the one that runs it."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._guard = threading.Lock()
        self._answers: dict[str, Future[str]] = {}

    def forget(self) -> None:
        """A new job begins: commands are run again."""
        with self._guard:
            self._answers = {}

    def value(self, line: str, id: str) -> str:
        """What the command prints. Raises TargetError, which does not name it: others than its value may be secret."""
        words = [_filled(word, id) for word in shlex.split(line)]
        line = shlex.join(words)
        with self._guard:
            answer = self._answers.get(line)
            mine = answer is None
            if answer is None:
                answer = self._answers[line] = Future()
        if mine:
            try:
                answer.set_result(self._run(words))
            except BaseException as exc:  # the others wait for it
                answer.set_exception(exc)
        return answer.result()

    def _run(self, words: list[str]) -> str:
        by_hand = "run it yourself to see what it says; its first line is the value"
        try:
            done = bounded(words, _MOST, self._seconds)
        except TimeoutError as exc:
            raise TargetError("secret_unavailable", str(exc), by_hand) from None
        except (OSError, ValueError) as exc:
            reason = getattr(exc, "strerror", None) or "it is no command"
            hint = f"install {words[0]}, or correct the command; no shell reads it unless it says sh -c '…'"
            raise TargetError("secret_unavailable", f"{words[0]} cannot be run: {reason}", hint) from None
        if done.code != 0:
            raise TargetError("secret_unavailable", f"{words[0]} ended with {done.code}", by_hand)
        first = done.out.split(b"\n", 1)[0].removesuffix(b"\r")
        if not first:
            raise TargetError("secret_unavailable", f"{words[0]} printed nothing in its first line", by_hand)
        try:
            return first.decode("utf-8")
        except UnicodeDecodeError:
            raise TargetError("secret_unavailable", f"{words[0]} printed what is not UTF-8", by_hand) from None


def _filled(word: str, id: str) -> str:
    if "{id}" in word and not _PLAIN.fullmatch(id):
        raise TargetError(
            "secret_unavailable",
            f"the id {id!r} cannot stand for {{id}} in a command",
            "letters, digits and _ . : @ - can; give this host a command of its own",
        )
    return word.replace("{id}", id)
