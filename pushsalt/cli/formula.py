"""``pushsalt formula``: formulas of a project, from git or from folders."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pushsalt import regular
from pushsalt.cli.app import Actions, Command
from pushsalt.cli.check import OPTIONS as CHECK
from pushsalt.cli.opt import Opt
from pushsalt.cli.options import GLOBAL, OUTPUT, Given, takes
from pushsalt.cli.stdio import TERMINAL, stderr_is_terminal
from pushsalt.display.safe import escape, one_line
from pushsalt.errors import CommandError, ConfigError, StateError, UsageError

if TYPE_CHECKING:
    from pushsalt.config import Config
    from pushsalt.formula.metadata import Formula
    from pushsalt.formula.sources import Source
    from pushsalt.formula.update import Move
    from pushsalt.git.remotes import Remotes
    from pushsalt.run.project import Project

EXAMPLES = """
pushsalt formula add nginx                     from the saltstack-formulas organisation
pushsalt formula add https://example.org/app-formula.git@v1.2.0
pushsalt formula update                        update pushsalt.lock, and show what changed
pushsalt formula update --impact               show the effect on targets first
pushsalt formula show nginx                    its states, and the pillar that it reads
pushsalt formula check nginx                   render it for eight systems, without a machine
pushsalt formula new app                       the files of a new formula
"""


#: Of ``formula update``.
IMPACT = (
    Opt(
        "impact",
        ("--impact",),
        "Show the effect on targets; ask before the lock file changes.",
        "flag",
    ),
    Opt("yes", ("-y", "--yes"), "With --impact: do not ask.", "flag"),
)

app = typer.Typer(cls=Actions, rich_markup_mode=None, add_completion=False, no_args_is_help=True, epilog=EXAMPLES)


@app.callback()
def formula() -> None:
    """Manage the formulas of the project, from git remotes and folders."""


@app.command(cls=Command)
@takes(OUTPUT, GLOBAL)
def add(
    name: Annotated[str, typer.Argument(metavar="NAME|URL[@REF]", help="Name of a formula, or URL of a repository.")],
    given: Given,
) -> int:
    """Add a formula to gitfs_remotes, fetch it, and lock its revision."""
    from pushsalt.formula.edit import add_remote
    from pushsalt.git.address import is_ref, parse_address
    from pushsalt.git.project import configured
    from pushsalt.git.remotes import named
    from pushsalt.git.settings import DATA_RENDERERS

    project = _project(given)
    path = _yaml(project.config)
    text, ref = _split(name)
    url = text
    if "/" not in text and ":" not in text:
        base = str(project.config.opts.get("formula_base_url") or "").rstrip("/")
        url = f"{base}/{text.removesuffix('.git').removesuffix('-formula')}-formula.git"
    address = parse_address(url, "formula add")
    if address.password:
        raise UsageError(
            "a URL on the command line must not contain a password", hint=f"write it below the remote in {path}"
        )
    if ref and not is_ref(ref):
        raise UsageError(
            f"{ref!r} is not a valid name of a branch, a tag or a commit", hint="write the name as git shows it"
        )
    remotes = configured(project.config)
    if named([remote for remote in remotes if remote.role == "gitfs"], [address.url]):
        another = f"; for another ref, `pushsalt formula remove {text}` first" if ref else ""
        raise CommandError(
            f"{address.url} is in `gitfs_remotes` already", hint=f"`pushsalt formula update` updates it{another}"
        )
    before = regular.read_bytes(path)
    options = {"base": ref} if ref else _default_branch(project, address.url)
    add_remote(path, address.url, {**options, "renderers": list(DATA_RENDERERS)})
    try:
        opened = _project(given)
        moves, troubles = _update(opened, [address.url])
        if troubles or not any(move.new for move in moves):
            reason = troubles[0] if troubles else f"it has no branch or tag {options.get('base', 'master')}"
            raise CommandError(f"{address.url} is not added: {reason}", hint="check the name and the network")
    except BaseException:
        path.write_bytes(before)
        raise
    code = _show_moves(given, moves, f"{address.name} is in {path.name}")
    _say_wants(opened, [address.url])
    return code


@app.command("list", cls=Command)
@takes(OUTPUT, GLOBAL)
def list_(given: Given) -> int:
    """List the formulas with their versions and revisions."""
    from pushsalt.formula.metadata import describe

    project = _project(given)
    with _plain_words():
        formulas = [describe(source, whole=False) for source in _sources(project)]
    if _as_data(given, [one.as_data(whole=False) for one in formulas]):
        return 0
    rows = [(one.name, one.version or "-", one.revision[:12] or "-", one.place) for one in formulas]
    _table([("NAME", "VERSION", "COMMIT", "FROM"), *rows] if rows else [("there are no formulas",)])
    return 0


@app.command(cls=Command)
@takes(IMPACT, OUTPUT, GLOBAL)
def update(
    given: Given,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME ...]", help="Formulas to update; without any: all remotes, including those of pillar."
        ),
    ] = None,
) -> int:
    """Update pushsalt.lock to the current revisions of the remotes, and show what changed.

    With --impact, the effect on targets is shown first, as by `pushsalt impact`.
    """
    if given.yes and not given.impact:
        raise UsageError("--yes is for --impact: only this option asks a question", hint="omit it")
    if given.locked:
        raise UsageError("`formula update` changes the revisions that --locked requires", hint="omit --locked")
    project = _project(given)
    if given.impact:
        return _update_with_impact(given, project, names or [])
    moves, troubles = _update(project, names or [])
    code = _show_moves(given, moves, "")
    _say_wants(project, [word for name in names or () for word in (name, f"{name}-formula")])
    if troubles:
        raise CommandError("\n".join(troubles), hint="the other remotes are up to date; try again later")
    return code


@app.command(cls=Command)
@takes(OUTPUT, GLOBAL)
def remove(name: Annotated[str, typer.Argument(metavar="NAME|URL", help="Formula to remove.")], given: Given) -> int:
    """Remove a formula from gitfs_remotes and from the lock file."""
    from pushsalt.formula.edit import remove_remote
    from pushsalt.git.lockfile import LockFile, lock_path
    from pushsalt.git.project import configured
    from pushsalt.git.remotes import named

    project = _project(given)
    path = _yaml(project.config)
    remotes = [remote for remote in configured(project.config) if remote.role == "gitfs"]
    chosen = named(remotes, [name, f"{name}-formula"])
    if len(chosen) != 1:
        names = ", ".join(remote.shown for remote in chosen or remotes) or "none"
        many = "several git remotes" if chosen else "no git remote"
        raise UsageError(f"{name!r} names {many}", hint=f"there are: {names}")
    from pushsalt.git.address import parse_address

    remove_remote(path, lambda url: parse_address(url, "gitfs_remotes").url == chosen[0].address.url)
    lock = LockFile(lock_path(project.config))
    if lock.exists:
        lock.change({}, [remote.address.url for remote in configured(_project(given).config)])
    TERMINAL.get().stdout.write(f"{one_line(chosen[0].shown)} is no longer in {one_line(str(path.name))}\n")
    return 0


@app.command(cls=Command)
@takes(OUTPUT, GLOBAL)
def show(
    name: Annotated[str, typer.Argument(metavar="NAME|PATH", help="Formula of the project, or folder.")],
    given: Given,
) -> int:
    """Show the states, pillar keys and metadata of a formula."""
    from pushsalt.formula.metadata import describe
    from pushsalt.formula.sources import FolderSource

    folder = Path(name).expanduser()
    if "/" in name or folder.is_dir():
        if not folder.is_dir():
            raise UsageError(f"there is no folder {name}", hint="name one, or a formula of `pushsalt formula list`")
        formula = describe(FolderSource(folder.absolute()))
    else:
        with _plain_words():
            formula = describe(_named(_project(given), name))
    if not _as_data(given, formula.as_data()):
        TERMINAL.get().stdout.write(_description(formula))
    return 0


@app.command(cls=Command)
@takes(CHECK, GLOBAL)
def check(
    given: Given,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME ...]", help="Formulas to check; without any: all.")
    ] = None,
) -> int:
    """Check formulas offline, as `pushsalt check` does, including those from git."""
    from pushsalt.cli.check import run_check
    from pushsalt.formula.export import exported

    project = _project(given)
    with _plain_words(), ExitStack() as stack:
        chosen = [_named(project, name) for name in names] if names else _sources(project)
        if not chosen:
            raise UsageError("the project has no formulas", hint="`pushsalt check PATH` checks a folder")
        folders = {str(stack.enter_context(exported(source))): source for source in chosen}
        limits = {folder: source.limit for folder, source in folders.items() if source.limit is not None}
        shown = {folder: source.place for folder, source in folders.items()}
        return run_check(given, [Path(folder) for folder in folders], shown, limits)


@app.command(cls=Command)
@takes(GLOBAL)
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the formula and of its states.")],
    given: Given,
    folder: Annotated[
        str | None,
        typer.Argument(metavar="[DIR]", help="Folder to create (default: NAME-formula in the working folder)."),
    ] = None,
) -> int:
    """Create the files of a new formula."""
    from pushsalt.formula.scaffold import scaffold

    place = Path(folder) if folder else Path(f"{name}-formula")
    files = scaffold(name, place)
    shown = one_line(str(place))
    TERMINAL.get().stdout.write(f"{shown}: {len(files)} files; tests/ has offline hosts to render it for\n")
    return 0


# ---


def _project(given: Given) -> Project:
    """The project, with logging set up; the progress of fetches is shown on a terminal."""
    from pushsalt.cli.client import Watcher, open_client

    client, _ = open_client(given, TERMINAL.get(), Watcher())
    return client.project


@contextmanager
def _plain_words() -> Iterator[None]:
    """A context that turns StateErrors of fetching and reading into errors of the command."""
    try:
        yield
    except StateError as exc:
        raise CommandError(exc.message, hint=exc.hint) from None


def _remotes(project: Project, view: Any = None) -> Remotes:
    from pushsalt.git.project import open_remotes

    return open_remotes(project.config, project.redactor, view.remote_progress if view else None)


def _view(project: Project, title: str) -> AbstractContextManager[Any]:
    if not stderr_is_terminal():
        return nullcontext()
    from pushsalt.cli.progress import Progress

    view = Progress(TERMINAL.get().log, project.redactor)
    view.title = title
    return view


def _update_with_impact(given: Given, project: Project, names: Sequence[str]) -> int:
    """``formula update --impact``: show the effect of the new revisions on targets, then write the lock file if
    confirmed.
    """
    import asyncio
    import tempfile

    from pushsalt.cli.asking import ask_yes
    from pushsalt.cli.client import Watcher
    from pushsalt.display.impact import lines
    from pushsalt.display.states import Detail
    from pushsalt.display.style import draw
    from pushsalt.formula.update import look
    from pushsalt.git.lockfile import LockFile, lock_path
    from pushsalt.impact.impact import locked
    from pushsalt.planning.fingerprints import Fingerprints

    path, out = lock_path(project.config), TERMINAL.get().stdout
    if path is None or not path.exists():
        text = "there is no pushsalt.lock, so there are no revisions to compare with"
        raise UsageError(text, hint="`pushsalt formula update` writes it; without it the newest revisions are used")
    with _view(project, "update formulas") as view, tempfile.TemporaryDirectory(prefix="pushsalt-") as folder:
        remotes = _remotes(project, view)
        try:
            with _plain_words():
                updates = look(project.config, remotes, [word for name in names for word in (name, f"{name}-formula")])
        finally:
            remotes.close()
        old, new = Path(folder, "old"), Path(folder, "new")
        for copy in (old, new):
            copy.write_bytes(path.read_bytes())
        updates.write(LockFile(new))
        with _plain_words():
            impact = locked(given.settings(), project, old, new, Watcher())
    data = Fingerprints(project.redactor).answer(impact.as_data())
    if given.out in (None, "rich"):
        shown = draw(lines(data, impact.total, Detail(full_diff=True)), TERMINAL.get().color)
        out.write("".join(f"{line}\n" for line in move_lines(updates.moves)) + shown)
    writes = bool(given.yes) or (bool(updates.moves) and asyncio.run(ask_yes(f"Write {path.name}? [y/N] ")))
    if writes:
        updates.write(LockFile(path))
    _as_data(given, {"moves": [asdict(one) for one in updates.moves], "impact": data, "written": writes})
    if updates.moves and not writes:
        TERMINAL.get().log.write(f"{path.name} was not written: --yes writes it\n")
    if updates.troubles:
        raise CommandError("\n".join(updates.troubles), hint="their revisions are not updated; try again later")
    return 0


def _update(project: Project, names: Sequence[str]) -> tuple[list[Move], list[str]]:
    from pushsalt.formula.update import update as move

    wanted = [word for name in names for word in (name, f"{name}-formula")]
    with _view(project, "update formulas") as view:
        remotes = _remotes(project, view)
        try:
            with _plain_words():
                return move(project.config, remotes, wanted)
        finally:
            remotes.close()


def _say_wants(project: Project, names: Sequence[str]) -> None:
    """Warn of files of remotes that use renderers which their remote may not use. ``names``: the remotes; empty for
    all.
    """
    from pushsalt.formula.sources import RemoteSource
    from pushsalt.formula.wants import texts, wants
    from pushsalt.git.project import configured
    from pushsalt.git.remotes import named

    remotes = _remotes(project)
    try:
        for remote in named(configured(project.config), names):
            if remote.limit is not None:
                with suppress(StateError):  # it cannot be fetched, which was reported before
                    wanted = wants(RemoteSource(remotes, remote), remote.root)
                    for text in texts(remote.name or remote.address.name, remote.limit, wanted):
                        project.reporter.warning(None, text)
    finally:
        remotes.close()


def _sources(project: Project) -> list[Source]:
    """All formulas, those of folders first."""
    from pushsalt.formula.sources import RemoteSource, folders
    from pushsalt.git.settings import gitfs_remotes

    sources: list[Source] = list(folders(project.config))
    configured = gitfs_remotes(project.config.opts)
    with _view(project, "list formulas") as view:
        remotes = _remotes(project, view)
        remotes.sync(configured)
        for remote in configured:
            try:
                sources.append(RemoteSource(remotes, remote))
            except StateError as exc:
                project.reporter.warning(None, exc.message)
    return sources


def _named(project: Project, name: str) -> Source:
    sources = _sources(project)
    for source in sources:
        if name in (source.name, source.name.removesuffix("-formula"), source.place):
            return source
    names = ", ".join(source.name.removesuffix("-formula") for source in sources) or "none"
    raise UsageError(f"there is no formula {name!r}", hint=f"there are: {names}")


def _yaml(config: Config) -> Path:
    """The project's configuration file, to be edited. Raises ConfigError if there is none."""
    if config.path is None or config.path.name != "pushsalt.yaml":
        raise ConfigError("there is no pushsalt.yaml to edit", hint="`pushsalt init` makes a project folder")
    return config.path


def _split(name: str) -> tuple[str, str]:
    """A name or URL, and the ref after its last ``@``, which is not the one of ``user@host``."""
    head, _, ref = name.rpartition("@")
    path = head.split("://", 1)[-1]
    if not ref or not head or ":" in ref or ("://" in head and "/" not in path):
        return name, ""
    return head, ref


def _default_branch(project: Project, url: str) -> dict[str, str]:
    """``base`` for a repository whose default branch differs from ``gitfs_base``."""
    from pushsalt.git.settings import gitfs_remotes

    [remote] = gitfs_remotes({**project.config.opts, "gitfs_remotes": [url]})
    with _view(project, "add a formula") as view, _plain_words():
        branch = _remotes(project, view).mirror(remote).head_branch()
    return {"base": branch} if branch and branch != remote.base else {}


def _as_data(given: Given, data: Any) -> bool:
    """Write the data in the format of ``--out``, if there is one; returns whether it was written."""
    if given.out in (None, "rich"):
        return False
    if given.out not in ("json", "yaml"):
        raise UsageError(f"--out {given.out} is not supported for formulas", hint="use json or yaml")
    if given.out == "json":
        text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    else:
        import yaml

        text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True)
    TERMINAL.get().stdout.write(text, utf8=True)
    return True


def _show_moves(given: Given, moves: Iterable[Move], message: str) -> int:
    moves = list(moves)
    if _as_data(given, [asdict(one) for one in moves]):
        return 0
    lines = [one_line(message)] if message else []
    lines += move_lines(moves)
    if not moves and not message:
        lines.append("everything is up to date")
    TERMINAL.get().stdout.write("".join(f"{line}\n" for line in lines))
    return 0


def move_lines(moves: Iterable[Move]) -> Iterator[str]:
    """The changes of refs, with their commits and files."""
    lines: list[str] = []
    for one in moves:
        ref = one.ref.removeprefix("refs/").removeprefix("heads/")
        old, new = (one.old or "")[:12], (one.new or "does not exist any more, and was removed from the lock file")[:40]
        change = f"{old} -> {new[:12] if one.new else new}" if old else new[:12] if one.new else "there is none"
        lines.append(f"{one_line(one.remote)}  {one_line(ref)}  {change}")
        lines += [f"    {one_line(commit)}" for commit in one.commits[:20]]
        more = len(one.commits) - 20
        if more > 0:
            lines.append(f"    and {more} more commits")
        lines += [f"    {one_line(file)}" for file in one.files[:40]]
        if len(one.files) > 40:
            lines.append(f"    and {len(one.files) - 40} more files")
    yield from lines


def _table(rows: Sequence[Sequence[str]]) -> None:
    cells = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(len(row[at]) for row in cells if at < len(row)) for at in range(max(map(len, cells)))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)).rstrip() for row in cells)
    TERMINAL.get().stdout.write("".join(f"{line}\n" for line in lines))


def _description(formula: Formula) -> str:
    lines = [f"{formula.name} {formula.version}".rstrip(), f"  {'from':<16}{formula.place}"]
    if formula.revision:
        lines.append(f"  {'commit':<16}{formula.revision}")
    for key in ("summary", "description", "os", "os_family", "minimum_version"):
        if formula.metadata.get(key):
            lines.append(f"  {key:<16}{formula.metadata[key]}")
    if formula.dependencies:
        lines.append(f"  {'needs':<16}{', '.join(formula.dependencies)}")
    lines += ["", "States:"]
    width = max(map(len, formula.states), default=0)
    lines += [f"  {sls:<{width}}  {comment}".rstrip() for sls, comment in formula.states.items()] or ["  none"]
    lines += ["", "Pillar that it reads:"]
    width = max(map(len, formula.pillar), default=0)
    lines += [f"  {key:<{width}}  {', '.join(files[:3])}" for key, files in formula.pillar.items()] or ["  none"]
    if formula.pillar_example:
        lines += ["", "pillar.example:", *(f"  {line}" for line in formula.pillar_example.rstrip().splitlines())]
    return "".join(f"{escape(line)}\n" for line in lines)
