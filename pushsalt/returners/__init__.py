"""Returners send returns and events to other programs: one file each, with the name for ``--return`` and options.

A returner has Salt's functions, so that users' own returners work unchanged; it needs the first or the third::

    def returner(ret): ...                         the return of one target
    def save_load(jid, load, minions=None): ...    the job, before its first return
    def event_return(events): ...                  [{"tag": text, "data": {...}}, ...]

``ret`` is what ``jobs show`` has under ``Result``: ``id jid fun fun_args return retcode success phases``; with a
profile also ``ret_config``. All secrets in it are redacted. Users' own find ``__opts__`` and ``__salt__`` (``cmd.*``,
``config.option``, ``config.get``) among their globals, and read their options by
``salt.returners.get_returner_options``.

A function with a parameter ``outside`` gets an ``Outside``. Shipped returners list their options with defaults in
``OPTIONS``, and those that are never shown in ``SECRETS``. An exception becomes a warning: the return is stored and
sent later, unless the exception is ``Trouble`` with ``refused``. ``pushsalt.delivery`` calls the functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


class Trouble(Exception):
    """Why a return was not delivered: ``message`` and ``hint`` for people.

    ``refused``: this return will never be accepted; another attempt is useless.
    """

    def __init__(self, message: str, hint: str = "", *, refused: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.refused = refused


@dataclass
class Outside:
    """Data of the command for a shipped returner. ``limit``: seconds that one call may take.

    ``options``: all options of the returner, with defaults. ``context`` lasts for one command; its objects are closed
    at the end. ``again``: this return was sent before, and may have arrived. ``key`` identifies the return: it is the
    same text for each attempt.
    """

    options: Mapping[str, Any]
    limit: float
    master_id: str = ""
    context: dict[str, Any] = field(default_factory=dict)
    again: bool = False
    key: str = ""


class Returner(Protocol):
    """``returner``; ``outside`` is given to those that have it."""

    def __call__(self, ret: Mapping[str, Any], *, outside: Outside) -> None: ...


class SaveLoad(Protocol):
    """``save_load``: ``load`` describes the job by Salt's names."""

    def __call__(
        self, jid: str, load: Mapping[str, Any], minions: Sequence[str] | None = None, *, outside: Outside
    ) -> None: ...


class EventReturn(Protocol):
    """``event_return``: some events, oldest first."""

    def __call__(self, events: Sequence[Mapping[str, Any]], *, outside: Outside) -> None: ...
