"""The option table. A matcher's flag is one line here.

Options are rows that ``takes`` adds to Typer as parameters; a command gets them as one ``Given``, in which global
options (before the command) and those after it are merged: lists are concatenated, of single values the last wins.
"""

from __future__ import annotations

import errno
import inspect
import os
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pushsalt.cli import words
from pushsalt.errors import UsageError

if TYPE_CHECKING:
    from pushsalt.api import JobOptions, Selection, Settings


@dataclass(frozen=True)
class Opt:
    """One option: its attribute in ``Given``, flags, help. Others' words for it are in ``words``."""

    name: str
    flags: tuple[str, ...]
    help: str
    kind: Literal["value", "flag", "list", "count"] = "value"
    metavar: str | None = None
    complete: Callable[[str], list[str]] | None = None
    panel: str = ""
    hidden: bool = False

    @property
    def spellings(self) -> tuple[str, ...]:
        """Its flags, and others' words for them."""
        return (*self.flags, *words.also(self.flags))

    @property
    def has_value(self) -> bool:
        return self.kind in ("value", "list")

    def parameter(self, known: Collection[str] = ()) -> inspect.Parameter:
        """The parameter for Typer. ``known``: flags of the command, which are not used as spellings of other tools."""
        others = (word for word in words.also(self.flags) if word not in known)
        types: dict[str, Any] = {"value": str | None, "flag": bool, "list": list[str] | None, "count": int}
        more: dict[str, Any] = {}
        if self.kind == "count":
            more["count"] = True
        if self.complete:
            more["autocompletion"] = self.complete
        info = typer.Option(
            *self.flags,
            *others,
            help=self.help,
            metavar=self.metavar,
            show_default=False,
            rich_help_panel=self.panel,
            hidden=self.hidden,
            **more,
        )
        default = {"flag": False, "count": 0}.get(self.kind)
        return inspect.Parameter(
            self.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[types[self.kind], info]
        )


def _outputs(incomplete: str) -> list[str]:
    from pushsalt.outputters import CHOICES

    return [name for name in CHOICES if name.startswith(incomplete)]


def _levels(incomplete: str) -> list[str]:
    from pushsalt.log import LEVELS

    return [name for name in LEVELS if name.startswith(incomplete)]


def _rows(panel: str, *rows: Opt) -> tuple[Opt, ...]:
    return tuple(replace(row, panel=panel) for row in rows)


GLOBAL = _rows(
    "Global options",
    Opt(
        "inventory",
        ("-i", "--inventory"),
        "Inventory or salt-ssh roster; repeatable.  [env: PUSHSALT_INVENTORY]",
        "list",
        "PATH",
    ),
    Opt(
        "config",
        ("-c", "--config"),
        "pushsalt.yaml, a Salt master config, or a folder with one.  [env: PUSHSALT_CONFIG]",
        metavar="PATH",
    ),
    Opt("file_root", ("--file-root",), "Prepended to file_roots:base; repeatable.", "list", "DIR"),
    Opt("pillar_root", ("--pillar-root",), "Prepended to pillar_roots:base; repeatable.", "list", "DIR"),
    Opt(
        "cache_dir", ("--cache-dir",), "Grains, pillar, job and resource caches.  [env: PUSHSALT_CACHE]", metavar="DIR"
    ),
    Opt("locked", ("--locked",), "Take git remotes at the revisions of pushsalt.lock only.", "flag"),
    Opt("verbose", ("-v", "--verbose"), "Say more: round trips, SLS names; twice: unchanged states too.", "count"),
    Opt("no_color", ("--no-color",), "No colours.  [env: NO_COLOR; FORCE_COLOR for colours in a pipe]", "flag"),
    Opt(
        "log_level",
        ("-l", "--log-level"),
        "Log level on stderr: debug, info, warning, error, quiet ...",
        metavar="LEVEL",
        complete=_levels,
    ),
    Opt("log_file", ("--log-file",), "Log lines to this file too, with times.", metavar="FILE"),
    Opt("log_file_level", ("--log-file-level",), "Its level (default: that of -l).", metavar="LEVEL", complete=_levels),
)

#: Every matcher: (attribute = Salt's tgt_type) and its flags.
MATCHERS = _rows(
    "How TARGET matches (default: a glob over ids)",
    Opt("pcre", ("-E", "--pcre"), "A regular expression over ids.", "flag"),
    Opt("list", ("-L", "--list"), "Ids, separated by commas.", "flag"),
    Opt("grain", ("-G", "--grain"), "KEY:GLOB over grains.", "flag"),
    Opt("grain_pcre", ("-P", "--grain-pcre"), "KEY:REGEX over grains.", "flag"),
    Opt("pillar", ("-I",), "KEY:GLOB over pillar.", "flag"),
    Opt("pillar_pcre", ("-J", "--pillar-pcre"), "KEY:REGEX over pillar.", "flag"),
    Opt("ipcidr", ("-S", "--ipcidr"), "A subnet or an address.", "flag"),
    Opt("nodegroup", ("-N", "--nodegroup"), "The name of a nodegroup, or of a group of the inventory.", "flag"),
    Opt("compound", ("-C", "--compound"), "and, or, not, parentheses, G@ P@ I@ J@ L@ E@ S@ N@ T@ M@.", "flag"),
)
DELIMITER = _rows(
    MATCHERS[0].panel,
    Opt("delimiter", ("--delimiter",), "Between the levels of a grain or pillar key (default ':').", metavar="CHAR"),
    Opt("exclude", ("--exclude",), "Leave out what this compound expression matches; repeatable.", "list", "EXPR"),
    Opt("limit", ("--limit",), "Only the first N of what matches.", metavar="N"),
    Opt("refresh", ("--refresh",), "Collect grains (and pillar, if asked for) of all targets first.", "flag"),
)
OUTPUT = _rows(
    "Output",
    Opt("out", ("--out",), "rich (default), json, yaml, ndjson or quiet.", metavar="FORMAT", complete=_outputs),
    Opt(
        "state_output",
        ("--state-output",),
        "Of each state: full, terse, mixed, changes or filter; _id behind it.",
        metavar="MODE",
    ),
    Opt("full_diff", ("--full-diff",), "Show long diffs to their end.", "flag"),
)
STATES = _rows(
    "What is done",
    Opt("test", ("--test",), "Dry run: say what would change, change nothing.", "flag"),
    Opt(
        "pillar_data",
        ("--pillar",),
        "YAML or JSON, merged over the compiled pillar; @FILE, @- for stdin.",
        metavar="DATA",
    ),
    Opt("saltenv", ("--saltenv",), "Take states and files from this environment.", metavar="ENV"),
    Opt("pillarenv", ("--pillarenv",), "Take pillar from this environment.", metavar="ENV"),
    Opt("no_render_cache", ("--no-render-cache",), "Render for each target, however alike they are.", "flag"),
)
#: Options of ``run`` only.
RAW = _rows(
    "What is done",
    Opt("raw", ("--raw",), "Run a command line by the login's shell, without Python: stdout, stderr, retcode.", "flag"),
)
LIMITS = _rows(
    "How it is done",
    Opt("batch", ("--batch",), "At most so many targets at a time, in order.", metavar="N|P%"),
    Opt("concurrency", ("--concurrency",), "Connections at a time.", metavar="N"),
    Opt("timeout", ("--timeout",), "Stop the job on a target after so long.", metavar="SECONDS"),
    Opt("wait_lock", ("--wait-lock",), "Wait so long for another run on the target to end.", metavar="SECONDS"),
    Opt("accept_new_host_keys", ("--accept-new-host-keys",), "Trust unknown host keys and remember them.", "flag"),
)
#: How to log in, where the inventory does not say: options of the configuration, which they go over.
LOGIN = _rows(
    "How to log in, where the inventory does not say",
    Opt("ssh_user", ("--user",), "As this user.", metavar="NAME"),
    Opt("ssh_priv", ("--priv",), "With this private key.", metavar="FILE"),
    Opt("ssh_sudo", ("--sudo",), "Become root by sudo.", "flag"),
)
_IDLE = (Opt("idle", words.IDLE_WORDS, "Words of others that need nothing done.", "flag", hidden=True),)
ASK = _rows(
    LIMITS[0].panel,
    Opt("ask_pass", ("-k", "--ask-pass"), "Ask once for the login's password, of hosts that have none.", "flag"),
    Opt("ask_become_pass", ("-K", "--ask-become-pass"), "Ask once for the password to become root, likewise.", "flag"),
)

STATE_OUTPUTS = ("full", "terse", "mixed", "changes", "filter")

#: Options of all commands that run jobs on targets.
JOB = (*DELIMITER, *OUTPUT, *LIMITS, *LOGIN, *ASK, *_IDLE)


@dataclass
class Given:
    """The options of one command line."""

    values: dict[str, Any] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        return self.values.get(name)

    def merged(self, nearer: dict[str, Any]) -> Given:
        """The options merged with those of the command, which win."""
        values = dict(self.values)
        for name, value in nearer.items():
            before = values.get(name)
            match value:
                case bool():
                    values[name] = value or bool(before)
                case int():
                    values[name] = value + (before or 0)
                case list() | tuple():
                    values[name] = [*(before or ()), *value]
                case None:
                    values.setdefault(name, None)
                case _:
                    values[name] = value
        return Given(values)

    def flags(self) -> list[str]:
        """The options as words of a command line, but for those that say which targets."""
        words: list[str] = []
        for opt in (*GLOBAL, *OUTPUT, *STATES, *LIMITS, *LOGIN, *ASK):
            value = self.values.get(opt.name)
            if opt.kind == "count":
                words += [opt.flags[0]] * (value or 0)
            elif opt.kind == "flag":
                words += [opt.flags[-1]] if value else []
            else:
                for item in value if isinstance(value, list | tuple) else [value]:
                    words += [opt.flags[0], str(item)] if item is not None else []
        return words

    def matcher_flags(self) -> list[str]:
        """The flags that set the matcher of TARGET."""
        return [opt.flags[0] for opt in MATCHERS if self.values.get(opt.name)]

    def settings(self) -> Settings:
        """The Settings from global options, the environment, and prompts for passwords. Raises UsageError."""
        from pushsalt.api import Settings
        from pushsalt.cli.asking import ask_passwords

        inventories = self.inventory or _env_paths("PUSHSALT_INVENTORY")
        config = self.config or os.environ.get("PUSHSALT_CONFIG")
        cache = self.cache_dir or os.environ.get("PUSHSALT_CACHE")
        passwd, sudo_password = ask_passwords(bool(self.ask_pass), bool(self.ask_become_pass))
        return Settings(
            inventories=[Path(path) for path in inventories],
            config=Path(config) if config else None,
            file_roots=[Path(path) for path in self.file_root or ()],
            pillar_roots=[Path(path) for path in self.pillar_root or ()],
            cache_dir=Path(cache) if cache else None,
            locked=bool(self.locked),
            options={opt.name: value for opt in LOGIN if (value := self.values.get(opt.name))},
            passwd=passwd,
            sudo_password=sudo_password,
        )

    def selection(self, target: str) -> Selection:
        """TARGET and the matcher that its flag names. Raises UsageError for two flags."""
        from pushsalt.api import Selection

        chosen = [opt for opt in MATCHERS if self.values.get(opt.name)]
        if len(chosen) > 1:
            flags = " and ".join(opt.flags[0] for opt in chosen)
            raise UsageError(f"{flags} contradict each other", hint="use one matcher, or -C to combine several")
        return Selection(
            expr=target,
            tgt_type=chosen[0].name if chosen else "glob",
            delimiter=self.delimiter or ":",
            exclude=tuple(self.exclude or ()),
            limit=_whole("--limit", self.limit),
            refresh=bool(self.refresh),
        )

    @cached_property
    def pillar_over(self) -> dict[str, Any] | None:
        """The data of --pillar; a file, or stdin, is read once. Raises UsageError."""
        return _pillar(self.pillar_data)

    def job(self, log_level: str) -> JobOptions:
        """Everything about how a job runs, checked. Raises UsageError."""
        from pushsalt.api import JobOptions

        return JobOptions(
            test=bool(self.test),
            pillar=self.pillar_over,
            saltenv=self.saltenv,
            pillarenv=self.pillarenv,
            batch=_batch(self.batch),
            concurrency=_whole("--concurrency", self.concurrency),
            timeout=_seconds("--timeout", self.timeout),
            wait_lock=_seconds("--wait-lock", self.wait_lock, zero=True) or 0.0,
            accept_new_host_keys=bool(self.accept_new_host_keys),
            log_level=log_level,
            verbose=self.verbose or 0,
            render_cache=False if self.no_render_cache else None,
        )


def takes(*groups: tuple[Opt, ...]) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Decorator: adds the options of ``groups`` to a command as Typer parameters; the function gets ``given``."""
    options = [opt for group in groups for opt in group]

    def decorate(function: Callable[..., int]) -> Callable[..., int]:
        signature = inspect.signature(function, eval_str=True)
        wants_context = "ctx" in signature.parameters
        own = [p.replace(kind=p.KEYWORD_ONLY) for p in signature.parameters.values() if p.name not in ("given", "ctx")]

        def command(ctx: typer.Context, **words: Any) -> int:
            nearer = {opt.name: words.pop(opt.name) for opt in options}
            before = ctx.obj if isinstance(ctx.obj, Given) else Given()
            if wants_context:
                words["ctx"] = ctx
            given = before.merged(nearer)
            _open_log_file(given)
            return function(given=given, **words)

        context = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
        flags = {flag for opt in options for flag in opt.flags}
        parameters = [context, *own, *(opt.parameter(flags) for opt in options)]
        command.__signature__ = inspect.Signature(parameters, return_annotation=int)  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in parameters}
        command.__doc__ = function.__doc__
        command.__name__ = function.__name__
        return command

    return decorate


def _open_log_file(given: Given) -> None:
    if given.log_file_level and not given.log_file:
        raise UsageError("--log-file-level without --log-file", hint="name the file: --log-file FILE")
    if given.log_file:
        from pushsalt.cli.stdio import TERMINAL
        from pushsalt.log import LogFile

        handler, path = TERMINAL.get().log, Path(given.log_file)
        if handler.file is None or handler.file.path != path:
            handler.file = LogFile(path, given.log_file_level)


def _env_paths(name: str) -> list[str]:
    """Paths of an environment variable, separated as in PATH; a value that is a path as a whole is one."""
    value = os.environ.get(name, "")
    if not value or Path(value).exists():
        return [value] if value else []
    return [path for path in value.split(os.pathsep) if path]


_PILLAR_HINT = "for example --pillar '{key: value}' or --pillar @FILE"


def _pillar(text: str | None) -> dict[str, Any] | None:
    """Parse --pillar: data, or ``@FILE`` (not valid at the begin of YAML). Raises UsageError."""
    if text is None:
        return None
    from pushsalt.errors import PushsaltError
    from pushsalt.yamlio import load_yaml

    name = ""
    if text.startswith("@"):
        name, text = f" {text}", _file_text(text[1:])
    try:
        data = load_yaml(text, "--pillar")
    except PushsaltError as exc:  # the text may hold secrets: say where, do not repeat it
        place = f" (line {exc.where.line})" if exc.where and exc.where.line else ""
        raise UsageError(f"--pillar{name} is neither YAML nor JSON{place}", hint=_PILLAR_HINT) from None
    if not isinstance(data, dict):
        raise UsageError(f"--pillar{name} takes a mapping, not {type(data).__name__}", hint=_PILLAR_HINT)
    return data


def _file_text(name: str) -> str:
    """The text of a file that an option names, ``-`` for stdin. Raises UsageError."""
    from pushsalt import regular

    try:
        return regular.read_text(name) if name != "-" else _stdin_text()
    except UnicodeDecodeError:
        raise UsageError(f"--pillar @{name}: the text is not UTF-8", hint="save it as UTF-8") from None
    except (OSError, ValueError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else str(exc)
        hint = "the working folder is where a path begins; @- reads stdin"
        raise UsageError(f"--pillar @{name} cannot be read: {reason}", hint=hint) from None


def _stdin_text() -> str:
    if sys.stdin is None:
        raise OSError(errno.EBADF, "stdin is closed")
    return sys.stdin.buffer.read().decode("utf-8")


def _batch(text: str | None) -> str | None:
    if text is None:
        return None
    size = text.strip()
    number = size.removesuffix("%")
    if not _is_count(number) or (size.endswith("%") and int(number) > 100):
        message = f"--batch: {text!r} is neither a number of targets nor a percentage"
        raise UsageError(message, hint="for example --batch 10 or --batch 25%")
    return size


def state_output(text: str | None) -> str | None:
    """The mode of --state-output, which Salt's outputter has. Raises UsageError."""
    if text is not None and text.removesuffix("_id") not in STATE_OUTPUTS:
        modes = ", ".join(STATE_OUTPUTS)
        raise UsageError(f"--state-output: there is no mode {text!r}", hint=f"{modes}; each also with _id behind it")
    return text


def _whole(flag: str, text: str | None) -> int | None:
    if text is None:
        return None
    if not _is_count(text):
        raise UsageError(f"{flag}: {text!r} is not a whole number above 0")
    return int(text)


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10 and int(text) > 0


def _seconds(flag: str, text: str | None, *, zero: bool = False) -> float | None:
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not (0 < value < 1e9 or (zero and value == 0)):
        raise UsageError(f"{flag}: {text!r} is not a number of seconds{'' if zero else ' above 0'}")
    return value
