"""Immutable data types that the layers exchange."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Literal, NamedTuple

#: One low chunk in Salt's own shape: state, fun, name, order, __id__, __sls__, __env__ and the function's arguments.
Chunk = dict[str, Any]


def tag_of(chunk: Mapping[str, Any]) -> str:
    """The key of a chunk's return: ``module_|-id_|-name_|-function``."""
    return f"{chunk['state']}_|-{chunk.get('__id__')}_|-{chunk.get('name')}_|-{chunk['fun']}"


BecomeMethod = Literal["sudo", "su", "doas", "run0"]


class Secret(str):
    """A text that must not be shown: its repr is masked, its value is used like any str."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'**********'"


class Deferred(Secret):
    """A placeholder for a value that is read when the target is used. Only files of the operator can have one.

    The same text from other sources is an ordinary text, which is not resolved.
    """

    __slots__ = ()


class SdbUri(Deferred):
    """An ``sdb://`` URI."""

    __slots__ = ()


class SecretCommand(Deferred):
    """A command of the controller that prints the value, as ``shlex.join`` writes it; ``{id}`` in it is the target's.

    No shell reads it.
    """

    __slots__ = ()


class Asked(Deferred):
    """A value that the operator types once for all targets; the text is ``passwd`` or ``sudo_password``."""

    __slots__ = ()


class Explained(str):
    """An error text in Salt's exact words, for programs. ``explanation`` is the text for people, with places and a
    hint.
    """

    explanation: str

    def __new__(cls, text: str, explanation: str) -> Explained:
        self = super().__new__(cls, text)
        self.explanation = explanation
        return self


@dataclass(frozen=True)
class Target:
    """One machine of the inventory with all settings merged (defaults < groups in order < host), or a managed resource.

    ``timeout`` (seconds) limits connecting; the job has its own limit. ``jump`` names inventory ids, the nearest to the
    controller first. Values that were not given are None, so that ~/.ssh/config can provide them.
    """

    id: str
    #: ssh, local, offline, resource, or the name of a transport plug-in
    transport: str = "ssh"
    host: str | None = None
    port: int | None = None
    user: str | None = None
    passwd: Secret | None = None
    priv: tuple[str, ...] = ()
    priv_passwd: Secret | None = None
    agent: bool = True
    sudo: bool = False
    #: the program that changes the user, if ``sudo`` is set; None: sudo
    become: BecomeMethod | None = None
    sudo_user: str | None = None
    sudo_password: Secret | None = None
    tty: bool = False
    timeout: float | None = None
    jump: tuple[str, ...] = ()
    ssh_options: tuple[str, ...] = ()
    python: str | None = None
    thin_dir: str | None = None
    #: the site whose workers run jobs on it; None: ``default``
    site: str | None = None
    #: install Python if it is missing; None: as configured
    bootstrap: bool | None = None
    minion_opts: Mapping[str, Any] = field(default_factory=dict)
    grains: Mapping[str, Any] = field(default_factory=dict)
    pillar: Mapping[str, Any] = field(default_factory=dict)
    groups: tuple[str, ...] = ()
    #: Of a resource: its type, and the inventory id of its manager.
    resource: str = ""
    manager: str = ""
    #: Of a resource that can run a shell: the command prefix on its manager with which a command runs inside.
    enter: tuple[str, ...] = ()
    #: setting -> its origin ("inventory.yaml:12 (group web)"), for people
    origin: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def type(self) -> str:
        """Its type as a resource; inventory ids have that of their transport."""
        return self.resource or self.transport

    @property
    def key(self) -> str:
        """Its name in the caches: the id, of a resource ``type:id``."""
        return f"{self.resource}:{self.id}" if self.resource else self.id

    @property
    def place(self) -> str:
        """The id of the target on which its runtime runs: of a resource in which no command can run, its manager."""
        return self.manager if self.resource and not self.enter else self.key


@dataclass(frozen=True)
class Blob:
    """Bytes named by their SHA-256 (hex): a file that ``open`` reads, or rendered text in memory.

    ``path`` names the file to people.
    """

    digest: str
    size: int
    path: str | None = None
    data: bytes | None = None
    #: of a file of the file server: its path there, and the saltenv
    place: tuple[str, str] | None = None
    open: Callable[[], BinaryIO] | None = field(default=None, compare=False, repr=False)


@dataclass
class Plan:
    """The message that one target runs: chunks in order, and the files and templates that they are expected to need.

    ``files``      source URL with saltenv (``salt://a/b?saltenv=base``) -> digest
    ``templates``  key of a template call (thin.wire.template_key) -> digest of the rendered text
    ``trees``      directory URL -> listing (see thin.link.tree)
    ``blobs``      digest -> Blob, for everything named above
    """

    chunks: list[Chunk]
    test: bool = False
    files: dict[str, str] = field(default_factory=dict)
    templates: dict[str, str] = field(default_factory=dict)
    trees: dict[str, Any] = field(default_factory=dict)
    blobs: dict[str, Blob] = field(default_factory=dict)


@dataclass
class TargetReturn:
    """The return of a target: there is exactly one for each, also for an error.

    ``ret`` has Salt's shape (a dict of state returns, a function's value, a list of error texts) or an error object.
    ``shape`` says which. ``phases`` has wall-clock seconds by phase (connect, grains, render, send, run). ``retcode``
    is Salt's: of a command, its exit status. ``changes``: something changed or would change. ``events`` are the events
    of states with ``fire_event`` and of the function ``event.send``, in order, as on Salt's event bus: ``{"tag": text,
    "data": {"ret": the state's return}}``, or the data of the call. ``salt``: the version of real Salt, if one of its
    modules returned the value. ``check``: the error of a batch check after the run. ``left``: the run continues on the
    target, and this is not its return.
    """

    id: str
    ret: Any
    shape: Literal["states", "plan", "value", "errors", "error"] = "value"
    exit_code: int = 0
    phases: dict[str, float] = field(default_factory=dict)
    round_trips: int = 0
    warnings: list[str] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    salt: str = ""
    retcode: int = 0
    changes: bool = False
    check: str = ""
    left: bool = False
    #: the redacted return, as observers got it, and the version of the redactor that made it
    hidden: tuple[int, Any] | None = field(default=None, compare=False, repr=False)
    #: its recorded form, if it was recorded before other observers got it (``pushsalt.run.observers``)
    recorded: tuple[Any, ...] = field(default=(), compare=False, repr=False)

    @property
    def error_kind(self) -> str:
        """The kind of its error; empty for other returns."""
        error = self.ret.get("error") if self.shape == "error" and isinstance(self.ret, dict) else None
        return str(error.get("kind")) if isinstance(error, dict) else ""


class Completed(NamedTuple):
    """The result of an external program: its exit code and output."""

    code: int
    out: bytes
    err: bytes
