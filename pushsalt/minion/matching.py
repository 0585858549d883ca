"""Whether a target expression matches the target that is being rendered."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from pushsalt.errors import UsageError
from pushsalt.memo.reads import current, muted
from pushsalt.targeting import MatcherFails, Subject, matches, tgt_types
from thin.loader import LazyDict

if TYPE_CHECKING:
    from pushsalt.memo.reads import ReadSource
    from pushsalt.minion.shared import MemoPillar
    from pushsalt.minion.trees import Trees
    from pushsalt.model import Target

log = logging.getLogger(__name__)


class Matched(Protocol):
    """The part of ``pushsalt.minion.minion.Minion`` that matching needs."""

    project: Trees
    target: Target
    own_grains: dict[str, Any]
    own_pillar: dict[str, Any] | None
    compiled_pillar: MemoPillar | None

    @property
    def id(self) -> str: ...
    @property
    def inputs(self) -> ReadSource: ...
    def option(self, name: str) -> Any: ...


def match(minion: Matched, expr: str, tgt_type: str) -> bool:
    """Whether a target expression matches this target, by its live grains and pillar. The read is recorded.

    As in Salt, an expression that cannot be parsed matches nothing and is logged. An unknown match type and an invalid
    regular expression, for which Salt raises other exceptions, raise UsageError.
    """
    if tgt_type == "data":  # the minion's data store; a target has none
        return False
    if expr == "*" and tgt_type in ("glob", "compound"):
        return True
    top = current()
    with muted():
        is_match = is_matched(minion, expr, tgt_type)
    if top is not None and top.inputs is minion.inputs:
        top.add(("match", tgt_type, expr), is_match)
    elif top is not None:
        top.spoil("matches another target")
    return is_match


def is_matched(minion: Matched, expr: str, tgt_type: str) -> bool:
    """``match`` without recording the read."""
    pillar = minion.own_pillar
    if pillar is None:
        pillar = {} if minion.compiled_pillar is None else minion.compiled_pillar.values
    target, project = minion.target, minion.project

    def managed() -> dict[str, Any]:
        """type -> ids of the resources that the target manages; the option ``resources``, if set, overrides them."""
        option = minion.option("resources")
        return dict(option) if isinstance(option, Mapping) else project.managed.declared(target.key)

    subject = Subject(
        minion.id, minion.own_grains, pillar, target.type, target.manager, LazyDict(managed), target.groups
    )
    try:
        return matches(expr, tgt_type, subject, nodegroups=project.nodegroups, vocabulary=project.vocabulary)
    except MatcherFails:
        raise
    except UsageError as exc:
        if tgt_type == "pcre" or tgt_type not in tgt_types(project.vocabulary):
            raise
        log.error("%s: %s: nothing matches it", minion.id, exc.message)
        return False
