"""Passwords that a person is asked for, on the terminal and nowhere else (``-k``, ``-K``)."""

from __future__ import annotations

import os

from pushsalt.errors import UsageError
from pushsalt.model import Secret


def ask_passwords(login: bool, become: bool) -> tuple[Secret | None, Secret | None]:
    """Ask for the requested passwords, each once: of the login, and to become another user.

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


def _ask(prompt: str, flag: str, setting: str, default: Secret | None = None) -> Secret:
    import getpass  # which few commands need
    import warnings

    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
        with warnings.catch_warnings():
            warnings.simplefilter("error", getpass.GetPassWarning)  # it would read stdin, and echo the password
            text = getpass.getpass(prompt)
    except (OSError, getpass.GetPassWarning):
        hint = f"run it on a terminal; or have `{setting}` in the inventory name a program that prints it"
        raise UsageError(f"{flag} asks for a password, and there is no terminal to ask on", hint=hint) from None
    except (EOFError, UnicodeDecodeError):
        text = ""
    if not text and default is not None:
        return default
    if not text:
        raise UsageError(f"{flag}: no password was typed", hint="type it, or leave the option out")
    return Secret(text)
