"""Target expressions of every type, compound ones included: parsed, never eval'd. Salt: salt.matchers.compound_match.

Grammar of a compound expression: ``thin.utils.compound``. Its words::

    word   = LETTER "@" expression | LETTER DELIMITER "@" expression | "N@" name | glob

A nodegroup is an expression by name: text, or a list of its words; a list of words without operators means any of them.
A group of the inventory is meant by ``N@name`` too, unless a nodegroup has the name.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, Protocol, cast

from pushsalt import plugins
from pushsalt.errors import ConfigError, UsageError
from thin.utils import compound as grammar

log = logging.getLogger(__name__)

DELIMITER: Final = ":"


class Matcher(Protocol):
    """The module contract of ``matchers/``.

    ``LETTER``  prefix in compound expressions (``G@``); empty for none
    ``SOURCE``  what ``match`` is given as value: ``id`` (text), ``grains`` or ``pillar`` (mappings), or ``subject``
                (all of it: a Subject)

    A matcher over grains or pillar takes ``delimiter`` too. The answer depends on the arguments alone: it is asked once
    for equal values. Raises UsageError for an expression that makes no sense.
    """

    LETTER: str
    SOURCE: str

    def match(self, expr: Any, value: Any) -> bool: ...


@dataclass(frozen=True)
class Subject:
    """One target as matchers see it.

    ``type`` and ``manager`` are its own as a resource; ``resources`` are those that it manages, ``{type: [id]}``.
    ``groups`` are those of the inventory that it is in.
    """

    id: str
    grains: Mapping[str, Any] = field(default_factory=dict)
    pillar: Mapping[str, Any] = field(default_factory=dict)
    type: str = ""
    manager: str = ""
    resources: Mapping[str, Any] = field(default_factory=dict)
    groups: Collection[str] = ()


#: Expressions by name, as the option ``nodegroups`` has them.
Nodegroups = Mapping[str, Any]


class NamedGroups(Mapping[str, Any]):
    """The nodegroups of a configuration, and the groups of an inventory, whose value is ``MEMBERS``.

    ``groups`` gives the names of those; it is asked when one is looked for.
    """

    def __init__(self, nodegroups: Nodegroups, groups: Callable[[], Collection[str]]) -> None:
        self._nodegroups = nodegroups
        self._groups = groups

    def __getitem__(self, name: str) -> Any:
        if name in self._nodegroups:
            return self._nodegroups[name]
        if name in self._groups():
            return grammar.MEMBERS
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        yield from dict.fromkeys((*self._nodegroups, *sorted(self._groups())))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def is_both(self, name: str) -> bool:
        """Whether there is a nodegroup and a group of this name."""
        return name in self._nodegroups and name in self._groups()


_Predicate = Callable[[Any], bool]


@dataclass(frozen=True, eq=False)
class Term:
    """One word of an expression: ``G@os:Debian`` is the matcher ``grain`` with ``os:Debian``."""

    word: str
    tgt_type: str
    expr: Any
    delimiter: str
    matcher: Matcher
    #: within a compound expression what makes no sense is said and matches nothing, as in Salt
    part: bool = False

    def match(self, subject: Any) -> bool:
        """Whether it holds for a Subject. Raises UsageError for a term that makes no sense."""
        source = self.matcher.SOURCE
        if source == "subject":
            return self.matcher.match(self.expr, subject)
        return self.of(subject.id if source == "id" else subject.grains if source == "grains" else subject.pillar)

    def of(self, value: Any) -> bool:
        """Whether it holds for the id, the grains or the pillar of a target."""
        try:
            if self.matcher.SOURCE == "id":
                return self.matcher.match(self.expr, value)
            return cast(Callable[..., bool], self.matcher.match)(self.expr, value, delimiter=self.delimiter)
        except UsageError as exc:
            if not self.part:
                raise
            _say_once(self.word, exc.message)
            return False


@cache
def _say_once(word: str, text: str) -> None:
    log.error("the term %r matches nothing: %s", word, text)


@cache
def _say_shadowed(name: str) -> None:
    log.warning("%s is a nodegroup, and a group of the inventory: the nodegroup is meant", name)


@dataclass(frozen=True)
class Expression:
    """An expression that was understood: a tree of words (``thin.utils.compound``) and the term of each."""

    text: str
    tree: tuple[Any, ...]
    terms: Mapping[str, Term]
    tgt_type: str = "compound"

    def predicate(self) -> _Predicate:
        """Tells whether a Subject is meant. Equal values, which caches give as the very same object, are asked once."""
        return self._predicate(self.tree)

    def _predicate(self, tree: tuple[Any, ...]) -> _Predicate:
        kind = tree[0]
        if kind == "word":
            return _ask(self.terms[tree[1]])
        if kind == "not":
            inner = self._predicate(tree[1])
            return lambda subject: not inner(subject)
        if kind in ("and", "or"):
            parts, join = [self._predicate(part) for part in tree[1]], all if kind == "and" else any
            return lambda subject: join(part(subject) for part in parts)
        return self._wrong if kind == "call" else lambda subject: False

    def _wrong(self, subject: Any) -> bool:
        raise self.error("has a '(' right behind a target")

    def error(self, problem: str) -> UsageError:
        """What is wrong with it."""
        return _error(self.text, problem)


def tgt_types() -> list[str]:
    """All types that ``select`` and ``matches`` take."""
    return sorted({*plugins.names("matchers"), "compound", "nodegroup"})


def matches(
    expr: Any, tgt_type: str, subject: Subject, *, delimiter: str = DELIMITER, nodegroups: Nodegroups | None = None
) -> bool:
    """Whether the expression selects this one target. Raises UsageError for an expression that cannot be understood."""
    return parse(expr, tgt_type, delimiter=delimiter, nodegroups=nodegroups).predicate()(subject)


def parse(
    expr: Any,
    tgt_type: str,
    *,
    delimiter: str = DELIMITER,
    nodegroups: Nodegroups | None = None,
    pillar_exact: bool = False,
    quiet: bool = False,
) -> Expression:
    """The expression, understood. Raises UsageError when it cannot be.

    ``delimiter`` is not for compound expressions, where each term may have one: as in Salt. ``pillar_exact``: terms of
    pillar are neither globs nor regular expressions, so that nobody can find out by them what is there. ``quiet``: what
    is doubtful is not logged.
    """
    nodegroups = {} if nodegroups is None else nodegroups
    if tgt_type == "pillar" and pillar_exact:
        tgt_type = "pillar_exact"
    if tgt_type == "compound":
        if not isinstance(expr, str | list | tuple):
            raise UsageError(f"a compound expression is text, not {expr!r}", hint="write it like 'web* and not L@web3'")
        return _compound(expr, grammar.words_of(expr), nodegroups, pillar_exact, quiet)
    if tgt_type == "nodegroup":
        return _compound(f"N@{expr}", [f"N@{expr}"], nodegroups, pillar_exact, quiet)
    term = Term(str(expr), tgt_type, expr, delimiter, _matcher(tgt_type))
    return Expression(term.word, ("word", term.word), {term.word: term}, tgt_type)


def sources(expr: Any, tgt_type: str, nodegroups: Nodegroups | None = None) -> set[str]:
    """What an expression looks at: ``id``, ``grains``, ``pillar``, ``subject``. Raises UsageError as ``parse``."""
    return {term.matcher.SOURCE for term in parse(expr, tgt_type, nodegroups=nodegroups, quiet=True).terms.values()}


def _compound(expr: Any, words: list[str], nodegroups: Nodegroups, pillar_exact: bool, quiet: bool) -> Expression:
    text = expr if isinstance(expr, str) else " ".join(map(str, expr))

    def missing(name: str, reason: str) -> None:
        if not quiet:
            log.error("the nodegroup %r %s: nothing matches it", name, reason)

    if isinstance(nodegroups, NamedGroups) and not quiet:
        for name in (word[2:] for word in words if word.startswith("N@")):
            if nodegroups.is_both(name):
                _say_shadowed(name)
    expanded = grammar.expand(words, nodegroups, missing)
    if words and not expanded:  # of groups that are not there
        return Expression(text, ("nothing",), {})
    try:
        tree = grammar.parse(expanded)
    except ValueError as exc:
        raise _error(text, str(exc)) from None
    terms = {word: _term(text, word, pillar_exact, quiet) for word in expanded if word not in grammar.OPERATORS}
    return Expression(text, tree, terms)


def _term(text: str, word: str, pillar_exact: bool, quiet: bool) -> Term:
    prefixed = grammar.prefix(word)
    if prefixed is None:
        loose = word.startswith("(") or (word.endswith(")") and word.count(")") > word.count("("))
        if loose and not quiet:
            log.warning("%r is taken for a glob: parentheses need spaces around them", word)
        return Term(word, "glob", word, DELIMITER, _matcher("glob"), part=True)
    letter, delimiter, expr = prefixed
    if letter not in _letters():
        known = ", ".join(sorted({*_letters(), "N"}))
        raise _error(text, f"has {word!r}, but there is no {letter}@ (there are {known})")
    tgt_type = "pillar_exact" if pillar_exact and letter in ("I", "J") else _letters()[letter]
    matcher = _matcher(tgt_type)
    if matcher.SOURCE == "id":
        matcher.match(expr, "")  # what makes no sense is said whatever the rest of the expression is
    return Term(word, tgt_type, expr, delimiter or DELIMITER, matcher, part=matcher.SOURCE != "id")


def _error(text: str, problem: str) -> UsageError:
    hint = "write it like 'web* and not ( L@web3 or E@db\\d )'"
    return UsageError(f"the compound expression {text!r} {problem}", hint=hint)


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


def _ask(term: Term) -> _Predicate:
    source = term.matcher.SOURCE
    if source in ("id", "subject"):
        return term.match
    known: dict[Hashable, bool] = {}
    kept: list[Any] = []  # so that no id() is given out twice

    def predicate(subject: Any) -> bool:
        value = subject.grains if source == "grains" else subject.pillar
        key = id(value)  # caches give equal targets the very same mapping
        if key not in known:
            known[key] = term.of(value)
            kept.append(value)
        return known[key]

    return predicate
