"""Looks up data of targets without connecting: in the caches, with the inventory over them.

Grain terms are answered by an index for all ids at once, and by another for all resources. Grains of the inventory
override the collected ones here. The use of cached data is recorded, to report its age.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from pushsalt.ages import age_text
from pushsalt.errors import IndexCorrupt, UsageError
from pushsalt.select.managed import InventoryResources
from pushsalt.targeting import Term, manager_of
from pushsalt.targeting.matchers import ipcidr
from thin.utils import data, dictupdate

if TYPE_CHECKING:
    from pushsalt.cache.grains import GrainBank
    from pushsalt.index.view import View
    from pushsalt.model import Target
    from pushsalt.select.project import SelectingProject
    from pushsalt.select.selectable import Selectable

__all__ = ["Remembered", "manager_of"]

log = logging.getLogger(__name__)

_NOTHING: Final[dict[str, Any]] = {}
#: Limit for the number of targets up to which those without cached data are counted.
_COUNTED: Final = 5000
#: Up to this number of targets, pillars are read one by one.
MANY: Final = 1000


class Remembered:
    """The caches of a project for ``pushsalt.targeting`` (its protocol ``Lookup``), by key."""

    def __init__(self, project: SelectingProject, selectable: Selectable) -> None:
        self._project = project
        self.inventory = selectable.inventory
        self._with_pillar = selectable.pillar
        #: the managed resources of the inventory's ids
        self.managed = InventoryResources(project, self._targets)
        self._grains: dict[str, dict[str, Any]] = {}
        self._pillar: dict[str, Mapping[str, Any]] = {}
        self._views: dict[str, View | None] = {}
        self._keeps = bool(project.config.opts["minion_data_cache"])
        #: bank -> time of the oldest entry that was used
        self._oldest: dict[str, float] = {}

    # one target ------------------------------------------------------------------------------------------------------

    def grains(self, key: str) -> dict[str, Any]:
        if key not in self._grains:
            bank = self._grain_bank(key)
            kept = bank.get(key) if self._keeps else None
            collected = kept if isinstance(kept, dict) else _NOTHING
            if collected:
                self._used(bank.path.name, bank.written(key))
            fixed = self._targets[key].grains if key in self._targets else _NOTHING
            self._grains[key] = {**collected, **fixed, **self._own_id(key)} if collected or fixed else _NOTHING
        return self._grains[key]

    def _own_id(self, key: str) -> dict[str, str]:
        """The grain ``id``: a resource's key is ``type:id``."""
        return {"id": key if key in self._targets else key.partition(":")[2] or key}

    def pillar(self, key: str) -> Mapping[str, Any]:
        if key not in self._pillar:
            given = self._given_pillar(key)
            kept = self._project.pillar_bank.get(key) if self._keeps and self._project.keeps_pillar else None
            if isinstance(kept, dict):
                self._used("pillar", self._project.pillar_bank.written(key))
                self._pillar[key] = dictupdate.update(kept, _copy(given)) if given else kept
            else:
                self._pillar[key] = given
        return self._pillar[key]

    def written(self, bank: str, key: str) -> float | None:
        """The time of an entry of a bank, in seconds since the epoch."""
        return (self._grain_bank(key) if bank == "grains" else self._project.pillar_bank).written(key)

    def _grain_bank(self, key: str) -> GrainBank:
        return self._project.grains if key in self._targets else self._project.resource_grains

    # all of them -----------------------------------------------------------------------------------------------------

    def find(self, term: Term, among: Collection[str] | None = None) -> set[str] | None:
        """The keys that match the term (among these, if given); None if each must be tested separately."""
        if term.matcher.SOURCE == "grains" and self._keeps:
            return self._by_grain(term)
        if term.matcher.SOURCE == "pillar" and self._keeps and self._project.keeps_pillar:
            return self._by_pillar(term, among)
        return None

    @property
    def _targets(self) -> Mapping[str, Target]:
        return self.inventory.targets

    def _given_pillar(self, id: str) -> Mapping[str, Any]:
        """The pillar of an id in the inventory."""
        if self._with_pillar is None:
            return self._targets[id].pillar if id in self._targets else _NOTHING
        return self._project.inventory.targets[id].pillar if id in self._with_pillar else _NOTHING

    def _by_grain(self, term: Term) -> set[str] | None:
        if term.tgt_type == "ipcidr":
            try:
                key = f"ipv{ipcidr.wanted(str(term.expr)).version}"
            except UsageError:
                return set() if not term.of(_NOTHING) else None  # logs or raises the error
        elif term.tgt_type in ("grain", "grain_pcre") and term.delimiter in str(term.expr):
            key = str(term.expr).split(term.delimiter)[0]
        else:
            return None
        ids = self._indexed(term, self._project.grains)
        if ids is None:
            return None
        ids &= self._targets.keys()
        if key == "id":  # overrides an entry of an earlier version
            ids = {id for id in ids if term.of({"id": id})}
        self._overlay(term, key, ids)
        if self.managed.has_any():
            resources = self._indexed(term, self._project.resource_grains)
            if resources is None:
                resources = {key for key in self.managed.all() if term.of(self.grains(key))}
            ids |= self.managed.those(resources)
        return ids

    def _by_pillar(self, term: Term, among: Collection[str] | None) -> set[str] | None:
        """Answer a pillar term by the encrypted image, if there are many targets."""
        if term.tgt_type not in ("pillar", "pillar_pcre", "pillar_exact"):  # users' matchers have a syntax of their own
            return None
        if term.delimiter not in str(term.expr):
            return set() if not term.of(_NOTHING) else None  # logs or raises the error
        keys = among
        if keys is None:
            keys = {*self._targets, *(self.managed.all() if self.managed.has_any() else ())}
        if len(keys) < MANY:
            return None
        view = self._pillar_view(keys)
        if view is None:
            return None
        try:
            ids = set(view.ids(_ask(view, term)))
        except IndexCorrupt:
            self._project.pillar_bank.forget_image()
            return None
        ids.intersection_update(keys)
        path = str(term.expr).split(term.delimiter)[0]
        for id in self._targets if self._with_pillar is None else self._with_pillar:
            fixed = self._given_pillar(id)
            if fixed and id in keys and (path in fixed or path == "*" or data.scalar(path) in fixed):
                (ids.add if term.of(self.pillar(id)) else ids.discard)(id)
        return ids

    def _pillar_view(self, keys: Collection[str]) -> View | None:
        bank = self._project.pillar_bank
        if "pillar" not in self._views:
            view = bank.view()
            oldest = view.oldest(view.bits(keys)) if view is not None else None
            if oldest is not None and _is_old(oldest, self._project.cache_life):  # an entry may be newer than the view
                view = bank.view(look=True)
                oldest = view.oldest(view.bits(keys)) if view is not None else None
            self._used("pillar", oldest)
            self._views["pillar"] = view
        return self._views["pillar"]

    def _indexed(self, term: Term, bank: GrainBank) -> set[str] | None:
        name = bank.path.name
        for _ in range(2):
            if self._views.get(name) is None:
                self._views[name] = bank.view()
            view = self._views[name]
            if view is None:
                return None
            try:
                self._note_oldest(view, name)
                return set(view.ids(_ask(view, term)))
            except IndexCorrupt as exc:
                self._views[name] = bank.damaged(exc)
        return None

    def _overlay(self, term: Term, key: str, ids: set[str]) -> None:
        """Correct the index's answer for ids whose grain the inventory sets."""
        number = data.scalar(key)
        results: dict[str, bool] = {}
        for id, target in self._targets.items():
            fixed = target.grains
            if not fixed or (key not in fixed and key != "*" and number not in fixed):
                continue
            if key == "*" or key not in fixed:
                holds = term.of(self.grains(id))
            else:
                value = fixed[key]
                text = repr(value)
                if text not in results:
                    results[text] = term.of({key: value})
                holds = results[text]
            (ids.add if holds else ids.discard)(id)

    # missing data -----------------------------------------------------------------------------------------------------

    def unknown(self, source: str) -> int:
        """The number of targets without grains, or pillar, in the cache."""
        keys = [id for id, target in self._targets.items() if target.transport != "offline"]
        if len(keys) <= _COUNTED and self.managed.has_any():
            keys += self.managed.all()
        return sum(self.written(source, key) is None for key in keys) if len(keys) <= _COUNTED else 0

    # age -------------------------------------------------------------------------------------------------------------

    def _note_oldest(self, view: View, name: str) -> None:
        if name in self._oldest or not view.size:
            return
        oldest = view.oldest(view.everything)
        if oldest is not None and _is_old(oldest, self._project.cache_life):  # of another inventory, perhaps
            keys: Iterable[str] = self._targets if name == self._project.grains.path.name else self.managed.all()
            oldest = view.oldest(view.bits(keys))
        self._used(name, oldest)

    def _used(self, bank: str, written: float | None) -> None:
        if written is not None:
            self._oldest[bank] = min(written, self._oldest.get(bank, written))

    def warn_of_age(self) -> None:
        """Log a warning for used data that is older than the option ``cache_life``."""
        self._used("minion_resources", self.managed.oldest())
        for bank, written in self._oldest.items():
            if _is_old(written, self._project.cache_life):
                log.warning(_OLD[bank], age_text(time.time() - written))


_OLD: Final = {
    "grains": "cached grains are old, the oldest from %s ago: --refresh collects them first",
    "resource_grains": "cached grains of resources are old, the oldest from %s ago: --refresh collects them first",
    "pillar": "cached pillar is old, the oldest from %s ago: --refresh collects it first",
    "minion_resources": "managed resources were last discovered %s ago: --refresh does it first",
}


def _ask(view: View, term: Term) -> int:
    expr = str(term.expr)
    if term.tgt_type != "ipcidr":
        return view.grain(
            expr,
            delimiter=term.delimiter,
            regex=term.tgt_type in ("grain_pcre", "pillar_pcre"),
            exact=term.tgt_type == "pillar_exact",
        )
    if "/" in expr:
        return view.subnet(expr)
    address = ipcidr.wanted(expr)  # compared as text, as in Salt
    return view.grain(f"ipv{address.version}|{address}", delimiter="|", exact=True)


def _is_old(written: float, life: float) -> bool:
    return time.time() - written > life


def _copy(value: Mapping[str, Any]) -> dict[str, Any]:
    """A copy with copied containers."""
    copied: dict[str, Any] = dictupdate.copy_containers(dict(value))
    return copied
