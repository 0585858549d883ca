"""The parameters of one command: settings, selection of targets, the job and its options."""

from __future__ import annotations

import re
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
    #: options of the configuration that go over its files
    options: dict[str, Any] = field(default_factory=dict)
    #: passwords for the login and for becoming another user, for hosts without them in the inventory
    passwd: str | None = field(default=None, repr=False)
    sudo_password: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Selection:
    """A selection of targets: an expression and its matcher.

    ``tgt_type`` is as in Salt: glob, pcre, list, grain, grain_pcre, pillar, pillar_pcre, ipcidr, nodegroup, compound.
    ``exclude``: compound expressions of targets to leave out; ``limit``: only the first so many are selected.
    ``refresh``: update the caches of the targets before selecting.
    """

    expr: str
    tgt_type: str = "glob"
    delimiter: str = ":"
    exclude: tuple[str, ...] = ()
    limit: int | None = None
    refresh: bool = False


@dataclass(frozen=True)
class JobOptions:
    """Options that apply and run share. Times in seconds; None means the configuration's value or no limit.

    ``batch`` is a number of targets or a percentage ("20%"): at most so many run at a time, in order.
    """

    test: bool = False
    pillar: dict[str, Any] | None = None
    saltenv: str | None = None
    pillarenv: str | None = None
    batch: str | None = None
    concurrency: int | None = None
    timeout: float | None = None
    wait_lock: float = 0.0
    accept_new_host_keys: bool = False
    log_level: str = "warning"
    verbose: int = 0
    #: render once for equal inputs; None is the configuration's value
    render_cache: bool | None = None

    @cached_property
    def as_fields(self) -> dict[str, Any]:
        """The options by name, for render processes: one mapping for all targets, which must not be changed."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def width(self, total: int) -> int:
        """The number of targets that may run at a time. Raises UsageError for a batch that is neither N nor P%."""
        width = self.concurrency if self.concurrency is not None else DEFAULT_CONCURRENCY
        if width < 1:
            raise UsageError(f"--concurrency must be at least 1, not {width}", "leave it out for the default")
        if self.batch is not None:
            found = re.fullmatch(r"\s*(\d+)\s*(%?)\s*", self.batch)
            size = int(found[1]) if found else 0
            if not found or size < 1 or (found[2] and size > 100):
                raise UsageError(
                    f"--batch takes a number of targets or a percentage, not {self.batch!r}",
                    "for example --batch 5 or --batch 20%",
                )
            width = min(width, max(1, total * size // 100) if found[2] else size)
        return width


@dataclass(frozen=True)
class Job:
    """One function for every target; ``apply`` is state.apply (with SLS names) or state.highstate's function."""

    kind: Literal["apply", "call", "grains", "clean", "raw", "copy"]
    fun: str = ""
    args: list[Any] = field(default_factory=list)
    kwargs: dict[str, Any] = field(default_factory=dict)
    options: JobOptions = field(default_factory=JobOptions)
    #: the job's id, Salt's jid format: when it began, in digits
    jid: str = ""

    @property
    def title(self) -> str:
        if self.kind == "apply":
            what = " ".join(str(arg) for arg in self.args) or "highstate"
            return f"apply {what}" + (" (test)" if self.options.test else "")
        if self.kind == "raw":
            return str(self.args[0])
        if self.kind == "copy":
            return f"cp {self.args[0].source}"
        return self.fun or self.kind
