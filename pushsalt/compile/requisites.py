"""Resolves ``_in`` requisites, ``use`` and ``use_in``: each becomes an extension of another state.

Salt: State.requisite_in.

``listen_in`` is not one of them: it is resolved after the states have run, see thin.engine.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

from pushsalt.compile.extend import bodies, find_name, reconcile_extend
from pushsalt.compile.source import High, Problem, SourcePositions
from pushsalt.compile.words import first_key, is_meta

REVERSED = frozenset(("require_in", "watch_in", "onfail_in", "onchanges_in", "prereq_in"))
USES = frozenset(("use", "use_in"))

#: Arguments that ``use`` does not copy, besides the name and the arguments that the state itself has.
NOT_USED = frozenset(
    (*REVERSED, *USES, "require", "watch", "prereq", "onfail", "onfail_stop", "onchanges", "name", "names")
)


def apply_requisites_in(high: High, sources: SourcePositions, disabled: Sequence[str] = ()) -> list[Problem]:
    """Resolve every ``_in`` requisite and every ``use`` of ``high``, in place."""
    resolver = _Resolver(high, sources)
    for id_, body in bodies(high):
        for module, args in body.items():
            if is_meta(module) or not isinstance(args, list):
                continue
            for arg in args:
                key = first_key(arg) if isinstance(arg, dict) else None
                if (key in REVERSED or key in USES) and key not in disabled:
                    resolver.add(str(key), arg[key], id_, module, body)
    high["__extend__"] = [{id_: body} for id_, body in resolver.extend.items()]
    return resolver.problems + reconcile_extend(high, sources, strict=True)


class _Resolver:
    """Collects the extensions. ``extend``: referenced ID or name -> its extension."""

    def __init__(self, high: High, sources: SourcePositions) -> None:
        self.extend: dict[Any, dict[str, Any]] = {}
        self.problems: list[Problem] = []
        self._high = high
        self._sources = sources

    def add(self, key: str, references: Any, id_: Any, module: str, body: dict[str, Any]) -> None:
        """One statement ``key: references`` in the declaration ``id_``/``module``."""
        requisite = key.split("_")[0]
        if isinstance(references, dict):  # require_in: {pkg: x}
            for kind, name in references.items():
                if self._is_resolvable(key, kind, name, id_, module, body):
                    self._require(requisite, name, str(kind).split(".")[0], id_, module, body)
            return
        hinges: list[tuple[Any, str]] = []
        for reference in references if isinstance(references, list) else ():
            pair = self._reference(reference)
            if pair is None:
                continue
            name, kind = pair
            if not self._is_resolvable(key, kind, name, id_, module, body):
                continue
            if kind == "sls":
                hinges = list(self._ids_of(name))
            else:
                # As in Salt, the requisites before this one are added again, and are repeated in the output.
                hinges.append((name, kind))
            for target, target_module in hinges:
                if key == "use_in":
                    for user, used_module in find_name(target, target_module, self._high, strict=True):
                        self._use(user, used_module, target_module, source=(id_, module))
                elif key == "use":
                    for source in find_name(target, target_module, self._high, strict=True):
                        self._use(id_, module, module, source=source)
                else:
                    self._require(requisite, target, target_module, id_, module, body)

    def _reference(self, reference: Any) -> tuple[Any, str] | None:
        """(name, state module) of a reference; a plain text is an ID or a ``name``. None if it matches no state."""
        if isinstance(reference, dict):
            kind = first_key(reference)
            return (reference[kind], kind) if isinstance(kind, str) else None
        if not isinstance(reference, str):
            return None
        if reference in self._high:
            module = next((key for key in self._high[reference] if not is_meta(key)), None)
            return (reference, module) if module else None
        for id_, body in bodies(self._high):
            for module, args in body.items():
                if is_meta(module) or not isinstance(args, list):
                    continue
                if any(isinstance(arg, dict) and arg.get("name") == reference for arg in args):
                    return (id_, module)
        return None

    def _ids_of(self, sls: Any) -> Iterator[tuple[Any, str]]:
        for id_, body in bodies(self._high):
            if body.get("__sls__") == sls:
                yield from ((id_, module) for module in body if not is_meta(module))

    def _is_resolvable(self, key: str, kind: Any, name: Any, id_: Any, module: str, body: dict[str, Any]) -> bool:
        """Report the errors of a reference. Returns False if it cannot be resolved."""
        requisite = key.split("_")[0]
        sls, where = body.get("__sls__"), self._sources.where(body, id_, module, key, {kind: name})
        if "." in str(kind):
            text = (
                f"Invalid requisite in {requisite}: {kind} for {name}, in SLS '{sls}'. Requisites must not "
                f"contain dots, did you mean '{str(kind).split('.')[0]}'?"
            )
            self.problems.append(Problem(text, where, rule="malformed-requisite"))
        if not isinstance(name, Hashable):
            self.problems.append(
                Problem(
                    f'Illegal requisite "{name}" in SLS "{sls}", please check your syntax.\n',
                    where,
                    rule="malformed-requisite",
                )
            )
            return False
        return True

    def _require(self, requisite: str, name: Any, target: str, id_: Any, module: str, body: dict[str, Any]) -> None:
        """Add a requisite on ``id_`` to ``name``; requisites of one kind are collected in one list."""
        extension = self.extend.setdefault(name, {})
        args = extension.setdefault(target, [])
        extension["__env__"], extension["__sls__"] = body.get("__env__", "base"), body.get("__sls__", "base")
        existing = [arg for arg in args if first_key(arg) == requisite]
        for arg in existing:
            arg[requisite].append({module: id_})
        if not existing:
            args.append({requisite: [{module: id_}]})

    def _use(self, user: Any, user_module: str, own_module: str, *, source: tuple[Any, str]) -> None:
        """Add the arguments of ``source`` to ``user``, except those that ``user`` has itself."""
        args = self.extend.setdefault(user, {}).setdefault(user_module, [])
        own = {first_key(arg) for arg in _plain_args(self._high, user, own_module)}
        args.extend(arg for arg in _plain_args(self._high, *source) if first_key(arg) not in NOT_USED | own)


def _plain_args(high: High, id_: Any, module: str) -> list[dict[str, Any]]:
    args = high.get(id_, {}).get(module)
    return [arg for arg in args if isinstance(arg, dict) and len(arg) == 1] if isinstance(args, list) else []
