"""``pushsalt inventory``: shows the inventory and the origin of each value, and checks it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from pushsalt.cli.answer import write_data
from pushsalt.cli.app import Actions, Command, complete_targets
from pushsalt.cli.opt import Opt
from pushsalt.cli.options import DELIMITER, GLOBAL, MATCHERS, OUTPUT, Given, takes
from pushsalt.cli.stdio import TERMINAL
from pushsalt.display.safe import one_line
from pushsalt.errors import EXIT_FAILED, UsageError

if TYPE_CHECKING:
    from pushsalt.inventory import Inventory
    from pushsalt.model import Target
    from pushsalt.run.project import Project

EXAMPLES = """
pushsalt inventory list
pushsalt inventory show web1 --explain       each setting with its origin
pushsalt inventory graph                     groups and jump hosts as a tree
pushsalt inventory check -i hosts.ini        an Ansible inventory, a Terraform state ...
"""
EXPLAIN = (Opt("explain", ("--explain",), "Show the origin of each value.", "flag"),)
MASK: Final = "**********"
_SECRETS: Final = ("passwd", "priv_passwd", "sudo_password")


app = typer.Typer(cls=Actions, rich_markup_mode=None, add_completion=False, no_args_is_help=True, epilog=EXAMPLES)


@app.callback()
def inventory() -> None:
    """Show and check the inventory: its ids, their settings, and its groups. Connects to no target."""


@app.command("list", cls=Command)
@takes(MATCHERS, DELIMITER, OUTPUT, GLOBAL)
def list_(
    given: Given,
    expr: Annotated[
        str | None,
        typer.Argument(metavar="[TARGET]", help="Targets to list; without it: all.", autocompletion=complete_targets),
    ] = None,
) -> int:
    """List ids with their addresses, groups and jump hosts."""
    project = _project(given)
    ids = _selected(given, project, expr)
    targets = {id: project.inventory.targets[id] for id in ids}
    if write_data(given, {id: _brief(target) for id, target in targets.items()}):
        return 0
    rows = [(id, target.transport, _address(target), ", ".join(target.groups)) for id, target in targets.items()]
    _table([("ID", "TRANSPORT", "ADDRESS", "GROUPS"), *rows])
    return 0


@app.command(cls=Command)
@takes(EXPLAIN, OUTPUT, GLOBAL)
def show(
    id: Annotated[str, typer.Argument(metavar="ID", help="Id to show.", autocompletion=complete_targets)], given: Given
) -> int:
    """Show all settings of one id; secrets are masked."""
    project = _project(given)
    inventory = project.read_inventory(detailed=True) if given.explain else project.inventory
    if id not in inventory.targets:
        near = inventory.nearest(id)
        raise UsageError(
            f"there is no {id!r} in the inventory",
            hint=f"nearest ids: {', '.join(near)}" if near else "pushsalt inventory list shows all",
        )
    target = inventory.targets[id]
    settings = _settings(target, project)
    if write_data(given, {id: {**settings, **({"origin": dict(target.origin)} if given.explain else {})}}):
        return 0
    lines = [id]
    for name, value in settings.items():
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        lines.append(f"  {name:<14} {shown}")
        if given.explain:
            lines += [f"  {'':<14} {text}" for text in _from(target.origin, name)]
    TERMINAL.get().stdout.write("".join(f"{one_line(line)}\n" for line in lines))
    return 0


@app.command(cls=Command)
@takes(OUTPUT, GLOBAL)
def graph(given: Given) -> int:
    """Show groups with their ids, and jump hosts with the hosts that use them, as a tree."""
    project = _project(given)
    project.need_inventory()
    inventory = project.inventory
    groups: dict[str, list[str]] = {}
    for id, target in inventory.targets.items():
        for name in target.groups or ("(no group)",):
            groups.setdefault(name, []).append(id)
    jumps: dict[str, list[str]] = {}
    for id, target in inventory.targets.items():
        if target.jump:
            jumps.setdefault(target.jump[-1], []).append(id)
    if write_data(given, {"groups": groups, "jumps": jumps}):
        return 0
    lines = [*_tree("groups", groups), *(_tree("jump hosts", jumps) if jumps else ())]
    TERMINAL.get().stdout.write("".join(f"{one_line(line)}\n" for line in lines))
    return 0


@app.command(cls=Command)
@takes(OUTPUT, GLOBAL)
def check(given: Given) -> int:
    """Report probable mistakes, such as missing key files, or two ids for one machine."""
    project = _project(given)
    project.need_inventory()
    inventory = project.read_inventory()
    problems = list(dict.fromkeys([*inventory.warnings, *_troubles(inventory)]))
    if not write_data(given, {"ids": len(inventory.ids), "warnings": problems}):
        lines = [f"{one_line(text)}\n" for text in problems]
        lines.append(f"{len(inventory.ids)} ids, {len(problems)} warning{'s' * (len(problems) != 1)}\n")
        TERMINAL.get().stdout.write("".join(lines))
    return EXIT_FAILED if problems else 0


def _troubles(inventory: Inventory) -> Iterator[str]:
    """Settings that are valid but probably not intended."""
    addresses: dict[tuple[Any, ...], str] = {}
    for id, target in inventory.targets.items():
        if target.transport != "ssh":
            continue
        address = (target.host or id, target.port, target.jump, target.user, target.thin_dir)
        other = addresses.setdefault(address, id)
        if other != id:
            where = f":{target.port}" if target.port else ""
            yield f"{target.origin.get('host', id)}: {id} and {other} are the same machine: {target.host or id}{where}"
        for path in target.priv:
            if not Path(path).is_file():
                yield f"{target.origin.get('priv', id)}: the key file of {id} does not exist: {path}"


def _project(given: Given) -> Project:
    from pushsalt.cli.client import Watcher, open_client

    client, _ = open_client(given, TERMINAL.get(), Watcher())
    return client.project


def _selected(given: Given, project: Project, expr: str | None) -> list[str]:
    """Ids of the inventory, without managed resources."""
    if expr is None and not any(given.values.get(opt.name) for opt in MATCHERS):
        project.need_inventory()
        return list(project.inventory.ids)
    from pushsalt.targeting import key_of

    chosen = given.selection(expr or "*")
    ids = project.select(chosen.expr, chosen.tgt_type, chosen.delimiter, chosen.exclude, chosen.limit)
    return [id for id in (key_of(name) or name for name in ids) if id in project.inventory.targets]


def _address(target: Target) -> str:
    if target.transport != "ssh":
        return "-"
    user, port = (f"{target.user}@" if target.user else ""), (f":{target.port}" if target.port else "")
    way = "".join(f"{hop} > " for hop in target.jump)
    return f"{way}{user}{target.host or target.id}{port}"


def _brief(target: Target) -> dict[str, Any]:
    return {
        "transport": target.transport,
        "host": target.host,
        "port": target.port,
        "user": target.user,
        "groups": list(target.groups),
        "jump": list(target.jump),
    }


def _settings(target: Target, project: Project) -> dict[str, Any]:
    """The settings of a target by inventory keys; secrets are masked."""
    values: dict[str, Any] = {}
    for each in fields(target):
        value = getattr(target, each.name)
        if each.name in ("id", "origin") or value in (None, (), {}, ""):
            continue
        if each.name in _SECRETS:
            value = MASK
        elif isinstance(value, tuple):
            value = list(value)
        elif isinstance(value, Mapping):
            value = _masked(dict(value), project)
        values[each.name] = value
    return values


def _masked(value: Any, project: Project) -> Any:
    """The value with values of secret keys masked, at any depth."""
    if isinstance(value, Mapping):
        secret = project.redactor.is_secret_key
        return {key: MASK if secret(key) else _masked(item, project) for key, item in value.items()}
    return [_masked(item, project) for item in value] if isinstance(value, list) else value


def _from(origin: Mapping[str, str], name: str) -> list[str]:
    """The origin of a setting; for a merged one, the origin of each of its keys."""
    keys = {key.partition(".")[2]: _shown(place) for key, place in origin.items() if key.startswith(f"{name}.")}
    if len(set(keys.values())) > 1:
        return [f"{key} from {place}" for key, place in keys.items()]
    if name not in origin:
        return []
    return [f"from {next(iter(keys.values()), _shown(origin[name]))}"]


def _shown(origin: str) -> str:
    folder = str(Path.cwd()) + "/"
    return origin.removeprefix(folder)


def _tree(title: str, branches: Mapping[str, Sequence[str]]) -> Iterator[str]:
    yield title
    for number, (name, ids) in enumerate(sorted(branches.items())):
        last = number == len(branches) - 1
        yield f"{'└' if last else '├'}── {name}"
        for position, id in enumerate(ids):
            yield f"{' ' if last else '│'}   {'└' if position == len(ids) - 1 else '├'}── {id}"


def _table(rows: Iterable[Sequence[str]]) -> None:
    cells = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(len(row[at]) for row in cells) for at in range(len(cells[0]))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells)
    TERMINAL.get().stdout.write("".join(f"{line}\n" for line in lines))
