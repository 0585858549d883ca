"""The data of a job at its start and at its end, and the return of a target in the shape of the record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from pushsalt.errors import EXIT_FAILED, EXIT_NO_ANSWER
from pushsalt.model import TargetReturn

#: ``lost``: the job has no end, and its process has ended
State = Literal["running", "done", "interrupted", "lost"]

#: Salt's retcodes (``salt.defaults.exitcodes``): EX_STATE_FAILURE, EX_STATE_COMPILER_ERROR and EX_GENERIC
STATE_FAILURE: Final = 2
COMPILER_ERROR: Final = 1
GENERIC: Final = 1


@dataclass(frozen=True)
class JobStart:
    """A job that begins, without secrets. ``arg`` and ``kwarg`` are those of the function ``fun``, by Salt's names.

    ``start``: seconds since the epoch. ``words``: those of the command line, if there was one. ``options``: those of
    ``JobOptions`` that are not the default, by name. ``origin``: where the command ran: host, folder, pid ….
    """

    jid: str
    fun: str
    arg: list[Any] = field(default_factory=list)
    kwarg: dict[str, Any] = field(default_factory=dict)
    tgt: str = "*"
    tgt_type: str = "glob"
    user: str = ""
    ids: Sequence[str] = ()
    start: float = 0.0
    kind: str = "call"
    options: dict[str, Any] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    origin: dict[str, Any] = field(default_factory=dict)

    def words_only(self) -> tuple[Any, ...]:
        """The texts that people have entered, which may contain secrets."""
        return self.arg, self.kwarg, self.tgt, self.options, self.words


@dataclass(frozen=True)
class JobEnd:
    """A job that has ended: every id has a return, or the work was stopped. ``end``: seconds since the epoch."""

    exit_code: int
    state: State
    end: float = 0.0


def retcode_of(result: TargetReturn) -> int:
    """The retcode that Salt gives a return: 0 only if it is a success."""
    if result.retcode or not result.exit_code:
        return result.retcode
    if result.shape == "states":
        return STATE_FAILURE
    if result.shape == "errors":
        return COMPILER_ERROR
    return GENERIC if result.exit_code == EXIT_FAILED else result.exit_code


def answered(result: TargetReturn) -> bool:
    """Whether the target has answered, with a success or a failure."""
    return result.exit_code != EXIT_NO_ANSWER and result.error_kind != "not_begun"


def as_result(job: JobStart, result: TargetReturn) -> dict[str, Any]:
    """A return as a mapping with Salt's names, as a job cache and returners get it."""
    return {
        "return": result.ret,
        "retcode": retcode_of(result),
        "success": result.exit_code == 0,
        "jid": job.jid,
        "fun": job.fun,
        "fun_args": [*job.arg, *([{**job.kwarg, "__kwarg__": True}] if job.kwarg else [])],
        "id": result.id,
        "phases": dict(result.phases),
    }
