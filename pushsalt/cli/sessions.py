"""The kept session of a command: finds it, and starts its broker."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pushsalt.broker import place
from pushsalt.errors import ConfigError, PushsaltError, UsageError
from pushsalt.privatefolder import private_dir

if TYPE_CHECKING:
    from collections.abc import Callable

    from pushsalt.cli.options import Given
    from pushsalt.config import Config
    from pushsalt.run.project import Project
    from pushsalt.transport.brokered import Keeper

log = logging.getLogger(__name__)

#: Seconds of a session that ``session start`` begins, if neither the command line nor the configuration sets them.
DEFAULT: Final = 600.0
#: Time limit in seconds for the start of a broker.
STARTING: Final = 30.0
#: Time limit in seconds for a keeper's answer.
ANSWER: Final = 20.0
_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_OFF: Final = ("", "0", "off", "no", "false", "none")
_PROGRAM: Final = (
    "import sys; sys.path[:] = sys.argv.pop(1).split(chr(10)); from pushsalt.cli.broker import main; main()"
)
_BEACONS: Final = _PROGRAM.replace("broker", "keptbeacons")


def seconds_of(text: str) -> float | None:
    """Seconds of ``10m``, ``1h30m``, ``90``; 0 for ``off``; None for other texts."""
    text = text.strip().lower()
    if text in _OFF:
        return 0.0
    if text.isascii() and text.isdigit():
        return float(text)
    words = re.findall(r"(\d+)([smhd])", text)
    if not words or "".join(number + unit for number, unit in words) != text:
        return None
    return float(sum(int(number) * _UNITS[unit] for number, unit in words))


def spoken(seconds: float) -> str:
    """A time for people: ``10 min``, ``40 s``."""
    return f"{seconds / 60:.0f} min" if seconds >= 120 else f"{max(0.0, seconds):.0f} s"


def configured_seconds(given: Given, config: Config) -> float | None:
    """Seconds of the session that the command line or the configuration sets; None if neither does."""
    hint = "for example 10m, 1h or 0"
    if given.session is not None:
        seconds = seconds_of(given.session)
        if seconds is None:
            raise UsageError(f"--session: {given.session!r} is not a duration", hint=hint)
        return seconds
    if "session" not in config.given:
        return None
    seconds = seconds_of(str(config.opts["session"]))
    if seconds is None:
        raise ConfigError(f"`session`: {config.opts['session']!r} is not a duration", hint=hint)
    return seconds


class Place:
    """The files of the broker for this process's configuration and inventory."""

    def __init__(self, config: Config) -> None:
        paths = [config.path, config.project, config.cache_dir, *config.inventories]
        self.about = {
            "config": str(config.path or ""),
            "inventories": [str(path) for path in config.inventories] or list(config.rosters),
        }
        self.folder = place.folder(os.environ)
        self.key = place.key(os.environ, [*map(str, paths), *config.rosters])

    def path(self, kind: str) -> str:
        return f"{self.folder}/{self.key}.{kind}"

    def info(self) -> dict[str, Any] | None:
        """The data that the broker has written about itself; None if there is no broker."""
        if not place.is_private(self.folder):
            return None
        return read_info(Path(self.path("json")))

    @property
    def link(self) -> Path:
        """The link that leads command lines with the same options to the broker."""
        return Path(self.folder, place.alias(sys.argv[1:], os.environ, os.getcwd()))  # noqa: PTH109


def read_info(path: Path) -> dict[str, Any] | None:
    """The data that a broker has written about itself."""
    try:
        info = json.loads(path.read_text())
        os.kill(int(info["pid"]), 0)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return info if isinstance(info, dict) else None


def begin(given: Given, project: Project) -> None:
    """Let the command use a kept session, if there is one or one is requested. Raises UsageError, ConfigError."""
    seconds = configured_seconds(given, project.config)
    where = Place(project.config)
    info = where.info()
    if seconds is None and info is not None:
        seconds = float(info.get("idle", DEFAULT))
    if not seconds:
        if given.session is None and os.path.lexists(where.link):
            where.link.unlink(missing_ok=True)
        return
    try:
        project.keeper = keeper(where, seconds, running=info is not None, beacons=partial(start_beacons, where, given))
    except PushsaltError as exc:
        log.warning("the session is not kept: %s; %s", exc.message, exc.hint)


def keeper(where: Place, seconds: float, *, running: bool, beacons: Callable[[], None] | None = None) -> Keeper:
    """The keeper of a session; its broker is started if there is none. Raises UsageError.

    ``beacons``: starts the process that evaluates beacons.
    """
    from pushsalt.transport.brokered import Keeper

    if len(where.path("keep.new")) > place.LONGEST_PATH:
        raise UsageError(
            f"{where.folder} is too long for a socket", hint="set XDG_RUNTIME_DIR to a shorter private folder"
        )
    if running:
        _link(where)
        return Keeper(where.path("keep"), seconds, beacons=beacons)
    try:
        private_dir(where.folder)
    except OSError as exc:
        raise UsageError(f"{where.folder}: {exc.strerror or exc}", hint="make it a private folder") from None
    if not place.is_private(where.folder):
        raise UsageError(f"others can use {where.folder}", hint=f"chmod 700 {where.folder}, or remove it")
    return Keeper(where.path("keep"), seconds, partial(start, where, seconds), beacons)


def _link(where: Place) -> None:
    """Create the link that leads command lines with the same options to the broker."""
    link, goal = where.link, f"{where.key}.run"
    try:
        if os.path.lexists(link):
            if str(link.readlink()) == goal:
                return
            link.unlink()
        link.symlink_to(goal)
    except OSError as exc:
        log.debug("%s: %s", link, exc)


def start(where: Place, seconds: float) -> None:
    """Start the broker, and wait until it accepts connections. If another command is starting it, only wait."""
    words = [sys.executable, "-c", _PROGRAM, "\n".join(sys.path), where.folder, where.key, f"{seconds:g}"]
    try:
        subprocess.run(
            [*words, json.dumps(where.about)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            timeout=STARTING,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as exc:
        log.warning("the session's broker does not start: %s", exc)
        return
    _link(where)


def start_beacons(where: Place, given: Given) -> None:
    """Start the process that evaluates the beacons of a session's targets, unless it runs.

    It has the configuration and inventory of this command, but no passwords that were asked for.
    """
    from pushsalt.cli.keptbeacons import OPTIONS, lock

    descriptor = lock(where.path("beacons"))
    if descriptor is None:
        return
    os.close(descriptor)  # the process takes it
    options = {name: given.values.get(name) for name in OPTIONS}
    words = [sys.executable, "-c", _BEACONS, "\n".join(sys.path), where.path("beacons"), where.path("keep")]
    try:
        process = subprocess.Popen(
            [*words, json.dumps(options)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        process.returncode = 0  # it outlives this process, which does not wait for it
    except OSError as exc:
        log.warning("beacons are not evaluated, since their process does not start: %s", exc)


def ask(path: str, kind: bytes, **values: Any) -> dict[str, Any] | None:
    """The answer of a keeper to ``?`` or ``q`` (``transport.lease``); None if there is none."""
    from pushsalt.broker.client import connected
    from pushsalt.transport import lease

    try:
        sock = connected(path)
    except OSError:
        return None
    if sock is None:
        return None
    try:
        sock.settimeout(ANSWER)
        sock.sendall(lease.message(kind, **values))
        data = b""
        while len(data) < lease.HEAD or len(data) < lease.HEAD + int.from_bytes(data[5:9], "big"):
            piece = sock.recv(65536)
            if not piece:
                return None
            data += piece
        return lease.values(data[lease.HEAD :])
    except OSError:
        return None
    finally:
        sock.close()
