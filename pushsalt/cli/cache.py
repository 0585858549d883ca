"""``pushsalt cache``: the cached data of targets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pushsalt.cli.answer import write
from pushsalt.cli.app import Actions, Command
from pushsalt.cli.opt import Opt
from pushsalt.cli.options import GLOBAL, OUTPUT, Given, takes
from pushsalt.cli.stdio import TERMINAL
from pushsalt.errors import UsageError

if TYPE_CHECKING:
    from pushsalt.api import Client

EXAMPLES = """
pushsalt cache list
pushsalt cache show grains web1
pushsalt cache show resources host1
pushsalt cache clear pillar
pushsalt cache clear all web1 web2
pushsalt cache prune --older 30
pushsalt cache verify
"""
UNMASK = (Opt("unmask", ("--unmask",), "Show pillar unmasked.", "flag"),)
OLDER = (Opt("older", ("--older",), "Also remove entries older than this number of days.", metavar="DAYS"),)

app = typer.Typer(cls=Actions, rich_markup_mode=None, add_completion=False, no_args_is_help=True, epilog=EXAMPLES)
_BANKS = "grains, pillar, mine, resources or resource_grains"
_WHICH = typer.Argument(metavar="[BANK]", help=f"{_BANKS}; without it, or `all`: all banks.")
_IDS = typer.Argument(metavar="[ID ...]", help="Only the data of these targets; a resource is type:id.")


def _client(given: Given) -> Client:
    from pushsalt.cli.client import Watcher, open_client

    client, _ = open_client(given, TERMINAL.get(), Watcher())
    return client


@app.callback()
def cache() -> None:
    """Cached data of targets: grains, pillar (encrypted), the mine, and managed resources.

    The cache can be deleted at any time; the next runs restore it.
    """


@app.command("list", cls=Command)
@takes(OUTPUT, GLOBAL)
def list_(given: Given) -> int:
    """Show the number and age of the entries of each bank."""
    from pushsalt.ages import age_text
    from pushsalt.run import caches

    overview = caches.overview(_client(given).project)
    lines = [
        f"{name:<16} {row['entries']:>7}"
        + (f"   newest {age_text(row['newest'])}, oldest {age_text(row['oldest'])} old" if row["entries"] else "")
        for name, row in overview.items()
    ]
    write(given, overview, lines)
    return 0


@app.command("show", cls=Command)
@takes(UNMASK, OUTPUT, GLOBAL)
def show(
    given: Given,
    bank: Annotated[str, typer.Argument(metavar="BANK", help=f"{_BANKS}.")],
    ids: Annotated[list[str] | None, _IDS] = None,
) -> int:
    """Show the cached data of each target, with its age; pillar is masked."""
    import json

    from pushsalt.ages import age_text
    from pushsalt.run import caches

    client = _client(given)
    project = client.project
    entries = caches.show(project, bank, list(ids or ()), unmask=bool(given.unmask))
    missing = [id for id in ids or () if id not in entries]
    if missing:
        raise UsageError(f"{bank} has no data of {', '.join(missing)}", hint=f"pushsalt cache show {bank}")
    if not given.unmask:
        entries = client.redactor().data(entries)
    lines = []
    for id, row in entries.items():
        earlier = [f"{name} {age_text(age)}" for name, age in row.get("ages", {}).items() if age > row["age"]]
        lines.append("; ".join([f"{id}: {age_text(row['age'])} old", *earlier]))
        lines += [f"  {line}" for line in json.dumps(row["value"], indent=2, default=str).splitlines()]
    write(given, entries, lines)
    return 0


@app.command("clear", cls=Command)
@takes(OUTPUT, GLOBAL)
def clear(given: Given, bank: Annotated[str, _WHICH] = "all", ids: Annotated[list[str] | None, _IDS] = None) -> int:
    """Remove cached data of all targets, or of those named."""
    from pushsalt.run import caches

    cleared = caches.clear(_client(given).project, bank, list(ids or ()))
    write(given, cleared, [f"{name}: {count} removed" for name, count in cleared.items()])
    return 0


@app.command("prune", cls=Command)
@takes(OLDER, OUTPUT, GLOBAL)
def prune(given: Given) -> int:
    """Remove entries that are no longer used.

    Removes entries of ids that are not in the inventory, resources without a manager, damaged and temporary files.
    """
    from pushsalt.run import caches

    days = given.older
    if days is not None and not (days.replace(".", "", 1).isdigit() and len(days) < 10):
        raise UsageError(f"--older: {days!r} is not a number of days", hint="for example --older 30")
    removed = caches.prune(_client(given).project, float(days) * 86400 if days is not None else None)
    write(given, removed, [f"{name}: {count} removed" for name, count in removed.items()])
    return 0


@app.command("verify", cls=Command)
@takes(OUTPUT, GLOBAL)
def verify(given: Given) -> int:
    """Check the cache for damage: exit code 2 if there is any. Damaged entries are not used, and are replaced later."""
    from pushsalt.errors import EXIT_FAILED
    from pushsalt.run import caches

    by_bank = caches.verify(_client(given).project)
    lines = [f"{name}: {problem}" for name, problems in by_bank.items() for problem in problems or ["sound"]]
    write(given, by_bank, lines)
    return EXIT_FAILED if any(by_bank.values()) else 0
