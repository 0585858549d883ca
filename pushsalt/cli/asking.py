"""Prompts on the terminal: for passwords (``-k``, ``-K``) and confirmations. Stdin is not used."""

from __future__ import annotations

import os

from pushsalt.errors import UsageError
from pushsalt.model import Secret

_YES = ("y", "yes")
_NO = ("n", "no", "")


def ask_passwords(login: bool, become: bool) -> tuple[Secret | None, Secret | None]:
    """Ask for the requested passwords, once each: that of the login, and that to become another user.

    An empty second password means the first one, if that was asked for too. Ansible: ``--ask-become-pass``.
    Raises UsageError without a terminal, or for an empty password.
    """
    passwd = sudo_password = None
    if login:
        passwd = _ask("SSH password: ", "-k/--ask-pass", "passwd_command")
    if become:
        prompt = "Password to become root: " if passwd is None else "Password to become root [as for SSH]: "
        sudo_password = _ask(prompt, "-K/--ask-become-pass", "sudo_password_command", passwd)
    return passwd, sudo_password


def ask_value(prompt: str, jid: str, keys: list[str]) -> Secret:
    """Ask for a secret value of the ``--pillar`` of a recorded job. Raises UsageError without a terminal."""
    import getpass
    import warnings

    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
        with warnings.catch_warnings():
            warnings.simplefilter("error", getpass.GetPassWarning)
            return Secret(getpass.getpass(prompt))
    except (OSError, EOFError, UnicodeDecodeError, getpass.GetPassWarning):
        what = f"the job {jid} had secret values in --pillar, which are not recorded: {', '.join(keys)}"
        raise UsageError(what, hint="pass them again: --pillar DATA") from None


def _ask(prompt: str, flag: str, setting: str, default: Secret | None = None) -> Secret:
    import getpass  # imported late: few commands need it
    import warnings

    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
        with warnings.catch_warnings():
            warnings.simplefilter(
                "error", getpass.GetPassWarning
            )  # otherwise it would read stdin, and echo the password
            text = getpass.getpass(prompt)
    except (OSError, getpass.GetPassWarning):
        hint = f"run it on a terminal; or set `{setting}` in the inventory to a program that prints it"
        raise UsageError(f"{flag} asks for a password, which needs a terminal", hint=hint) from None
    except (EOFError, UnicodeDecodeError):
        text = ""
    if not text and default is not None:
        return default
    if not text:
        raise UsageError(f"{flag}: no password was typed", hint="type it, or omit the option")
    return Secret(text)


def need_terminal(flag: str, hint: str) -> None:
    """Raises UsageError if there is no terminal to ask on."""
    terminal = _terminal()
    if terminal is None:
        raise UsageError(f"{flag} asks on the terminal, but there is none", hint=hint)
    os.close(terminal)


def has_terminal() -> bool:
    """Whether there is a terminal to ask on."""
    terminal = _terminal()
    if terminal is not None:
        os.close(terminal)
    return terminal is not None


def _terminal() -> int | None:
    """A descriptor of the terminal: that of the process, or stdin if it is one; None if there is none."""
    try:
        return os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError:
        pass
    try:
        return os.dup(0) if os.isatty(0) else None
    except OSError:
        return None


async def ask_yes(question: str) -> bool:
    """Whether the answer to a question is yes; the end of input counts as no. Can be cancelled."""
    terminal = _terminal()
    if terminal is None:
        return False
    try:
        while True:
            _say(terminal, question)
            answer = await _line(terminal)
            word = "" if answer is None else answer.strip().lower()
            if answer is None:
                _say(terminal, "\n")
            if word in (*_YES, *_NO):
                return word in _YES
    finally:
        os.close(terminal)


async def _line(terminal: int) -> str | None:
    """A typed line; None at the end of input. No thread waits for it, so that the process can end."""
    import asyncio  # imported late: slow to import, and not needed for passwords

    loop = asyncio.get_running_loop()
    typed = loop.create_future()

    def read() -> None:
        try:
            data = os.read(terminal, 4096)
        except OSError:
            data = b""
        if not typed.done():
            typed.set_result(data.decode("utf-8", "replace") if data else None)

    loop.add_reader(terminal, read)
    try:
        line: str | None = await typed
        return line
    finally:
        loop.remove_reader(terminal)


def _say(terminal: int, text: str) -> None:
    try:
        os.write(terminal, text.encode("utf-8", "replace"))
    except OSError:
        pass
