"""``pushsalt init``: creates a project folder. It never overwrites a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from pushsalt.cli.app import Command
from pushsalt.cli.options import GLOBAL, Given, takes
from pushsalt.cli.stdio import TERMINAL
from pushsalt.display.safe import one_line
from pushsalt.errors import CommandError

app = typer.Typer(rich_markup_mode=None, add_completion=False)

EXAMPLES = """
pushsalt init            in the working folder
pushsalt init site       in a new folder
"""

FILES = {
    "pushsalt.yaml": """\
# Options have the names and the defaults of Salt's master configuration. Paths are relative to this file.
file_roots:
  base: [salt]
pillar_roots:
  base: [pillar]
""",
    "inventory.yaml": """\
# The machines. Keys of ~/.ssh/config need not be repeated here.
#
# defaults: {user: deploy, sudo: true}
# hosts:
#   web1: {host: 10.0.0.11, grains: {role: web}}
#   db1: {host: db1.internal, jump: bastion}
#   bastion: {host: bastion.example.com}
# groups:
#   web: {hosts: ['web*']}
hosts:
  localhost: {transport: local}
""",
    "salt/top.sls": """\
# Which states belong to which targets: `pushsalt apply TARGET` without SLS names applies these.
base:
  '*':
    - hello
""",
    "salt/hello.sls": """\
{% set hello = salt['pillar.get']('hello', {}) %}

hello-file:
  file.managed:
    - name: {{ hello.get('path', '/tmp/hello-from-pushsalt') }}
    - mode: '0644'
    - contents: |
        Hello from {{ opts['id'] }}, which runs {{ grains['os'] }}.
        {{ hello.get('greeting', '') }}
""",
    "pillar/top.sls": """\
# Which pillar belongs to which targets.
base:
  '*':
    - hello
""",
    "pillar/hello.sls": """\
hello:
  greeting: This line comes from pillar/hello.sls.
""",
    "README.md": """\
# A pushsalt project

    pushsalt target '*'                  # list the targets (inventory.yaml)
    pushsalt run '*' test.ping           # check that they answer
    pushsalt apply '*' --test            # what would change
    pushsalt apply '*'                   # the highstate of salt/top.sls

| | |
|---|---|
| `pushsalt.yaml` | configuration, with options of a Salt master |
| `inventory.yaml` | the machines; a salt-ssh roster works too |
| `salt/` | states; `top.sls` assigns them to targets |
| `pillar/` | data of the targets; `top.sls` assigns it to targets |

Do not commit secrets in plain text.
""",
}

#: An existing file of this name is not overwritten, since a new repository often has one.
KEPT = "README.md"


@app.command(cls=Command, epilog=EXAMPLES)
@takes(GLOBAL)
def init(
    given: Given,
    folder: Annotated[
        str, typer.Argument(metavar="[DIR]", help="Folder to create (default: the working folder).", show_default=False)
    ] = ".",
) -> int:
    """Create a project folder with configuration, inventory, a state and pillar. Existing files are not overwritten."""
    names = create(Path(folder))
    steps = [f"cd {one_line(folder)}"] if folder != "." else []
    steps += ["pushsalt run '*' test.ping", "pushsalt apply '*' --test", "pushsalt apply '*'"]
    listed = "".join(f"  {name}\n" for name in names)
    where = "this folder" if folder == "." else one_line(folder)
    TERMINAL.get().stdout.write(
        f"Created in {where}:\n{listed}\nNext:\n"
        + "".join(f"  {step}\n" for step in steps)
        + "\nThen add your machines to inventory.yaml.\n"
    )
    return 0


def create(folder: Path) -> list[str]:
    """Write FILES below ``folder``, which is created if missing; returns the written names.

    Raises CommandError if a file exists (then nothing was written), or cannot be written.
    """
    existing = [name for name in FILES if os.path.lexists(folder / name)]
    if existing not in ([], [KEPT]):
        raise CommandError(
            f"{folder} has {existing[0]}{f' and {len(existing) - 1} more' if len(existing) > 1 else ''} already",
            hint="nothing was written; choose another folder: pushsalt init DIR",
        )
    created = [name for name in FILES if name not in existing]
    try:
        for name in created:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
            # Other users must not be able to write: such a project is not trusted.
            number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
            with os.fdopen(number, "w", encoding="utf-8") as file:
                file.write(FILES[name])
    except OSError as exc:
        message = f"{exc.filename or folder}: {exc.strerror}"
        raise CommandError(message, hint="choose a folder that you can write to") from None
    return created
