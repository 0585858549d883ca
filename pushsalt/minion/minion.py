"""Imitates Salt's minion for one target: options, grains, pillar, functions, and the compiler of its states.

Everything here is synchronous and runs in a thread; calls on the target go through ``Remote``, which blocks that thread
while the event loop communicates.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from pushsalt.compile import CompileResult, StateCompiler
from pushsalt.compile.check import check_chunks
from pushsalt.compile.source import SourcePositions
from pushsalt.errors import StateError, TargetError
from pushsalt.fileserver.trees import each_time
from pushsalt.lazy import cached_property
from pushsalt.memo.keys import NoKeyError, key_of
from pushsalt.memo.reads import WHOLE, Recorded, ask, current, muted, plain, spoil, takes_time
from pushsalt.minion.calling import call_by_name
from pushsalt.minion.compiling import compiled_pillar, state_compiler
from pushsalt.minion.inputs import REMOTE, TargetInputs, noting
from pushsalt.minion.matching import is_matched, match
from pushsalt.minion.salt import TemplateFunctions, shared
from pushsalt.minion.shared import MemoPillar
from pushsalt.minion.wrappers import OURS as OUR_FUNCTIONS
from pushsalt.minion.wrappers import ControllerFunctions
from pushsalt.model import Target
from pushsalt.modules.controller import function_named, is_for_command
from pushsalt.modules.effects import SILENT, Effect, shipped
from pushsalt.modules.signatures import StateFunctions, TypeFunctions
from pushsalt.programs import run_program
from pushsalt.render import RenderContext, compile_template
from pushsalt.render.pipeline import decrypt_value
from pushsalt.trust import Foreign, Template, Trusted
from thin import runtime
from thin.loader import Loaders

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

    from pushsalt.fileserver import FileServer
    from pushsalt.job import JobOptions
    from pushsalt.memo.tree import Level
    from pushsalt.minion.memoized import MemoCompiler
    from pushsalt.minion.trees import Trees
    from pushsalt.modules.custom import CustomModules
    from pushsalt.pillar import PillarResult

log = logging.getLogger(__name__)

#: Calls a function on the target: name, arguments, keyword arguments -> its value. Raises FunctionError, TargetError.
Remote = Callable[[str, list[Any], dict[str, Any]], Any]


class Minion:
    """Data and functions of one target. ``derive`` gives it with another test mode, environment or pillar override."""

    def __init__(
        self,
        project: Trees,
        target: Target,
        options: JobOptions,
        grains: Mapping[str, Any],
        remote: Remote | None,
        *,
        rendering: bool = False,
        pillar_override: Mapping[str, Any] | None = None,
        test: bool | None = None,
        engines: frozenset[str] | None = None,
        pillar: Mapping[str, Any] | MemoPillar | None = None,
        opts: Mapping[str, Any] | None = None,
        discover: Callable[[dict[str, Any]], dict[str, list[str]]] | None = None,
    ) -> None:
        """``engines``: the only renderers that may be used for this target; None for no limit.

        ``pillar`` and ``opts`` are computed on first use unless they are given. ``discover`` asks the target for the
        resources that it manages, stores them, and returns type -> ids; None without a connection.
        """
        self.project = project
        self.target = target
        self.options = options
        self._remote = remote
        self._test = (options.test or None) if test is None else test
        self._engines = engines
        self.settings = project.shared.settings(
            target, test=self._test, saltenv=options.saltenv, pillarenv=options.pillarenv
        )
        self.inputs = TargetInputs(self, project.shared)
        self._discover = discover
        #: grains, options and pillar with recorded reads, which must not be changed; None: not computed yet
        self.own_grains: dict[str, Any] = grains if isinstance(grains, dict) else dict(grains)
        self.own_opts: dict[str, Any] | None = None if opts is None else self._recorded_opts(opts)
        self.own_pillar: dict[str, Any] | None = None
        #: the compiled pillar; None: not compiled yet
        self.compiled_pillar: MemoPillar | None = None
        if isinstance(pillar, MemoPillar):
            self.compiled_pillar = pillar
        elif pillar is not None:
            self.own_pillar = Recorded("pillar", self.inputs, pillar)
        self.wrappers: dict[Path, ModuleType] = {}
        #: whether functions are called by templates, which see secrets of pillar; for a command line they are masked
        self.rendering = rendering
        self._override = dict(options.pillar or {}) if pillar_override is None else dict(pillar_override)

    @property
    def id(self) -> str:
        return self.target.id

    @cached_property
    def grains(self) -> dict[str, Any]:
        """The grains. Their reads are recorded, like those of options and pillar (pushsalt.memo.reads)."""
        self.own_grains = Recorded("grains", self.inputs, self.own_grains)
        return self.own_grains

    def _grains_now(self) -> dict[str, Any]:
        return plain(self.own_grains) if isinstance(self.own_grains, Recorded) else self.own_grains

    @cached_property
    def opts(self) -> dict[str, Any]:
        """The options by Salt's names, made on first use."""
        if self.own_opts is None:
            self.own_opts = self._recorded_opts({**self.settings.copy(), "id": self.id, "user": self.user})
        return self.own_opts

    @property
    def user(self) -> Any:
        """The user as whom functions run on the target."""
        return self.settings.values["user"] or dict.get(self.own_grains, "username") or "root"

    def _recorded_opts(self, opts: Mapping[str, Any]) -> Recorded:
        return Recorded("opts", self.inputs, {**opts, "grains": self.grains}, private=frozenset({"grains"}))

    def option(self, name: str) -> Any:
        """The value of an option, which must not be changed; the read is not recorded."""
        return self.settings.values.get(name) if self.own_opts is None else dict.get(self.own_opts, name)

    @property
    def test(self) -> bool:
        return bool(self.option("test"))

    @property
    def saltenv(self) -> str:
        return str(self.option("saltenv") or "base")

    @property
    def offline(self) -> bool:
        """Whether the target has the transport ``offline``."""
        return self.target.transport == "offline"

    @property
    def has_target(self) -> bool:
        """Whether functions can be called on the target."""
        return self._remote is not None

    @cached_property
    def files(self) -> FileServer:
        """The file server of the states; its reads by renderings are recorded."""
        return cast("FileServer", self.inputs.recorded_files("states"))

    @property
    def custom(self) -> CustomModules:
        """The users' own modules in the saltenv of this target's job."""
        return self.project.custom(self.saltenv)

    @property
    def controller(self) -> ControllerFunctions:
        """The functions of the controller; users' own ones only if trusted text is rendered."""
        return self.project.functions if self._engines is None else OUR_FUNCTIONS

    def has_custom(self, name: str) -> bool:
        """Whether an execution function belongs to users' own modules, or to the resource's type."""
        return self._type.has(name) or self.custom.has(name)

    @cached_property
    def _type(self) -> TypeFunctions:
        """The functions of this resource's type; none for a target that is not a resource."""
        return TypeFunctions(self.target.resource, self.custom)

    def has_salt(self, name: str) -> bool:
        """Whether an execution function belongs to real Salt (``salt_python``)."""
        return self.project.salt_python is not None and self.project.salt_python.has(name)

    def effect(self, name: str) -> Effect:
        """The effect of an execution function on the machine, as its module declares it."""
        wrapped = self.controller.effect(name)
        if wrapped is not None:
            return wrapped
        return (shipped(name) or Effect(SILENT)) if function_named(name) is not None else self.effect_on_target(name)

    def effect_on_target(self, name: str) -> Effect:
        """The effect of a function that the target itself calls, for a guard or a slot."""
        for theirs in (self._type, self.custom):
            effect = theirs.effect(name)
            if effect is not None:
                return effect
        return shipped(name) or Effect(SILENT)

    def discover(self) -> dict[str, list[str]]:
        """Ask the target which resources it manages, and store them: type -> ids; empty without a connection."""
        return {} if self._discover is None else self._discover(plain(self.pillar))

    def warn(self, text: str) -> None:
        """Log a warning about files of the trees, once for all targets."""
        if text not in self.project.said:
            log.warning("%s", text, extra={"once": True})  # may end a rendering whose result is only memoized
            self.project.said.add(text)

    def on_controller(self, name: str) -> bool:
        """Whether this execution function can run on the controller. A user's module wins, and must declare it."""
        if self._type.has(name) or (self.target.resource and name == "test.ping"):
            return False
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
        """This target with other options; None keeps an option. The compiled pillar is reused unless they affect it."""
        test = None if test and self.test else test
        pillar = None if pillar == self._override else pillar
        saltenv = None if saltenv == self.option("saltenv") else saltenv
        pillarenv = None if pillarenv == self.option("pillarenv") else pillarenv
        if test is None and pillar is None and saltenv is None and pillarenv is None:
            if rendering in (None, self.rendering):
                return self
            same = copy.copy(self)
            same.rendering = bool(rendering)
            return same
        spoil("it asks for the same target with other options")
        changes: dict[str, Any] = {}
        if test is not None:
            changes["test"] = bool(test)
        if saltenv is not None:
            changes["saltenv"] = str(saltenv)
        if pillarenv is not None:
            changes["pillarenv"] = str(pillarenv)
        kept: Mapping[str, Any] | MemoPillar | None = None
        if pillar is None and pillarenv is None and saltenv in (None, self.saltenv):
            kept = self.compiled_pillar if self.own_pillar is None else self.own_pillar
        return Minion(
            self.project,
            self.target,
            replace(self.options, **changes),
            self._grains_now(),
            self._remote,
            rendering=self.rendering if rendering is None else rendering,
            pillar_override=self._override if pillar is None else pillar,
            test=self._test if test is None else bool(test),
            engines=self._engines,
            pillar=kept,
        )

    # pillar and functions --------------------------------------------------------------------------------------------

    @cached_property
    def pillar(self) -> dict[str, Any]:
        """The compiled pillar with the overrides merged over it. Raises StateError with all errors of the pillar."""
        if self.own_pillar is None:
            self.check_pillar()
            self.own_pillar = Recorded("pillar", self.inputs, self.shared_pillar.result().pillar)
        return self.own_pillar

    def check_pillar(self) -> None:
        """Raises StateError with all errors of the pillar, if there are any."""
        if self.own_pillar is None and self.shared_pillar.errors:
            raise StateError(["Pillar failed to render with the following messages:", *self.shared_pillar.errors])

    def pillar_value(self, name: str) -> Any:
        """A value of the pillar, which must not be changed. Raises StateError as ``pillar`` does."""
        self.check_pillar()
        return (self.shared_pillar.values if self.own_pillar is None else self.own_pillar).get(name)

    @property
    def pillar_result(self) -> PillarResult:
        """The compiled part of the pillar, and its errors; a copy for the caller."""
        top = current()
        if top is not None and top.inputs is self.inputs:
            top.note(("compiled", WHOLE))
        elif top is not None:
            top.spoil("it reads the pillar of another target")
        return self.shared_pillar.result()

    @cached_property
    def shared_pillar(self) -> MemoPillar:
        """The compiled pillar, which may be shared with other targets."""
        if self.compiled_pillar is None:
            self.compiled_pillar = self._compiled_pillar()
        return self.compiled_pillar

    def _compiled_pillar(self) -> MemoPillar:
        from pushsalt.minion.memoized import PILLAR

        twin = self._twin(self._remote, {})
        question = ("pillar", dict(self.target.pillar), self._override, self.settings.number)
        compiled: MemoPillar = twin.once(PILLAR, question, partial(compiled_pillar, twin, self._override))
        for text in compiled.warnings:
            log.warning("%s: %s", self.id, text)
        if not compiled.redacted:
            self.project.redactor.add_pillar(compiled.values)
            compiled.redacted = True
        return compiled

    @property
    def pillar_to_keep(self) -> dict[str, Any] | None:
        """The pillar to cache, which must not be changed; None if it has errors, or the command's options affect it."""
        compiled = self.compiled_pillar
        if compiled is None or compiled.errors or self._override or self.options.pillarenv or self.options.saltenv:
            return None
        return compiled.values

    def compile_pillar(self, more: Mapping[str, Any]) -> PillarResult:
        """Compile the pillar again, with ``more`` external sources besides those of the configuration."""
        spoil("it compiles pillar")
        with muted():
            result = compiled_pillar(self._twin(self._remote, {}), self._override, more)
        for text in result.warnings:
            log.warning("%s: %s", self.id, text)
        self.project.redactor.add_pillar(result.pillar)
        return result

    def once(self, level: Level[Any], question: Any, render: Callable[[], Any]) -> Any:
        """The result of ``render``, or the memoized result of a target with the same values for all recorded reads."""
        wanted = self.options.render_cache
        if not (self.project.config.opts["render_cache"] if wanted is None else wanted):
            takes_time()
            return each_time(level, question, render)
        if not noting(self.inputs):
            self.inputs.begin()
        try:
            key = (key_of(question), *self.inputs.question())
        except NoKeyError:
            spoil("it depends on what cannot be compared")
            return each_time(level, question, render)
        return self.project.shared.once.get(level, key, self.inputs, render)

    def decrypt(self, value: Any, renderer: str | None) -> Any:
        """A decrypted value of pillar. Raises RenderError."""
        takes_time()
        context = RenderContext(
            self.id,
            self.opts,
            self.grains,
            {},
            {},
            run=run_program,
            private=self.project.private,
            decrypted=self.project.redactor.add,
            frozen=self.frozen,
            decrypt=self.project.decrypt,
        )
        return decrypt_value(value, renderer, context)

    @cached_property
    def functions(self) -> TemplateFunctions:
        """``salt`` of this target's templates, with the same options, grains and pillar."""
        _ = self.opts, self.pillar
        return TemplateFunctions(self.derive(rendering=True))

    @cached_property
    def _loaders(self) -> Loaders:
        return Loaders(
            self.opts,
            runtime,
            grains=self.grains,
            pillar=(lambda: self.pillar) if self.own_pillar is None else self.own_pillar,
            overlays={"modules": [self.custom], "utils": [self.custom]},
            controller=True,
            extra={"__salt_template__": True},
        )

    def shared(self, name: str) -> Callable[..., Any]:
        """A function that controller and target both have, bound to this target. Raises KeyError."""
        with muted():  # a module is loaded once for all targets
            function: Callable[..., Any] = self._loaders.modules[name]
        return function

    def remote(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call a function on the target and wait for its value. Raises TargetError (offline), FunctionError."""
        if self._remote is None:
            raise TargetError(
                "offline",
                f"{self.id}: {name} needs the target, and {self.id} is offline",
                "set the value that it would return in the target's grains or pillar, or use another transport",
            )
        if current() is None:
            return self._remote(name, args, kwargs)
        return ask(self.inputs, REMOTE + name, tuple(args), kwargs)

    def call_target(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """``remote`` without recording the call."""
        assert self._remote is not None
        return self._remote(name, args, kwargs)

    def call(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Call a function for the command line: see ``calling.call_by_name``."""
        return call_by_name(self, name, args, kwargs)

    def own(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function of ``pushsalt.functions``, bound to this target; some of them run in the command's process."""
        if is_for_command(function) and not self.project.is_command:
            return partial(self.project.function, self, name)
        return partial(function, self)

    # rendering and compiling -----------------------------------------------------------------------------------------

    @cached_property
    def context(self) -> RenderContext:
        """The context in which this target's SLS are rendered."""
        return RenderContext(
            self.id,
            self.opts,
            self.grains,
            self.pillar,
            self.functions,
            self.files,
            run=run_program if self.project.is_command else None,
            private=self.project.private,
            decrypted=self.project.redactor.add,
            keep_code=self.project.keeps_templates and self._engines is None,
            frozen=self.frozen,
            engines=self._engines,
            decrypt=self.project.decrypt,
        )

    @property
    def frozen(self) -> Mapping[str, Any]:
        """The options that control rendering: those of the configuration, without changes by templates."""
        return MappingProxyType(self.settings.values)

    @cached_property
    def without_target(self) -> Minion:
        """This target for rendering before the run: a call that needs the target raises."""
        return self._twin(None, self.shared_pillar if self.own_pillar is None else self.own_pillar)

    def _twin(self, remote: Remote | None, pillar: Mapping[str, Any] | MemoPillar) -> Minion:
        """This target for templates, with another ``remote`` and another pillar."""
        return Minion(
            self.project,
            self.target,
            self.options,
            self._grains_now(),
            remote,
            rendering=True,
            pillar_override=self._override,
            test=self._test,
            engines=self._engines,
            pillar=pillar,
            opts=None if self.own_opts is None else plain(self.own_opts),
        )

    @cached_property
    def compiler(self) -> MemoCompiler:
        """The compiler of this target's states; it uses memoized results."""
        from pushsalt.minion.memoized import MemoCompiler

        return MemoCompiler(self)

    @cached_property
    def plain_compiler(self) -> StateCompiler:
        return state_compiler(self)

    def match(self, expr: str, tgt_type: str) -> bool:
        """Whether a target expression matches this target, by its live grains and pillar: see ``matching``."""
        return match(self, expr, tgt_type)

    def is_matched(self, expr: str, tgt_type: str) -> bool:
        """``match`` without recording the read."""
        return is_matched(self, expr, tgt_type)

    def words(self, text: str, where: str) -> Template:
        """The argument of a function, as a template: trusted if it comes from the command line, else foreign."""
        return Foreign(text, where) if self.rendering else Trusted(text, where)

    def render_sls_text(self, text: Template, sls: str = "<string>") -> Any:
        return compile_template(text, path=sls, sls=sls, saltenv=self.saltenv, context=self.context)

    def check_chunk(self, chunk: dict[str, Any]) -> list[str]:
        """The errors of one chunk: an unknown function, unknown arguments."""
        strict = self.project.config.opts["strict_arguments"]
        problems = check_chunks([chunk], self.state_functions, SourcePositions(), strict)
        return CompileResult(problems=[problem for problem in problems if problem.level == "error"]).errors

    @property
    def state_functions(self) -> StateFunctions:
        """The state functions that this target has."""
        target = self.target
        return StateFunctions(self.custom, self.project.salt_python, target.resource, inside=bool(target.enter))
