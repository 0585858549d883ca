"""Commands of the operator's inventory that print a password: ``passwd_command`` and the like.

They are run without a shell, once per job each, also if many targets have the same command; their output is never
shown. The value is the first line, as `pass` prints it. Borg and restic have similar options for one repository.
"""

from __future__ import annotations

import re
import shlex
import threading
from concurrent.futures import Future
from typing import Final

from pushsalt.errors import TargetError
from pushsalt.programs import bounded

#: Time limit in seconds for one command, which may ask on the terminal to unlock a password store.
SECONDS: Final = 120.0
_MOST: Final = 65536
#: Ids that have no special meaning for any program, nor for a shell in the operator's command.
_PLAIN: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:@-]*")


class SecretCommands:
    """Runs each command once. Thread-safe: threads that want the same command wait for the one that runs it."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._guard = threading.Lock()
        self._answers: dict[str, Future[str]] = {}

    def forget(self) -> None:
        """Forget all values, since a new job begins."""
        with self._guard:
            self._answers = {}

    def value(self, line: str, id: str) -> str:
        """The first line of the command's output. Raises TargetError, without the command: it may contain secrets."""
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
            except BaseException as exc:  # other threads wait for the result
                answer.set_exception(exc)
        return answer.result()

    def _run(self, words: list[str]) -> str:
        by_hand = "run it yourself to see its output; the first line is the value"
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
            raise TargetError("secret_unavailable", f"{words[0]} printed text that is not UTF-8", by_hand) from None


def _filled(word: str, id: str) -> str:
    if "{id}" in word and not _PLAIN.fullmatch(id):
        raise TargetError(
            "secret_unavailable",
            f"the id {id!r} cannot replace {{id}} in a command",
            "only letters, digits and _ . : @ - are allowed; set another command for this host",
        )
    return word.replace("{id}", id)
