"""An SLS with local IDs and values for its template: the renderer ``stateconf``. Salt: salt.renderers.stateconf.

``#!stateconf [-G] [-o] [-s] [-p] [DATA [options] . TEMPLATE [options]]``; without renderers it is ``yaml . jinja``.

-G  no goal state (which requires all states of the SLS)
-o  a state requires that above it in the file
-s  a start state, which all states require indirectly
-p  the data comes from the renderer before this one in the pipe

IDs that begin with a dot are local to their SLS: ``.start`` in ``web.nginx`` becomes ``web.nginx::start``, also in
requisites. States ``stateconf.set`` hold values that the template can access by their ID.
"""

from __future__ import annotations

import copy
import getopt
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pushsalt.render.context import RenderContext
from pushsalt.render.problems import SourceError
from pushsalt.render.source import WrongInput, as_text

END_MARKER: Final = r"#\s*-+\s*end of state config\s*-+"
START_STATE: Final = ".start"
GOAL_STATE: Final = ".goal"
STATE_FUNCTION: Final = "stateconf.set"

_BEFORE: Final = ("require", "watch", "listen", "onchanges", "onfail")
_AFTER: Final = tuple(f"{name}_in" for name in _BEFORE)
_NAMING: Final = (*_BEFORE, *_AFTER, "use", "use_in")
_NO_STATES: Final = ("include", "exclude", "extend")

High = dict[str, Any]


class Values(dict[str, Any]):
    """The values of a ``stateconf.set``, as items and as attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


@dataclass
class Memory:
    """Values and extends of the SLS that were rendered before for one target."""

    values: dict[str, Values] = field(default_factory=dict)
    extending: dict[str, Values] = field(default_factory=dict)
    #: state -> states that it requires by an ``extend``, and states that require it by one
    extended_before: dict[str, list[str]] = field(default_factory=dict)
    extended_after: dict[str, list[str]] = field(default_factory=dict)

    def variables(self, sls: str) -> dict[str, Any]:
        """Names for the template: the IDs that have values, those of this SLS without its name."""
        return {name.removeprefix(f"{sls}::"): values for name, values in self.values.items()}


@dataclass(frozen=True)
class Options:
    """The renderer's ``-s``, ``-o`` and ``-G``; ``sls`` and ``saltenv`` of the data."""

    sls: str
    saltenv: str
    start: bool = False
    ordered: bool = False
    goal: bool = True


def processed(high: Mapping[str, Any], options: Options, memory: Memory) -> High:
    """The data for the compiler; ``high`` is not changed. Raises SourceError."""
    data: High = {
        sid: {states: []} if isinstance(states, str) else states for sid, states in copy.deepcopy(dict(high)).items()
    }
    _absolute_names(data, options)
    if options.ordered:
        _require_in_order(data, memory)
    if options.start:
        _add_start(data, options.sls)
    if options.goal:
        _add_goal(data)
    _rename(data, options.sls)
    _remember(data, memory.values, memory)
    return data


# --- walking -----------------------------------------------------------------------------------------------------


def _states(
    data: Mapping[str, Any], skipped: tuple[str, ...] = ("include", "exclude")
) -> Iterator[tuple[str, str, Any]]:
    """(ID, state function, arguments). Malformed states are skipped: the compiler reports them."""
    for sid, states in data.items():
        if str(sid).startswith("__") or sid in skipped or not isinstance(states, dict):
            continue
        for function, args in states.items():
            if not str(function).startswith("__"):
                yield sid, function, args


def _pairs(args: Any, names: tuple[str, ...]) -> Iterator[tuple[dict[str, Any], str]]:
    """The one-key mappings among arguments that have one of these names."""
    for item in args if isinstance(args, list) else ():
        if isinstance(item, dict) and item:
            name = next(iter(item))
            if name in names:
                yield item, name


def _named(args: Any, names: tuple[str, ...]) -> Iterator[tuple[dict[str, Any], str, str]]:
    """The requisites among arguments: each one's mapping, its state, its ID."""
    for item, name in _pairs(args, names):
        for requisite in item[name] if isinstance(item[name], list) else ():
            if isinstance(requisite, dict) and requisite:
                state, sid = next(iter(requisite.items()))
                if isinstance(sid, str):
                    yield requisite, state, sid


def _module(function: str) -> str:
    return str(function).split(".", 1)[0]


def _tag(sid: str, function: str) -> str:
    return f"{sid}:{_module(function)}"


# --- names -------------------------------------------------------------------------------------------------------


def _absolute(relative: str, sls: str) -> str:
    """The absolute SLS name of ``.a`` and ``..a`` in an SLS."""
    suffix = relative.lstrip(".")
    levels, parts = len(relative) - len(suffix), sls.split(".")
    if levels > len(parts):
        raise SourceError(f"Attempted relative include goes beyond top level package: {relative} in {sls}")
    return ".".join([*parts[: len(parts) - levels], suffix])


def _absolute_id(sid: str, sls: str) -> str:
    """The absolute ID: ``.a`` is local to this SLS, ``.other::a`` to an SLS in the same folder."""
    if "::" in sid:
        return _absolute(sid, sls)
    name = _absolute(sid, f"{sls}.")
    return "::".join(name.rsplit(".", 1))


def _absolute_names(data: High, options: Options) -> None:
    includes = data.get("include")
    for at, entry in enumerate(includes if isinstance(includes, list) else ()):
        env, name = next(iter(entry.items())) if isinstance(entry, dict) and entry else (options.saltenv, entry)
        if isinstance(name, str) and name.startswith("."):
            data["include"][at] = {env: _absolute(name, options.sls)}
    excludes = data.get("exclude")
    for entry in excludes if isinstance(excludes, list) else ():
        if isinstance(entry, dict) and str(entry.get("sls", "")).startswith("."):
            entry["sls"] = _absolute(entry["sls"], options.sls)


def _rename(data: High, sls: str) -> None:
    if isinstance(data.get("extend"), dict):
        _rename(data["extend"], sls)
    for _, _, args in _states(data, ("include", "exclude", "extend")):
        for requisite, state, sid in _named(args, _NAMING):
            if sid.startswith("."):
                requisite[state] = _absolute_id(sid, sls)
    for sid in [sid for sid in data if str(sid).startswith(".")]:
        new = _absolute_id(sid, sls)
        if new in data:
            raise SourceError(f"Can't rename state id({sid}) into {new} because the later already exists!")
        states = data[sid] if isinstance(data[sid], dict) else {}
        for function, args in states.items():
            if _module(function) != "stateconf" and isinstance(args, list) and not any(_pairs(args, ("name",))):
                args.insert(0, {"name": sid[1:]})
        data[new] = data.pop(sid)


# --- order -------------------------------------------------------------------------------------------------------


def _require_in_order(data: High, memory: Memory) -> None:
    """Let each state require the previous one. Explicit requisites must be consistent with that order."""
    for sid, _, args in _states(data):
        if sid != "extend" and any(_pairs(args, ("names",))):
            raise SourceError(
                f"'names' declaration(found in state id: {sid}) is not supported with implicitly ordered states! "
                "You should generate the states in a template for-loop instead."
            )
    extended = data.get("extend")
    for sid, _, args in _states(extended if isinstance(extended, dict) else {}):
        for extensions, names in ((memory.extended_before, _BEFORE), (memory.extended_after, _AFTER)):
            for _, state, other in _named(args, names):
                extensions.setdefault(_tag(sid, state), []).append(_tag(other, state))
    states = list(_states(data, _NO_STATES))
    after = {_tag(sid, function) for sid, function, _ in states}
    before: set[str] = set()
    previous: dict[str, str] | None = None
    for sid, function, args in states:
        tag = _tag(sid, function)
        after.discard(tag)
        for names, extensions, wrong, where in (
            (_BEFORE, memory.extended_before, after, "after"),
            (_AFTER, memory.extended_after, before, "before"),
        ):
            required = [_tag(other, state) for _, state, other in _named(args, names)] + extensions.get(tag, [])
            for other in required:
                if other in wrong:
                    raise SourceError(f"State({tag}) can't {'/'.join(names)} a state({other}) defined {where} it!")
        if previous is not None and isinstance(args, list):
            for item, name in _pairs(args, ("require",)):
                item[name].insert(0, dict(previous))
                break
            else:
                args.append({"require": [dict(previous)]})
        before.add(tag)
        previous = {_module(function): sid}


def _add_start(data: High, sls: str) -> None:
    if START_STATE in data:
        raise SourceError(f"Can't generate start state({START_STATE})! The same state id already exists!")
    if not data:
        return
    for sid, states in data.items():
        if sid in _NO_STATES or str(sid).startswith("__") or not isinstance(states, dict) or not states:
            continue
        if states.get("__sls__", sls) == sls:
            data[START_STATE] = {STATE_FUNCTION: [{"require_in": [{_module(next(iter(states))): sid}]}]}
            return
    raise SourceError("Can't determine the first state in the sls file!")


def _add_goal(data: High) -> None:
    if GOAL_STATE in data:
        raise SourceError(f"Can't generate goal state({GOAL_STATE})! The same state id already exists!")
    required = [
        {_module(function): sid} for sid, function, _ in _states(data, _NO_STATES) if "__sls__" not in data[sid]
    ]
    data[GOAL_STATE] = {STATE_FUNCTION: [{"require": required}]}


# --- values ------------------------------------------------------------------------------------------------------


def _remember(data: Mapping[str, Any], stored: dict[str, Values], memory: Memory) -> None:
    """Store the values of ``stateconf.set`` states; those in ``extend`` override the extended ones."""
    for sid, states in data.items():
        if not isinstance(states, dict):
            continue
        if sid == "extend" and stored is memory.values:
            _remember(states, memory.extending, memory)
            continue
        function = next((name for name in ("stateconf", STATE_FUNCTION) if name in states), None)
        if function is None:
            continue
        values = stored.setdefault(sid, Values())
        for item in states[function] if isinstance(states[function], list) else ():
            if isinstance(item, dict) and item:
                name, value = next(iter(item.items()))
                values[name] = value
        if stored is memory.values and sid in memory.extending:
            extending = memory.extending[sid]
            for requisite in _BEFORE:
                if requisite in extending:
                    extending[requisite] += values.get(requisite, [])
            values.update(extending)


def config_part(text: str, marker: str = END_MARKER) -> str | None:
    """The text before the line that ends the configuration; None without such a line."""
    match = re.search(marker, text)
    return text[: match.start()] if match else None


USAGE: Final = "#!stateconf [-GoSp] [<data renderer> [options] . <template renderer> [options]]"
_DOT: Final = re.compile(r"\s+\.\s+")


def render(data: Any, saltenv: str = "base", sls: str = "", **kwargs: Any) -> Any:
    context: RenderContext = kwargs["render_context"]
    memory = context.kept.setdefault("stateconf", Memory())
    try:
        flags, words = getopt.getopt(str(kwargs.get("argline") or "").split(), "Gosp")
    except getopt.GetoptError as exc:
        raise SourceError(f"Invalid use of stateconf renderer: {exc.msg}", hint=f"Usage: {USAGE}") from None
    given = {flag for flag, _ in flags}
    ordered, goal, start = "-o" in given, "-G" not in given, "-s" in given
    options = Options(sls, saltenv, start=start, ordered=ordered, goal=goal)
    if "-p" in given:
        if not isinstance(data, Mapping):
            raise WrongInput("the data of states (option -p)", data)
        return processed(data, options, memory)

    pipe = [part.strip().replace("\\.", ".") for part in _DOT.split(" ".join(words) or "yaml . jinja", maxsplit=1)]
    if len(pipe) < 2:
        raise SourceError("Invalid use of stateconf renderer: it takes two renderers", hint=f"Usage: {USAGE}")
    (to_data, data_args), (to_text, text_args) = (_renderer(part, kwargs["renderers"]) for part in pipe)
    if ordered and pipe[0].split(" ", 1)[0] != "yaml":
        raise SourceError("Implicit ordering is only supported if the yaml renderer is used!")

    def high(text: str, variables: Mapping[str, Any], options: Options) -> Any:
        folder = posixpath.dirname(sls.replace(".", "/")) if "." in sls else sls
        names = {"sls_dir": folder or ".", **variables, **(kwargs.get("context") or {})}
        rendered = to_text(text, saltenv, sls, argline=text_args, context=names)
        high = to_data(rendered, saltenv, sls, argline=data_args)
        if not isinstance(high, Mapping):
            raise SourceError(f"the renderer {pipe[0].split(' ', 1)[0]!r} gives no mapping of states")
        return processed(high, options, memory)

    text = as_text(data)
    first = config_part(text, str(context.setting("stateconf_end_marker") or END_MARKER))
    if first is not None:
        # first render only the part above the marker: its values are variables of the whole text
        high(first, {}, Options(sls, saltenv, start=start, goal=False))
    return high(text, memory.variables(sls), options)


def _renderer(part: str, renderers: Mapping[str, Callable[..., Any]]) -> tuple[Callable[..., Any], str]:
    name, _, argline = part.partition(" ")
    try:
        return renderers[name], argline.strip()
    except KeyError:
        raise SourceError(f"Renderer: {name!r} is not available!") from None
