"""The parameters of one command: settings, selection of targets, the job and its options."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pushsalt.errors import UsageError

#: The default number of concurrent connections. Measured in benchmarks/: on two cores more connections do not shorten a
#: run, but each needs memory.
DEFAULT_CONCURRENCY = 50


@dataclass(frozen=True)
class Settings:
    """Paths and other values of the global options. Empty means the defaults."""

    inventories: list[Path] = field(default_factory=list)
    config: Path | None = None
    file_roots: list[Path] = field(default_factory=list)
    pillar_roots: list[Path] = field(default_factory=list)
    cache_dir: Path | None = None
    #: git remotes stay at the revisions of pushsalt.lock
    locked: bool = False
    #: a lock file that replaces that of the project
    lock_file: Path | None = None
    #: options that override those of the configuration files
    options: dict[str, Any] = field(default_factory=dict)
    #: passwords for the login and for becoming another user, for hosts without them in the inventory
    passwd: str | None = field(default=None, repr=False)
    sudo_password: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Selection:
    """A selection of targets: an expression and its matcher.

    ``tgt_type`` is as in Salt: glob, pcre, list, grain, grain_pcre, pillar, pillar_pcre, ipcidr, nodegroup, compound.
    ``exclude``: compound expressions of targets to leave out; ``limit``: the number of targets to select, the first
    ones; ``subset``: the number of targets to choose from those at random. ``refresh``: update the caches of the
    targets before selecting.
    """

    expr: str
    tgt_type: str = "glob"
    delimiter: str = ":"
    exclude: tuple[str, ...] = ()
    limit: int | None = None
    subset: int | None = None
    refresh: bool = False


@dataclass(frozen=True)
class RolloutOptions:
    """The course of a job over its targets. Times in seconds; None means the configuration's value or the default.

    ``batch``: a number of targets or a percentage ("20%"): the maximum that run at a time, in order; several of them
    ("1,10%,50%") are steps: each ends before the next begins, and the last repeats.
    """

    batch: str | None = None
    #: the wait between batches; with a single size, as in Salt, before another target starts in place of a completed
    #: one
    batch_wait: float | None = None
    #: a job without ``batch`` for at least this number of targets has batches of ``batch_safe_size``
    batch_safe_limit: int | None = None
    batch_safe_size: str | None = None
    #: ``grain:KEY``: no two targets with the same value of this grain run at the same time
    batch_by: tuple[str, ...] = ()
    #: no further target begins when this number of targets, or P% of all, have failed or not answered
    max_fail: str | None = None
    fail_fast: bool = False
    #: targets that could not be reached do not count as failed
    ignore_unreachable: bool = False
    #: ``FUNCTION ARGS``, called on the targets of a batch after it
    batch_check: str | None = None
    #: the time limit for ``check`` to succeed
    batch_check_timeout: float | None = None
    #: ask the reporter (``Reporter.go_on``) between batches
    confirm: bool = False


@dataclass(frozen=True)
class JobOptions(RolloutOptions):
    """Options that apply and run share. Times in seconds; None means the configuration's value or no limit."""

    test: bool = False
    pillar: dict[str, Any] | None = None
    saltenv: str | None = None
    pillarenv: str | None = None
    concurrency: int | None = None
    timeout: float | None = None
    wait_lock: float = 0.0
    accept_new_host_keys: bool = False
    log_level: str = "warning"
    verbose: int = 0
    #: returners besides those of the configuration, and the profile of their options
    returners: tuple[str, ...] = ()
    return_config: str = ""
    #: whether renderings are used again for equal inputs; None is the configuration's value
    render_cache: bool | None = None
    #: a dry run whose return is a plan (pushsalt.planning)
    plan: bool = False
    #: the runs continue on the targets without a connection as soon as they do not need the controller
    detach: bool = False
    #: the targets store the files that ``file`` states change, for an undo
    backups: bool = False
    #: a state whose function does not exist, or that lacks an argument, fails when it is reached, as in
    #: Salt; False: then no state runs
    unknown_states_run: bool = False

    @cached_property
    def as_fields(self) -> dict[str, Any]:
        """The options by name, for render processes: one mapping for all targets, which must not be changed.

        Those of the rollout are left out.
        """
        names = {each.name for each in fields(self)} - {each.name for each in fields(RolloutOptions)}
        return {name: getattr(self, name) for name in sorted(names)}

    @property
    def width(self) -> int:
        """The number of concurrent connections. Raises UsageError."""
        width = self.concurrency if self.concurrency is not None else DEFAULT_CONCURRENCY
        if width < 1:
            raise UsageError(f"--concurrency must be at least 1, not {width}", "leave it out for the default")
        return width


@dataclass(frozen=True)
class Job:
    """One function for every target; ``apply`` is state.apply (with SLS names) or state.highstate's function."""

    kind: Literal["apply", "planned", "call", "grains", "clean", "raw", "copy", "wait", "beacons"]
    fun: str = ""
    args: list[Any] = field(default_factory=list)
    kwargs: dict[str, Any] = field(default_factory=dict)
    options: JobOptions = field(default_factory=JobOptions)
    #: the job's id, Salt's jid format: when it began, in digits
    jid: str = ""
    #: the job is recorded already; returns are added to its record
    resumes: bool = False
    #: a call continues if its connection breaks; the target stores its return until it is collected
    survives: bool = False
    #: the job only collects the returns of an earlier command's job; then ``resumes`` is set too
    collects: bool = False
    #: collects the content of a plan file (pushsalt.run.recording.Recorder)
    record: Any = field(default=None, compare=False, repr=False)
    #: the plan that is run (pushsalt.run.fromplan.Kept)
    kept: Any = field(default=None, compare=False, repr=False)

    @property
    def title(self) -> str:
        if self.kind == "apply":
            what = " ".join(str(arg) for arg in self.args) or "highstate"
            return f"apply {what}" + (" (test)" if self.options.test else "")
        if self.kind == "planned":
            return "apply a plan"
        if self.kind == "raw":
            return str(self.args[0])
        if self.kind == "copy":
            return f"cp {self.args[0].source}"
        return self.fun or self.kind
