"""The data of a job that its record and other observers get when it begins."""

from __future__ import annotations

import getpass
import os
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

from pushsalt.job import Job, JobOptions, Selection
from pushsalt.jobs.model import JobStart

if TYPE_CHECKING:
    from pushsalt.redact import Redactor


@dataclass(frozen=True)
class Account:
    """An account of ``pushsalt serve``: its name, and the eauth module that knows it."""

    name: str
    eauth: str


_account: Final[ContextVar[Account | None]] = ContextVar("pushsalt_account", default=None)


@contextmanager
def on_behalf_of(account: Account) -> Iterator[None]:
    """Within the context, also in threads and tasks that it starts, jobs are those of this account."""
    token = _account.set(account)
    try:
        yield
    finally:
        _account.reset(token)


def job_start(job: Job, selection: Selection, ids: Sequence[str], words: Sequence[str], redactor: Redactor) -> JobStart:
    """The JobStart of a job, which has a JID, on these targets. ``words``: the words of the command line.

    Values with a secret key in keyword arguments and in the command's pillar are added to the redactor.
    """
    redactor.add_pillar(job.kwargs)
    redactor.add_pillar(job.options.pillar)
    hide = redactor.data
    return JobStart(
        jid=job.jid,
        fun=job.fun,
        arg=hide(_salt_args(job)),
        kwarg=hide(dict(job.kwargs)),
        tgt=redactor.text(selection.expr),
        tgt_type=selection.tgt_type,
        user=user_name(),
        ids=tuple(ids),
        start=time.time(),
        kind=job.kind,
        options=hide(_options(job.options)),
        words=[redactor.text(word) for word in words],
        origin=_origin(os.environ),
    )


def user_name() -> str:
    """The account for which this code runs, or the name of the user who runs the process; its number without one."""
    account = _account.get()
    if account is not None:
        return account.name
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def _salt_args(job: Job) -> list[Any]:
    """The arguments in Salt's form: the SLS names of ``apply`` are one argument, files of ``cp`` are texts."""
    if job.kind == "apply":
        return [",".join(map(str, job.args))] if job.args else []
    if job.kind == "copy":
        return [job.args[0].source]
    return list(job.args)


def _options(options: JobOptions) -> dict[str, Any]:
    plain = type(options)()
    return {
        each.name: getattr(options, each.name)
        for each in fields(options)
        if getattr(options, each.name) != getattr(plain, each.name)
    }


def _origin(environ: Mapping[str, str]) -> dict[str, Any]:
    """Where the command runs, from where its user is logged in, if by SSH, and the eauth module of an account."""
    origin: dict[str, Any] = {"host": socket.gethostname(), "pid": os.getpid()}
    try:
        origin["folder"] = os.getcwd()  # noqa: PTH109
    except OSError:
        origin["folder"] = ""
    came_from = environ.get("SSH_CONNECTION", "").split()
    if came_from:
        origin["from"] = came_from[0]
    account = _account.get()
    if account is not None:
        origin["eauth"] = account.eauth
    return origin


def lock_holder(jid: str) -> str:
    """Text that names the holder of a target's lock, for others that want it."""
    since = time.strftime("%Y-%m-%d %H:%M:%S %Z")
    return f"{user_name()}@{socket.gethostname()}, since {since}, pid {os.getpid()}, job {jid}"
