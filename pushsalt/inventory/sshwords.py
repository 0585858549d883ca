"""Checks values that are passed to ssh, sudo, known_hosts or a command line. Each check returns the error, or "".

They are used when an inventory is read, with file and line, and when a connection is made, for values that ssh_config
and its tokens produce. They refuse more than OpenSSH does since CVE-2023-51385 and CVE-2025-61984 (quotes, ``$``,
backquotes, ``;|&<>(){}``, blanks, control characters, a leading dash): an accepted value has no special meaning in any
shell, quoted or not. The only exception is the backslash in the name of a Windows domain's user (``DOMAIN\\user``),
which OpenSSH accepts too.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from typing import Final

CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")

_LONGEST: Final = 253
_HOST: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_ZONE: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_USER: Final = re.compile(r"[A-Za-z0-9_.+][A-Za-z0-9_.+@:,=~-]*")
_DOMAIN: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
#: characters with a special meaning in some shell
_SHELL: Final = re.compile(r"""['"`$\\;&<>|(){}*?!\[\]#^]""")


def _quoted(text: str) -> str:
    return f"{text[:80]!r}" if text.isprintable() else "it"


def _common(text: str) -> str | None:
    if not text:
        return "is empty"
    if CONTROL.search(text) or not text.isprintable():
        return "has a control character, a line break or another one that cannot be shown in it"
    if text.startswith("-"):
        return "begins with '-', which reads as an option"
    if len(text) > _LONGEST:
        return f"is longer than {_LONGEST} characters"
    if re.search(r"\s", text):
        return f"has a space in it: {_quoted(text)}"
    return None


def _ascii(text: str) -> str | None:
    """The text with ``x`` for each letter, accent and digit of other scripts; None if it has other such characters.

    The NFKC form, which the resolver uses, must be a letter or digit too: that of some letters is ``(1)``.
    """
    if text.isascii():
        return text
    import unicodedata  # imported on demand: few names need it

    seen = ""
    for character in text:
        if character.isascii():
            seen += character
            continue
        for each in character + unicodedata.normalize("NFKC", character):
            if not (each.isascii() and each.isalnum()) and not re.match("L|M|Nd", unicodedata.category(each)):
                return None
        seen += "x"
    return seen


def host_problem(text: str) -> str | None:
    """Check a host: a name of DNS or of ssh_config, or an IPv4 or IPv6 address, with or without zone."""
    problem = _common(text)
    if problem is not None:
        return problem
    if ":" in text:
        import ipaddress

        address, percent, zone = text.partition("%")
        try:
            ipaddress.IPv6Address(address)
        except ValueError:
            hint = ", which has no brackets and no port here" if text.startswith("[") or text.count(":") == 1 else ""
            return f"is no host name and no IPv6 address{hint}: {_quoted(text)}"
        return f"has no proper zone: {_quoted(text)}" if percent and not _ZONE.fullmatch(zone) else None
    plain = _ascii(text)
    if plain is None or not _HOST.fullmatch(plain) or ".." in plain:
        return f"is neither a host name nor an address: {_quoted(text)}"
    return None


def alias_problem(text: str) -> str | None:
    """Check a name that is looked up in ssh_config, where it may be an alias."""
    problem = _common(text)
    match = _SHELL.search(text)
    if problem is None and match:
        problem = f"has {match[0]} in it, which a shell reads: {_quoted(text)}"
    return problem


def user_problem(text: str) -> str | None:
    """Check a login name."""
    problem = _common(text)
    if problem is not None:
        return problem
    domain, backslash, name = text.rpartition("\\")
    plain = _ascii(name)
    if backslash and not _DOMAIN.fullmatch(_ascii(domain) or ""):
        plain = None
    if plain is None or not _USER.fullmatch(plain) or plain in (".", ".."):
        return f"is no login name: {_quoted(text)}"
    return None


def sudo_user_problem(text: str) -> str | None:
    """Check the user of sudo: a login name, or ``#`` and a number."""
    return None if re.fullmatch(r"#[0-9]{1,10}", text) else user_problem(text)


def jump_problem(text: str) -> str | None:
    """Check one hop of a ProxyJump: ``[user@]host[:port]``, an IPv6 address in brackets if a port follows."""
    problem = _common(text)
    if problem is not None:
        return problem
    user, host, port = hop(text)
    if user is not None and (problem := user_problem(user)):
        return problem
    if port is not None and not re.fullmatch(r"[0-9]{1,5}", port):
        return f"has no proper port: {_quoted(text)}"
    return host_problem(host)


def hop(text: str) -> tuple[str | None, str, str | None]:
    """(user, host, port) of one hop of a ProxyJump, unchecked; None for a missing user or port."""
    user, at, place = text.removeprefix("ssh://").rpartition("@")
    if place.startswith("["):
        host, _, rest = place[1:].partition("]")
        port = rest[1:] if rest.startswith(":") else rest or None
    elif place.count(":") > 1:
        host, port = place, None
    else:
        host, colon, number = place.partition(":")
        port = number if colon else None
    return user if at else None, host, port


def command_problem(text: str) -> str | None:
    """Check a path on the target: it must not contain characters with a special meaning in a shell."""
    if not text:
        return "is empty"
    if CONTROL.search(text) or not text.isprintable():
        return "has a control character, a line break or another one that cannot be shown in it"
    if text.startswith("-"):
        return "begins with '-', which reads as an option"
    match = _SHELL.search(text)
    return f"has {match[0]} in it, which a shell reads: {_quoted(text)}" if match else None


#: option of ssh_config -> the check of its value, if it is stricter than ``CONTROL``
_OPTIONS: Final[dict[str, Callable[[str], str | None]]] = {
    "hostname": lambda value: host_problem(value.replace("%%", "x").replace("%h", "x") or value),
    "hostkeyalias": host_problem,
    "bindaddress": host_problem,
    "user": user_problem,
    "port": lambda value: None if re.fullmatch(r"[0-9]{1,5}", value) else f"is no port number: {_quoted(value)}",
    "proxyjump": lambda value: next(
        filter(None, (jump_problem(each.strip()) for each in value.split(",") if value.lower() != "none")), None
    ),
}


def option(text: str) -> tuple[str, str]:
    """(name in lower case, value) of an option as ``-o`` takes it: ``Name=value`` or ``Name value``."""
    match = re.match(r"\s*([^\s=]*)\s*=?\s*(.*?)\s*\Z", text, re.S)
    assert match is not None  # it matches everything
    value = match[2]
    if len(value) > 1 and value[0] == value[-1] == '"':
        value = value[1:-1]
    return match[1].lower(), value


def option_problem(text: str) -> str | None:
    """Check one of ``ssh_options``."""
    name, value = option(text)
    check = _OPTIONS.get(name)
    problem = check(value) if check is not None else None
    return f"{text.split('=')[0].split()[0]} {problem}" if problem else None


#: values of StrictHostKeyChecking with which a host key is checked
_CHECKED: Final = ("yes", "true", "ask", "")


def unchecked(text: str) -> bool:
    """Whether one of ``ssh_options`` accepts unknown host keys, or ignores known ones."""
    name, value = option(text)
    if name == "stricthostkeychecking":
        return value.lower() not in _CHECKED
    if name in ("userknownhostsfile", "globalknownhostsfile"):
        return not any(is_file(each.strip("\"'")) for each in value.split())
    return False


def is_file(name: str) -> bool:
    """Whether the value of an option for host key files names a file, unlike ``none`` or /dev/null."""
    return name.lower() not in ("none", "") and not posixpath.normpath(name).startswith(("/dev/", "//dev/"))
