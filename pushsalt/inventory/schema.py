"""The settings of a host: one table with a check for each. Both native inventory shapes use it.

Values may be used in connections, prompts or file names, so control characters, leading dashes and numbers out of range
are refused when the inventory is read, with file and line.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pushsalt.errors import InventoryError, Position, in_words
from pushsalt.inventory import foreign, sshwords, values
from pushsalt.inventory.sshwords import CONTROL
from pushsalt.inventory.values import COMMANDS, TRANSPORTS, Parser, WrongError
from pushsalt.inventory.vault import Vault
from pushsalt.model import Asked, SdbUri
from pushsalt.nearest import nearest

KeyPath = tuple[Hashable, ...]

#: the key that a line begins with
_KEY: Final = re.compile(r"[ \t]*['\"]?([^\s'\"].*?)['\"]?[ \t]*:")


#: settings whose values are keywords, or ids
_WORDS: Final = frozenset(("transport", "become", "become_method", "jump"))


@dataclass(frozen=True)
class Source:
    """One inventory file: its data and the places of its keys."""

    path: Path
    data: Any
    lines: Mapping[KeyPath, int] = field(default_factory=dict)
    #: the unrendered text, in which the places of keys are looked up if rendering has moved the lines
    text: str = ""
    #: whether the places of all keys of mappings are needed: that is slow for large inventories
    detailed: bool = False
    #: whether a program or a cloud made it: its settings are restricted (``foreign``)
    foreign: bool = False
    #: whether it is the operator's own file: only then are its sdb:// URIs resolved
    own: bool = False
    #: decrypts texts of ansible-vault in the operator's own files
    vault: Vault = field(default_factory=Vault)
    #: whether the whole file is encrypted: all its values are secrets then
    encrypted: bool = False
    #: whether a file or folder next to it may be used; refused ones are added to the warnings
    may_use: Callable[[Path, list[str]], bool] = lambda path, warnings: True
    #: returns the allowed transports; users' own only in files of the operator
    transports: Callable[[], Collection[str]] = lambda: TRANSPORTS

    def places(self, key_path: KeyPath, keys: Iterable[Any]) -> dict[Any, Position]:
        """key -> its place, for a mapping at ``key_path``; empty unless ``detailed``."""
        return {key: self.where((*key_path, key)) for key in keys} if self.detailed else {}

    def where(self, key_path: KeyPath) -> Position:
        """The place of a key; if it is unknown, that of the nearest enclosing key."""
        for length in range(len(key_path), -1, -1) if self.lines else ():
            if key_path[:length] in self.lines:
                return Position(str(self.path), self.lines[key_path[:length]])
        return Position(str(self.path), self._search(key_path))

    def _search(self, key_path: KeyPath) -> int | None:
        """The line of the last key of the path, or of the nearest enclosing one that occurs once in the text."""
        for key in reversed(key_path):
            line = self._keys.get(str(key))
            if line:
                return line
        return None

    @functools.cached_property
    def _keys(self) -> dict[str, int | None]:
        """key -> its line in the text; None for a key that occurs more than once."""
        lines: dict[str, int | None] = {}
        for number, line in enumerate(self.text.split("\n"), 1):
            key = _KEY.match(line)
            if key is not None:
                lines[key[1]] = None if key[1] in lines else number
        return lines


@dataclass(frozen=True)
class Setting:
    """One checked value. ``value`` None resets the setting of lower layers."""

    value: Any
    where: Position
    #: key -> its place, for a mapping that is merged key by key; empty if unknown
    places: Mapping[Any, Position] = field(default_factory=dict)


@dataclass(frozen=True)
class Layer:
    """Settings from one place, by name of the Target's field. ``words``: defaults, group web, host web1 ..."""

    words: str
    settings: Mapping[str, Setting]


def check_id(raw: object, where: Position) -> str:
    """The id as text. Raises InventoryError for one that is no plain name."""
    if isinstance(raw, bool | float) or raw is None:
        words = f"the id {str(raw).lower()} is read as {in_words(raw)}, not as text"
        raise InventoryError(words, hint="put it in quotes", where=where)
    text = str(raw)
    problem = None
    if not text:
        problem = "is empty"
    elif text in (".", "..") or "/" in text or "\\" in text:
        problem = "looks like a path: '/', '\\', '.' and '..' are not allowed"
    elif CONTROL.search(text) or re.search(r"\s", text):
        problem = "has a space or a control character"
    elif text.startswith("-"):
        problem = "begins with '-', which reads as an option"
    elif len(text) > 255:
        problem = "is longer than 255 characters"
    if problem:
        raise InventoryError(f"the id {text[:80]!r} {problem}", hint="choose another id for it", where=where)
    return text


def parse_layer(raw: object, source: Source, key_path: KeyPath, words: str, warnings: list[str]) -> Layer:
    """The settings of one mapping of an inventory, checked.

    Unknown keys are added to ``warnings``; a value of the wrong type raises InventoryError.
    """
    if raw is None:
        return Layer(words, {})
    if source.encrypted:
        source.vault.add_secrets(_texts(raw, key_path))
    if not isinstance(raw, dict):
        raise InventoryError(
            f"{words} must be a mapping of settings, not {in_words(raw)}",
            hint=f"write it like  {{host: 192.0.2.10, user: deploy}}; settings are: {', '.join(sorted(FIELDS))}",
            where=source.where(key_path),
        )
    settings: dict[str, Setting] = {}
    for key, value in raw.items():
        where = source.where((*key_path, key))
        parsed: Any
        if key in FIELDS:
            name, parse = FIELDS[key]
            try:
                if key in COMMANDS:
                    _check_command(key, source, settings)
                elif source.own:
                    value = with_deferred(name, value)
                if isinstance(value, Asked):
                    parsed = value
                elif isinstance(value, SdbUri):
                    parsed = _uri(key, value)
                else:
                    parsed = None if value is None else parse(value, source.path.parent)
                if name == "transport" and parsed is not None:
                    _check_transport(parsed, source)
                if source.foreign and parsed is not None:
                    parsed = _of_others(name, parsed, f"{where}: `{key}` of {words}", warnings)
            except WrongError as exc:
                raise InventoryError(
                    f"`{key}` of {words} {exc}", hint=f"correct `{key}` or leave it out", where=where
                ) from None
            places = source.places((*key_path, key), parsed) if name in MERGED and parsed else {}
            before = settings.get(name)
            if name in MERGED and before is not None and before.value and parsed:  # mine_functions and minion_opts
                parsed, places = {**before.value, **parsed}, {**before.places, **places}
            settings[name] = Setting(parsed, where, places)
        elif key in WITHOUT_EFFECT:
            if value:
                warnings.append(f"{where}: `{key}` of {words} has no effect here: {WITHOUT_EFFECT[key]}")
        else:
            near = nearest(str(key), FIELDS)
            hint = f" (did you mean `{near[0]}`?)" if near else ""
            warnings.append(f"{where}: unknown setting `{key}` of {words} is ignored{hint}")
    if raw.get("become") is not None and "sudo" not in settings:  # a method implies `sudo: true`
        settings["sudo"] = Setting(True, settings["become"].where)
    return Layer(words, settings)


def _texts(raw: object, key_path: KeyPath) -> object:
    """The secret texts in the settings of an encrypted file: all except keywords, and the id, which must be shown."""
    if not isinstance(raw, dict):
        return raw
    shown = [str(key) for key in key_path]
    return [value for key, value in raw.items() if key not in _WORDS and not (key == "host" and value in shown)]


def _of_others(name: str, value: Any, place: str, warnings: list[str]) -> Any:
    """The part of a value that a program or a cloud may set. Raises WrongError."""
    wrong = foreign.problem(name, value)
    if wrong is not None:
        raise WrongError(wrong)
    if name == "grains":
        value, left_out = foreign.on_one_line(value)
        if left_out:
            shown = ", ".join(ascii(each)[1:-1][:80] for each in left_out[:5])
            warnings.append(f"{place}: left out, with a control character or a line break in it: {shown}")
    return value


# --- sdb:// URIs ---------------------------------------------------------------------------------------------------

#: settings that may be a URI
URI_FIELDS: Final = ("host", "port", "user", "passwd", "priv_passwd", "sudo_user", "sudo_password")


def with_deferred(name: str, value: Any) -> Any:
    """The value of a setting with its URIs marked. Grains cannot have URIs, since they are cached unencrypted."""
    if name == "grains" or (name != "minion_opts" and name not in MERGED and not isinstance(value, str)):
        return value
    if name == "minion_opts" and isinstance(value, dict):
        return {key: item if key == "grains" else _marked(item) for key, item in value.items()}
    return _marked(value)


def _marked(value: Any) -> Any:
    if isinstance(value, str):
        return SdbUri(value) if value.startswith("sdb://") else value
    if isinstance(value, dict):
        return {key: _marked(item) for key, item in value.items()}
    return [_marked(item) for item in value] if isinstance(value, list) else value


def _uri(key: str, value: SdbUri) -> SdbUri:
    if FIELDS[key][0] not in URI_FIELDS:
        raise WrongError("cannot be an sdb:// URI")
    return value


def checked_value(name: str, value: Any) -> Any:
    """Check a value that was fetched for one of URI_FIELDS. Raises ValueError, whose text completes "`port` …"."""
    try:
        return FIELDS[name][1](value, Path())
    except WrongError as exc:
        raise ValueError(str(exc)) from None


# --- commands that print a secret ----------------------------------------------------------------------------------


def _check_command(key: str, source: Source, settings: Mapping[str, Setting]) -> None:
    """Raises WrongError if a command for a secret is not allowed in this source, or contradicts another setting."""
    if not source.own:
        raise WrongError("names a program of this machine, which only your own files or the configuration can set")
    before = settings.get(COMMANDS[key])
    if before is not None and before.value is not None:
        raise WrongError(f"cannot be used together with `{COMMANDS[key]}`")


# --- the table -------------------------------------------------------------------------------------------------------


def _check_transport(name: str, source: Source) -> None:
    """Check a transport; plug-ins are only searched for names that are not shipped."""
    if name in TRANSPORTS:
        return
    transports = source.transports()
    if name not in transports:
        near = nearest(name, transports)
        hint = f" (did you mean {near[0]}?)" if near else ""
        raise WrongError(f"must be one of {', '.join(transports)}, not {name[:80]!r}{hint}")


#: key in an inventory -> (field of Target, check)
FIELDS: Final[Mapping[str, tuple[str, Parser]]] = {
    "transport": ("transport", values.transport),
    "host": ("host", values.checked_by(sshwords.host_problem)),
    "port": ("port", values.port),
    "user": ("user", values.checked_by(sshwords.user_problem)),
    "passwd": ("passwd", values.optional_secret),
    "passwd_command": ("passwd", values.command),
    "priv": ("priv", values.key_files),
    "priv_passwd": ("priv_passwd", values.optional_secret),
    "priv_passwd_command": ("priv_passwd", values.command),
    "agent": ("agent", values.boolean),
    "identities_only": ("agent", values.negated(values.boolean)),
    "sudo": ("sudo", values.boolean),
    "become": ("become", values.become),
    "become_method": ("become", values.become),
    "sudo_user": ("sudo_user", values.checked_by(sshwords.sudo_user_problem)),
    "sudo_password": ("sudo_password", values.secret),
    "sudo_password_command": ("sudo_password", values.command),
    "tty": ("tty", values.boolean),
    "timeout": ("timeout", values.seconds),
    "jump": ("jump", values.several(values.word)),
    "ssh_options": ("ssh_options", values.several(values.checked_by(sshwords.option_problem))),
    "python": ("python", values.checked_by(sshwords.command_problem)),
    "thin_dir": ("thin_dir", values.remote_dir),
    "bootstrap": ("bootstrap", values.boolean),
    "site": ("site", values.site),
    "minion_opts": ("minion_opts", values.mapping),
    "mine_functions": ("minion_opts", values.mine_functions),
    "grains": ("grains", values.mapping),
    "pillar": ("pillar", values.mapping),
}

#: settings of salt-ssh rosters that are accepted and have no effect
WITHOUT_EFFECT: Final[Mapping[str, str]] = {
    "cmd_umask": "files on the target are always private",
    "disable_wipe": "use `pushsalt clean` to remove the runtime",
    "keepalive": "keepalives are always on",
    "keepalive_count_max": "keepalives are always on",
    "keepalive_interval": "keepalives are always on",
    "mine": "`mine_functions` lists what is collected, and `mine_enabled` of minion_opts enables it",
    "mods": "modules are sent as they are needed",
    "relenv": "the target's own Python is used",
    "remote_port_forwards": "ports are not forwarded",
    "set_path": "the login's PATH is used",
    "ssh_pre_flight": "no script runs before the connection's work",
    "ssh_pre_flight_args": "no script runs before the connection's work",
    "ssh_pre_hook": "no script runs before the connection",
    "ssh_python_env": "set `python` instead",
    "winrm": "only SSH is supported",
}

#: fields that are merged key by key over the layers; all others are replaced
MERGED: Final = ("minion_opts", "grains", "pillar")
