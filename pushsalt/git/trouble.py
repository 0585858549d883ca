"""Shortens git's error messages, removes credentials, and adds hints."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from pushsalt.git.address import without_credentials

if TYPE_CHECKING:
    from pushsalt.git import GitError
    from pushsalt.git.address import Address
    from pushsalt.git.process import Done

#: Lines of git's output that do not explain an error.
_NOISE = re.compile(
    r"From |POST |(remote: )?(Counting|Compressing|Enumerating|Receiving|Resolving|Total)\b|and the repository exists"
    r"|Please make sure|fatal: Could not read from remote"
)
_LOGIN_WORDS = (
    "Authentication failed",
    "could not read Username",
    "could not read Password",
    "Permission denied",
    "error: 401",
    "error: 403",
    "HTTP Basic: Access denied",
)
_HINTS: Final = (
    (_LOGIN_WORDS, "check user and password, or privkey and passphrase, of this remote"),
    (("Host key verification failed",), "connect once with ssh and check the key, which adds it to known_hosts"),
    (
        ("dubious ownership",),
        "the repository belongs to another user: use a clone of your own, or ssh",
    ),
    (("certificate", "SSL"), "check the server's certificate, or set `ssl_verify: False` for this remote"),
    (
        ("not found", "does not appear to be a git repository", "does not exist"),
        "check the URL, and the permissions of this login",
    ),
    (("Could not resolve",), "check the host's name and the network"),
)


def check(done: Done, address: Address, error: type[GitError]) -> None:
    """Raise ``error`` if a git command for this remote has failed."""
    if done.code == 0:
        return
    words = [line.removeprefix("fatal: ") for line in done.words.splitlines() if not _NOISE.match(line)]
    message = without_credentials("; ".join(words[-6:])) or f"git ended with code {done.code}"
    message = re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", "?", message)  # the text may come from the server
    if address.password:
        message = message.replace(address.password, "**********")
    hint = next((hint for patterns, hint in _HINTS if any(mark.lower() in message.lower() for mark in patterns)), "")
    raise error(message, hint=hint or "try  git ls-remote  with the same URL")
