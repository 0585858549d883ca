"""Becoming another user on a target by sudo, su, doas or run0.

sudo gets a random prompt text. The others have fixed prompts, so a mark is printed immediately before they start: only
text after the mark can be their prompt, earlier text is output of the login's start-up files. Their messages are in
English, since LC_ALL is set for them; they do not pass it on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

# As in ``shim``: no single quotes, backslashes, exclamation marks or two spaces in a row.
_MARKED: Final = 'LC_ALL=C; export LC_ALL; echo $1; echo $1 >&2; shift; exec "$@"'
# The login shell may not support "$@": /bin/sh is used where su has an option for it, that is on Linux.
_SU: Final = (
    'r=$1; u=$2; shift 2; case $(uname) in Linux) exec su -l -s /bin/sh -c "$r" -- "$u" "$@";; esac; '
    'exec su -l "$u" -c "$r" "$@"'
)
_RUN: Final = 'exec "$0" "$@"'
_QUESTION: Final = re.compile(rb"(?i)(?:password|passphrase|passcode|pin)\b[^\r\n]{0,200}:[ \t]*(?:\x1b\[[0-9;]*m)*\Z")
_CHOICE: Final = re.compile(rb"Choose identity to authenticate as \([0-9-]+\):[ \t]*\Z")


@dataclass(frozen=True)
class Method:
    """A program that changes the user. ``refusals``: error kind -> pattern of its messages."""

    name: str
    #: its arguments before the command
    words: Callable[[Become], list[str]]
    refusals: tuple[tuple[str, str], ...]
    #: the configuration on the target that allows to become a user, with and without password
    allow: str
    without: str
    #: whose password it asks for, for messages
    whose: str = ""
    #: its prompt is the mark
    asks_with_mark: bool = False
    #: it asks only on a terminal
    terminal: bool = False
    #: seconds after the prompt until input is read: polkit drops input that arrives before it turns the echo off
    reads_after: float = 0.0
    #: it has no option to suppress prompts
    always_asks: bool = False
    #: its exit code if it cannot become that user; systemd: EXIT_USER
    denied: int | None = None


METHODS: Final = {
    method.name: method
    for method in (
        Method(
            "sudo",
            lambda b: ["sudo", "-H", *(["-S", "-p", b.mark] if b.asks else ["-n"]), "-u", b.user, "--"],
            (
                (
                    "sudo_denied",
                    r"is not in the sudoers file|is not allowed to (execute|run)|may not run sudo"
                    r"|not allowed to set|unknown user",
                ),
                ("sudo_password_wrong", r"incorrect password attempt|Sorry, try again"),
                (
                    "sudo_password_required",
                    r"a password is required|terminal is required|no tty present|must have a tty|askpass",
                ),
            ),
            "allow it in sudoers there",
            "allow NOPASSWD in sudoers there",
            asks_with_mark=True,
        ),
        Method(
            "su",
            lambda b: ["/bin/sh", "-c", _SU, "pushsalt", _RUN, b.user],
            (
                (
                    "sudo_denied",
                    r"does not exist|[Uu]nknown (id|login|user)|[Pp]ermission denied|expired|not available"
                    r"|not in the correct group",
                ),
                ("sudo_password_wrong", r"[Aa]uthentication failure|incorrect password|Sorry"),
            ),
            "see /etc/pam.d/su there",
            "log in as that user",
            "that user's own",
            always_asks=True,
        ),
        Method(
            "doas",
            lambda b: ["doas", *([] if b.asks else ["-n"]), "-u", b.user, "--"],
            (
                ("sudo_denied", r"not permitted|not enabled|unknown user"),
                ("sudo_password_wrong", r"(Authentication|Authorization) failed"),
                ("sudo_password_required", r"(Authentication|Authorization) required|tty is required"),
            ),
            "allow it in doas.conf there",
            "allow nopass in doas.conf there",
            terminal=True,
        ),
        Method(
            "run0",
            lambda b: [
                "run0",
                *([] if b.asks else ["--no-ask-password"]),
                *(["--pipe"] if b.tty else []),
                "--background=",
                f"--user={b.user}",
                "--",
            ],
            (
                ("sudo_denied", r"Failed to resolve user|[Uu]nknown user|No such process"),
                ("sudo_password_required", r"[Ii]nteractive authentication required"),
                ("sudo_password_wrong", r"AUTHENTICATION FAILED"),
                ("sudo_denied", r"Access denied|Permission denied"),
            ),
            "allow it in polkit's rules there",
            "allow it without one in polkit's rules there",
            terminal=True,
            denied=217,
            reads_after=0.3,
        ),
    )
}


@dataclass(frozen=True)
class Become:
    """Becoming ``user`` by a method.

    ``asks``: it may ask for a password; otherwise it must fail instead. ``mark`` is a random word: the prompt of sudo,
    and printed before the other programs start. ``tty``: the command has a terminal.
    """

    method: Method
    user: str
    asks: bool = False
    tty: bool = False
    mark: str = "pushsalt:"

    @property
    def is_heard(self) -> bool:
        """Whether to look for prompts in the output."""
        return self.asks or self.method.always_asks

    def command(self, words: Sequence[str]) -> list[str]:
        marked = [] if self.method.asks_with_mark else ["/bin/sh", "-c", _MARKED, "pushsalt", self.mark]
        return [*marked, *self.method.words(self), *words]


class Questions:
    """Finds the prompts of a program in the output of the target."""

    def __init__(self, become: Become) -> None:
        self._mark = become.mark.encode()
        self._is_question = become.method.asks_with_mark
        self._begun = False
        self._text = b""

    def heard(self, data: bytes) -> int:
        """Process output of the target. Returns the number of new password prompts in it."""
        self._text += data
        if self._is_question:
            return self._strip_marks()
        if not self._begun and self._strip_marks():
            self._begun = True
        if not self._begun:
            return 0
        asked = _QUESTION.search(self._text) is not None
        self._text = b"" if asked else self._text[-4096:]
        return int(asked)

    def choice(self, user: str) -> bytes | None:
        """The number of a user in the list that polkit offers to choose from; None without such a list."""
        if not self._begun or not _CHOICE.search(self._text):
            return None
        rows = re.findall(rb"(?m)^[ \t]*([0-9]+)\.[ \t]+(.*?)[ \t]*\r?$", self._text)
        self._text = b""
        name = user.encode()
        return next((number for number, row in rows if row == name or row.endswith(b"(" + name + b")")), b"1")

    def _strip_marks(self) -> int:
        count = self._text.count(self._mark)
        if count:
            self._text = self._text[self._text.rindex(self._mark) + len(self._mark) :]
        if self._is_question or not count:
            self._text = self._text[-len(self._mark) + 1 :]
        return count
