"""Compiles SLS files to high data: declarations and includes; collects extend and exclude.

Salt: BaseHighState.render_highstate, render_state.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pushsalt.compile.source import High, Matches, Problem, RenderedSls, SourcePositions, StateTree, named_in_tops
from pushsalt.compile.words import did_you_mean, first_key, is_meta
from pushsalt.errors import RenderError

#: The ``order`` of the first declaration; it increases by one for each. States with a lower explicit order run first.
FIRST_ORDER = 10000

#: ``include: [{_xenv: sls}]`` searches the SLS in all saltenvs of the target.
ANY_ENV = "_xenv"


class Available:
    """The saltenvs and the SLS names of each, listed on demand."""

    def __init__(self, tree: StateTree, env_order: Sequence[str] = ()) -> None:
        self._tree = tree
        self._env_order = list(dict.fromkeys(env_order))
        self._envs: list[str] | None = None
        self._names: dict[str, Sequence[str]] = {}

    def envs(self) -> list[str]:
        """The saltenvs in the order of precedence of their top files: ``base`` first, or by ``env_order``."""
        if self._envs is None:
            saltenvs = list(self._tree.envs())
            if self._env_order:
                self._envs = [env for env in self._env_order if env in saltenvs or not saltenvs]
            else:
                self._envs = list(dict.fromkeys(["base", *saltenvs]))
        return self._envs

    def has_env(self, saltenv: str, *, dynamic: bool = True) -> bool:
        """Whether the saltenv exists. With ``dynamic``, a file server with ``__env__`` roots has every saltenv."""
        return saltenv == "base" or saltenv in self.envs() or (dynamic and "__env__" in self.envs())

    def names(self, saltenv: str) -> Sequence[str]:
        if saltenv not in self._names:
            self._names[saltenv] = self._tree.list_states(saltenv)
        return self._names[saltenv]

    def match(self, saltenv: str, pattern: str) -> list[str]:
        return fnmatch.filter(self.names(saltenv), pattern)

    def expand(self, saltenv: str, pattern: str) -> list[str]:
        """The SLS names that match a pattern, or the pattern itself, since a file may exist that is not listed."""
        if not any(char in pattern for char in "*?["):
            return [pattern]
        return self.match(saltenv, pattern) or [pattern]


class HighBuilder:
    """Renders the SLS files of one target, with all includes, and merges them into one high data.

    After ``build``, ``problems`` has all errors, and ``sources`` the place where each ID was declared.
    """

    def __init__(
        self,
        tree: StateTree,
        *,
        available: Available | None = None,
        auto_order: bool = True,
        tops: Sequence[RenderedSls] = (),
    ) -> None:
        self.problems: list[Problem] = []
        self.sources = SourcePositions()
        self._tree = tree
        self._available = available or Available(tree)
        self._auto_order = auto_order
        self._tops = tops
        self._next_order = FIRST_ORDER
        self._rendered: set[tuple[str, str]] = set()

    def build(self, matches: Matches) -> High:
        """The high data of these SLS; ``__extend__`` and ``__exclude__`` are kept as lists, not applied."""
        high: High = {}
        for saltenv, patterns in matches.items():
            for pattern in patterns:
                if self._available.has_env(saltenv):
                    names = self._available.expand(saltenv, pattern)
                else:
                    self._report(f"No matching salt environment for environment '{saltenv}' found")
                    names = [pattern]
                for sls in names:
                    if (saltenv, sls) not in self._rendered:
                        self._merge(high, self._state(sls, saltenv, matches))
        if "__extend__" in high:
            high["__extend__"] = _distinct(high["__extend__"])
        return high

    # one SLS ---------------------------------------------------------------------------------------------------------

    def _state(self, sls: str, saltenv: str, matches: Matches, *, by: RenderedSls | None = None) -> High:
        """The high data of an SLS and its includes; ``by``: the SLS that includes it."""
        rendered = self._render(sls, saltenv, by)
        if rendered is None or not rendered.data:
            return {}
        origin = {"__sls__": sls, "__env__": saltenv}
        if not isinstance(rendered.data, dict):
            self._report(f"SLS {sls} does not render to a dictionary", origin)
            return {}
        state: High = {}
        data = dict(rendered.data)
        include = data.pop("include", [])
        if "extend" in data:
            self._extend(state, data.pop("extend"), origin)
        if "exclude" in data:
            self._exclude(state, data.pop("exclude"), origin)
        state.update(self._declarations(data, origin))
        if not isinstance(include, list):
            self._report(f"Include Declaration in SLS {sls} is not formed as a list", origin, "include")
            include = []
        for env, name in self._includes(include, sls, saltenv, rendered, matches):
            if (env, name) not in self._rendered:
                seen = len(self.problems)
                included = self._state(name, env, matches, by=rendered)
                # As in Salt, a conflict is reported before other problems of the included SLS.
                inner, self.problems[seen:] = self.problems[seen:], []
                for id_, body in included.items():
                    if not is_meta(id_):
                        body.setdefault("__sls_included_from__", []).append(sls)
                self._merge(state, included)
                self.problems += inner
        if self._auto_order:
            self._number(state)
        return state

    def _render(self, sls: str, saltenv: str, by: RenderedSls | None) -> RenderedSls | None:
        try:
            rendered = self._tree.render_sls(sls, saltenv)
        except RenderError as exc:
            self._rendered.add((saltenv, sls))
            place_of = (exc.where,) if exc.where else ()
            self.problems.extend(
                Problem(_render_text(text, sls, saltenv), place_of, exc.hint, rule="render") for text in exc.errors
            )
            return None
        if rendered is None:
            text = (
                f"No matching sls found for '{sls}' in env '{saltenv}'"
                if by is None
                else f"Specified SLS {sls} in saltenv {saltenv} is not available on the salt master or through a "
                "configured fileserver"
            )
            hint = did_you_mean(sls, self._available.names(saltenv)) if self._available.has_env(saltenv) else ""
            if by is None:
                where = named_in_tops(self._tops, saltenv, sls)
            else:
                place = by.place("include", *_entry_of(by.data.get("include"), sls))
                where = () if place is None else (place,)
            self.problems.append(Problem(text, where, hint, rule="unknown-sls"))
            return None
        self._rendered.add((saltenv, sls))
        self.sources.add(saltenv, sls, rendered)
        return rendered

    def _declarations(self, data: Mapping[Any, Any], origin: Mapping[str, str]) -> High:
        high, problems = declarations(data, f"SLS {origin['__sls__']}", f"SLS '{origin['__sls__']}'", origin)
        for id_, text in problems:
            self._report(text, origin, id_)
        return high

    def _extend(self, state: High, extend: Any, origin: Mapping[str, str]) -> None:
        sls = origin["__sls__"]
        if not isinstance(extend, dict):
            self._report(f"Extension value in SLS '{sls}' is not a dictionary", origin, "extend")
            return
        bodies = {}
        for id_, body in extend.items():
            if not isinstance(body, dict):
                self._report(f"Extension name '{id_}' in SLS '{sls}' is not a dictionary", origin, "extend", id_)
                continue
            plain: dict[Any, Any] = {**origin}
            plain.update((key, _copy(value)) for key, value in body.items() if _is_sound(key, value))
            for key in [key for key, value in plain.items() if _is_dotted(key, value)]:
                module, function = key.split(".")[:2]
                plain[module] = [*plain.pop(key), function]
            bodies[id_] = plain
        state.setdefault("__extend__", []).append(bodies)

    def _exclude(self, state: High, exclude: Any, origin: Mapping[str, str]) -> None:
        if isinstance(exclude, list):
            state.setdefault("__exclude__", []).extend(exclude)
        else:
            text = f"Exclude Declaration in SLS {origin['__sls__']} is not formed as a list"
            self._report(text, origin, "exclude")

    def _number(self, state: High) -> None:
        """Set ``order`` of every declaration without one. Those of included SLS have been set before."""
        for body in state.values():
            if not isinstance(body, dict):
                continue
            for key, args in body.items():
                if not isinstance(key, str) or key.startswith("_") or not isinstance(args, list):
                    continue
                if not any(isinstance(arg, dict) and first_key(arg) == "order" for arg in args):
                    args.append({"order": self._next_order})
                    self._next_order += 1

    # include ---------------------------------------------------------------------------------------------------------

    def _includes(
        self, entries: list[Any], sls: str, saltenv: str, rendered: RenderedSls, matches: Matches
    ) -> Iterator[tuple[str, str]]:
        """(saltenv, SLS) of an include list, with absolute and relative names, globs, and ``{saltenv: sls}``."""
        origin = {"__sls__": sls, "__env__": saltenv}
        for index, entry in enumerate(entries):
            at = ("include", index)
            env, name = (
                (list(entry.items())[-1] if entry else ("", "")) if isinstance(entry, dict) else (saltenv, entry)
            )
            if not isinstance(name, str) or not isinstance(env, str) or not name:
                self._report(f"Badly formatted include {entry} found in include in SLS '{saltenv}:{sls}'", origin, *at)
                continue
            if env != ANY_ENV and not self._available.has_env(env):
                self._report(
                    f"Nonexistent saltenv '{env}' found in include of '{name}' within SLS '{saltenv}:{sls}'",
                    origin,
                    *at,
                    hint=did_you_mean(env, self._available.envs()),
                    rule="unknown-sls",
                )
                continue
            if name.startswith("."):
                absolute = self._absolute_include(name, sls, rendered.is_init, origin, at)
                if absolute is None:
                    continue
                name = absolute
            candidates = [env] if env != ANY_ENV else list(matches)
            names = [
                each for each in candidates if (env != ANY_ENV and each in matches) or self._available.match(each, name)
            ]
            if len(names) == 1 or saltenv in names:
                target = names[0] if len(names) == 1 else saltenv
                # Salt expands the pattern in the saltenv of the including SLS, not in the requested one.
                yield from ((target, each) for each in self._available.expand(saltenv, name))
            elif names:
                self._report(
                    f"Ambiguous include: Specified SLS {env}: {name} is available on the salt master in multiple "
                    f"available saltenvs: {', '.join(names)}",
                    origin,
                    *at,
                )
            else:
                self._report(
                    f"Unknown include: Specified SLS {env}: {name} is not available on the salt master in saltenv(s): "
                    f"{', '.join(candidates)} ",
                    origin,
                    *at,
                    hint=did_you_mean(name, self._available.names(saltenv)),
                    rule="unknown-sls",
                )

    def _absolute_include(
        self, name: str, sls: str, is_init: bool, origin: Mapping[str, str], at: tuple[str, int]
    ) -> str | None:
        """The name of an SLS that is included by a relative name; None if that is an error."""
        absolute = _absolute(name, sls, is_init)
        if absolute is None:
            saltenv = origin["__env__"]
            text = f"Attempted relative include of '{name}' within SLS '{saltenv}:{sls}' goes beyond top level package "
            self._report(text, origin, *at)
        elif is_init and absolute.rstrip(".") == sls.rstrip("."):
            text = f"SLS '{sls}' includes itself: '{name}' in an init.sls names the file itself"
            self._report(text, origin, *at, hint="Remove it from `include`.")
            return None
        return absolute

    def _merge(self, into: High, state: High) -> None:
        """Merge the IDs of an SLS; an existing ID is a conflict."""
        for key in ("__extend__", "__exclude__"):
            if key in state:
                into.setdefault(key, []).extend(state.pop(key))
        for id_, body in state.items():
            other = into.get(id_)
            if other is not None and other != body:
                self.problems.append(
                    Problem(
                        "Detected conflicting IDs, SLS IDs need to be globally unique.\n    The conflicting ID is "
                        f"'{id_}' and is found in SLS '{other['__env__']}:{other['__sls__']}' and SLS "
                        f"'{body['__env__']}:{body['__sls__']}'",
                        (*self.sources.where(other, id_), *self.sources.where(body, id_)),
                        "Rename one of them; to change a state of another SLS, use `extend`.",
                        rule="conflicting-id",
                    )
                )
        into.update(state)

    def _report(
        self, text: str, origin: Mapping[str, str] | None = None, *keys: Any, hint: str = "", rule: str = "malformed"
    ) -> None:
        """Add a problem. ``keys``: path to the error in the data of the SLS of ``origin``."""
        where = self.sources.at(origin, *keys) if origin else ()
        self.problems.append(Problem(text, where, hint, rule=rule))


def declarations(
    data: Mapping[Any, Any], place: str, quoted: str, origin: Mapping[str, str]
) -> tuple[High, list[tuple[Any, str]]]:
    """High data with the body of each ID in a normal form: ``pkg.installed`` becomes ``pkg: [.., installed]``.

    ``place`` and ``quoted`` are texts for Salt's messages; ``origin`` has the ``__sls__`` and ``__env__`` of bodies
    without them. Also returns (ID, text) of errors; malformed parts are left out.
    """
    high: High = {}
    problems: list[tuple[Any, str]] = []
    for id_, body in data.items():
        if is_meta(id_):
            continue
        if isinstance(body, str) and "." in body:
            module, function = body.split(".")[:2]
            high[id_] = {**origin, module: [function]}
            continue
        if not isinstance(body, dict):
            problems.append((id_, f"ID {id_} in {place} is not a dictionary"))
            continue
        plain = {
            key: _copy(value) for key, value in body.items() if _is_sound(key, value) and not _is_dotted(key, value)
        }
        for key, value in body.items():
            if not _is_dotted(key, value):
                continue
            module, function = key.split(".")[:2]
            if module in plain:
                text = f"ID '{id_}' in {quoted} contains multiple state declarations of the same type"
                problems.append((id_, text))
                continue
            plain[module] = [*value, function]
        for key, value in origin.items():
            plain.setdefault(key, value)
        high[id_] = plain
    return high, problems


def _is_sound(key: object, value: object) -> bool:
    """Whether a body may have this key: any key, but the compiler's own keys only with values of the right shape."""
    if key in ("__sls__", "__env__"):
        return isinstance(value, str)
    if key == "__sls_included_from__":
        return isinstance(value, list) and all(isinstance(name, str) for name in value)
    return True


def _is_dotted(key: object, value: object) -> bool:
    """Whether a key is ``module.function`` with a list as value; other values are refused later."""
    return isinstance(key, str) and "." in key and not key.startswith("_") and isinstance(value, list)


def _copy(value: Any) -> Any:
    """A copy of a declaration's list, which is changed later (numbered, extended), unlike the rendered data."""
    return list(value) if isinstance(value, list) else value


def _absolute(name: str, sls: str, is_init: bool) -> str | None:
    """The absolute SLS name of ``.x`` and ``..x`` in ``sls``; None if it leads out of the tree."""
    rest = name.lstrip(".")
    levels = len(name) - len(rest)
    parts = sls.split(".") + (["init"] if is_init else [])
    return None if levels > len(parts) else ".".join([*parts[:-levels], rest])


def _render_text(text: str, sls: str, saltenv: str) -> str:
    """A renderer's message with Salt's prefix."""
    return text if text.startswith("Rendering SLS") else f"Rendering SLS '{saltenv}:{sls}' failed: {text}"


def _entry_of(include: Any, sls: str) -> list[int]:
    """[index] of the include entry that literally names an SLS; else []."""
    entries = include if isinstance(include, list) else []
    return [
        index
        for index, entry in enumerate(entries)
        if sls in ([*entry.values()] if isinstance(entry, dict) else [str(entry).lstrip("."), entry])
    ][:1]


def _distinct(extends: list[dict[Any, Any]]) -> list[dict[Any, Any]]:
    """One dict per ID, without duplicates: an SLS that is included twice extends once."""
    distinct: list[tuple[Any, Any]] = []
    for extend in extends:
        distinct.extend(item for item in extend.items() if item not in distinct)
    return [{id_: body} for id_, body in distinct]
