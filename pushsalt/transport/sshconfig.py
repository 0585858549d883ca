"""The settings of one SSH connection: the inventory's first, then its ssh_options, then ssh_config's.

asyncssh's reader of ssh_config provides the table of options and their values. This module parses lines, expands tokens
and runs commands itself: asyncssh expands tokens before it splits a ProxyCommand, and again with each file, and uses a
shell for Match exec.
"""

from __future__ import annotations

import getpass
import hashlib
import logging
import os
import re
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

from asyncssh.config import ConfigParseError, SSHClientConfig

from pushsalt import regular
from pushsalt.errors import TargetError
from pushsalt.inventory import sshwords
from pushsalt.model import Target
from pushsalt.transport import sshcommand, sshconfigfile

log = logging.getLogger(__name__)

#: Options that ssh_options of a roster may set. Others are ignored with a warning: they forward ports, run programs or
#: weaken checks.
ALLOWED = frozenset(
    """
    addressfamily bindaddress casignaturealgorithms certificatefile ciphers connecttimeout globalknownhostsfile
    hostkeyalgorithms hostkeyalias hostname identitiesonly identityagent identityfile kbdinteractiveauthentication
    kexalgorithms macs passwordauthentication port preferredauthentications proxyjump pubkeyauthentication
    serveralivecountmax serveraliveinterval stricthostkeychecking tcpkeepalive user userknownhostsfile
    """.split()  # noqa: SIM905
)
#: Options without effect here, ignored without a warning.
_SILENT = {
    "batchmode",
    "loglevel",
    "controlmaster",
    "controlpath",
    "controlpersist",
    "compression",
    "forwardagent",
    "forwardx11",
    "requesttty",
    "numberofpasswordprompts",
    "connectionattempts",
    "checkhostip",
}
#: Options whose values may have tokens; and those of them that may have environment variables (``${NAME}``).
_EXPANDED: Final = ("CertificateFile", "IdentityAgent", "IdentityFile", "UserKnownHostsFile", "ProxyJump")
_OF_ENVIRONMENT: Final = ("certificatefile", "identityagent", "identityfile", "userknownhostsfile")
_DEEPEST: Final = 16
_said: set[str] = set()


def default_files() -> tuple[Path, ...]:
    """The user's ssh_config, then the system's, as far as they exist."""
    return tuple(path for path in possible_files() if path.is_file())


def possible_files() -> tuple[Path, ...]:
    """The files of ``default_files``, whether they exist or not."""
    return _users(), Path("/etc/ssh/ssh_config")


def _users() -> Path:
    return Path.home() / ".ssh" / "config"


@dataclass(frozen=True)
class SshSettings:
    """The settings of a host for connecting; ``get`` reads any other option of ssh_config, with expanded tokens.

    ``proxy``: the argument list of the ProxyCommand. ``unchecked``: text with the place where ssh_config accepts
    unknown host keys, which is not followed.
    """

    host: str
    port: int
    user: str
    get: Callable[..., Any]
    proxy: tuple[str, ...] = ()
    unchecked: str = ""
    #: whether the inventory sets the user's file of host keys
    own_known_hosts: bool = False
    #: whether the settings depend on environment variables or on programs of ``Match exec``
    varies: bool = False
    #: included files, and the folders in which their patterns are matched -> attributes before they were read; None if
    #: a pattern matches folders
    included: Mapping[str, str] | None = None

    def files(self, word: str, default: Sequence[Path]) -> list[Path]:
        """The files that an option of ssh_config names, or the default; ``none`` and /dev/null mean no file."""
        given = self.get(word)
        if given is None:
            return list(default)
        names = [given] if isinstance(given, str) else given
        return [Path(name).expanduser() for name in names if sshwords.is_file(name)]


class _Config(SSHClientConfig):
    """The supported part of ssh_config: unknown options are ignored with one warning, since versions of ssh differ."""

    _percent_expand: ClassVar[set[str]] = set()  # type: ignore[misc]

    def __init__(self, *args: Any, target: Target, given: Sequence[str] = ()) -> None:
        super().__init__(*args)
        self._target = target
        self._depth = 0
        self._careful = False
        #: whether the settings depend on an environment variable or a program
        self.varies = False
        #: as in SshSettings
        self.included: dict[str, str] | None = {}
        #: word of ssh_config -> file and line
        self.places: dict[str, str] = {}
        self._path, self._line_no = Path("ssh_options"), 0
        for each in given:
            name, value = sshwords.option(each)
            if value:
                self._take(name, [value] if name == "identityagent" else value.split())

    def _take(self, name: str, args: list[str]) -> None:
        handler = self._handlers.get(name)
        if handler is None:
            return
        if name == "include":
            self._note(args)
        new = handler[0] not in self._options
        handler[1](self, handler[0], args)
        if new and handler[0] in self._options:
            self.places[handler[0]] = f"{self._path}:{self._line_no}" if self._line_no else str(self._path)

    def _note(self, patterns: Sequence[str]) -> None:
        """Add the files of an Include to ``included``."""
        for pattern in patterns:
            folder = (self._default_path / Path(pattern).expanduser()).parent
            if self.included is None or set(str(folder)) & set("*?["):
                self.included = None
                return
            self.included[str(folder)] = regular.attributes(folder)
            for path in folder.glob(Path(pattern).name):
                self.included[str(path)] = regular.attributes(path)

    def parse(self, path: Path) -> None:
        """Read a file, and those that it includes. Raises OSError, UnicodeError, ConfigParseError."""
        if self._depth == 0:
            self._careful = path == _users()
        if self._careful:
            status = path.stat()
            if status.st_uid not in (0, os.geteuid()) or status.st_mode & 0o022:
                raise ConfigParseError("others can write to it: chmod go-w, as ssh itself wants it")
        if self._depth >= _DEEPEST:
            raise ConfigParseError(f"{path}: included too deep")
        self._depth += 1
        self._path, self._line_no, self._matching = path, 0, True
        for line in sshconfigfile.load(path).lines(self._orig_host):
            self._line_no = line.number
            self._read(line)
        self._depth -= 1

    def _read(self, line: sshconfigfile.Line) -> None:
        name = line.name
        if name not in self._handlers or (not self._matching and name not in self._conditionals):
            return
        args, problem = list(line.words), line.problem
        if name in _OF_ENVIRONMENT and not problem:
            try:
                args = [re.sub(r"\$\{(.*?)\}", self._variable, arg) for arg in args]
            except ConfigParseError as exc:
                problem = str(exc)
        if problem:
            if name in self._conditionals or name == "include":
                self._error(problem)
            _say(f"ssh_config: {self._path} line {self._line_no}: {problem}; left out")
        elif args:
            self._take(name, args)
        elif name in self._conditionals:
            self._error(f"{name} of nothing")

    def _variable(self, match: re.Match[str]) -> str:
        self.varies = True
        value = os.environ.get(match[1])
        if value is None:
            raise ConfigParseError(f"{match[1]} is not in the environment")
        return value.replace("%", "%%")

    def _hostname(self, option: str, args: list[str]) -> None:
        value = args.pop(0)
        if option not in self._options:
            self._options[option] = sshcommand.expand(value, {"h": self._orig_host}.__getitem__)

    def _conditions(self, option: str, args: list[str]) -> None:
        """Match: as in asyncssh, except that the commands of ``exec`` are run by this module, without a shell."""
        matching = True
        rest: list[str] = []
        while args:
            word = args.pop(0)
            name = word.lower().removeprefix("!")
            if name == "exec":
                if rest:
                    self._match(option, rest)
                    matching, rest = matching and self._matching, []
                if not args:
                    self._error("Match exec has no command")
                line = args.pop(0)
                if matching:
                    matching = self._runs(line) != word.startswith("!")
            else:
                rest.append(word)
                if name not in ("all", "canonical", "final") and args:
                    rest.append(args.pop(0))
        if rest:
            self._match(option, rest)
            matching = matching and self._matching
        self._matching = matching

    def _runs(self, line: str) -> bool:
        self.varies = True
        try:
            words = sshcommand.command(line, self.token)
        except ValueError as exc:
            self._error(f"Match exec: {exc}")
        return sshcommand.succeeds(words)

    def token(self, letter: str) -> str:
        """The value of a token by the files read so far. Raises KeyError; TargetError for a value that is refused."""
        original = self._orig_host
        host = str(self.get("Hostname") or original)
        port = str(self.get("Port") or 22)
        user = str(self.get("User") or self._local_user)
        jump = str(self.get("ProxyJump") or "")
        match letter:
            case "h":
                return checked(self._target, "host", host, sshwords.host_problem)
            case "n":
                return checked(self._target, "host", original, sshwords.host_problem)
            case "k":
                alias = str(self.get("HostKeyAlias") or original)
                return checked(self._target, "HostKeyAlias", alias, sshwords.host_problem)
            case "p":
                return port
            case "r":
                return checked(self._target, "user", user, sshwords.user_problem)
            case "j":
                return ",".join(hops(self._target, jump))
            case "u":
                return self._local_user
            case "d":
                return str(Path.home())
            case "i":
                return str(os.getuid())
            case "l":
                return socket.gethostname()
            case "L":
                return socket.gethostname().partition(".")[0]
            case "C":
                text = "".join((socket.gethostname(), host, port, user, jump))
                return hashlib.sha1(text.encode("utf-8", "surrogateescape"), usedforsecurity=False).hexdigest()
        raise KeyError(letter)


def checked(target: Target, setting: str, value: str, problem: Callable[[str], str | None]) -> str:
    """The value, if it may be passed to ssh or a command. Raises TargetError otherwise."""
    wrong = problem(value)
    if wrong is None:
        return value
    raise TargetError(
        "setting_refused",
        f"{target.id}: `{setting}` {wrong}",
        f"correct `{setting}` in the inventory or ssh_config; an id that is no host name needs a `host`",
    )


def hops(target: Target, jump: str) -> tuple[str, ...]:
    """The jump hosts that a ProxyJump names. Raises TargetError."""
    names = tuple(each.strip() for each in jump.split(",")) if jump else ()
    return tuple(checked(target, "ProxyJump", each, sshwords.jump_problem) for each in names)


def _lenient(handler: Any) -> Any:
    def handle(config: _Config, option: str, args: list[str]) -> None:
        try:
            handler(config, option, args)
            if args:
                config._error(f"more than one value: {' '.join(args)}")
        except (ConfigParseError, sshcommand.TokenError) as exc:
            _say(f"ssh_config: {exc}; left out")
            args.clear()

    return handle


_HANDLERS: Final = {
    **SSHClientConfig._handlers,
    "hostname": ("Hostname", _Config._hostname),
    "stricthostkeychecking": ("StrictHostKeyChecking", SSHClientConfig._set_string),
}
_Config._handlers = {
    name: (option, handler if name in ("host", "match", "include") else _lenient(handler))
    for name, (option, handler) in _HANDLERS.items()
}
_Config._handlers["match"] = ("Match", _Config._conditions)
#: The options that can be asked for with ``SshSettings.get``.
WORDS: Final = tuple(dict.fromkeys(option for option, _ in _HANDLERS.values()))


def resolve(target: Target, files: Sequence[Path], *, accept_new: bool = False) -> SshSettings:
    """The settings of a target. Unusable files are ignored with a warning.

    Raises TargetError for a host, user or jump host with forbidden characters, and if the inventory turns the check of
    host keys off, unless ``accept_new`` accepts new ones.
    """
    host = checked(target, "host" if target.host else "id", target.host or target.id, sshwords.alias_problem)
    if target.user is not None:
        checked(target, "user", target.user, sshwords.user_problem)
    given = _valid_options(target, accept_new)
    config = _load(target, host, files, given, final=False)
    if config.has_match_final():
        config = _load(target, host, files, given, final=True)
    user = str(target.user or config.get("User") or _local_user())
    port = target.port or int(str(config.get("Port", 22)))
    if not 0 < port < 65536:
        raise TargetError("setting_refused", f"{target.id}: {port} is no port", "correct `port`, or Port in ssh_config")
    alias = config.get("HostKeyAlias")
    if alias is not None:
        checked(target, "HostKeyAlias", str(alias), sshwords.host_problem)
    expanded = _expanded(config, target)
    return SshSettings(
        host=checked(target, "host", str(config.get("Hostname", host)), sshwords.host_problem),
        port=port,
        user=checked(target, "user", user, sshwords.user_problem),
        get=lambda word, default=None: expanded[word] if word in expanded else config.get(word, default),
        proxy=_proxy(config, target),
        unchecked=_unchecked(config),
        own_known_hosts=any(sshwords.option(option)[0] == "userknownhostsfile" for option in given),
        varies=config.varies,
        included=config.included,
    )


def _valid_options(target: Target, accept_new: bool) -> list[str]:
    """The valid ssh_options of the inventory. Raises TargetError for one that is refused."""
    given = []
    for option in target.ssh_options:
        if not _allowed(option):
            continue
        problem = sshwords.option_problem(option)
        if problem is not None:
            raise TargetError(
                "setting_refused", f"{target.id}: ssh_options: {problem}", "correct that option in the inventory"
            )
        if sshwords.unchecked(option):
            if not accept_new:
                raise TargetError(
                    "host_key_unchecked",
                    f"{target.id}: the inventory turns the check of host keys off by {option!r}"
                    + (f" ({target.origin['ssh_options']})" if "ssh_options" in target.origin else ""),
                    "take it out; to accept and remember new host keys, give --accept-new-host-keys once",
                )
            continue  # accepted keys are stored in the default file, so that a changed key is still refused
        given.append(option)
    return given


def _unchecked(config: _Config) -> str:
    """The options of ssh_config that turn the check of host keys off."""
    for word in ("StrictHostKeyChecking", "UserKnownHostsFile"):
        value: Any = config.get(word)
        if value is None:
            continue
        text = value if isinstance(value, str) else " ".join(value) or "none"
        if sshwords.unchecked(f"{word}={text}"):
            return f"{word} {text} ({config.places.get(word, 'ssh_config')})"
    return ""


def _expanded(config: _Config, target: Target) -> dict[str, Any]:
    """The options with their tokens expanded. Raises TargetError."""
    options: dict[str, Any] = {}
    for word in _EXPANDED:
        value: Any = config.get(word)
        if value is None:
            continue
        try:
            if isinstance(value, str):
                options[word] = sshcommand.expand(value, config.token)
                if word == "ProxyJump":
                    hops(target, options[word])
            else:
                options[word] = [sshcommand.expand(each, config.token) for each in value]
        except sshcommand.TokenError as exc:
            raise _broken(target, config, word, exc) from None
    return options


def _proxy(config: _Config, target: Target) -> tuple[str, ...]:
    line = config.get("ProxyCommand")
    if line is None or target.jump or config.get("ProxyJump"):
        return ()
    try:
        return tuple(sshcommand.command(str(line), config.token))
    except ValueError as exc:
        raise _broken(target, config, "ProxyCommand", exc) from None


def _broken(target: Target, config: _Config, word: str, exc: ValueError) -> TargetError:
    place = config.places.get(word, "ssh_config")
    message = f"{target.id}: {word} ({place}): {exc}"
    return TargetError("setting_refused", message, "correct that line; see ssh_config(5)")


def _load(target: Target, host: str, files: Sequence[Path], given: Sequence[str], final: bool) -> _Config:
    place = (target.user or (), host, target.port or ())
    config = _Config(None, False, False, final, _local_user(), *place, target=target, given=given)
    for path in files:
        try:
            config.parse(path)
        except TargetError:
            raise
        except (OSError, UnicodeError, ConfigParseError) as exc:
            _say(f"{path} is left out from here on: {exc}")
        except Exception as exc:
            _say(f"{path} is left out from here on: {type(exc).__name__}: {exc}")
        config._depth = 0
    return config


def _allowed(option: str) -> bool:
    name = sshwords.option(option)[0]
    if name in ALLOWED:
        return True
    if name not in _SILENT:
        shown = option.replace("=", " ", 1).split()[0] if option.split() else option
        _say(f"ssh_options: {shown} is not supported and left out")
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
