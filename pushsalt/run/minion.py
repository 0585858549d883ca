"""One target as Salt's minion would see itself: options, grains, pillar, functions, and the compiler over its tree.

Everything here is synchronous and made to run in a worker thread; what needs the target goes through ``Remote``, which
blocks that thread while the event loop does the talking.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from pushsalt.compile import CompileResult, StateCompiler
from pushsalt.compile.check import check_chunks
from pushsalt.compile.source import Sources
from pushsalt.config import minion_opts, without_secrets
from pushsalt.errors import FunctionError, StateError, TargetError, UsageError
from pushsalt.ext_pillar import Outside, find_source
from pushsalt.functions import function_named
from pushsalt.model import Target
from pushsalt.plugins import folders
from pushsalt.render import RenderContext, compile_template
from pushsalt.render.pipeline import decrypt_value
from pushsalt.run.programs import run_program
from pushsalt.run.salt import TemplateFunctions, exists, shared
from pushsalt.run.signatures import KnownStates
from pushsalt.run.trees import PillarTree, RenderedTree
from pushsalt.targeting import Subject, matches, tgt_types
from thin import runtime
from thin.loader import Loaders

if TYPE_CHECKING:
    from pushsalt.fileserver import FileServer
    from pushsalt.pillar import PillarResult
    from pushsalt.run.custom import CustomModules
    from pushsalt.run.job import JobOptions
    from pushsalt.run.project import Project

log = logging.getLogger(__name__)

#: Calls a function on the target: name, arguments, keyword arguments -> its value. Raises FunctionError, TargetError.
Remote = Callable[[str, list[Any], dict[str, Any]], Any]

PILLAR_FAILED = "Pillar failed to render with the following messages:"


class Minion:
    """See the module. ``derive`` gives the same target with another test mode, environment or pillar override."""

    def __init__(
        self,
        project: Project,
        target: Target,
        options: JobOptions,
        grains: Mapping[str, Any],
        remote: Remote | None,
        *,
        rendering: bool = False,
        pillar_override: Mapping[str, Any] | None = None,
    ) -> None:
        self.project = project
        self.target = target
        self.options = options
        self.grains = dict(grains)
        self._remote = remote
        #: whether a template asks: it sees pillar as it is, a command line sees it masked
        self.rendering = rendering
        self._override = dict(options.pillar or {}) if pillar_override is None else dict(pillar_override)
        self.opts = minion_opts(
            project.config, target, test=options.test or None, saltenv=options.saltenv, pillarenv=options.pillarenv
        )
        self.opts["grains"] = self.grains
        self.opts["user"] = self.opts["user"] or self.grains.get("username") or "root"

    @property
    def id(self) -> str:
        return self.target.id

    @property
    def test(self) -> bool:
        return bool(self.opts.get("test"))

    @property
    def saltenv(self) -> str:
        return str(self.opts.get("saltenv") or "base")

    @property
    def files(self) -> FileServer:
        return self.project.files

    @property
    def custom(self) -> CustomModules:
        """The users' own modules, as this target's job has them."""
        return self.project.custom(self.saltenv)

    def has_custom(self, name: str) -> bool:
        """Whether an execution function is of the users' own modules."""
        return self.custom.has(name)

    def changes(self, name: str) -> bool:
        """Whether it is a user's own execution function, and marked to change the system."""
        return self.custom.changes(name)

    def warn(self, text: str) -> None:
        """Log a warning about the trees, once for all targets."""
        if text not in self.project.said:
            self.project.said.add(text)
            log.warning("%s", text)

    def on_controller(self, name: str) -> bool:
        """Whether both sides have this execution function; one of the users' own wins, and says so itself."""
        return self.custom.on_controller(name) if self.custom.has(name) else name in shared()

    def derive(
        self,
        *,
        test: Any = None,
        pillar: Mapping[str, Any] | None = None,
        saltenv: str | None = None,
        pillarenv: str | None = None,
        rendering: bool | None = None,
    ) -> Minion:
        """This target with other options; None keeps one. The compiled pillar is kept while nothing of it changes."""
        test = None if test and self.test else test
        pillar = None if pillar == self._override else pillar
        saltenv = None if saltenv == self.opts.get("saltenv") else saltenv
        pillarenv = None if pillarenv == self.opts.get("pillarenv") else pillarenv
        if (
            test is None
            and pillar is None
            and saltenv is None
            and pillarenv is None
            and rendering in (None, self.rendering)
        ):
            return self
        changes: dict[str, Any] = {}
        if test is not None:
            changes["test"] = bool(test)
        if saltenv is not None:
            changes["saltenv"] = str(saltenv)
        if pillarenv is not None:
            changes["pillarenv"] = str(pillarenv)
        other = Minion(
            self.project,
            self.target,
            replace(self.options, **changes),
            self.grains,
            self._remote,
            rendering=self.rendering if rendering is None else rendering,
            pillar_override=self._override if pillar is None else pillar,
        )
        if test is not None:
            other.opts["test"] = bool(test)
        if pillar is None and pillarenv is None and saltenv is None and "pillar" in self.__dict__:
            other.__dict__["pillar"] = self.pillar
        return other

    # pillar and functions --------------------------------------------------------------------------------------------

    @cached_property
    def pillar(self) -> dict[str, Any]:
        """The compiled pillar with the overrides on top. Raises StateError with every error of it."""
        if self.pillar_result.errors:
            raise StateError([PILLAR_FAILED, *self.pillar_result.errors])
        return self.pillar_result.pillar

    @cached_property
    def pillar_result(self) -> PillarResult:
        """The pillar as far as it could be compiled, and what was wrong with it."""
        return self.compile_pillar()

    def compile_pillar(self, more: Mapping[str, Any] | None = None) -> PillarResult:
        """The pillar, compiled afresh; ``more`` are external sources besides those of the configuration."""
        from pushsalt.pillar import compile_pillar

        config = self.project.config.opts
        opts = {**config, **self.opts}
        if more:
            opts["ext_pillar"] = [*(opts.get("ext_pillar") or []), dict(more)]
        visible: dict[str, Any] = {}
        twin = self._twin(self._remote, visible)
        context = replace(twin.context, fileserver=self.project.pillar_files)
        outside = Outside(opts, context, run_program, twin.match, lambda: self.project.remotes)
        result = compile_pillar(
            self.id,
            opts,
            PillarTree(self.project.pillar_files, context),
            twin.match,
            saltenv=self.opts.get("saltenv"),
            pillarenv=self.opts.get("pillarenv"),
            target_pillar=self.target.pillar,
            ext_pillars=partial(find_source, folders=folders("ext_pillar", config), outside=outside),
            override=self._override,
            visible=visible,
            decrypt=self.decrypt,
        )
        for text in result.warnings:
            log.warning("%s: %s", self.id, text)
        if self.opts.get("pillar_opts", config.get("pillar_opts")):
            result.pillar["master"] = without_secrets(config)
        self.project.redactor.add_pillar(result.pillar)
        return result

    def decrypt(self, value: Any, renderer: str | None) -> Any:
        """A value of pillar in plain. Raises RenderError."""
        context = RenderContext(
            self.id, self.opts, self.grains, {}, {}, run=run_program, private=self.project.config.opts
        )
        return decrypt_value(value, renderer, context)

    @cached_property
    def functions(self) -> TemplateFunctions:
        """``salt`` of this target's templates."""
        return TemplateFunctions(self.derive(rendering=True))

    @cached_property
    def _loaders(self) -> Loaders:
        return Loaders(
            self.opts,
            runtime,
            grains=self.grains,
            pillar=lambda: self.pillar,
            overlays={"modules": [self.custom], "utils": [self.custom]},
            controller=True,
            extra={"__salt_template__": True},
        )

    def shared(self, name: str) -> Callable[..., Any]:
        """A function that both sides have, bound to this target. Raises KeyError."""
        function: Callable[..., Any] = self._loaders.modules[name]
        return function

    def remote(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call a function on the target and wait for its value. Raises TargetError (offline), FunctionError."""
        if self._remote is None:
            raise TargetError(
                "offline",
                f"{self.id}: {name} needs the target, and {self.id} is offline",
                "write what it would answer into the target's grains or pillar, or use another transport",
            )
        return self._remote(name, args, kwargs)

    def call(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """A function for a command line: one of the controller's own, or one that both sides have (offline targets)."""
        own = function_named(name)
        if own is not None:
            function: Callable[..., Any] = lambda *a, **k: own(self, *a, **k)  # noqa: E731
        elif self.on_controller(name):
            function = self.shared(name)
        elif exists(name) or self.has_custom(name):
            return self.remote(name, list(args), dict(kwargs))
        else:
            raise unknown_function(name, more=self.custom.functions("modules"))
        try:
            return function(*args, **kwargs)
        except (StateError, FunctionError, TargetError):
            raise
        except Exception as exc:
            log.debug("%s: %s raised", self.id, name, exc_info=True)
            raise raised(name, exc) from exc

    # rendering and compiling -----------------------------------------------------------------------------------------

    @cached_property
    def context(self) -> RenderContext:
        """What this target's SLS see."""
        return RenderContext(
            self.id,
            self.opts,
            self.grains,
            self.pillar,
            self.functions,
            self.files,
            run=run_program,
            private=self.project.config.opts,
        )

    @cached_property
    def without_target(self) -> Minion:
        """This target as it can be rendered beforehand: a call that needs the target raises."""
        return self._twin(None, self.pillar)

    def limited(self, renderers: Sequence[str]) -> Minion:
        """This target for a text that is not the operator's: no other renderer is reached, by whatever way."""
        opts = {**self.target.minion_opts, "renderer_whitelist": list(renderers)}
        other = Minion(
            self.project,
            replace(self.target, minion_opts=opts),
            self.options,
            self.grains,
            self._remote,
            rendering=True,
            pillar_override=self._override,
        )
        other.__dict__["pillar"] = self.pillar
        return other

    def _twin(self, remote: Remote | None, pillar: dict[str, Any]) -> Minion:
        """This target for templates, with another way to it and another pillar."""
        twin = Minion(
            self.project, self.target, self.options, self.grains, remote, rendering=True, pillar_override=self._override
        )
        twin.opts = self.opts
        twin.__dict__["pillar"] = pillar
        return twin

    @cached_property
    def compiler(self) -> StateCompiler:
        return StateCompiler(
            RenderedTree(self.files, self.context),
            self.opts,
            matcher=self.match,
            functions=KnownStates(self.custom),
            master_tops=self._master_tops if self.project.config.opts.get("master_tops") else None,
            check=True,
        )

    def _master_tops(self) -> dict[str, list[str]]:
        """The SLS that the sources of ``master_tops`` name for this target. Raises StateError."""
        from pushsalt.tops import top_data

        config = self.project.config.opts
        outside = Outside({**config, **self.opts}, self.context, run_program, self.match, lambda: self.project.remotes)
        return top_data(config["master_tops"], folders("tops", config), outside)

    def match(self, expr: str, tgt_type: str) -> bool:
        """Whether a target expression means this target, by its live grains and pillar.

        As in Salt, one that cannot be understood means nobody and is logged; what makes Salt fail, a match type that
        there is not or a regular expression that is none, raises UsageError.
        """
        if tgt_type == "data":  # of a minion's data store, which a target does not have
            return False
        subject = Subject(self.id, self.grains, self.__dict__.get("pillar", {}))
        try:
            return matches(expr, tgt_type, subject, nodegroups=self.project.config.opts.get("nodegroups"))
        except UsageError as exc:
            if tgt_type == "pcre" or tgt_type not in tgt_types():
                raise
            log.error("%s: %s: nothing matches it", self.id, exc.message)
            return False

    def render_sls_text(self, text: str, sls: str = "<string>") -> Any:
        return compile_template(text, path=sls, sls=sls, saltenv=self.saltenv, context=self.context)

    def check_chunk(self, chunk: dict[str, Any]) -> list[str]:
        """What is wrong with one chunk: an unknown function, unknown arguments."""
        return CompileResult(problems=check_chunks([chunk], KnownStates(self.custom), Sources())).errors


def unknown_function(name: str, nearest: Sequence[str] = (), more: Iterable[str] = ()) -> FunctionError:
    """The error of a function that does not exist."""
    import difflib

    from pushsalt.functions import names

    near = list(nearest) or difflib.get_close_matches(name, {*names(), *shared(), *_all_remote(), *more}, n=3)
    hint = f"nearest: {', '.join(near)}" if near else "`pushsalt run TARGET sys.list_functions` lists what there is"
    return FunctionError("unknown_function", f"'{name}' is not available.", hint, "CommandExecutionError")


def _all_remote() -> set[str]:
    found = set()
    for module, files in runtime.virtual_index("modules").items():
        for file in files:
            found |= {
                f"{module}.{name}" for name in runtime.code(f"thin.modules.{file}").co_names if not name.startswith("_")
            }
    return found


def raised(name: str, exc: Exception) -> FunctionError:
    """The error of a function that raised on the controller."""
    own = type(exc).__name__
    text = str(exc) or own
    if isinstance(exc, (LookupError, AttributeError, TypeError)):  # Python's own words: a key, a name
        text = f"{own}: {text}"
    return FunctionError("exception", f"{name}: {text}", "run again with -l debug to see where", own)
