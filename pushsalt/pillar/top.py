"""Evaluates pillar top files: the pillar SLS of one target. Salt: salt.pillar.Pillar.get_tops to top_matches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from pushsalt.compile.source import Matches, Problem, RenderedSls, place_in_tops
from pushsalt.compile.top import Matcher, match_type
from pushsalt.errors import RenderError, UsageError


class PillarTree(Protocol):
    """Rendered files of the pillar roots, for one target. As compile.source.StateTree, and:

    ``defaults``: variables that an ``include`` passes to the templates of the included SLS.
    """

    def envs(self) -> Iterable[str]:
        """The saltenvs of ``pillar_roots``, in the configuration's order."""
        ...

    def list_states(self, saltenv: str) -> Iterable[str]: ...

    def render_sls(self, sls: str, saltenv: str, defaults: Mapping[str, Any]) -> RenderedSls | None: ...

    def render_file(self, path: str, saltenv: str) -> RenderedSls | None: ...


@dataclass
class PillarTop:
    """``matches`` are the SLS of one target, ``ignored`` those of each saltenv that need not exist."""

    matches: Matches = field(default_factory=dict)
    ignored: dict[str, set[str]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    tops: list[RenderedSls] = field(default_factory=list)


@dataclass
class _Entry:
    """One target expression: its matcher, SLS names, and order."""

    match: str
    names: list[str]
    order: int
    #: ``{"match": …}`` of the file, if there is one
    given: list[dict[str, Any]] = field(default_factory=list)


class MergedTop:
    """All pillar top files as one: saltenv -> expression -> SLS. Read once; matched again when pillar has grown."""

    def __init__(self, tree: PillarTree, opts: Mapping[str, Any], saltenv: str | None, pillarenv: str | None) -> None:
        self.errors: list[str] = []
        self._tops: list[RenderedSls] = []
        self._pillarenv = pillarenv
        self._ignored: dict[str, set[str]] = {}
        self._entries: dict[str, dict[str, _Entry]] = {}
        state_top = str(opts.get("state_top") or "top.sls").removeprefix("salt://").lstrip("/")
        none = opts.get("pillar_source_merging_strategy") == "none"
        for env in _saltenvs(tree, saltenv, pillarenv, only_one=none):
            for top in self._read(tree, env, state_top):
                self._add(top)

    @property
    def data(self) -> dict[str, dict[str, list[Any]]]:
        """saltenv -> expression -> matcher and SLS names, in their order. Salt: Pillar.merge_tops."""
        return {
            env: {
                expr: [*each.given, *each.names] for expr, each in sorted(entries.items(), key=lambda it: it[1].order)
            }
            for env, entries in self._entries.items()
        }

    def match(self, matcher: Matcher) -> PillarTop:
        """The SLS of the target of ``matcher``."""
        matches: Matches = {}
        errors = list(self.errors)
        for env, entries in self._entries.items():
            if self._pillarenv and env != self._pillarenv:
                continue
            for expression, entry in sorted(entries.items(), key=lambda item: item[1].order):
                try:
                    meant = matcher(expression, entry.match)
                except UsageError as exc:
                    text = f"A target in the pillar top file for environment '{env}': {exc.message}"
                    where = place_in_tops(self._tops, env, expression)
                    errors.append(Problem(text, where, exc.hint).explained())
                    continue
                if meant:
                    names = matches.setdefault(env, [])
                    names.extend(name for name in entry.names if name not in names)
        return PillarTop(matches, self._ignored, errors, self._tops)

    def _read(self, tree: PillarTree, env: str, state_top: str) -> Iterable[dict[Any, Any]]:
        """The top file of a saltenv and those that it includes."""
        top = self._render(lambda: tree.render_file(state_top, env), "Rendering Primary Top file failed")
        if top is None:
            return
        include = top.pop("include", None) or []
        yield top
        if not isinstance(include, list):
            text = f"Include Declaration in the pillar top file of '{env}' is not formed as a list"
            self.errors.append(Problem(text, place_in_tops(self._tops, "include")).explained())
            return
        for sls in dict.fromkeys(str(name) for name in include):
            failed = f"Rendering Top file {sls} failed"
            included = self._render(lambda sls=sls: tree.render_sls(sls, env, {}), failed)  # type: ignore[misc]
            if included is None:
                self.errors.append(f"{failed}, render error:\nthere is no such SLS in environment '{env}'")
            else:
                included.pop("include", None)
                yield included

    def _render(self, render: Callable[[], RenderedSls | None], failed: str) -> dict[Any, Any] | None:
        try:
            rendered = render()
        except RenderError as exc:
            self.errors += render_errors(exc, failed)
            return {}
        if rendered is None:
            return None
        if rendered.data and not isinstance(rendered.data, dict):
            self.errors.append(f"{failed}, render error:\n{rendered.path}: Top data was not formed as a dict")
            return {}
        if rendered.data:
            self._tops.append(rendered)
        return dict(rendered.data or {})

    def _add(self, top: Mapping[Any, Any]) -> None:
        for env, targets in top.items():
            if not isinstance(targets, dict) or not all(isinstance(items, list) for items in targets.values()):
                text = (
                    "Error encountered while rendering pillar top file. The targets of environment "
                    f"'{env}' are not formed as expressions with lists of SLS."
                )
                self.errors.append(Problem(text, place_in_tops(self._tops, env)).explained())
                continue
            for expression, items in targets.items():
                names = list(dict.fromkeys(item for item in items if isinstance(item, str)))
                options = [item for item in items if isinstance(item, dict)]
                if any(option.get("ignore_missing") for option in options):
                    self._ignored.setdefault(env, set()).update(names)
                orders = [option["order"] for option in options if "order" in option]
                given = [{"match": option["match"]} for option in options if "match" in option]
                entry = _Entry(match_type(options), names, _number(orders[-1]) if orders else 0, given)
                self._entries.setdefault(env, {})[str(expression)] = entry


def _saltenvs(tree: PillarTree, saltenv: str | None, pillarenv: str | None, *, only_one: bool) -> list[str]:
    """The saltenvs whose top files are used: the ``pillarenv`` if one is set, else all, ``base`` first.

    With ``pillar_source_merging_strategy: none`` only the saltenv of the states is used.
    """
    envs = list(tree.envs())
    if pillarenv:
        return [pillarenv] if pillarenv in envs or "__env__" in envs else []
    envs = list(dict.fromkeys(["base", *envs]))
    if only_one:
        only = saltenv or "base"
        return [only] if only in envs else []
    return envs


def render_errors(exc: RenderError, failed: str) -> list[str]:
    """The texts of an error, with a prefix that says what failed, unless they have one.

    As in Salt, the prefix has no saltenv for pillar.
    """
    return [
        re.sub(r"\ARendering SLS '[^':]*:([^']*)' failed: ", r"Rendering SLS '\1' failed. ", text)
        if text.startswith("Rendering ")
        else f"{failed}, render error:\n{text}"
        for text in exc.errors
    ]


def _number(order: Any) -> int:
    try:
        return int(order)
    except (TypeError, ValueError):
        return 0
