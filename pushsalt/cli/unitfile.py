"""Unit files for systemd: a command that stays in the foreground, as a service of this project."""

from __future__ import annotations

import getpass
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pushsalt.cli.options import Given

#: systemd reads a value of a unit up to the end of the line; ``%`` begins a specifier.
UNIT: Final = """\
[Unit]
Description=pushsalt {what}
After=network-online.target
Wants=network-online.target

[Service]
User={user}
WorkingDirectory={folder}
ExecStart={command}
Restart=on-failure
RestartSec=5
KillMode=mixed
TimeoutStopSec=60
NoNewPrivileges=yes
UMask=0077

[Install]
WantedBy=multi-user.target
"""


def unit_file(what: str, given: Given, *words: str) -> str:
    """The unit file of ``pushsalt WHAT`` with the options and words of this command line."""
    from pushsalt.config import CliOverrides, load_config

    settings = given.settings()
    config = load_config(settings.config, cli=CliOverrides(cache_dir=settings.cache_dir))
    program = Path(sys.argv[0]).absolute()
    command = [str(program)] if program.name == "pushsalt" else [sys.executable, "-m", "pushsalt"]
    command += [what, *(given.flags() if given.config or given.inventory else []), *words]
    folder = config.project or Path.cwd()
    values = {"user": getpass.getuser(), "folder": str(folder), "command": shlex.join(command)}
    return UNIT.format(what=what, **{name: text.replace("%", "%%") for name, text in values.items()})
