"""``pushsalt target``: which ids an expression selects, and why."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pushsalt.cli.app import Command, complete_targets
from pushsalt.cli.opt import Opt
from pushsalt.cli.options import ASK, DELIMITER, GLOBAL, MATCHERS, OUTPUT, Given, takes
from pushsalt.cli.stdio import TERMINAL
from pushsalt.display.safe import one_line

app = typer.Typer(rich_markup_mode=None, add_completion=False)

EXAMPLES = """
pushsalt target 'web*'
pushsalt target -E '(web|db)[0-9]+'
pushsalt target -L web1,db1 --out json
pushsalt target -C 'G@os:Debian and not I@role:db' --explain web1
"""
EXPLAIN = (
    Opt(
        "explain",
        ("--explain",),
        "Explain each term: its value, source and age; for ID, or for all that match.",
        metavar="[ID]",
    ),
)


class TargetCommand(Command):
    """The command; ``--explain`` may have no value: the next word is an id only if there is another word for EXPR."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        options: list[Any] = [param for param in self.get_params(ctx) if param.param_type_name == "option"]
        value_flags = {flag for param in options if not (param.is_flag or param.count) for flag in param.opts}
        return super().parse_args(ctx, explain_alone(args, value_flags - {"--explain"}))


def explain_alone(args: list[str], value_flags: set[str]) -> list[str]:
    """``args`` with ``--explain=`` in place of an ``--explain`` that has no id."""
    plain, explains, at = [], -1, 0
    while at < len(args) and args[at] != "--":
        if args[at] == "--explain":
            explains = at
        elif args[at] in value_flags:
            at += 1
        elif not args[at].startswith("-") or args[at] == "-":
            plain.append(at)
        at += 1
    plain += range(at + 1, len(args))
    if explains < 0 or (explains + 1 in plain and len(plain) > 1):
        return args
    return [*args[:explains], "--explain=", *args[explains + 1 :]]


@app.command(cls=TargetCommand, epilog=EXAMPLES)
@takes(MATCHERS, DELIMITER, ASK, EXPLAIN, OUTPUT, GLOBAL)
def target(
    expr: Annotated[str, typer.Argument(metavar="EXPR", help="Target expression.", autocompletion=complete_targets)],
    given: Given,
) -> int:
    """Print the ids that match, one per line. Connects to no target, except with --refresh."""
    from pushsalt.cli.client import Watcher, open_client
    from pushsalt.outputters import load

    selection = given.selection(expr)
    terminal = TERMINAL.get()
    client, _ = open_client(given, terminal, Watcher())
    if selection.refresh:
        from pushsalt.api import say_not_refreshed

        say_not_refreshed(client.refresh(selection))
    text = given.out in (None, "rich")
    if given.explain is not None:
        explained = client.explain(selection, [given.explain] if given.explain else client.target(selection))
        if text:
            terminal.stdout.write("".join(f"{one_line(line)}\n" for line in _lines(explained)))
            return 0
        data: Any = explained
    else:
        ids = client.target(selection)
        if text:
            terminal.stdout.write(_one_a_line(ids))
            return 0
        data = sorted(ids)
    terminal.stdout.write(load(given.out).output(data, terminal=terminal.stdout.is_terminal), utf8=True)
    return 0


def _one_a_line(ids: list[str]) -> str:
    text = "".join(ids)
    if text.isascii() and text.isprintable():  # the usual case; there may be a million ids
        return "\n".join(ids) + "\n"
    return "".join(f"{one_line(id)}\n" for id in ids)


def _lines(explained: dict[str, dict[str, Any]]) -> list[str]:
    import json

    from pushsalt.ages import age_text

    lines = []
    for id, why in explained.items():
        lines.append(f"{id}: {'matches' if why['matches'] else 'does not match'}")
        width = max((len(row["term"]) for row in why["terms"]), default=0)
        for row in why["terms"]:
            value = json.dumps(row["value"], ensure_ascii=False, default=str)
            value = value if len(value) <= 80 else f"{value[:77]}..."
            saw = f"{row['path']} = {value}" if "path" in row else value
            age = "" if row["age"] is None else f", {age_text(row['age'])} old"
            lines.append(
                f"  {row['term']:<{width}}  {'yes' if row['holds'] else 'no':<3}  {saw}  ({row['source']}{age})"
            )
    return lines
