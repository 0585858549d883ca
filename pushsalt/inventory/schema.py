"""The settings of a host: one table with a check for each. Both native inventory shapes use it.

Values may be used in connections, prompts or file names, so control characters, leading dashes and numbers out of range
are refused when the inventory is read, with file and line.
"""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, get_args

from pushsalt.errors import InventoryError, Position, in_words
from pushsalt.inventory import foreign, sshwords
from pushsalt.inventory.sshwords import CONTROL
from pushsalt.inventory.vault import Vault
from pushsalt.model import Asked, BecomeMethod, SdbUri, Secret, SecretCommand
from pushsalt.nearest import nearest

KeyPath = tuple[Hashable, ...]

TRANSPORTS: Final = ("ssh", "local", "offline")
BECOME: Final = get_args(BecomeMethod)

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
    #: whether a program or a cloud made it, and not the operator: it may say less
    foreign: bool = False
    #: whether it is the operator's own file, whose sdb:// URIs are resolved, unlike those of programs and clouds
    own: bool = False
    #: decrypts texts of ansible-vault in the operator's own files
    vault: Vault = field(default_factory=Vault)
    #: whether the file is encrypted as a whole: the values in it are secrets then
    encrypted: bool = False
    #: whether a file or folder beside it may be used; refused ones are added to the warnings
    beside: Callable[[Path, list[str]], bool] = lambda path, warnings: True
    #: returns the allowed transports; users' own only in files of the operator
    transports: Callable[[], Collection[str]] = lambda: TRANSPORTS

    def places(self, key_path: KeyPath, keys: Iterable[Any]) -> dict[Any, Position]:
        """The place of each key of a mapping, if that is wanted."""
        return {key: self.where((*key_path, key)) for key in keys} if self.detailed else {}

    def where(self, key_path: KeyPath) -> Position:
        """The place of a key, or of the nearest one around it."""
        for length in range(len(key_path), -1, -1) if self.lines else ():
            if key_path[:length] in self.lines:
                return Position(str(self.path), self.lines[key_path[:length]])
        return Position(str(self.path), self._search(key_path))

    def _search(self, key_path: KeyPath) -> int | None:
        """The line of the first key of that name, where there is just one."""
        for key in reversed(key_path):
            line = self._keys.get(str(key))
            if line:
                return line
        return None

    @functools.cached_property
    def _keys(self) -> dict[str, int | None]:
        """key -> its line in the text; None where there are several."""
        found: dict[str, int | None] = {}
        for number, line in enumerate(self.text.split("\n"), 1):
            key = _KEY.match(line)
            if key is not None:
                found[key[1]] = None if key[1] in found else number
        return found


@dataclass(frozen=True)
class Setting:
    """One checked value. ``value`` None resets the setting of lower layers."""

    value: Any
    where: Position
    #: of a mapping that is merged key by key: the places of its keys, if known
    places: Mapping[Any, Position] = field(default_factory=dict)


@dataclass(frozen=True)
class Layer:
    """Settings from one place, by name of the Target's field. ``words``: defaults, group web, host web1 ..."""

    words: str
    settings: Mapping[str, Setting]


class _Wrong(Exception):
    """An invalid value; the text completes "`port` of host web1 ..."."""


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
            except _Wrong as exc:
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
    if raw.get("become") is not None and "sudo" not in settings:  # to say by what is to say that
        settings["sudo"] = Setting(True, settings["become"].where)
    return Layer(words, settings)


def _texts(raw: object, key_path: KeyPath) -> object:
    """The secret texts in the settings of an encrypted file: all except keywords, and the id, which must be shown."""
    if not isinstance(raw, dict):
        return raw
    shown = [str(key) for key in key_path]
    return [value for key, value in raw.items() if key not in _WORDS and not (key == "host" and value in shown)]


def _of_others(name: str, value: Any, place: str, warnings: list[str]) -> Any:
    """The value, as far as a program or a cloud may say it. Raises _Wrong."""
    wrong = foreign.problem(name, value)
    if wrong is not None:
        raise _Wrong(wrong)
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
        raise _Wrong("cannot be an sdb:// URI")
    return value


def checked_value(name: str, value: Any) -> Any:
    """Check a value that was fetched for one of URI_FIELDS. Raises ValueError, whose text completes "`port` …"."""
    try:
        return FIELDS[name][1](value, Path())
    except _Wrong as exc:
        raise ValueError(str(exc)) from None


# --- commands that print a secret ----------------------------------------------------------------------------------

#: setting with a command -> the setting whose value the command prints
COMMANDS: Final[Mapping[str, str]] = {
    "passwd_command": "passwd",
    "priv_passwd_command": "priv_passwd",
    "sudo_password_command": "sudo_password",
}


def _check_command(key: str, source: Source, settings: Mapping[str, Setting]) -> None:
    """Raises _Wrong where a command is not allowed."""
    if not source.own:
        raise _Wrong("names a program of this machine, which only a file of your own or the configuration can")
    before = settings.get(COMMANDS[key])
    if before is not None and before.value is not None:
        raise _Wrong(f"stands beside `{COMMANDS[key]}`, and only one of them can hold")


def _command(value: Any, folder: Path) -> SecretCommand:
    """A command: a line that is split into words as by a shell, or a list; a relative path starts at the folder."""
    if isinstance(value, str):
        try:
            words = shlex.split(value)
        except ValueError as exc:
            raise _Wrong(f"cannot be split into words: {str(exc).lower()}") from None
    elif isinstance(value, list) and all(isinstance(word, str | int) for word in value):
        words = [str(word) for word in value]
    else:
        raise _Wrong(f"must be a command, or a list of its words, not {in_words(value)}")
    if not words or not words[0]:
        raise _Wrong("is empty")
    if any(CONTROL.search(word) for word in words):
        raise _Wrong("has a control character or a line break in it")
    if "/" in words[0]:
        try:
            words[0] = str(folder.absolute() / Path(words[0]).expanduser())
        except RuntimeError as exc:
            raise _Wrong(f"cannot be resolved: {exc}") from None
    return SecretCommand(shlex.join(words))


# --- checks of one value -------------------------------------------------------------------------------------------

_Parser = Callable[[Any, Path], Any]


def _plain(value: Any, _folder: Path) -> str:
    """Text without control characters and without a leading dash."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise _Wrong(f"must be text, not {in_words(value)}")
    if not value:
        raise _Wrong("is empty")
    if CONTROL.search(value):
        raise _Wrong("has a control character or a line break in it")
    if value.startswith("-"):
        raise _Wrong("begins with '-', which reads as an option")
    if len(value) > 4096:
        raise _Wrong("is longer than 4096 characters")
    return value


def _word(value: Any, folder: Path) -> str:
    text = _plain(value, folder)
    if re.search(r"\s", text):
        raise _Wrong(f"has a space in it: {text[:80]!r}")
    return text


def _checked(problem: Callable[[str], str | None]) -> _Parser:
    """Text that passes one of the checks of ``sshwords``."""

    def parse(value: Any, folder: Path) -> str:
        text = _plain(value, folder)
        wrong = problem(text)
        if wrong is not None:
            raise _Wrong(wrong)
        return text

    return parse


def _secret(value: Any, _folder: Path) -> Secret:
    """Passwords may have any character but those that end a line. The value is never part of a message."""
    if isinstance(value, float):
        raise _Wrong("is read as a number with a fraction: put it in quotes")
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise _Wrong(f"must be text, not {in_words(value)}")
    if re.search(r"[\x00\r\n]", value):
        raise _Wrong("has a line break or NUL in it")
    return Secret(value)


def _optional_secret(value: Any, folder: Path) -> Secret | None:
    return _secret(value, folder) if value != "" else None


def _bool(value: Any, _folder: Path) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "yes", "on", "false", "no", "off"):
        return value.lower() in ("true", "yes", "on")
    raise _Wrong(f"must be true or false, not {in_words(value)}")


def _port(value: Any, _folder: Path) -> int:
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,5}", value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise _Wrong(f"must be a port number, not {in_words(value)}")
    if not 1 <= value <= 65535:
        raise _Wrong(f"must be between 1 and 65535, not {value}")
    return value


def _seconds(value: Any, _folder: Path) -> float:
    if isinstance(value, str) and re.fullmatch(r"[0-9]+(\.[0-9]+)?", value):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _Wrong(f"must be a number of seconds, not {in_words(value)}")
    if not 0 < value <= 86400:
        raise _Wrong(f"must be more than 0 and at most 86400 seconds, not {value}")
    return float(value)


def _mapping(value: Any, _folder: Path) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _Wrong(f"must be a mapping, not {in_words(value)}")
    return value


def _mine_functions(value: Any, folder: Path) -> dict[str, Any]:
    """``mine_functions`` of a salt-ssh roster, which is one of the minion's options."""
    if not isinstance(value, dict | list):
        raise _Wrong(f"must be a mapping of functions, not {in_words(value)}")
    return {"mine_functions": value}


def _transport(value: Any, _folder: Path) -> str:
    if not isinstance(value, str):
        raise _Wrong(f"must be one of {', '.join(TRANSPORTS)}, not {str(value)[:80]!r}")
    return value


def _check_transport(name: str, source: Source) -> None:
    """Check a transport; plug-ins are only searched for names that are not shipped."""
    if name in TRANSPORTS:
        return
    there = source.transports()
    if name not in there:
        near = nearest(name, there)
        hint = f" (did you mean {near[0]}?)" if near else ""
        raise _Wrong(f"must be one of {', '.join(there)}, not {name[:80]!r}{hint}")


def _become(value: Any, _folder: Path) -> str:
    if isinstance(value, bool):
        raise _Wrong(f"names the program, one of {', '.join(BECOME)}; whether to use it is said by `sudo`")
    if value not in BECOME:
        raise _Wrong(f"must be one of {', '.join(BECOME)}, not {str(value)[:80]!r}")
    return str(value)


def _several(one: _Parser) -> _Parser:
    def parse(value: Any, folder: Path) -> tuple[Any, ...]:
        items = value if isinstance(value, list) else [value]
        return tuple(one(item, folder) for item in items)

    return parse


def _key_files(value: Any, folder: Path) -> tuple[str, ...]:
    """Absolute paths; ``~`` is the user's home, other relative paths start at the inventory's folder."""
    if value == "agent-forwarding":  # salt-ssh's word for "use the agent"; nothing is forwarded here
        return ()
    names: tuple[str, ...] = _several(_plain)(value, folder)
    try:
        return tuple(str(folder.absolute() / Path(name).expanduser()) for name in names)
    except RuntimeError as exc:
        raise _Wrong(f"cannot be resolved: {exc}") from None


def _remote_dir(value: Any, folder: Path) -> str:
    text = _plain(value, folder)
    if not text.startswith(("/", "~/")) or ".." in text.split("/"):
        raise _Wrong(f"must be an absolute path, not {text[:80]!r}")
    wrong = sshwords.command_problem(text)
    if wrong is not None:
        raise _Wrong(wrong)
    return text


def _not(parse: _Parser) -> _Parser:
    return lambda value, folder: not parse(value, folder)


#: key in an inventory -> (field of Target, check)
FIELDS: Final[Mapping[str, tuple[str, _Parser]]] = {
    "transport": ("transport", _transport),
    "host": ("host", _checked(sshwords.host_problem)),
    "port": ("port", _port),
    "user": ("user", _checked(sshwords.user_problem)),
    "passwd": ("passwd", _optional_secret),
    "passwd_command": ("passwd", _command),
    "priv": ("priv", _key_files),
    "priv_passwd": ("priv_passwd", _optional_secret),
    "priv_passwd_command": ("priv_passwd", _command),
    "agent": ("agent", _bool),
    "identities_only": ("agent", _not(_bool)),
    "sudo": ("sudo", _bool),
    "become": ("become", _become),
    "become_method": ("become", _become),
    "sudo_user": ("sudo_user", _checked(sshwords.sudo_user_problem)),
    "sudo_password": ("sudo_password", _secret),
    "sudo_password_command": ("sudo_password", _command),
    "tty": ("tty", _bool),
    "timeout": ("timeout", _seconds),
    "jump": ("jump", _several(_word)),
    "ssh_options": ("ssh_options", _several(_checked(sshwords.option_problem))),
    "python": ("python", _checked(sshwords.command_problem)),
    "thin_dir": ("thin_dir", _remote_dir),
    "bootstrap": ("bootstrap", _bool),
    "minion_opts": ("minion_opts", _mapping),
    "mine_functions": ("minion_opts", _mine_functions),
    "grains": ("grains", _mapping),
    "pillar": ("pillar", _mapping),
}

#: settings of salt-ssh rosters that are understood and need nothing done
WITHOUT_EFFECT: Final[Mapping[str, str]] = {
    "cmd_umask": "what is written on the target is always private",
    "disable_wipe": "use `pushsalt clean` to remove the runtime",
    "keepalive": "keepalives are always on",
    "keepalive_count_max": "keepalives are always on",
    "keepalive_interval": "keepalives are always on",
    "mine": "`mine_functions` say what is collected, and `mine_enabled` of minion_opts whether",
    "mods": "modules are sent as they are needed",
    "relenv": "the target's own Python is used",
    "remote_port_forwards": "ports are not forwarded",
    "set_path": "the login's PATH is used",
    "ssh_pre_flight": "no script runs before the connection's work",
    "ssh_pre_flight_args": "no script runs before the connection's work",
    "ssh_pre_hook": "no script runs before the connection",
    "ssh_python_env": "set `python` instead",
    "winrm": "only SSH is spoken",
}

#: fields that are merged key by key over the layers; all others are replaced
MERGED: Final = ("minion_opts", "grains", "pillar")
