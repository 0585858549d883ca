"""Entries of the standard Unix password manager, by the program pass.

::

    team: {driver: pass, store: ~/team-store, gnupghome: ~/.gnupg}
    sdb://team/web/db            the first line of the entry, which is the password
    sdb://team/web/db?login      the rest of its line `login: ...`
    sdb://team/web/tls?*         the whole entry

``store`` is the folder of the store, ``gnupghome`` that of GnuPG; both are the user's own by default. Values travel on
standard input and output of pass, never as arguments.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pushsalt.sdb import MAX_BYTES, Completed, Outside, Trouble

__func_alias__ = {"set_": "set"}


def get(
    key: str, service: str | None = None, profile: Mapping[str, Any] | None = None, *, outside: Outside
) -> str | None:
    name, _, field = key.partition("?")
    entry = _entry(name, profile, outside)
    if entry is None or field == "*":
        return entry
    lines = entry.splitlines()
    if not field:
        return lines[0] if lines else ""
    field = field.removeprefix("field=")
    for line in lines[1:]:
        label, colon, value = line.partition(":")
        if colon and label.strip().lower() == field.lower():
            return value.strip()
    return None


def set_(
    key: str, value: Any, service: str | None = None, profile: Mapping[str, Any] | None = None, *, outside: Outside
) -> bool:
    """Set the password of an entry (other lines are kept), a field of it, or with ``?*`` the whole entry."""
    if not isinstance(value, str):
        raise Trouble("an entry of pass is text", "set it to text")
    name, _, field = key.partition("?")
    if field != "*" and "\n" in value:
        raise Trouble("the value has several lines", "set the whole entry: KEY?*")
    lines = (_entry(name, profile, outside) or "").splitlines() or [""]
    if field == "*":
        lines = [value]
    elif not field:
        lines[0] = value
    else:
        field = field.removeprefix("field=")
        lines = [lines[0], *(line for line in lines[1:] if line.partition(":")[0].strip().lower() != field.lower())]
        lines.append(f"{field}: {value}")
    text = "\n".join(lines).encode() + b"\n"
    _must(_run(["insert", "--multiline", "--force", name], profile, outside, text), name)
    return True


def delete(key: str, service: str | None = None, profile: Mapping[str, Any] | None = None, *, outside: Outside) -> bool:
    name = key.partition("?")[0]
    if _entry(name, profile, outside) is None:
        return False
    _must(_run(["rm", "--force", name], profile, outside), name)
    return True


def _entry(name: str, profile: Mapping[str, Any] | None, outside: Outside) -> str | None:
    _check(name)
    store = (profile or {}).get("store") or os.environ.get("PASSWORD_STORE_DIR") or "~/.password-store"
    folder = Path(str(store)).expanduser()
    if not folder.is_dir():
        raise Trouble(f"there is no password store {folder}", "`pass init` makes one; or correct `store`", down=True)
    if not Path(folder, f"{name}.gpg").is_file():  # for a folder, pass would list its content
        return None
    done = _run(["show", name], profile, outside)
    _must(done, name)
    if len(done.out) > MAX_BYTES:
        raise Trouble(f"{name} is larger than {MAX_BYTES // 1024} KiB", "keep it elsewhere")
    try:
        return done.out.decode().removesuffix("\n")
    except UnicodeDecodeError:
        raise Trouble(f"{name} is not UTF-8", "keep text there") from None


def _check(name: str) -> None:
    """Raises Trouble for an invalid name of an entry."""
    if not name or name.startswith(("-", "/")) or ".." in name.split("/") or "\0" in name or name.endswith("/"):
        raise Trouble(f"{name!r} is no name of an entry", "write it as `pass ls` shows it")


def _run(words: list[str], profile: Mapping[str, Any] | None, outside: Outside, data: bytes = b"") -> Completed:
    _check(words[-1])
    options = profile or {}
    places = {"PASSWORD_STORE_DIR": options.get("store"), "GNUPGHOME": options.get("gnupghome")}
    argv = [f"{variable}={Path(str(place)).expanduser()}" for variable, place in places.items() if place]
    try:
        return outside.run([*(["env", *argv] if argv else []), "pass", *words], input=data)
    except FileNotFoundError:
        raise _lacking() from None
    except (OSError, TimeoutError) as exc:
        raise Trouble(f"pass cannot be run: {exc}", "run it yourself", down=True) from None


def _must(done: Completed, name: str) -> None:
    """Raises Trouble, with the program's error text, if pass has failed."""
    if done.code == 0:
        return
    if done.code == 127 and b"pass" in done.err:
        raise _lacking()
    message = done.err.decode("utf-8", "replace").strip() or f"it ended with code {done.code}"
    raise Trouble(f"pass: {message}", f"`pass show {name}` must work without asking; is gpg-agent there and unlocked?")


def _lacking() -> Trouble:
    return Trouble("there is no program pass", "install pass on this machine", down=True)
