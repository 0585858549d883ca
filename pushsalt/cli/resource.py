"""``pushsalt resource``: lists the cached managed resources of targets, and discovers them again."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pushsalt.cli.answer import write
from pushsalt.cli.app import Actions, Command, complete_targets
from pushsalt.cli.options import GLOBAL, JOB, MATCHERS, OUTPUT, Given, takes
from pushsalt.cli.stdio import TERMINAL
from pushsalt.errors import UsageError

if TYPE_CHECKING:
    from pushsalt.api import Client, Selection
    from pushsalt.run.project import Project

EXAMPLES = """
pushsalt resource refresh host1             discover the resources of host1
pushsalt resource list                      cached resources and their managers
pushsalt resource list machine
pushsalt resource show-grains machine:m1
pushsalt apply -C 'T@machine and M@host1' motd
"""


class Names(Actions):
    """The commands below ``resource``; Salt's function names, with underscores, are accepted too."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return super().get_command(ctx, cmd_name.replace("_", "-"))


app = typer.Typer(cls=Names, rich_markup_mode=None, add_completion=False, no_args_is_help=True, epilog=EXAMPLES)


@app.callback()
def resource() -> None:
    """Managed resources: containers, machines and endpoints that are reached through a target, their manager."""


@app.command("list", cls=Command)
@takes(OUTPUT, GLOBAL)
def list_(
    given: Given,
    type: Annotated[str | None, typer.Argument(metavar="[TYPE]", help="Only resources of this type.")] = None,
) -> int:
    """List cached resources: type, id, manager, and age of the discovery. Connects to no target."""
    from pushsalt.ages import age_text

    project = _project(given)
    now = time.time()
    targets = project.inventory.targets
    resources = _all(project, type)
    written = {manager: project.managed.bank.written(manager) for manager in set(resources.values())}
    data: dict[str, dict[str, Any]] = {}
    for key, manager in resources.items():
        kind, _, id = key.partition(":")
        seen = written[manager]
        data[key] = {"type": kind, "id": id, "manager": manager, "age": None if seen is None else int(now - seen)}
    if type is not None and not data:
        names = ", ".join(project.managed.types()) or "none"
        raise UsageError(f"no cached resource has the type {type!r}", hint=f"types with cached resources: {names}")
    if not data and targets and given.out in (None, "rich"):
        TERMINAL.get().stdout.write("no resources are cached: pushsalt resource refresh TARGET discovers them\n")
        return 0
    rows: list[tuple[str, ...]] = [("TYPE", "ID", "MANAGER", "SEEN")]
    rows += [
        (row["type"], row["id"], row["manager"], "" if row["age"] is None else f"{age_text(row['age'])} ago")
        for row in data.values()
    ]
    write(given, data, _table(rows))
    return 0


@app.command("list-grains", cls=Command)
@takes(OUTPUT, GLOBAL)
def list_grains(given: Given) -> int:
    """List resources with cached grains, and the names of these grains."""
    project = _project(given)
    data: dict[str, dict[str, Any]] = {}
    for key in _all(project, None):
        grains = project.resource_grains.get(key)
        if isinstance(grains, dict):
            data[key] = {"grain_keys": sorted(grains), "grain_count": len(grains)}
    write(given, data, [f"{key}: {', '.join(row['grain_keys'])}" for key, row in data.items()])
    return 0


@app.command("show-grains", cls=Command)
@takes(OUTPUT, GLOBAL)
def show_grains(
    given: Given,
    name: Annotated[str, typer.Argument(metavar="TYPE:ID", help="The resource.")],
    id: Annotated[str | None, typer.Argument(metavar="[ID]", help="Id, if the first argument is only TYPE.")] = None,
) -> int:
    """Show the cached grains of one resource."""
    project = _project(given)
    key = name if id is None else f"{name}:{id}"
    resources = _all(project, None)
    if key not in resources:
        from pushsalt.nearest import nearest

        near = nearest(key, list(resources))
        raise UsageError(
            f"there is no resource {key!r}",
            hint=f"nearest: {', '.join(near)}" if near else "pushsalt resource list shows the cached resources",
        )
    grains = project.resource_grains.get(key)
    if not isinstance(grains, dict):
        raise UsageError(
            f"there are no cached grains of {key}", hint=f"pushsalt resource refresh {resources[key]} collects it"
        )
    shown = project.redactor.data(grains)
    write(given, shown, [f"{name}: {json.dumps(value, default=str)}" for name, value in sorted(shown.items())])
    return 0


@app.command(cls=Command)
@takes(MATCHERS, JOB, GLOBAL)
def refresh(
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET", help="Managers whose resources are discovered.", autocompletion=complete_targets
        ),
    ],
    given: Given,
) -> int:
    """Discover the resources of targets, and cache them."""
    from pushsalt.cli.job import run_job

    return run_job(
        given,
        TERMINAL.get(),
        target,
        lambda client, selection, options: client.stream_run(
            _managers(client, selection), "resource.refresh", options=options
        ),
    )


def _managers(client: Client, selection: Selection) -> Selection:
    """The selected inventory ids, and the managers of the selected resources."""
    managers = map(client.project.target, client.target(selection))
    ids = dict.fromkeys(target.manager or target.id for target in managers)
    return replace(selection, expr=",".join(ids), tgt_type="list", exclude=(), limit=None)


def _project(given: Given) -> Project:
    from pushsalt.cli.client import Watcher, open_client

    client, _ = open_client(given, TERMINAL.get(), Watcher())
    return client.project


def _all(project: Project, type: str | None) -> dict[str, str]:
    targets = project.inventory.targets
    resources = project.managed.all(targets) if type is None else project.managed.of_type(type, targets)
    return dict(sorted(resources.items()))


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
