"""Computes the SLS of one target from top files. Salt: BaseHighState.get_tops to top_matches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pushsalt.compile.high import Available
from pushsalt.compile.source import Matches, Problem, RenderedSls, StateTree, place_in_tops
from pushsalt.errors import Position, RenderError, StateError, UsageError

#: (expression, match type) -> whether it matches this target. Types are Salt's: compound, glob, grain, pillar, list ...
Matcher = Callable[[str, str], bool]

#: One top file, or several merged: saltenv -> expression -> list of SLS names and option dicts.
Top = dict[Any, Any]

NO_TARGETS = "Unable to render top file. No targets found."


@dataclass(frozen=True)
class TopOptions:
    """The options for top files, with Salt's names and defaults."""

    state_top: str = "top.sls"
    saltenv: str | None = None
    state_top_saltenv: str | None = None
    top_file_merging_strategy: str = "merge"
    default_top: str = "base"
    env_order: tuple[str, ...] = ()
    master_tops_first: bool = False

    @classmethod
    def of(cls, opts: Mapping[str, Any]) -> TopOptions:
        state_top = str(opts.get("state_top") or cls.state_top).removeprefix("salt://").lstrip("/")
        top_saltenv = opts.get("state_top_saltenv")
        return cls(
            state_top=state_top,
            saltenv=opts.get("saltenv") or None,
            state_top_saltenv=str(top_saltenv) if top_saltenv else None,
            top_file_merging_strategy=opts.get("top_file_merging_strategy") or "merge",
            default_top=opts.get("default_top") or "",
            env_order=tuple(dict.fromkeys(opts.get("env_order") or ())),
            master_tops_first=bool(opts.get("master_tops_first")),
        )


@dataclass
class TopResult:
    """``matches`` are the SLS of one target, ``tops`` the top files with data; ``found``: whether any exists."""

    matches: Matches = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    found: bool = False
    tops: list[RenderedSls] = field(default_factory=list)


def match_top(
    tree: StateTree,
    options: TopOptions,
    matcher: Matcher,
    *,
    available: Available | None = None,
    master_tops: Callable[[], Mapping[str, Sequence[str]]] | None = None,
) -> TopResult:
    """Read, merge, check and match the top files.

    ``master_tops`` returns matches of other sources (an external node classifier), which are added after those of the
    top files, or before them with ``master_tops_first``. It may raise StateError.
    """
    available = available or Available(tree, options.env_order)
    result = TopResult()
    tops = _gather(tree, options, available, result)
    try:
        top = _merge(tops, options, result.warnings)
    except TypeError:
        hint = "A saltenv in a top file maps targets to lists of SLS."
        bad = [(top, env) for top in result.tops for env, body in top.data.items() if not isinstance(body, dict)]
        where = tuple(place for top, env in bad if env != "include" and (place := top.place(env)) is not None)
        result.problems.append(Problem(NO_TARGETS, where, hint))
        return result
    result.problems += verify_top(top, result.tops)
    if result.problems:
        return result
    for saltenv, body in top.items():
        if options.saltenv in (None, saltenv):
            for expression, items in body.items():
                try:
                    _take(result.matches, saltenv, expression, items, matcher, available)
                except UsageError as exc:
                    text = f"A target in the top file for saltenv {saltenv!r} cannot be matched: {exc.message}"
                    where = place_in_tops(result.tops, saltenv, expression)
                    result.problems.append(Problem(text, where, exc.hint))
    for saltenv, names in _of_master_tops(master_tops, result).items():
        own = result.matches.get(saltenv, [])
        first, second = (list(names), own) if options.master_tops_first else (own, list(names))
        result.matches[saltenv] = first + [name for name in second if name not in first]
    return result


def _of_master_tops(
    master_tops: Callable[[], Mapping[str, Sequence[str]]] | None, result: TopResult
) -> Mapping[str, Sequence[str]]:
    try:
        return master_tops() if master_tops else {}
    except StateError as exc:
        result.problems += [Problem(text, hint="see the option `master_tops`") for text in exc.errors]
        return {}


# gather --------------------------------------------------------------------------------------------------------------


def _gather(tree: StateTree, options: TopOptions, available: Available, result: TopResult) -> dict[str, list[Top]]:
    """saltenv -> its top file and those that it includes; an empty one if it has none."""
    if options.saltenv:
        envs = [options.saltenv]
    elif options.state_top_saltenv:
        envs = [options.state_top_saltenv]
    else:
        envs = available.envs()
    strategy = options.top_file_merging_strategy
    if strategy == "same" and not options.saltenv and not options.default_top:
        text = "top_file_merging_strategy set to 'same', but no default_top configuration option was set"
        result.problems.append(Problem(text))
        return {}
    tops: dict[str, list[Top]] = {}
    count = 0
    for env in envs:
        top = _render(lambda env=env: tree.render_file(options.state_top, env), result)  # type: ignore[misc]
        count += top is not None
        tops[env] = [top or {}]
    result.found = count > 0
    if count > 1 and strategy == "merge" and not options.env_order:
        result.warnings.append(
            "top_file_merging_strategy is set to 'merge' and multiple top files were found. Merging order is not "
            "deterministic, it may be desirable to either set top_file_merging_strategy to 'same' or use the "
            "'env_order' configuration parameter to specify the merging order."
        )
    for env, of_env in tops.items():
        done: set[str] = set()
        include = of_env[0].pop("include", None) or []
        if not isinstance(include, list):
            text = f"Include Declaration in the top file of saltenv {env} is not formed as a list"
            result.problems.append(Problem(text, place_in_tops(result.tops, "include")))
            continue
        for pattern in include:
            for sls in available.match(env, str(pattern)):
                if sls not in done:
                    done.add(sls)
                    included = _render(lambda sls=sls, env=env: tree.render_sls(sls, env), result)  # type: ignore[misc]
                    of_env.append(included or {})
    return tops


def _render(render: Callable[[], RenderedSls | None], result: TopResult) -> Top | None:
    """A copy of a top file's data; None for a missing file, empty for an empty or invalid one."""
    try:
        rendered = render()
    except RenderError as exc:
        where = (exc.where,) if exc.where else ()
        result.problems.extend(Problem(f"Unable to render top file: {text}", where, exc.hint) for text in exc.errors)
        return {}
    if rendered is None:
        return None
    if rendered.data and not isinstance(rendered.data, dict):
        where = (Position(rendered.path),) if rendered.path else ()
        result.problems.append(Problem("Top data was not formed as a dict", where))
        return {}
    if rendered.data:
        result.tops.append(rendered)
    return dict(rendered.data or {})


# merge ---------------------------------------------------------------------------------------------------------------


def _merge(tops: Mapping[str, list[Top]], options: TopOptions, warnings: list[str]) -> Top:
    """All top files merged. Raises TypeError if a saltenv has no targets."""
    strategy = options.top_file_merging_strategy
    if strategy == "same":
        return _merge_same(tops, options.default_top, warnings)
    if strategy == "merge_all":
        return _merge_all(tops)
    if strategy != "merge":
        warnings.append(f"Invalid top_file_merging_strategy '{strategy}', falling back to 'merge'")
    return _merge_merge(tops)


def _sections(tops: Iterable[Top]) -> Iterable[tuple[Any, Any]]:
    return ((env, section) for top in tops for env, section in top.items() if env != "include")


def _merge_merge(tops: Mapping[str, list[Top]]) -> Top:
    """Strategy ``merge``: all sections of ``base``; from others, their own section if ``base`` does not have it."""
    merged: Top = {}
    for env, section in _sections(tops.get("base", [])):
        _add(merged, env, section)
    for own, of_env in tops.items():
        if own != "base":
            for env, section in _sections(of_env):
                if env == own and env not in merged:
                    _add(merged, env, section)
    return merged


def _merge_same(tops: Mapping[str, list[Top]], default_top: str, warnings: list[str]) -> Top:
    """Strategy ``same``: each saltenv's own section; without a top file, its section in that of ``default_top``."""
    merged: Top = {}
    for own, of_env in tops.items():
        empty = not any(of_env)
        for env, section in _sections(tops.get(default_top, []) if empty else of_env):
            if env == own:
                _add(merged, env, section)
        if empty and own not in merged:
            warnings.append(
                f"The '{own}' saltenv has no top file, and default_top ({default_top}) has no section for it"
            )
    return merged


def _merge_all(tops: Mapping[str, list[Top]]) -> Top:
    """Strategy ``merge_all``: all sections of all top files; SLS lists of equal targets are joined."""
    merged: Top = {}
    for env, section in (each for of_env in tops.values() for each in _sections(of_env)):
        targets = merged.setdefault(env, {})
        for target, items in _targets(section).items():
            targets[target] = _joined(targets[target], items) if target in targets else items
    return merged


def _joined(old: list[Any], new: list[Any]) -> list[Any]:
    options = [item for item in [*old, *new] if isinstance(item, dict)]
    last = [item for item in new if isinstance(item, dict)] or options
    names = [item for item in old if isinstance(item, str)]
    return [*last[-1:], *names, *(item for item in new if isinstance(item, str) and item not in names)]


def _add(merged: Top, env: Any, section: Any) -> None:
    merged.setdefault(env, {}).update(_targets(section))


def _targets(section: Any) -> dict[Any, Any]:
    if not isinstance(section, dict):
        raise TypeError(section)
    return section


# check and match -----------------------------------------------------------------------------------------------------


def verify_top(top: Any, tops: Sequence[RenderedSls] = ()) -> list[Problem]:
    """The errors in the shape of merged top data; ``tops``: its files. Salt: BaseHighState.verify_tops."""
    if not isinstance(top, dict):
        return [Problem("Top data was not formed as a dict")]
    problems: list[Problem] = []
    for saltenv, section in top.items():
        texts: list[tuple[str, Any]] = []
        if not isinstance(saltenv, str):
            texts.append((f"Environment {saltenv} in top file is not formed as a string", None))
        if saltenv == "":
            texts.append(("Empty saltenv statement in top file", None))
        if not isinstance(section, dict):
            texts.append((f"The top file matches for saltenv {saltenv} are not formatted as a dict", None))
        else:
            for expression, items in section.items():
                texts += [(text, expression) for text in _verify_items(saltenv, expression, items)]
        problems += [Problem(text, place_in_tops(tops, saltenv, expression)) for text, expression in texts]
    return problems


def _verify_section(saltenv: Any, section: dict[Any, Any]) -> Iterator[str]:
    for expression, items in section.items():
        yield from _verify_items(saltenv, expression, items)


def _verify_items(saltenv: Any, expression: Any, items: Any) -> Iterator[str]:
    if not isinstance(items, list):
        yield (
            f"Malformed topfile: state declarations for matcher {expression!r} in saltenv {saltenv!r} are not "
            f"formed as a list (got {type(items).__name__})"
        )
        return
    for item in items:
        if isinstance(item, dict):
            for key, value in item.items():
                if not value:
                    yield f"Improperly formatted top file matcher in saltenv {item}: {value} file"
                elif key == "subfilter" and isinstance(value, dict):
                    yield from _verify_section(saltenv, value)
                elif key == "subfilter":
                    yield f"The subfilter of matcher {expression!r} in saltenv {saltenv!r} is not formed as a dict"
        elif item == "":
            yield f"Environment {saltenv} contains an empty sls index"


def match_type(items: Iterable[Any]) -> str:
    """The match type of a target's list (``- match: type``); compound by default. Salt: confirm_top."""
    types = [item["match"] for item in items if isinstance(item, dict) and "match" in item]
    return str(types[-1]) if types else "compound"


def _take(matches: Matches, saltenv: str, expression: Any, items: Any, matcher: Matcher, available: Available) -> None:
    """Add the SLS of one target expression to the matches, if it matches this target."""
    if isinstance(items, str):
        items = [items]
    if not matcher(str(expression), match_type(items)):
        return
    own = matches.setdefault(saltenv, [])
    for item in items:
        if isinstance(item, str):
            own.append(item)
        elif isinstance(item, dict):
            rest = dict(item)
            for narrower, narrowed in (rest.pop("subfilter", None) or {}).items():
                _take(matches, saltenv, narrower, narrowed, matcher, available)
            if rest:
                env, sls = list(rest.items())[-1]
                if isinstance(env, str) and isinstance(sls, str) and available.has_env(env, dynamic=False):
                    matches.setdefault(env, []).append(sls)
