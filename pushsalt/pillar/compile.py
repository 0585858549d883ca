"""Compiles the pillar of one target: matched SLS with includes, external sources, and overrides of this run.

Salt: salt.pillar.Pillar.compile_pillar.
"""

from __future__ import annotations

import fnmatch
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from pushsalt.compile.source import Matches, Place, Problem, RenderedSls, named_in_tops
from pushsalt.compile.top import Matcher
from pushsalt.compile.words import did_you_mean
from pushsalt.errors import RenderError
from pushsalt.memo.reads import plain, put
from pushsalt.pillar.merge import PillarMerge
from pushsalt.pillar.safe import safe_error
from pushsalt.pillar.top import MergedTop, PillarTop, PillarTree, render_errors
from pushsalt.redact import SECRET_KEYS, Redactor
from thin.utils.dictupdate import InOrder, copy_containers, in_order

if TYPE_CHECKING:
    from pushsalt.pillar.source import ExtPillar

log = logging.getLogger(__name__)

#: SLS of one saltenv that one target may have, and how deep they may include each other: an include such as ``.`` gives
#: the same file a longer name each time.
MAX_SLS = 5000
MAX_DEPTH = 100
TOO_MANY = f"Pillar SLS include more than {MAX_SLS} others, or {MAX_DEPTH} levels of them,"


@dataclass
class PillarResult:
    """``pillar`` is this target's own copy. With ``errors`` no state may run: a target returns these texts.

    ``pillar.items`` shows them as ``_errors``.
    """

    pillar: dict[str, Any] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def compile_pillar(
    minion_id: str,
    opts: Mapping[str, Any],
    tree: PillarTree,
    matcher: Matcher,
    *,
    saltenv: str | None = None,
    pillarenv: str | None = None,
    ext_pillars: Callable[[str], ExtPillar | None] | None = None,
    target_pillar: Mapping[str, Any] | None = None,
    override: Mapping[str, Any] | None = None,
    visible: dict[str, Any] | None = None,
    decrypt: Callable[[Any, str | None], Any] | None = None,
) -> PillarResult:
    """Compile the pillar of a target. Errors in trees, sources and options are part of the result, not exceptions.

    ``opts``           Salt's options: state_top, pillar_source_merging_strategy, pillar_merge_lists, ext_pillar,
                       ext_pillar_first, exclude_ext_pillar, env_order, pillar_includes_override_sls, decrypt_pillar
    ``matcher``        whether an expression of a top file matches this target; it may read ``visible``
    ``ext_pillars``    name -> source, None for an unknown name
    ``target_pillar``  the inventory's pillar of this target: merged over all except ``override``
    ``override``       ``--pillar``: overrides all others
    ``visible``        the dict that templates and matchers read as pillar; updated during compilation
    ``decrypt``        (value, renderer or None for the default) -> decrypted value, for the option ``decrypt_pillar``
    """
    if pillarenv is None and opts.get("pillarenv_from_saltenv"):
        pillarenv = saltenv
    merge = PillarMerge.of(opts)
    given = merge(target_pillar, override or {}) if target_pillar else dict(override or {})
    compiler = _Compiler(minion_id, opts, tree, merge, ext_pillars, given)
    # a Recorded mapping (memo.reads) records reads; those of this function must not be recorded
    visible = {} if visible is None else visible
    top = MergedTop(tree, opts, saltenv, pillarenv)
    if opts.get("ext_pillar_first"):
        put(visible, compiler.external(given))
        matched = top.match(matcher)
        pillar = merge(plain(visible), compiler.render(matched))
    else:
        matched = top.match(matcher)
        put(visible, compiler.render(matched))
        pillar = compiler.external(plain(visible))
    pillar = copy_containers(merge(pillar, given))
    errors = compiler.errors + matched.errors + _decrypt(pillar, opts, decrypt)
    if opts.get("pillar_safe_render_error", True):
        is_secret_key = Redactor(opts.get("secret_keys") or SECRET_KEYS).is_secret_key
        errors = [safe_error(text, is_secret_key) for text in errors]
    result = PillarResult(pillar, errors, compiler.warnings)
    dict.clear(visible)
    put(visible, pillar)
    return result


class _Compiler:
    """The state of one compilation."""

    def __init__(
        self,
        minion_id: str,
        opts: Mapping[str, Any],
        tree: PillarTree,
        merge: PillarMerge,
        ext_pillars: Callable[[str], ExtPillar | None] | None,
        given: dict[str, Any],
    ) -> None:
        self.errors: list[str] = []
        self.warnings: list[str] = []
        self._id = minion_id
        self._opts = opts
        self._tree = tree
        self._merge = merge
        self._ext_pillars = ext_pillars
        self._given = given
        self._roots = frozenset(tree.envs())
        self._envs = {"base", *self._roots}
        self._names: dict[str, Sequence[str]] = {}
        self._tops: Sequence[RenderedSls] = ()
        self._depth = 0

    # SLS -------------------------------------------------------------------------------------------------------------

    def render(self, top: PillarTop) -> dict[str, Any]:
        """All matched SLS, merged in order over the overrides of this run, so that templates can read these."""
        pillar = dict(self._given)
        written: dict[str, Any] = {}
        self._tops = top.tops
        for env, patterns in self._in_order(top.matches):
            rendered: dict[str, Any] = {}
            for sls in [name for pattern in patterns for name in self._expand(env, pattern)]:
                state = self._state(sls, env, rendered, top.ignored.get(env, set()), {})
                if isinstance(state, dict):
                    pillar = self._merge(pillar, state)
                    if self._given:
                        written = self._merge(written, state)
        return _arranged(pillar, written) if self._given else pillar

    def _in_order(self, matches: Matches) -> Iterator[tuple[str, list[str]]]:
        order = [env for env in self._opts.get("env_order") or () if env in matches]
        for env in dict.fromkeys([*order, *matches]):
            yield env, matches[env]

    def _expand(self, env: str, pattern: str) -> list[str]:
        return self._match(env, pattern) or [pattern]

    def _match(self, env: str, pattern: str) -> list[str]:
        if env not in self._names:
            if env not in self._envs and "__env__" not in self._envs:
                self.errors.append(f"No matching pillar environment for environment '{env}' found")
                self._names[env] = []
            else:
                self._names[env] = list(self._tree.list_states(env))
        return fnmatch.filter(self._names[env], pattern)

    def _report(self, text: str, where: Place | Sequence[Place] | None, hint: str = "") -> None:
        places = (where,) if isinstance(where, Place) else tuple(where or ())
        self.errors.append(Problem(text, places, hint).explained())

    def _state(
        self,
        sls: str,
        env: str,
        rendered: dict[str, Any],
        ignored: set[str],
        defaults: Mapping[str, Any],
        by: Callable[[], Place | None] | None = None,
    ) -> Any:
        """The data of an SLS, merged with its includes; None if it has none. ``by``: the place of the include.

        ``rendered`` gets the data of each SLS without includes, which is used if it is included again.
        """
        if len(rendered) >= MAX_SLS or self._depth >= MAX_DEPTH:
            if not any(text.startswith(TOO_MANY) for text in self.errors):
                self._report(f"{TOO_MANY} in environment '{env}', such as '{sls:.60}'", by() if by else None)
            return None
        try:
            sls_data = self._tree.render_sls(sls, env, defaults)
        except RenderError as exc:
            self.errors += render_errors(exc, f"Rendering SLS '{sls}' failed")
            rendered[sls] = None
            return None
        if sls_data is None:
            if sls not in ignored and not self._roots.isdisjoint((env, "__env__")):
                text = f"Specified SLS '{sls}' in environment '{env}' is not available on the salt master"
                where = by() if by else named_in_tops(self._tops, env, sls)
                self._report(text, where, did_you_mean(sls, self._tree.list_states(env)))
            return None
        if not sls_data.data:
            rendered[sls] = sls_data.data
            return sls_data.data
        if not isinstance(sls_data.data, dict):
            self._report(f"SLS '{sls}' does not render to a dictionary", sls_data.place())
            return None
        own = in_order({key: value for key, value in sls_data.data.items() if key != "include"})
        include = sls_data.data.get("include", [])
        rendered[sls] = own
        if not isinstance(include, list):
            self._report(f"Include Declaration in SLS '{sls}' is not formed as a list", sls_data.place("include"))
            return own
        parent = sls.split(".") if sls_data.is_init else sls.split(".")[:-1]
        self._depth += 1
        parts = list(self._included(include, sls, sls_data, parent, env, rendered, ignored, defaults))
        self._depth -= 1
        if self._opts.get("pillar_includes_override_sls"):
            parts.insert(0, own)
        else:
            parts.append(own)
        merged = parts[0]
        for part in parts[1:]:
            merged = self._merge(merged, part)
        return merged

    def _included(
        self,
        include: list[Any],
        sls: str,
        sls_data: RenderedSls,
        parent: list[str],
        env: str,
        rendered: dict[str, Any],
        ignored: set[str],
        defaults: Mapping[str, Any],
    ) -> Iterator[dict[str, Any]]:
        """The data of each included SLS: names, globs, relative names, and ``{name: {key: a:b, defaults: {..}}}``."""
        for index, entry in enumerate(include):
            key = None
            # called for errors only, since finding places is slow
            place = partial(sls_data.place, "include", index)
            if isinstance(entry, dict) and entry:
                entry, options = next(iter(entry.items()))
                options = options if isinstance(options, dict) else {}
                # As in Salt, they apply to the following entries as well, until others are set.
                defaults, key = options.get("defaults") or {}, options.get("key")
                if not isinstance(defaults, dict) or not isinstance(key, str | None):
                    text = f"Badly formatted include {entry} in SLS '{sls}': key is text, defaults a mapping"
                    self._report(text, place())
                    defaults, key = {}, None
            if not isinstance(entry, str):
                self._report(f"Badly formatted include {entry} in SLS '{sls}'", place())
                continue
            # Salt searches twice: from the top of the tree, for relative names too, then as written. It uses all
            # results: an SLS that is found twice is merged first with, then without its own includes.
            names = self._match(env, entry.lstrip(".").replace("/", "."))
            if entry.startswith("."):
                entry = ".".join([*parent, entry[1:]])
            names += self._match(env, entry)
            for name in names or [entry]:
                if name in rendered:
                    data = rendered[name]
                else:
                    data = self._state(name, env, rendered, ignored, defaults, place)
                if isinstance(data, dict) and data:
                    yield _under(key, data)

    # external sources ------------------------------------------------------------------------------------------------

    def external(self, pillar: dict[str, Any]) -> dict[str, Any]:
        """``pillar`` with all external sources merged over it; each gets the result of those before it."""
        sources = self._opts.get("ext_pillar")
        if not sources:
            return pillar
        if not isinstance(sources, list) or not all(isinstance(source, dict) for source in sources):
            self.errors.append('The "ext_pillar" option is malformed')
            return pillar
        pillar = self._merge(pillar, self._given)
        excluded = self._opts.get("exclude_ext_pillar") or ()
        for source in sources:
            for name, args in source.items():
                if name not in excluded and (data := self._call(name, args, pillar)):
                    pillar = self._merge(pillar, data)
        return pillar

    def _call(self, name: str, args: Any, pillar: dict[str, Any]) -> dict[str, Any] | None:
        data: Any
        try:
            function = self._ext_pillars(name) if self._ext_pillars else None
            if function is None:
                self.warnings.append(f"ext_pillar '{name}' is not available: its data is missing from the pillar")
                return None
            if isinstance(args, dict):
                data = function(self._id, pillar, **args)
            elif isinstance(args, list):
                data = function(self._id, pillar, *args)
            else:
                data = function(self._id, pillar, args)
        except (Exception, SystemExit) as exc:  # a plug-in may raise anything; the target's other errors are wanted too
            log.debug("%s: ext_pillar %s failed", self._id, name, exc_info=True)
            self.errors.append(f"Failed to load ext_pillar {name}: {exc}")
            return None
        if data and not isinstance(data, dict):
            self.errors.append(f"Failed to load ext_pillar {name}: it returned {type(data).__name__}, not a mapping")
            return None
        return data or None


def _arranged(pillar: dict[str, Any], written: Mapping[str, Any], *, nested: bool = False) -> dict[str, Any]:
    """The pillar with the mappings of its SLS in their order; overrides of this run come last.

    The order of top-level keys is not changed: overrides come first there, as in Salt.
    """
    arranged: dict[str, Any] = InOrder() if isinstance(written, InOrder) else {}
    for key in {**written, **pillar} if nested else pillar:
        if key in pillar:
            value, other = pillar[key], written.get(key)
            if isinstance(value, dict) and isinstance(other, dict):
                value = _arranged(value, other, nested=True)
            arranged[key] = value
    return arranged


def _under(key: str | None, data: dict[str, Any]) -> dict[str, Any]:
    """``data`` below the keys ``a:b`` of an include."""
    for part in reversed(key.split(":")) if key else ():
        data = {part: data}
    return data


def _decrypt(
    pillar: dict[str, Any], opts: Mapping[str, Any], decrypt: Callable[[Any, str | None], Any] | None
) -> list[str]:
    """Decrypt the values of the option ``decrypt_pillar`` in place: ``[key, {a:b: renderer}]``, or a mapping."""
    option = opts.get("decrypt_pillar")
    if not option or decrypt is None:
        return []
    if isinstance(option, str):
        return ["decrypt_pillar config option is malformed"]
    entries: list[tuple[Any, Any]] = []
    for item in option if isinstance(option, list) else [option]:
        if not isinstance(item, dict | str):
            return ["decrypt_pillar config option is malformed"]
        entries += item.items() if isinstance(item, dict) else [(item, None)]
    errors = []
    for key, renderer in entries:
        *path, last = str(key).split(opts.get("decrypt_pillar_delimiter") or ":")
        parent: Any = pillar
        for part in path:
            parent = parent.get(part) if isinstance(parent, dict) else None
        if isinstance(parent, dict) and last in parent:
            try:
                parent[last] = decrypt(parent[last], renderer)
            except (Exception, SystemExit) as exc:  # renderers of users may raise anything
                errors.append(f"Failed to decrypt pillar key '{key}': {exc}")
    return errors
