"""OpenSSH servers on loopback: the same as those of ``pushsalt demo``."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from pushsalt.demo.sshd import SSHD, SshdBed, SshTarget, free_port, keygen, missing

__all__ = ["SSHD", "SshTarget", "SshdBed", "free_port", "keygen", "missing", "sshd_bed"]


@contextlib.contextmanager
def sshd_bed(root: Path, count: int) -> Iterator[SshdBed]:
    """A bed with ``count`` running servers t1, t2 …."""
    with SshdBed(root) as bed:
        bed.start(count)
        yield bed
