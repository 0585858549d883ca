"""Target expressions of every type, compound ones included: parsed, never eval'd. Salt: salt.matchers.compound_match.

Grammar of a compound expression (words are separated by spaces; ``not`` binds closest, then ``and``, then ``or``)::

    expr   = term ("or" term)*        term  = factor ("and" factor)*
    factor = "not" factor | "(" expr ")" | word
    word   = LETTER "@" expression | LETTER DELIMITER "@" expression | "N@" name | glob

A nodegroup is an expression by name: text, or a list of its words; a list of words without operators means any of them.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, Protocol, cast

from pushsalt import plugins
from pushsalt.errors import ConfigError, NoTargetError, UsageError
from pushsalt.inventory import Inventory

log = logging.getLogger(__name__)

DELIMITER: Final = ":"
MAX_DEPTH: Final = 50


class Matcher(Protocol):
    """The module contract of ``matchers/``.

    ``LETTER``  prefix in compound expressions (``G@``); empty for none
    ``SOURCE``  what ``match`` is given as value: ``id`` (text), ``grains`` or ``pillar`` (mappings)

    A matcher over grains or pillar takes ``delimiter`` too. The answer depends on the arguments alone: it is asked once
    for equal values. Raises UsageError for an expression that makes no sense.
    """

    LETTER: str
    SOURCE: str

    def match(self, expr: Any, value: Any) -> bool: ...


class Caches(Protocol):
    """What is known of a target without asking it; empty mappings for what is not known."""

    def grains(self, id: str) -> Mapping[str, Any]: ...

    def pillar(self, id: str) -> Mapping[str, Any]: ...


@dataclass(frozen=True)
class Subject:
    """One target as matchers see it."""

    id: str
    grains: Mapping[str, Any] = field(default_factory=dict)
    pillar: Mapping[str, Any] = field(default_factory=dict)


#: Expressions by name, as the option ``nodegroups`` has them.
Nodegroups = Mapping[str, Any]


def tgt_types() -> list[str]:
    """All types that ``select`` and ``matches`` take."""
    return sorted({*plugins.names("matchers"), "compound", "nodegroup"})


def matches(
    expr: Any, tgt_type: str, subject: Subject, *, delimiter: str = DELIMITER, nodegroups: Nodegroups | None = None
) -> bool:
    """Whether the expression selects this one target. Raises UsageError for an expression that cannot be understood."""
    return _predicate(expr, tgt_type, delimiter, nodegroups or {})(subject)


def select(
    expr: Any,
    tgt_type: str,
    inventory: Inventory,
    caches: Caches | None = None,
    *,
    delimiter: str = DELIMITER,
    nodegroups: Nodegroups | None = None,
) -> list[str]:
    """The selected ids in the inventory's order. Without ``caches`` only what the inventory itself says is known.

    Raises NoTargetError, naming the nearest ids, when there are none; UsageError for an expression that makes no sense.
    """
    predicate = _predicate(expr, tgt_type, delimiter, nodegroups or {})
    known = caches or _Inventory(inventory)
    found = [id for id in inventory.ids if predicate(_LazySubject(id, known))]
    if tgt_type == "list":
        from pushsalt.targeting.matchers.list import split

        missing = sorted(split(expr) - set(inventory.ids))
        if found and missing:
            log.warning("no such id in the inventory: %s", ", ".join(missing))
    if not found:
        raise _nothing(expr, tgt_type, inventory)
    return found


class _Inventory:
    """Caches for want of caches: grains and pillar that are written in the inventory."""

    def __init__(self, inventory: Inventory) -> None:
        self._targets = inventory.targets

    def grains(self, id: str) -> Mapping[str, Any]:
        return self._targets[id].grains

    def pillar(self, id: str) -> Mapping[str, Any]:
        return self._targets[id].pillar


class _LazySubject:
    """A Subject whose caches are read when a matcher looks."""

    def __init__(self, id: str, caches: Caches) -> None:
        self.id = id
        self._caches = caches

    @property
    def grains(self) -> Mapping[str, Any]:
        return self._caches.grains(self.id)

    @property
    def pillar(self) -> Mapping[str, Any]:
        return self._caches.pillar(self.id)


def _nothing(expr: Any, tgt_type: str, inventory: Inventory) -> NoTargetError:
    words = expr if isinstance(expr, str) else ",".join(map(str, expr))
    if not inventory.ids:
        return NoTargetError(f"no target matches {words!r}: the inventory is empty", hint="add hosts to it")
    near = inventory.nearest(re.sub(r"\b[A-Z]@|\b(and|or|not)\b", " ", words))
    some = f"the inventory has {', '.join(inventory.ids[:5])}{' ...' if len(inventory.ids) > 5 else ''}"
    kind = "" if tgt_type == "glob" else f" ({tgt_type})"
    return NoTargetError(f"no target matches {words!r}{kind}", hint=f"nearest ids: {', '.join(near)}" if near else some)


# --- evaluation ------------------------------------------------------------------------------------------------------

_Predicate = Callable[[Any], bool]


def _predicate(expr: Any, tgt_type: str, delimiter: str, nodegroups: Nodegroups) -> _Predicate:
    if tgt_type == "compound":
        return _Parser(expr, delimiter, nodegroups).parse()
    if tgt_type == "nodegroup":
        return _nodegroup(str(expr), delimiter, nodegroups, ())
    return _ask(_matcher(tgt_type), expr, delimiter)


@cache
def _matcher(tgt_type: str) -> Matcher:
    try:
        return cast(Matcher, plugins.load("matchers", tgt_type))
    except ConfigError as exc:
        raise UsageError(f"the target type {tgt_type!r} cannot be used: {exc.message}", hint=exc.hint) from exc


@cache
def _letters() -> dict[str, str]:
    """Prefix of compound expressions -> tgt_type."""
    found = {_matcher(name).LETTER: name for name in plugins.names("matchers")}
    return {letter: name for letter, name in found.items() if letter}


def _ask(matcher: Matcher, expr: Any, delimiter: str) -> _Predicate:
    if matcher.SOURCE == "id":
        return lambda subject: matcher.match(expr, subject.id)
    known: dict[Hashable, bool] = {}
    match = cast(Callable[..., bool], matcher.match)

    def predicate(subject: Any) -> bool:
        value = subject.grains if matcher.SOURCE == "grains" else subject.pillar
        key = id(value)  # caches give equal targets the very same mapping
        if key not in known:
            known[key] = match(expr, value, delimiter=delimiter)
            kept.append(value)
        return known[key]

    kept: list[Any] = []  # so that no id() is given out twice
    return predicate


_OPERATORS: Final = ("and", "or", "not", "(", ")")
_PREFIXED: Final = re.compile(r"(?P<letter>[A-Z])(?P<delimiter>[^@\w]?)@(?P<expr>.+)", re.DOTALL)


class _Parser:
    def __init__(self, expr: Any, delimiter: str, nodegroups: Nodegroups, above: tuple[str, ...] = ()) -> None:
        """``above`` are the nodegroups that this expression is a part of."""
        if not isinstance(expr, str | list | tuple):
            raise UsageError(f"a compound expression is text, not {expr!r}", hint="write it like 'web* and not L@web3'")
        self.text = expr if isinstance(expr, str) else " ".join(map(str, expr))
        self.words = _words(expr.split() if isinstance(expr, str) else [str(word) for word in expr])
        self.delimiter = delimiter
        self.nodegroups = nodegroups
        self.above = above
        self.at = 0
        self.depth = 0

    def parse(self) -> _Predicate:
        predicate = self._any()
        if self.at < len(self.words):
            raise self._error(f"does not go on with {self.words[self.at]!r}")
        return predicate

    def _any(self) -> _Predicate:
        return self._joined(self._all, "or", any)

    def _all(self) -> _Predicate:
        return self._joined(self._one, "and", all)

    def _joined(self, part: Callable[[], _Predicate], word: str, join: Callable[..., bool]) -> _Predicate:
        parts = [part()]
        while self._peek() == word:
            self.at += 1
            parts.append(part())
        return parts[0] if len(parts) == 1 else lambda subject: join(each(subject) for each in parts)

    def _one(self) -> _Predicate:
        word = self._peek()
        negated = False
        while word == "not":
            negated = not negated
            self.at += 1
            word = self._peek()
        self.at += 1
        if word is None:
            raise self._error("ends too early")
        if word == "(":
            self.depth += 1
            if self.depth > MAX_DEPTH:
                raise self._error(f"has more than {MAX_DEPTH} levels of parentheses")
            inner = self._any()
            if self._peek() != ")":
                raise self._error("has a '(' without ')'")
            self.at += 1
            self.depth -= 1
        elif word in _OPERATORS:
            raise self._error(f"has {word!r} where a target is expected")
        else:
            inner = self._word(word)
        return (lambda subject: not inner(subject)) if negated else inner

    def _word(self, word: str) -> _Predicate:
        prefixed = _PREFIXED.fullmatch(word)
        if not prefixed:
            return _ask(_matcher("glob"), word, self.delimiter)
        letter = prefixed["letter"]
        if letter == "N" and not prefixed["delimiter"]:
            return _nodegroup(prefixed["expr"], self.delimiter, self.nodegroups, self.above)
        if letter not in _letters():
            known = ", ".join(sorted({*_letters(), "N"}))
            raise self._error(f"has {word!r}, but there is no {letter}@ (there are {known})")
        return _ask(_matcher(_letters()[letter]), prefixed["expr"], prefixed["delimiter"] or self.delimiter)

    def _peek(self) -> str | None:
        return self.words[self.at] if self.at < len(self.words) else None

    def _error(self, problem: str) -> UsageError:
        hint = "write it like 'web* and not ( L@web3 or E@db\\d )'"
        return UsageError(f"the compound expression {self.text!r} {problem}", hint=hint)


def _nodegroup(name: str, delimiter: str, nodegroups: Nodegroups, above: tuple[str, ...]) -> _Predicate:
    """Nobody is in a group that does not exist, or that is a part of itself: both are said. Salt: nodegroup_comp."""
    expr = nodegroups.get(name)
    if name in above or not isinstance(expr, str | list | tuple):
        what = "is a part of itself" if name in above else "does not exist" if expr is None else "is no expression"
        log.error("the nodegroup %r %s: nothing matches it", name, what)
        return lambda subject: False
    words = expr.split() if isinstance(expr, str) else [str(word) for word in expr]
    if not isinstance(expr, str) and len(words) > 1 and not set(words) & set(_OPERATORS):
        words = [part for word in words for part in (word, "or")][:-1]
    return _Parser(words, delimiter, nodegroups, (*above, name)).parse()


def _words(raw: Sequence[str]) -> list[str]:
    """Words with the parentheses that are glued to them cut off; those inside of a regular expression stay."""
    words: list[str] = []
    for word in raw:
        while word.startswith("(") and len(word) > 1:
            words.append("(")
            word = word[1:]
        closing = 0
        while len(word) > 1 and word.endswith(")") and word.count(")") > word.count("("):
            word = word[:-1]
            closing += 1
        words += [word, *[")"] * closing]
    return words
