"""The settings of one SSH connection: the inventory's first, then its ssh_options, then ssh_config's."""

from __future__ import annotations

import getpass
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asyncssh.config import ConfigParseError, SSHClientConfig

from pushsalt.model import Target

log = logging.getLogger(__name__)

#: What a roster's ssh_options may set. The rest is said and left out: it forwards, executes or weakens something.
ALLOWED = frozenset(
    """
    addressfamily bindaddress casignaturealgorithms certificatefile ciphers connecttimeout globalknownhostsfile
    hostkeyalgorithms hostkeyalias hostname identitiesonly identityagent identityfile kbdinteractiveauthentication
    kexalgorithms macs passwordauthentication port preferredauthentications proxyjump pubkeyauthentication
    serveralivecountmax serveraliveinterval stricthostkeychecking tcpkeepalive user userknownhostsfile
    """.split()  # noqa: SIM905
)
#: Of no consequence here; not worth a warning.
_SILENT = {"batchmode", "loglevel", "controlmaster", "controlpath", "controlpersist", "compression", "forwardagent",
           "forwardx11", "requesttty", "numberofpasswordprompts", "connectionattempts", "checkhostip"}  # fmt: skip
_said: set[str] = set()


def default_files() -> tuple[Path, ...]:
    """The user's ssh_config, then the system's, where they exist."""
    files = (Path.home() / ".ssh" / "config", Path("/etc/ssh/ssh_config"))
    return tuple(path for path in files if path.is_file())


@dataclass(frozen=True)
class Settings:
    """What is known of a host before connecting; ``get`` reads any other word of ssh_config."""

    host: str
    port: int
    user: str
    get: Callable[..., Any]
    accept_new: bool = False
    #: the inventory itself says which file of host keys is the user's
    own_known_hosts: bool = False

    def files(self, word: str, default: Sequence[Path]) -> list[Path]:
        """The files that a word of ssh_config names, or the default; ``none`` and /dev/null are no files."""
        given = self.get(word)
        if given is None:
            return list(default)
        names = [given] if isinstance(given, str) else given
        return [Path(name).expanduser() for name in names if name not in ("none", "/dev/null")]


class _Config(SSHClientConfig):
    """ssh_config as far as it is understood: the rest is said once and left out, as ssh's own versions differ too."""

    def __init__(self, *args: Any, given: Sequence[str] = ()) -> None:
        super().__init__(*args)
        self._path, self._line_no = Path("ssh_options"), 0
        for option in given:
            name, _, value = option.replace("=", " ", 1).partition(" ")
            handler = self._handlers.get(name.lower())
            if handler is not None and value.strip():
                handler[1](self, handler[0], value.split())


def _lenient(handler: Any) -> Any:
    def handle(config: _Config, option: str, args: list[str]) -> None:
        try:
            handler(config, option, args)
            if args:
                config._error(f"more than one value: {' '.join(args)}")
        except ConfigParseError as exc:
            _say(f"ssh_config: {exc}; left out")
            args.clear()

    return handle


_Config._handlers = {
    name: (option, handler if name in ("host", "match", "include") else _lenient(handler))
    for name, (option, handler) in SSHClientConfig._handlers.items()
}


def resolve(target: Target, files: Sequence[Path]) -> Settings:
    """The settings of a target. Files that cannot be used at all are said and left out."""
    host = target.host or target.id
    given = [option for option in target.ssh_options if _allowed(option)]
    strict = [option.replace("=", " ").split()[-1].lower() for option in given if re.match(r"(?i)StrictHost", option)]
    config = _load(target, host, files, given, final=False)
    if config.has_match_final():
        config = _load(target, host, files, given, final=True)
    user = target.user or config.get("User") or _local_user()
    return Settings(
        host=str(config.get("Hostname", host)), port=target.port or int(str(config.get("Port", 22))), user=str(user),
        get=config.get, accept_new=bool(strict) and strict[0] in ("no", "off", "accept-new"),
        own_known_hosts=any(re.match(r"(?i)UserKnownHostsFile\b", option) for option in given),
    )  # fmt: skip


def _load(target: Target, host: str, files: Sequence[Path], given: Sequence[str], final: bool) -> _Config:
    def fresh() -> _Config:
        place = (target.user or (), host, target.port or ())
        return _Config(None, False, False, final, _local_user(), *place, given=given)

    config = fresh()
    for path in files:
        try:
            config.parse(path)
        except (OSError, UnicodeError, ConfigParseError) as exc:
            _say(f"{path} is left out from here on: {exc}")
        except Exception as exc:
            _say(f"{path} is left out from here on: {type(exc).__name__}: {exc}")
    return config


def _allowed(option: str) -> bool:
    name = option.replace("=", " ", 1).split(" ")[0]
    if name.lower() in ALLOWED:
        return True
    if name.lower() not in _SILENT:
        _say(f"ssh_options: {name} is not supported and left out")
    return False


def _say(text: str) -> None:
    if text not in _said:
        _said.add(text)
        log.warning("%s", text)


def _local_user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "root"
