"""Target expressions of every type, compound ones included: parsed, never eval'd. Salt: salt.matchers.compound_match.

Grammar of a compound expression: ``thin.utils.compound``. Its words::

    word   = LETTER "@" expression | LETTER DELIMITER "@" expression | "N@" name | glob

LETTER is that of a shipped matcher, or of a user's matcher (``vocabulary``), which takes no delimiter.

A nodegroup is a named expression: text, or a list of words; a list without operators matches any of its words.
``N@name`` may also be a group of the inventory, unless a nodegroup has the name.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import Any, Final, cast

from pushsalt import plugins
from pushsalt.errors import PushsaltError, UsageError
from pushsalt.targeting.vocabulary import OURS, Matcher, Vocabulary
from thin.utils import compound as grammar

log = logging.getLogger(__name__)

DELIMITER: Final = ":"


@dataclass(frozen=True)
class Subject:
    """One target, for matchers.

    ``type`` and ``manager``: its own as a resource; ``resources``: those that it manages, ``{type: [id]}``. ``groups``:
    its groups in the inventory.
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

    ``groups`` returns the names of the inventory's groups; it is called on demand.
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


class MatcherFails(UsageError):
    """A user's matcher raised an exception, so that its result is unknown."""


@dataclass(frozen=True, eq=False)
class Term:
    """One word of an expression: ``G@os:Debian`` is the matcher ``grain`` with ``os:Debian``."""

    word: str
    tgt_type: str
    expr: Any
    delimiter: str
    matcher: Matcher
    #: as in Salt, an invalid term of a compound expression is logged and matches nothing
    part: bool = False

    def match(self, subject: Any) -> bool:
        """Whether the term matches a Subject. Raises UsageError for an invalid term."""
        source = self.matcher.SOURCE
        if source == "subject":
            return self._match(self.matcher.match, subject)
        return self.of(subject.id if source == "id" else subject.grains if source == "grains" else subject.pillar)

    def of(self, value: Any) -> bool:
        """Whether the term matches a value: the id, grains or pillar of a target, by the matcher's SOURCE."""
        try:
            if self.matcher.SOURCE == "id":
                return self._match(self.matcher.match, value)
            return self._match(self.matcher.match, value, delimiter=self.delimiter)
        except UsageError as exc:
            if not self.part or isinstance(exc, MatcherFails):
                raise
            _say_once(self.word, exc.message)
            return False

    def _match(self, match: Callable[..., bool], value: Any, **more: str) -> bool:
        try:
            return match(self.expr, value, **more)
        except PushsaltError:
            raise
        except (Exception, SystemExit) as exc:  # a user's matcher may raise anything
            module = cast(ModuleType, self.matcher)
            where = plugins.place_of(module, exc) or module.__name__
            text = f"{self.word}: the matcher {self.tgt_type} fails: {where}: {type(exc).__name__}: {exc}"
            raise MatcherFails(text, "correct the matcher") from exc


@cache
def _say_once(word: str, text: str) -> None:
    log.error("the term %r matches nothing: %s", word, text)


@cache
def _say_shadowed(name: str) -> None:
    log.warning("%s is a nodegroup, and a group of the inventory: the nodegroup is meant", name)


@dataclass(frozen=True)
class Expression:
    """A parsed expression: a tree of words (``thin.utils.compound``), and the term of each word."""

    text: str
    tree: tuple[Any, ...]
    terms: Mapping[str, Term]
    tgt_type: str = "compound"

    def predicate(self) -> _Predicate:
        """A function: whether a Subject matches. For identical value objects the matcher is called once."""
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
        raise self.error("has a '(' directly after a target")

    def error(self, problem: str) -> UsageError:
        """The error for a problem of this expression."""
        return _error(self.text, problem)


def tgt_types(vocabulary: Vocabulary = OURS) -> list[str]:
    """All types that ``select`` and ``matches`` take."""
    return sorted({*vocabulary.types(), "compound", "nodegroup"})


def matches(
    expr: Any,
    tgt_type: str,
    subject: Subject,
    *,
    delimiter: str = DELIMITER,
    nodegroups: Nodegroups | None = None,
    vocabulary: Vocabulary = OURS,
) -> bool:
    """Whether the expression selects this one target. Raises UsageError for an invalid expression."""
    parsed = parse(expr, tgt_type, delimiter=delimiter, nodegroups=nodegroups, vocabulary=vocabulary)
    return parsed.predicate()(subject)


def parse(
    expr: Any,
    tgt_type: str,
    *,
    delimiter: str = DELIMITER,
    nodegroups: Nodegroups | None = None,
    pillar_exact: bool = False,
    quiet: bool = False,
    vocabulary: Vocabulary = OURS,
) -> Expression:
    """Parse an expression. Raises UsageError.

    ``delimiter`` is ignored in compound expressions, where each term may have its own, as in Salt. ``pillar_exact``:
    pillar terms are compared exactly, so that a target cannot explore pillar by patterns. ``quiet``: no warnings about
    doubtful expressions. ``vocabulary`` has the matchers and their letters.
    """
    nodegroups = {} if nodegroups is None else nodegroups
    if tgt_type == "pillar" and pillar_exact:
        tgt_type = "pillar_exact"
    if tgt_type == "compound":
        if not isinstance(expr, str | list | tuple):
            raise UsageError(f"a compound expression is text, not {expr!r}", hint="write it like 'web* and not L@web3'")
        return _compound(expr, grammar.words_of(expr), nodegroups, pillar_exact, quiet, vocabulary)
    if tgt_type == "nodegroup":
        return _compound(f"N@{expr}", [f"N@{expr}"], nodegroups, pillar_exact, quiet, vocabulary)
    term = Term(str(expr), tgt_type, expr, delimiter, vocabulary.named(tgt_type))
    return Expression(term.word, ("word", term.word), {term.word: term}, tgt_type)


def sources(expr: Any, tgt_type: str, nodegroups: Nodegroups | None = None, vocabulary: Vocabulary = OURS) -> set[str]:
    """The sources that an expression uses: ``id``, ``grains``, ``pillar``, ``subject``. Raises UsageError."""
    parsed = parse(expr, tgt_type, nodegroups=nodegroups, quiet=True, vocabulary=vocabulary)
    return {term.matcher.SOURCE for term in parsed.terms.values()}


def _compound(
    expr: Any, words: list[str], nodegroups: Nodegroups, pillar_exact: bool, quiet: bool, vocabulary: Vocabulary
) -> Expression:
    text = expr if isinstance(expr, str) else " ".join(map(str, expr))

    def missing(name: str, reason: str) -> None:
        if not quiet and name not in nodegroups:
            log.error("there is no nodegroup %r, and no group of this name has hosts: nothing matches it", name)
        elif not quiet:
            log.error("the nodegroup %r %s: nothing matches it", name, reason)

    if isinstance(nodegroups, NamedGroups) and not quiet:
        for name in (word[2:] for word in words if word.startswith("N@")):
            if nodegroups.is_both(name):
                _say_shadowed(name)
    expanded = grammar.expand(words, nodegroups, missing)
    if words and not expanded:  # all groups are missing
        return Expression(text, ("nothing",), {})
    try:
        tree = grammar.parse(expanded)
    except ValueError as exc:
        raise _error(text, str(exc)) from None
    named = [word for word in expanded if word not in grammar.OPERATORS]
    terms = {word: _term(text, word, pillar_exact, quiet, vocabulary) for word in named}
    return Expression(text, tree, terms)


def _term(text: str, word: str, pillar_exact: bool, quiet: bool, vocabulary: Vocabulary) -> Term:
    prefixed = grammar.prefix(word)
    own = re.fullmatch(r"([A-Z])@(.+)", word, re.DOTALL) if prefixed is None else None
    if own is not None and vocabulary.of_letter(own[1]):
        prefixed = (own[1], "", own[2])
    if prefixed is None:
        loose = word.startswith("(") or (word.endswith(")") and word.count(")") > word.count("("))
        if loose and not quiet:
            log.warning("%r is taken for a glob: parentheses need spaces around them", word)
        if own is not None and not quiet:
            log.warning("%r is taken for a glob: there is no matcher with the letter %s", word, own[1])
        return Term(word, "glob", word, DELIMITER, vocabulary.named("glob"), part=True)
    letter, delimiter, expr = prefixed
    kind = vocabulary.of_letter(letter)
    if kind is None:
        letters = ", ".join(sorted({*vocabulary.letters(), "N"}))
        raise _error(text, f"has {word!r}, but there is no {letter}@ (there are {letters})")
    tgt_type = "pillar_exact" if pillar_exact and letter in ("I", "J") else kind
    matcher = vocabulary.named(tgt_type)
    if matcher.SOURCE == "id":
        Term(word, tgt_type, expr, DELIMITER, matcher).of("")  # an invalid term is logged whatever the result is
    return Term(word, tgt_type, expr, delimiter or DELIMITER, matcher, part=matcher.SOURCE != "id")


def _error(text: str, problem: str) -> UsageError:
    hint = "write it like 'web* and not ( L@web3 or E@db\\d )'"
    return UsageError(f"the compound expression {text!r} {problem}", hint=hint)


def _ask(term: Term) -> _Predicate:
    source = term.matcher.SOURCE
    if source in ("id", "subject"):
        return term.match
    results: dict[Hashable, bool] = {}
    kept: list[Any] = []  # keeps the objects alive, so that each id() is unique

    def predicate(subject: Any) -> bool:
        value = subject.grains if source == "grains" else subject.pillar
        key = id(value)  # caches give equal targets the very same mapping
        if key not in results:
            results[key] = term.of(value)
            kept.append(value)
        return results[key]

    return predicate
