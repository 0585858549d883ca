"""The client of one command, and its reporter: all that commands without connections need."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pushsalt.broker.place import folder
from pushsalt.cli import words
from pushsalt.cli.stdio import Terminal
from pushsalt.errors import UsageError
from pushsalt.events import BatchDone, Reporter
from pushsalt.log import DEFAULT_LEVEL, configure, level_number
from pushsalt.model import TargetReturn

if TYPE_CHECKING:
    from pushsalt.api import Client
    from pushsalt.cli.options import Given
    from pushsalt.cli.progress import Progress, ProgressLog

log = logging.getLogger(__name__)


class Watcher(Reporter):
    """Receives events for the command, and passes them to the live view if there is one."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.view: Progress | ProgressLog | None = None

    def run_started(self, ids: list[str], title: str) -> None:
        self.ids = list(ids)
        if self.view:
            self.view.run_started(ids, title)

    def run_batched(self, size: int) -> None:
        if self.view:
            self.view.run_batched(size)

    def run_sited(self, sites: Mapping[str, str]) -> None:
        if self.view:
            self.view.run_sited(sites)

    def sites_manned(self, workers: Mapping[str, int]) -> None:
        if self.view:
            self.view.sites_manned(workers)

    def batch_started(self, number: int, batches: int, ids: list[str]) -> None:
        log.info("batch %d of %d begins: %s", number, batches, ", ".join(ids))
        if self.view:
            self.view.batch_started(number, batches, ids)

    def batch_waits(self, seconds: float) -> None:
        if self.view:
            self.view.batch_waits(seconds)

    async def go_on(self, done: BatchDone) -> bool:
        from pushsalt.cli.asking import ask_yes
        from pushsalt.cli.progress import question

        if self.view is None:
            return await ask_yes(question(done))
        with self.view.paused():
            return await ask_yes(question(done))

    def target_phase(self, id: str, phase: str) -> None:
        if self.view:
            self.view.target_phase(id, phase)

    def target_chunks(self, id: str, total: int) -> None:
        if self.view:
            self.view.target_chunks(id, total)

    def chunk_started(self, id: str, tag: str) -> None:
        if self.view:
            self.view.chunk_started(id, tag)

    def chunk_done(self, id: str, tag: str, ret: dict[str, Any]) -> None:
        if self.view:
            self.view.chunk_done(id, tag, ret)

    def target_done(self, result: TargetReturn) -> None:
        if self.view:
            self.view.target_done(result)

    def remote_progress(self, name: str, words: str) -> None:
        if self.view:
            self.view.remote_progress(name, words)

    def warning(self, id: str | None, text: str) -> None:
        log.warning("%s%s", f"{id}: " if id else "", text)


def configured_log(given: Given, terminal: Terminal) -> None:
    """Set up logging for a command that needs no client."""
    _configure(terminal, given.log_level or DEFAULT_LEVEL)


def _configure(terminal: Terminal, level: str) -> None:
    """Set the log level. Raises UsageError for an unknown level; its hint names what ``-l`` means in other tools."""
    try:
        configure(terminal.log, level)
    except UsageError as exc:
        raise UsageError(exc.message, hint=f"{exc.hint}; {words.other_meaning('-l')}") from None


def open_client(given: Given, terminal: Terminal, reporter: Reporter) -> tuple[Client, str]:
    """The client for the global options, with logging set up; and the log level."""
    from pushsalt.api import Client

    if given.log_level:
        _configure(terminal, given.log_level)
    client = Client(given.settings(), reporter)
    project = client.project
    terminal.log.redactor = client.redactor()
    level = given.log_level or str(project.config.opts.get("log_level") or DEFAULT_LEVEL)
    configure(terminal.log, level)
    if given.session is not None or "session" in project.config.given or os.path.isdir(folder(os.environ)):  # noqa: PTH112
        from pushsalt.cli.sessions import begin

        begin(given, project)
    file_level = given.log_file_level
    if file_level and level_number(file_level) < level_number(level):
        level = file_level
    return client, level
