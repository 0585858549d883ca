"""The option table. A matcher's flag is one line here.

Options are rows that ``takes`` adds to Typer as parameters; a command gets them as one ``Given``, in which global
options (before the command) and those after it are merged: lists are concatenated, of single values the last wins.
"""

from __future__ import annotations

import errno
import inspect
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from pushsalt.cli import words
from pushsalt.cli.opt import Opt, positive, seconds
from pushsalt.cli.opt import rows as _rows
from pushsalt.cli.planoptions import BACKUPS, DETAILED
from pushsalt.cli.reports import REPORTS
from pushsalt.cli.rollouts import BATCH, ROLLOUT, rollout_options
from pushsalt.errors import UsageError

if TYPE_CHECKING:
    from pushsalt.api import JobOptions, Selection, Settings


def _outputs(incomplete: str) -> list[str]:
    from pushsalt.outputters import CHOICES

    return [name for name in CHOICES if name.startswith(incomplete)]


def _levels(incomplete: str) -> list[str]:
    from pushsalt.log import LEVELS

    return [name for name in LEVELS if name.startswith(incomplete)]


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
    Opt("file_root", ("--file-root",), "Folder to search before those of file_roots:base; repeatable.", "list", "DIR"),
    Opt(
        "pillar_root",
        ("--pillar-root",),
        "Folder to search before those of pillar_roots:base; repeatable.",
        "list",
        "DIR",
    ),
    Opt(
        "cache_dir",
        ("--cache-dir",),
        "Folder for the caches of grains, pillar, mine and resources.  [env: PUSHSALT_CACHE]",
        metavar="DIR",
    ),
    Opt("session", ("--session",), "Keep connections this long after their last use; 0: never.", metavar="DURATION"),
    Opt(
        "workers",
        ("--workers",),
        "Let the workers at this NATS server run jobs: see docs/workers.md.",
        metavar="URL",
    ),
    Opt("locked", ("--locked",), "Use only the revisions of git remotes in pushsalt.lock.", "flag"),
    Opt("verbose", ("-v", "--verbose"), "More output: round trips, SLS names; -vv: unchanged states too.", "count"),
    Opt("no_color", ("--no-color",), "Disable colours.  [env: NO_COLOR; FORCE_COLOR for colours in a pipe]", "flag"),
    Opt(
        "log_level",
        ("-l", "--log-level"),
        "Level of log lines on stderr: debug, info, warning, error, quiet ...",
        metavar="LEVEL",
        complete=_levels,
    ),
    Opt("log_file", ("--log-file",), "Also write log lines, with times, to this file.", metavar="FILE"),
    Opt(
        "log_file_level",
        ("--log-file-level",),
        "Level of --log-file (default: that of -l).",
        metavar="LEVEL",
        complete=_levels,
    ),
)

#: Every matcher: (attribute = Salt's tgt_type) and its flags.
MATCHERS = _rows(
    "Matcher of TARGET (default: a glob for ids)",
    Opt("pcre", ("-E", "--pcre"), "TARGET is a regular expression for ids.", "flag"),
    Opt("list", ("-L", "--list"), "TARGET is a list of ids, separated by commas.", "flag"),
    Opt("grain", ("-G", "--grain"), "TARGET is KEY:GLOB for a grain.", "flag"),
    Opt("grain_pcre", ("-P", "--grain-pcre"), "TARGET is KEY:REGEX for a grain.", "flag"),
    Opt("pillar", ("-I",), "TARGET is KEY:GLOB for a pillar value.", "flag"),
    Opt("pillar_pcre", ("-J", "--pillar-pcre"), "TARGET is KEY:REGEX for a pillar value.", "flag"),
    Opt("ipcidr", ("-S", "--ipcidr"), "TARGET is a subnet or an address.", "flag"),
    Opt("nodegroup", ("-N", "--nodegroup"), "TARGET is a nodegroup or a group of the inventory.", "flag"),
    Opt(
        "compound",
        ("-C", "--compound"),
        "TARGET is an expression: and, or, not, ( ), G@ P@ I@ J@ L@ E@ S@ N@ T@ M@.",
        "flag",
    ),
)
DELIMITER = _rows(
    MATCHERS[0].panel,
    Opt(
        "delimiter", ("--delimiter",), "Separator of the levels of a grain or pillar key (default ':').", metavar="CHAR"
    ),
    Opt("exclude", ("--exclude",), "Exclude targets that match this compound expression; repeatable.", "list", "EXPR"),
    Opt("limit", ("--limit",), "Select only the first N targets that match.", metavar="N"),
    Opt("subset", ("--subset",), "Select only N random targets of those that match.", metavar="N"),
    Opt(
        "refresh", ("--refresh",), "Collect grains of all targets first, and pillar if the expression needs it.", "flag"
    ),
)
OUTPUT = _rows(
    "Output",
    Opt(
        "out",
        ("--out",),
        "Output format: rich (default), json, yaml, ndjson, quiet ...",
        metavar="FORMAT",
        complete=_outputs,
    ),
    Opt(
        "state_output",
        ("--state-output",),
        "Display of states: full, terse, mixed, changes or filter, each also with _id.",
        metavar="MODE",
    ),
    Opt(
        "state_verbose",
        ("--state-verbose",),
        "true: show states without changes, too; false: only those that changed or failed.",
        metavar="BOOL",
    ),
    Opt("full_diff", ("--full-diff",), "Do not shorten diffs.", "flag"),
)
#: An option for programs that start a job.
JID = _rows(
    OUTPUT[0].panel,
    Opt("jid_file", ("--jid-file",), "Write the JID to this file before any target is contacted.", metavar="FILE"),
)
STATES = _rows(
    "States and functions",
    Opt("test", ("--test",), "Dry run: report changes without making them.", "flag"),
    Opt(
        "pillar_data",
        ("--pillar",),
        "YAML or JSON to merge over the compiled pillar; @FILE, or @- for stdin.",
        metavar="DATA",
    ),
    Opt("saltenv", ("--saltenv",), "Use states and files of this saltenv.", metavar="ENV"),
    Opt("pillarenv", ("--pillarenv",), "Use pillar of this pillar environment.", metavar="ENV"),
    Opt("no_render_cache", ("--no-render-cache",), "Render separately for each target.", "flag"),
)
#: The option --pillar alone, for repeated jobs.
PILLAR = tuple(opt for opt in STATES if opt.name == "pillar_data")
#: Options of ``run`` only.
RAW = _rows(
    "States and functions",
    Opt(
        "raw",
        ("--raw",),
        "Run a command line in the login shell, without Python; returns stdout, stderr, retcode.",
        "flag",
    ),
)
RERUN = _rows(
    "States and functions",
    Opt(
        "rerun_failed",
        ("--rerun-failed",),
        "Repeat a job on targets without a good return: that of the JID in place of TARGET, else the last one.",
        "flag",
    ),
)
LIMITS = _rows(
    "Execution",
    Opt("concurrency", ("--concurrency",), "Maximum number of concurrent connections.", metavar="N"),
    Opt("timeout", ("--timeout",), "Stop the job on a target after this time.", metavar="SECONDS"),
    Opt("wait_lock", ("--wait-lock",), "Wait up to this time for another run on the target to end.", metavar="SECONDS"),
    Opt(
        "accept_new_host_keys",
        ("--accept-new-host-keys",),
        "Accept unknown host keys and add them to known_hosts.",
        "flag",
    ),
)
#: Options of the login, for hosts without these settings in the inventory; they override those of the configuration.
LOGIN = _rows(
    "Login, for hosts of which the inventory does not set it",
    Opt("ssh_user", ("--user",), "User to log in as.", metavar="NAME"),
    Opt("ssh_priv", ("--priv",), "Private key to log in with.", metavar="FILE"),
    Opt("ssh_sudo", ("--sudo",), "Become root with sudo.", "flag"),
)
#: Options of apply and run for returners.
RETURNS = _rows(
    LIMITS[0].panel,
    Opt("returners", ("--return",), "Send the returns to these returners, too.", metavar="NAME[,NAME]"),
    Opt("return_config", ("--return-config",), "Use the returners' options of this profile.", metavar="PROFILE"),
)
_IDLE = (Opt("idle", words.IDLE_WORDS, "Options of other tools that have no effect.", "flag", hidden=True),)
ASK = _rows(
    LIMITS[0].panel,
    Opt("ask_pass", ("-k", "--ask-pass"), "Prompt once for the login password, for hosts that have none.", "flag"),
    Opt(
        "ask_become_pass",
        ("-K", "--ask-become-pass"),
        "Prompt once for the password to become root, for hosts that have none.",
        "flag",
    ),
)

STATE_OUTPUTS = ("full", "terse", "mixed", "changes", "filter")

#: Options of all commands that run jobs on targets.
JOB = (*DELIMITER, *OUTPUT, *JID, *LIMITS, *BATCH, *LOGIN, *ASK, *_IDLE)
#: Options of commands that run on the controller, and run jobs on targets from there.
CONTROLLER = (*OUTPUT, *LIMITS, *LOGIN, *ASK, *_IDLE)
#: Options of services that run jobs, and do not print their returns.
SERVICE = (*LIMITS, *LOGIN, *ASK, *_IDLE)
#: The output formats of commands that print events.
EVENT_OUTPUT = _rows(
    OUTPUT[0].panel,
    Opt(
        "out",
        ("--out",),
        "Output format: rich (lines for people) or ndjson.",
        metavar="FORMAT",
    ),
)


@dataclass
class Given:
    """The options of one command line."""

    values: dict[str, Any] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        return self.values.get(name)

    def merged(self, nearer: dict[str, Any]) -> Given:
        """The options merged with those after the command, which override them."""
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
        """The options as words of a command line, without those that select targets."""
        words: list[str] = []
        for opt in (
            *GLOBAL,
            *OUTPUT,
            *STATES,
            *DETAILED,
            *BACKUPS,
            *LIMITS,
            *BATCH,
            *ROLLOUT,
            *REPORTS,
            *RETURNS,
            *LOGIN,
            *ASK,
        ):
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
            options={
                **{opt.name: value for opt in LOGIN if (value := self.values.get(opt.name))},
                **({} if self.workers is None else {"workers": self.workers}),
            },
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
            limit=positive("--limit", self.limit),
            subset=positive("--subset", self.subset),
            refresh=bool(self.refresh),
        )

    @cached_property
    def pillar_over(self) -> dict[str, Any] | None:
        """The data of --pillar; a file, or stdin, is read once. Raises UsageError."""
        return _pillar(self.pillar_data)

    def job(self, log_level: str) -> JobOptions:
        """The options of the job, checked. Raises UsageError."""
        from pushsalt.api import JobOptions

        return JobOptions(
            test=bool(self.test),
            pillar=self.pillar_over,
            saltenv=self.saltenv,
            pillarenv=self.pillarenv,
            concurrency=positive("--concurrency", self.concurrency),
            timeout=seconds("--timeout", self.timeout),
            wait_lock=seconds("--wait-lock", self.wait_lock, zero=True) or 0.0,
            accept_new_host_keys=bool(self.accept_new_host_keys),
            log_level=log_level,
            verbose=self.verbose or 0,
            returners=_names("--return", self.returners),
            return_config=self.return_config or "",
            render_cache=False if self.no_render_cache else None,
            detach=bool(self.detach),
            backups=bool(self.backups),
            **rollout_options(self.values),
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
        raise UsageError("--log-file-level without --log-file", hint="add --log-file FILE")
    if given.log_file:
        from pushsalt.cli.stdio import TERMINAL
        from pushsalt.log import LogFile

        handler, path = TERMINAL.get().log, Path(given.log_file)
        if handler.file is None or handler.file.path != path:
            handler.file = LogFile(path, given.log_file_level)


def _env_paths(name: str) -> list[str]:
    """The paths in an environment variable, separated as in PATH; a value that is an existing path is one path."""
    value = os.environ.get(name, "")
    if not value or Path(value).exists():
        return [value] if value else []
    return [path for path in value.split(os.pathsep) if path]


_PILLAR_HINT = "for example --pillar '{key: value}' or --pillar @FILE"


def _pillar(text: str | None) -> dict[str, Any] | None:
    """Parse --pillar: data, or ``@FILE`` (not valid at the start of YAML). Raises UsageError."""
    if text is None:
        return None
    from pushsalt.errors import PushsaltError
    from pushsalt.yamlio import load_yaml

    name = ""
    if text.startswith("@"):
        name, text = f" {text}", _file_text(text[1:])
    try:
        data = load_yaml(text, "--pillar")
    except PushsaltError as exc:  # the text may contain secrets, so the error only has the line
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
        hint = "the path is relative to the working folder; @- reads stdin"
        raise UsageError(f"--pillar @{name} cannot be read: {reason}", hint=hint) from None


def _stdin_text() -> str:
    if sys.stdin is None:
        raise OSError(errno.EBADF, "stdin is closed")
    return sys.stdin.buffer.read().decode("utf-8")


def state_output(text: str | None) -> str | None:
    """The mode of --state-output, which Salt's outputter has. Raises UsageError."""
    if text is not None and text.removesuffix("_id") not in STATE_OUTPUTS:
        modes = ", ".join(STATE_OUTPUTS)
        raise UsageError(f"--state-output: there is no mode {text!r}", hint=f"{modes}; each also with _id appended")
    return text


def state_verbose(text: str | None) -> bool | None:
    """The value of --state-verbose; None without it. Raises UsageError."""
    if text is None:
        return None
    if text.lower() not in ("true", "false"):
        raise UsageError(
            f"--state-verbose: {text!r} is neither true nor false", hint="for example --state-verbose=false"
        )
    return text.lower() == "true"


def _names(flag: str, text: str | None) -> tuple[str, ...]:
    if text is None:
        return ()
    names = [name.strip() for name in text.split(",")]
    if not all(name.isidentifier() for name in names):
        hint = f"for example {flag} sqlite3 or {flag} http,smtp"
        raise UsageError(f"{flag}: {text!r} is not a list of names", hint=hint)
    return tuple(dict.fromkeys(names))
