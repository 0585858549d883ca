"""Names of the SLS language that several steps of the compiler use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pushsalt.nearest import nearest

#: Requisites with weights: if a state is required by several kinds, the one with the highest weight decides its order.
#: Salt: RequisiteType.
REQUISITES = (
    "onfail",
    "onfail_any",
    "onfail_all",
    "require",
    "require_any",
    "onchanges",
    "onchanges_any",
    "watch",
    "watch_any",
    "prereq",
    "prerequired",
    "listen",
)
REQUISITE_LISTS = frozenset((*REQUISITES, "onfail_stop"))

#: Arguments of the state system itself, which state functions need not accept.
RUNTIME_KEYWORDS = frozenset(
    (
        *REQUISITE_LISTS,
        *("onchanges_in", "onfail_in", "prereq_in", "watch_in", "require_in", "listen_in", "use", "use_in"),
        *("state", "fun", "name_order", "order", "check_cmd", "cmd_opts_exclude", "failhard", "onlyif", "unless"),
        *("creates", "retry", "parallel", "reload_modules", "reload_grains", "reload_pillar", "runas"),
        *("runas_password", "no_log", "fire_event", "saltenv", "umask", "aggregate"),
        *("__env__", "__sls__", "__id__", "__sls_included_from__", "__orchestration_jid__"),
        *("__prereq__", "__prerequiring__", "__umask__"),
    )
)

#: Salt's state modules with ``mod_watch``, for modules that are not shipped here.
WATCHING_MODULES = frozenset(("at", "cmd", "etcd", "event", "module", "mount", "pkg", "service", "test"))


def first_key(mapping: dict[Any, Any]) -> Any:
    """The first key, which is an argument's name in Salt; None for an empty mapping."""
    return next(iter(mapping), None)


def is_meta(key: object) -> bool:
    """Whether a key of high data is the compiler's own (``__sls__``, ``__extend__``), not an ID or a state."""
    return isinstance(key, str) and key.startswith("__")


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """``Did you mean 'x'?`` with the most similar known word, or an empty text."""
    close = [name for name in nearest(word, names) if name != word]
    return f"Did you mean '{close[0]}'?" if close else ""
