"""The parameters of one command: settings, selection of targets, the job and its options."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pushsalt.errors import UsageError

#: Connections at a time when nothing else is said. benchmarks/ has the measurement: on two cores the total no longer
#: falls beyond it, while each connection more costs memory.
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
    #: a lock file in place of the project's
    lock_file: Path | None = None
    #: options of the configuration that go over its files
    options: dict[str, Any] = field(default_factory=dict)
    #: passwords for the login and for becoming another user, for hosts without them in the inventory
    passwd: str | None = field(default=None, repr=False)
    sudo_password: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Selection:
    """A selection of targets: an expression and its matcher.

    ``tgt_type`` is as in Salt: glob, pcre, list, grain, grain_pcre, pillar, pillar_pcre, ipcidr, nodegroup, compound.
    ``exclude``: compound expressions of targets to leave out; ``limit``: only the first so many are selected;
    ``subset``: only so many of those, by chance. ``refresh``: update the caches of the targets before selecting.
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

    ``batch``: a number of targets or a percentage ("20%"): at most so many run at a time, in order; several of them
    ("1,10%,50%") are steps: each ends before the next begins, and the last repeats.
    """

    batch: str | None = None
    #: between batches; of one size: before the place of a target that is done is taken, as in Salt
    batch_wait: float | None = None
    #: from so many targets on, a job without ``batch`` has batches of ``batch_safe_size``
    batch_safe_limit: int | None = None
    batch_safe_size: str | None = None
    #: ``grain:KEY``: no two targets with the same value of this grain run at the same time
    batch_by: tuple[str, ...] = ()
    #: no further target begins once so many, or P% of all, have failed or not answered
    max_fail: str | None = None
    fail_fast: bool = False
    #: targets that could not be reached do not count as failed
    ignore_unreachable: bool = False
    #: ``FUNCTION ARGS``, called on the targets of a batch after it
    batch_check: str | None = None
    #: how long the answer may take to be good
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
    #: render once for equal inputs; None is the configuration's value
    render_cache: bool | None = None
    #: a dry run whose return is a plan (pushsalt.planning)
    plan: bool = False
    #: the runs are left to themselves on the targets, once they need nothing of the controller
    detach: bool = False
    #: what ``file`` states change is kept on the targets, for an undo
    backups: bool = False
    #: a state whose function does not exist fails when it is reached, as in Salt; False: then no state runs
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
        """The number of connections at a time. Raises UsageError."""
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
    #: the record has the job, and gets more returns of it
    resumes: bool = False
    #: a call goes on without its connection, and its return is kept on the target until it is collected
    survives: bool = False
    #: what earlier commands have begun is collected, and nothing else is done; it ``resumes`` then
    collects: bool = False
    #: what is to be recorded for a plan file (pushsalt.run.recording.Recorder)
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
