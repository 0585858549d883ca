from collections.abc import Iterator, Mapping, Sequence

OUTPUT_LIMIT: int
LOOK: float
QUIET: float

class Result:
    pid: int
    retcode: int | None
    stdout: bytes
    stderr: bytes
    timed_out: bool
    def __init__(self, pid: int) -> None: ...

class Identity:
    uid: int
    gid: int
    groups: list[int] | None
    def __init__(self, user: str | int | None = None, group: str | int | None = None) -> None: ...
    def assume(self) -> None: ...

def which(name: str, path: str | None = None) -> str | None: ...
def run(
    argv: Sequence[str | bytes],
    cwd: str = "/",
    env: Mapping[str, str] | None = None,
    stdin: str | bytes | None = None,
    merge: bool = False,
    identity: Identity | None = None,
    umask: int | None = None,
    timeout: float | None = None,
    background: bool = False,
) -> Result: ...
def output(argv: Sequence[str | bytes], env: Mapping[str, str] | None = None) -> Iterator[bytes]: ...

class Failed(OSError): ...

def descendants(pid: int) -> set[int]: ...
