"""The ``pushsalt`` command: global options, the list of commands, help and usage errors.

A command is a module of this package with a Typer ``app``; it is imported when it is called. ``COMMANDS`` has the
line that help shows, so that help imports none of them.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
from collections.abc import Iterable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from pushsalt import __version__
from pushsalt.cli import wordorder, words
from pushsalt.cli.options import GLOBAL, Given, takes
from pushsalt.cli.stdio import TERMINAL, write_stderr
from pushsalt.errors import EXIT_COMMAND, UsageError
from pushsalt.outputters import nearest

#: command -> (module, its line in help). A command whose module does not exist is left out.
COMMANDS: dict[str, tuple[str, str]] = {
    "apply": ("pushsalt.cli.apply", "Apply SLS, or the highstate, to targets"),
    "plan": ("pushsalt.cli.plan", "Predict the changes of an apply, and how certain they are"),
    "impact": ("pushsalt.cli.impact", "Compare two revisions of the project: their effect on targets, offline"),
    "run": ("pushsalt.cli.run", "Call an execution function on targets"),
    "orchestrate": ("pushsalt.cli.orchestrate", "Run an orchestration: states on the controller, jobs on targets"),
    "runner": ("pushsalt.cli.runner", "Call a runner function on the controller"),
    "events": ("pushsalt.cli.events", "Show recorded and new events of jobs, targets and runners"),
    "react": ("pushsalt.cli.react", "React to events by Salt's reactor configuration, in the foreground"),
    "watch": ("pushsalt.cli.watch", "Detect drift at intervals, and run the schedule, in the foreground"),
    "serve": ("pushsalt.cli.serve", "Serve Salt's REST API and a status page, in the foreground"),
    "worker": ("pushsalt.cli.worker", "Run jobs for controllers at the targets of a site, in the foreground"),
    "cp": ("pushsalt.cli.cp", "Copy files and trees to or from targets"),
    "target": ("pushsalt.cli.target", "Print the ids that match"),
    "check": ("pushsalt.cli.check", "Lint and smoke test states and formulas, offline"),
    "inventory": ("pushsalt.cli.inventory", "Show and check the inventory: list, show, graph, check"),
    "grains": ("pushsalt.cli.grains", "Collect and show grains"),
    "jobs": ("pushsalt.cli.jobs", "Recorded jobs: list, show, diff, wait, resume, export, prune"),
    "undo": ("pushsalt.cli.undo", "Restore the files that a job changed"),
    "resource": ("pushsalt.cli.resource", "Managed resources: list, refresh, list-grains, show-grains"),
    "cache": ("pushsalt.cli.cache", "Cached data of targets: list, show, clear, prune, verify"),
    "formula": ("pushsalt.cli.formula", "Formulas from git: add, list, show, update, remove, check, new"),
    "ca": ("pushsalt.cli.ca", "SSH certificates: init, sign-user, sign-host, revoke, show"),
    "session": ("pushsalt.cli.session", "Connections for later commands: start, list, stop"),
    "init": ("pushsalt.cli.init", "Create a project folder"),
    "wait": ("pushsalt.cli.wait", "Wait until logins on targets work, or targets have restarted"),
    "clean": ("pushsalt.cli.clean", "Remove pushsalt's files from targets"),
    "demo": ("pushsalt.demo.cli", "Try pushsalt on temporary targets on this machine"),
}
EXAMPLES = """
pushsalt init site && cd site               create a project folder
pushsalt run localhost test.ping
pushsalt apply 'web*' nginx --test          dry run: report what would change
pushsalt apply 'web*'                       the highstate of top.sls
"""

#: A key of the context's ``meta``: the options of a command that was not found.
_MOVED = "pushsalt.moved"
#: A key of the context's ``meta``: an option, and the name of a command in place of its value.
_AS_VALUE = "pushsalt.command_as_value"


class _Lean:
    """A parameter whose value stays a text. For others Typer (since 0.26) loads pydantic, which takes most of the start
    time.
    """

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        many = param.multiple or param.nargs == -1
        return (() if value is None else tuple(value)) if many else value


def _lean(command: Any) -> Any:
    for param in command.params:
        param._runtime_param = _Lean()  # other versions of Typer ignore it
    return command


class _Help:
    """Formats help in sections, with unchanged examples."""

    params: list[Any]
    options_metavar: str | None
    epilog: str | None

    def format_options(self, ctx: Any, formatter: Any) -> None:
        arguments = [(p.metavar, p.help) for p in self.params if p.param_type_name == "argument" and p.help]
        panels: dict[str, list[tuple[str, str]]] = {}
        for param in self.params:
            if param.param_type_name == "option" and not param.hidden:
                panels.setdefault(param.rich_help_panel or "Options", []).append(_help_row(param))
        others = panels.pop("Options", [])
        if ctx.parent is not None and panels.pop(GLOBAL[0].panel, []):
            flags = [opt.flags[0] for opt in GLOBAL]
            middle = len(flags) // 2
            others += [(" ".join(flags[:middle]), ""), (" ".join(flags[middle:]), "The same as before the command.")]
        others.append(("-h, --help", "Show this and exit."))
        for title, rows in (("Arguments", arguments), *panels.items(), ("Options", others)):
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [self.options_metavar or "", *(p.metavar for p in self.params if p.param_type_name == "argument")]

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        if self.epilog:
            formatter.write_paragraph()
            formatter.write("Examples:\n")
            for text in self.epilog.strip("\n").splitlines():
                formatter.write(f"  {text}\n")

    def get_help_option(self, ctx: Any) -> Any:
        option = super().get_help_option(ctx)  # type: ignore[misc]
        option.callback = _show_help
        option._runtime_param = _Lean()
        return option


def _show_help(ctx: Any, param: Any, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        TERMINAL.get().stdout.write(ctx.get_help() + "\n")
        ctx.exit()


def _help_row(param: Any) -> tuple[str, str]:
    opts = words.own(param.opts)
    flags = ", ".join(opts)
    if not any(len(flag) == 2 for flag in opts):
        flags = f"    {flags}"
    return f"{flags} {param.metavar}" if param.metavar else flags, param.help or ""


class Command(_Help, TyperCommand):
    """A command with our format of help; its options may be anywhere on the line."""


class CallCommand(Command):
    """``run``: words after the function that begin with ``-`` are its arguments, except for our long options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        options: list[Any] = [param for param in self.get_params(ctx) if param.param_type_name == "option"]
        takes_value = {flag: not (param.is_flag or param.count) for param in options for flag in param.opts}
        return super().parse_args(ctx, wordorder.end_options(args, takes_value))


class _Commands(_Help, TyperGroup):
    """Commands whose options may precede them."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0].startswith("-"):
            own = {flag: not (param.is_flag or param.count) for param in self.params for flag in param.opts}
            commands = self.list_commands(ctx)
            ctx.meta[_AS_VALUE] = wordorder.command_as_value(args, own, commands)
            args, ctx.meta[_MOVED] = wordorder.options_after_command(args, own, commands)
        return super().parse_args(ctx, args)


class Group(_Commands):
    """The top-level command, which imports the module of a command when it is called."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [self.options_metavar or "", self.subcommand_metavar]

    def list_commands(self, ctx: Any) -> list[str]:
        return [name for name in COMMANDS if _is_installed(name)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS or not _is_installed(cmd_name):
            return None
        return _made.get(cmd_name) or _command(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] in COMMANDS and _is_installed(args[0]):
            return super().resolve_command(ctx, args)
        commands = self.list_commands(ctx)
        option, name = ctx.meta.get(_AS_VALUE) or ("", "")
        if option and args and args[0] not in commands:
            text = f"there is no command: {name!r} was read as the value of {option}"
            raise UsageError(
                text, hint=words.other_meaning(option) or f"write a value after {option}, then the command"
            )
        _require_command(args, commands, call=wordorder.call(args, ctx.meta.get(_MOVED, [])))
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in self.list_commands(ctx)])
        super().format_options(ctx, formatter)


class Actions(_Commands):
    """A command with subcommands."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return ["COMMAND ..."]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        command = super().get_command(ctx, cmd_name)
        return None if command is None else _lean(command)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and self.get_command(ctx, args[0]) is None:  # a name may have other spellings
            _require_command(args, self.list_commands(ctx), of=ctx.info_name)
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        rows = [(name, self.commands[name].get_short_help_str(80)) for name in self.commands]
        with formatter.section("Commands"):
            formatter.write_dl(rows)
        super().format_options(ctx, formatter)


def _require_command(args: list[str], commands: list[str], of: str = "", call: str = "") -> None:
    """Raises UsageError for an unknown command. ``call``: the suggestion, if the words look like a call in Salt."""
    if args and not args[0].startswith("-") and args[0] not in commands:
        text = f"there is no command {args[0]!r}" + (f" of {of}" if of else "")
        raise UsageError(text, hint=f"write: {call}" if call else nearest(args[0], commands))


@functools.cache
def _is_installed(name: str) -> bool:
    module = COMMANDS[name][0]
    package = module.rpartition(".")[0]
    return bool(importlib.util.find_spec(package) and importlib.util.find_spec(module))


def complete_targets(incomplete: str) -> list[str]:
    """Ids of the inventory, for completion by the shell; none if it cannot be read."""
    from pushsalt.api import Client, Selection

    try:
        client = Client(Given().settings())
        ids = client.target(Selection("*")) if client.project.config.has_inventory else client.project.inventory.ids
        return [id for id in ids if id.startswith(incomplete)]
    except Exception:
        return []


app = typer.Typer(
    cls=Group,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    epilog=EXAMPLES,
    options_metavar="[GLOBAL OPTIONS]",
    subcommand_metavar="COMMAND ...",
    context_settings={"max_content_width": 100, "help_option_names": ["--help", "-h"]},
    invoke_without_command=True,
)


@app.callback()
@takes(GLOBAL)
def pushsalt(
    given: Given,
    ctx: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> int:
    """Apply Salt states and call Salt functions on machines with SSH and Python, without an agent."""
    ctx.obj = given
    if version:
        TERMINAL.get().stdout.write(f"pushsalt {__version__}\n")
    elif ctx.invoked_subcommand is None:
        write_stderr(ctx.get_help() + "\n")
        raise typer.Exit(EXIT_COMMAND)
    return 0


def command() -> Any:
    """The whole command line as a Click command."""
    return _made.get("") or _lean(typer.main.get_command(app))


def _command(name: str) -> Any:
    """The Click command of this name."""
    command_ = typer.main.get_command(importlib.import_module(COMMANDS[name][0]).app)
    command_.name = name
    return _lean(command_)


#: Commands that were made before they are needed, by name; "" for the whole command line.
_made: dict[str, Any] = {}


def make_ahead(names: Iterable[str]) -> None:
    """Make these commands, for the processes that are forked from this one."""
    _made[""] = group = command()
    group.list_commands(None)
    for name in names:
        _made[name] = _command(name)
