"""What is known of the targets of an inventory without connecting to any: the caches, and the inventory over them.

Grain terms are answered by the index for all ids at once. Grains that the inventory fixes are looked at here, over
what was collected. Whatever was answered from a cache is noted, so that its age can be said.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from pushsalt.errors import IndexCorrupt, UsageError
from pushsalt.targeting import CONTROLLER, Term
from pushsalt.targeting.matchers import ipcidr
from thin.utils import data, dictupdate

if TYPE_CHECKING:
    from pushsalt.index.view import View
    from pushsalt.model import Target
    from pushsalt.run.project import Project
    from pushsalt.run.selectable import Selectable

log = logging.getLogger(__name__)

_NOTHING: Final[dict[str, Any]] = {}
#: In larger inventories it is not counted of whom nothing is known.
_COUNTED: Final = 5000


def manager_of(target: Target) -> str:
    """Who reaches a target: the last of its jump hosts, or the controller."""
    return target.jump[-1] if target.jump else CONTROLLER


class Remembered:
    """The caches of a project as ``pushsalt.targeting`` asks them (``Lookup``)."""

    def __init__(self, project: Project, selectable: Selectable) -> None:
        self._project = project
        self.inventory = selectable.inventory
        self._whole = selectable.whole
        self._grains: dict[str, dict[str, Any]] = {}
        self._pillar: dict[str, Mapping[str, Any]] = {}
        self._view: View | None = None
        self._keeps = bool(project.config.opts["minion_data_cache"])
        #: bank -> when the oldest entry that was looked at was written
        self._oldest: dict[str, float] = {}

    # one target ------------------------------------------------------------------------------------------------------

    def grains(self, id: str) -> dict[str, Any]:
        if id not in self._grains:
            kept = self._project.grains.get(id) if self._keeps else None
            known = kept if isinstance(kept, dict) else _NOTHING
            if known:
                self._used("grains", self._project.grains.written(id))
            fixed = self._targets[id].grains
            self._grains[id] = {**known, **fixed}
        return self._grains[id]

    def pillar(self, id: str) -> Mapping[str, Any]:
        if id not in self._pillar:
            fixed = (self.inventory if self._whole else self._project.inventory).targets[id].pillar
            kept = self._project.pillar_bank.get(id) if self._keeps and self._project.keeps_pillar else None
            if isinstance(kept, dict):
                self._used("pillar", self._project.pillar_bank.written(id))
                self._pillar[id] = dictupdate.update(kept, _copy(fixed)) if fixed else kept
            else:
                self._pillar[id] = fixed
        return self._pillar[id]

    def written(self, bank: str, id: str) -> float | None:
        """When the entry of a bank was written, in seconds since the epoch."""
        return (self._project.grains if bank == "grains" else self._project.pillar_bank).written(id)

    # all of them -----------------------------------------------------------------------------------------------------

    def find(self, term: Term) -> set[str] | None:
        """The ids for which the term holds; None where each is to be asked."""
        source = term.matcher.SOURCE
        if source == "grains" and self._keeps:
            return self._by_grain(term)
        if term.tgt_type == "managing_minion":
            return {id for id, target in self._targets.items() if manager_of(target) == term.expr}
        if term.tgt_type == "resource":
            kind, colon, name = str(term.expr).partition(":")
            if colon:
                target = self._targets.get(name)
                return {name} if target is not None and target.transport == kind else set()
            return {id for id, target in self._targets.items() if target.transport == kind}
        return None

    @property
    def _targets(self) -> Mapping[str, Target]:
        return self.inventory.targets

    def _by_grain(self, term: Term) -> set[str] | None:
        if term.tgt_type == "ipcidr":
            try:
                key = f"ipv{ipcidr.wanted(str(term.expr)).version}"
            except UsageError:
                return set() if not term.of(_NOTHING) else None  # says what is wrong, or raises
        elif term.tgt_type in ("grain", "grain_pcre") and term.delimiter in str(term.expr):
            key = str(term.expr).split(term.delimiter)[0]
        else:
            return None
        found = self._indexed(term)
        if found is None:
            return None
        found &= self._targets.keys()
        self._overlay(term, key, found)
        return found

    def _indexed(self, term: Term) -> set[str] | None:
        bank = self._project.grains
        for _ in range(2):
            if self._view is None:
                self._view = bank.view()
            if self._view is None:
                return None
            try:
                self._note_oldest(self._view)
                return set(self._view.ids(_ask(self._view, term)))
            except IndexCorrupt as exc:
                self._view = bank.damaged(exc)
        return None

    def _overlay(self, term: Term, key: str, found: set[str]) -> None:
        """Put right what the inventory says otherwise than the index."""
        number = data.scalar(key)
        known: dict[str, bool] = {}
        for id, target in self._targets.items():
            fixed = target.grains
            if not fixed or (key not in fixed and key != "*" and number not in fixed):
                continue
            if key == "*" or key not in fixed:
                holds = term.of(self.grains(id))
            else:
                value = fixed[key]
                text = repr(value)
                if text not in known:
                    known[text] = term.of({key: value})
                holds = known[text]
            (found.add if holds else found.discard)(id)

    # what is not known ------------------------------------------------------------------------------------------------

    def unknown(self, source: str) -> int:
        """Of how many targets that could be asked there are no grains, or no pillar, in the cache."""
        ids = [id for id, target in self._targets.items() if target.transport != "offline"]
        bank = self._project.grains if source == "grains" else self._project.pillar_bank
        return sum(bank.written(id) is None for id in ids) if len(ids) <= _COUNTED else 0

    # age -------------------------------------------------------------------------------------------------------------

    def _note_oldest(self, view: View) -> None:
        if "grains" in self._oldest or not view.size:
            return
        oldest = view.oldest(view.everything)
        if oldest is not None and _is_old(oldest, self._project.cache_life):  # maybe that of an id of elsewhere
            oldest = view.oldest(view.bits(self._targets))
        self._used("grains", oldest)

    def _used(self, bank: str, written: float | None) -> None:
        if written is not None:
            self._oldest[bank] = min(written, self._oldest.get(bank, written))

    def say_age(self) -> None:
        """Warn of what was used and is older than the option ``cache_life``."""
        for bank, written in self._oldest.items():
            if _is_old(written, self._project.cache_life):
                text = "cached grains are old, the oldest from %s ago: --refresh collects them first"
                if bank == "pillar":
                    text = "cached pillar is old, the oldest from %s ago: --refresh collects it first"
                log.warning(text, age_text(time.time() - written))


def _ask(view: View, term: Term) -> int:
    expr = str(term.expr)
    if term.tgt_type != "ipcidr":
        return view.grain(expr, delimiter=term.delimiter, regex=term.tgt_type == "grain_pcre")
    if "/" in expr:
        return view.subnet(expr)
    address = ipcidr.wanted(expr)  # its text is looked for, as Salt does
    return view.grain(f"ipv{address.version}|{address}", delimiter="|", exact=True)


def _is_old(written: float, life: float) -> bool:
    return time.time() - written > life


def age_text(seconds: float) -> str:
    """An age for people: ``3 days``, ``5 h``, ``12 min``, ``40 s``."""
    for unit, size in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{int(seconds // size)} {unit}"
    return f"{max(0, int(seconds))} s"


def _copy(value: Mapping[str, Any]) -> dict[str, Any]:
    """A copy whose containers are its own."""
    copied: dict[str, Any] = dictupdate.copy_containers(dict(value))
    return copied
