"""Prints returns, of a running job or of a recorded one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from pushsalt import outputters
from pushsalt.cli import stdio
from pushsalt.cli.options import state_output, state_verbose
from pushsalt.cli.ownvalues import own_values
from pushsalt.model import TargetReturn

if TYPE_CHECKING:
    from pushsalt.api import Client
    from pushsalt.cli.options import Given

log = logging.getLogger(__name__)

#: Returns the command line that repeats a job on these ids.
Again = Callable[[Sequence[str]], str]
#: Converts the data of all returns to the document that is written.
Document = Callable[[dict[str, Any], dict[str, TargetReturn]], Any]


class Hides(Protocol):
    """The interface of an object that hides secrets in the output."""

    def answer(self, value: Any) -> Any: ...


class Returns:
    """Writes returns with the requested outputter. ``unmask``: secrets are shown."""

    def __init__(
        self,
        client: Client,
        given: Given,
        terminal: stdio.Terminal,
        *,
        unmask: bool = False,
        test: bool = False,
        again: Again | None = None,
        looks: bool = False,
        document: Document | None = None,
        hides: Hides | None = None,
    ) -> None:
        """``looks``: returns are searched for masked values. Raises CommandError for an unknown outputter or mode."""
        self._looks = looks
        self._document = document
        self._client = client
        self._given = given
        self._terminal = terminal
        self._unmask = unmask
        self._test = test
        self._again = again
        self._mode = state_output(given.state_output)
        self._all_states = state_verbose(given.state_verbose)
        self._outputter = outputter_named(given.out, client)
        self._redactor = client.redactor()
        self._hides: Hides = hides or self._redactor
        #: whether some value was masked
        self.masked = False

    @property
    def at_once(self) -> bool:
        """Whether each return is written when it arrives."""
        return outputters.streams(self._outputter)

    def write(self, results: dict[str, TargetReturn], elapsed: float = 0.0) -> None:
        """Write some returns; ``elapsed``: seconds of the whole job."""
        from pushsalt.redact import has_mask

        mode, client, given = self._mode, self._client, self._given
        data = {id: result.ret if self._unmask else self._hidden(result) for id, result in results.items()}
        self.masked = self.masked or (self._looks and has_mask(data))
        data = self._document(data, results) if self._document else data
        pieces = outputters.pieces(
            self._outputter,
            data,
            returns=results,
            color=self._terminal.color,
            terminal=self._terminal.stdout.is_terminal,
            verbose=given.verbose or 0,
            elapsed=elapsed,
            test=self._test,
            opts={**client.project.config.opts, **self._given_opts()},
            state_output=mode or _configured(client, "state_output") or "",
            state_verbose=_configured(client, "state_verbose") if self._all_states is None else self._all_states,
            state_tabular=_configured(client, "state_tabular"),
            full_diff=bool(given.full_diff),
            again=self._again,
            own=lambda id: own_values(client.project, id),
        )
        for piece in pieces:
            self._terminal.stdout.write(piece, utf8=given.out not in (None, "rich"))

    def _given_opts(self) -> dict[str, Any]:
        """The options that the command line sets."""
        given = {"state_output": self._mode, "state_verbose": self._all_states}
        return {name: value for name, value in given.items() if value is not None}

    def _hidden(self, result: TargetReturn) -> Any:
        """The return without secrets; a large one that was redacted for observers is not redacted again."""
        if self._hides is self._redactor and result.shape == "states" and result.hidden is not None:
            version, ret = result.hidden
            if version == self._redactor.version:
                return ret
        return self._hides.answer(result.ret)

    def explain(self, results: dict[str, TargetReturn]) -> None:
        """Write information to stderr that the format of stdout leaves out."""
        if self._given.out == "quiet":
            say_failures(results, self._redactor.text)
        elif self._given.out not in (None, "rich"):
            _explain(results)


def _configured(client: Client, name: str) -> Any:
    """The configured value of an option; None if it is not set, since its default differs from that of the
    outputter.
    """
    config = client.project.config
    return config.opts[name] if name in config.given else None


def outputter_named(name: str | None, client: Client) -> outputters.Outputter:
    """The outputter of --out: a shipped one, or one of the configuration."""
    if name is None or name in outputters.CHOICES:
        return outputters.load(name or outputters.CHOICES[0])
    from pushsalt.plugins import folders

    return outputters.load(name, folders("outputters", client.project.config.opts))


def _explain(results: dict[str, TargetReturn]) -> None:
    """Write places and hints of errors, which formats for programs leave out. Equal errors of targets share a line."""
    ids_of: dict[str, list[str]] = {}
    for result in results.values():
        for text in result.ret if result.shape == "errors" else ():
            explanation = getattr(text, "explanation", text)
            if explanation != text:
                ids_of.setdefault(explanation, []).append(result.id)
    for explanation, ids in ids_of.items():
        more = f" and {len(ids) - 3} more" if len(ids) > 3 else ""
        log.error("%s%s: %s", ", ".join(ids[:3]), more, explanation)


def say_failures(results: dict[str, TargetReturn], redact: Callable[[str], str]) -> None:
    """If stdout gets no output, write the failures to stderr, one line per target."""
    from pushsalt.cli.progress import failure_text

    for result in results.values():
        if result.exit_code:
            stdio.print_error(redact(f"{result.id}: {failure_text(result)}"))
