"""The command's side of rendering one target: sends requests to a render process, and answers its questions.

A question belongs to a request, and so to one target; the render process cannot name another. The questions are listed
below, and each answer is about that target alone: a malicious template cannot reach data of other targets.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pushsalt.errors import FunctionError, RenderError, StateError, TargetError
from pushsalt.model import Blob, Chunk, Target
from pushsalt.modules.controller import function_named, is_for_command
from pushsalt.programs import run_program

if TYPE_CHECKING:
    from pushsalt.children.pool import Pool
    from pushsalt.git.remotes import Remotes
    from pushsalt.git.settings import Remote
    from pushsalt.job import JobOptions
    from pushsalt.minion.minion import Minion
    from pushsalt.run.project import Project

log = logging.getLogger(__name__)

#: Seconds for rendering a text that the target sent, if the job has no time limit.
FOREIGN_TIME: Final = 60.0
#: Seconds for rendering ahead. Others may wait for the result; what is complete by then, such as single SLS, is used.
AHEAD_TIME: Final = 1.0
_targets: Final = itertools.count(1)
#: Fields of a target that are sent to a render process: no password, key or address.
_TOLD: Final = ("id", "transport", "minion_opts", "grains", "pillar", "groups", "resource", "manager", "enter")

Calls = Callable[[str, list[Any], dict[str, Any]], Awaitable[Any]]
InThread = Callable[[Callable[[], Any]], Awaitable[Any]]


@dataclass(frozen=True)
class Planned:
    """A run of states as a render process has planned it.

    ``fields`` are those of the message ``run`` (thin.wire); ``disabled`` and ``bare`` as in ``functions.Lowstate``;
    ``after``: the render process needs the returns.
    """

    fields: dict[str, Any]
    blobs: Mapping[str, Blob]
    disabled: dict[str, dict[str, Any]]
    bare: bool
    after: bool


@dataclass(frozen=True)
class Called:
    """The result of a function: a value, or a run of states (``plan`` is None for a target without a connection).

    ``pillar`` is the compiled pillar (``Minion.pillar_to_keep``); it must not be changed.
    """

    value: Any
    plan: Planned | None
    is_plan: bool
    pillar: dict[str, Any] | None
    mine_functions: Any


class RenderedTarget:
    """See the module. ``call`` calls a function on the target, None without a connection; ``in_thread`` runs blocking
    functions."""

    def __init__(
        self,
        project: Project,
        target: Target,
        options: JobOptions,
        grains: dict[str, Any],
        *,
        calls: Calls | None,
        in_thread: InThread,
        time_left: Callable[[], float | None],
        discover: Callable[[dict[str, Any]], Awaitable[Any]] | None = None,
    ) -> None:
        self.project = project
        self.target = target
        self._options = options
        self._grains = grains
        self._calls = calls
        self._in_thread = in_thread
        self._time_left = time_left
        self._discover = discover
        self._number = next(_targets)
        self._pool: Pool = project.pool
        self._pillar: dict[str, Any] | None = None

    # requests --------------------------------------------------------------------------------------------------------

    async def call(self, fun: str, args: list[Any], kwargs: dict[str, Any], *, plan: bool) -> Called:
        """Call a function of the controller. Raises StateError, FunctionError, TargetError."""
        done = await self._work("call", fun=fun, args=args, kwargs=kwargs, plan=plan)
        fields = done.get("plan")
        return Called(
            done.get("value"),
            None if fields is None else self._planned(fields),
            "plan" in done,
            done.get("pillar"),
            done.get("mine_functions"),
        )

    async def ahead(self, fun: str, args: list[Any], kwargs: dict[str, Any]) -> None:
        """Have a render process memoize the result of ``call``, if that has no effect and takes at most AHEAD_TIME.
        Errors are left to ``call``.
        """
        message = self._message("ahead", fun=fun, args=args, kwargs=kwargs, plan=True)
        left = self._time()
        with contextlib.suppress(Exception):
            await self._pool.work(message, self._answer, time=AHEAD_TIME if left is None else min(left, AHEAD_TIME))

    async def template(
        self,
        url: str,
        saltenv: str,
        engine: str,
        context: Any,
        defaults: Any,
        chunk: Chunk,
        names: dict[str, Any] | None,
    ) -> bytes:
        """Render a file of the file roots for this target. Raises RenderError, TargetError."""
        fields = {"url": url, "saltenv": saltenv, "engine": engine, "context": context, "defaults": defaults}
        done = await self._work("template", **fields, chunk=chunk, names=names)
        return bytes(done["text"])

    async def foreign(
        self, text: str, saltenv: str, context: Any, defaults: Any, chunk: Chunk, names: dict[str, Any] | None
    ) -> bytes:
        """Render a Jinja text that the target sent, in a process that has only this target's data."""
        pillar = await self.pillar()
        message = self._message("foreign", text=text, pillar=pillar, fun="a text of the target")
        message.update(saltenv=saltenv, context=context, defaults=defaults, chunk=chunk, names=names)
        left = self._time()
        time = FOREIGN_TIME if left is None else min(left, FOREIGN_TIME)
        done = await self._pool.work(message, self._confined_answer, time=time, confined=True)
        return bytes(done["text"])

    async def pillar(self) -> dict[str, Any]:
        """The compiled pillar with the overrides on top. Raises StateError with every error of it."""
        if self._pillar is None:
            self._pillar = dict((await self._work("pillar"))["value"])
        return self._pillar

    async def after(self, returns: dict[str, Any]) -> None:
        """Send the returns of a run to the render process that has planned it."""
        await self._work("done", returns=returns)

    def close(self) -> None:
        """End the work: no more requests follow."""
        self._pool.forget(self._number)

    async def _work(self, kind: str, **fields: Any) -> dict[str, Any]:
        return await self._pool.work(self._message(kind, **fields), self._answer, time=self._time())

    def _time(self) -> float | None:
        """Seconds for rendering: slightly less than the job has left, so that the error can name the slow template."""
        left = self._time_left()
        return None if left is None else max(0.05, left - min(1.0, max(0.05, 0.1 * left)))

    def _message(self, kind: str, **fields: Any) -> dict[str, Any]:
        return {
            "k": kind,
            "h": self._number,
            "target": {name: getattr(self.target, name) for name in _TOLD},
            "options": self._options.as_fields,
            "grains": self._grains,
            "remote": self._calls is not None,
            "discover": self._discover is not None,
            **fields,
        }

    def _planned(self, sent: dict[str, Any]) -> Planned:
        names = ("chunks", "test", "files", "templates", "wants", "mock", "declared", "groups", "only")
        fields = {name: sent[name] for name in names}
        blobs = {digest: self._blob(digest, blob) for digest, blob in sent["blobs"].items()}
        disabled = dict(sent["disabled"])
        return Planned(fields, _Blobs(blobs), disabled, bool(sent["bare"]), bool(sent["done"]))

    def _blob(self, digest: str, fields: dict[str, Any]) -> Callable[[], Blob]:
        def made() -> Blob:
            if fields["data"] is not None:
                return Blob(digest, len(fields["data"]), data=bytes(fields["data"]))
            path, saltenv = fields["place"]
            file = self.project.files.find(str(path), str(saltenv))  # a render process can only name file roots files
            if file is None:
                raise KeyError(digest)
            return Blob(digest, file.size, path=file.path, open=file.open)

        return made

    # questions -------------------------------------------------------------------------------------------------------

    async def _answer(self, question: dict[str, Any]) -> Any:
        """Answer a question of the render process that works for this target."""
        kind = question.get("q")
        if kind == "remote":
            return await self._remote(question)
        if kind == "discover":
            return {} if self._discover is None else await self._discover(dict(question["pillar"]))
        handler = getattr(self, f"_asked_{kind}", None)
        if handler is None:
            raise FunctionError("exception", f"no question of a rendering: {kind!r}", "report this", "SaltException")
        return await self._in_thread(partial(handler, question))

    async def _confined_answer(self, question: dict[str, Any]) -> Any:
        """Answer a question while a text that the target sent is rendered: only calls on the target are allowed."""
        if question.get("q") == "remote":
            return await self._remote(question)
        if question.get("q") == "managed":
            return {}
        text = "a text of the target's own cannot ask that"
        raise FunctionError("exception", text, "put the template into the file roots", "CommandExecutionError")

    async def _remote(self, question: dict[str, Any]) -> Any:
        if self._calls is None:
            raise TargetError("offline", f"{self.target.id} is offline", "use another transport")
        return await self._calls(str(question["fun"]), list(question["args"]), dict(question["kwargs"]))

    def minion(self, pillar: Mapping[str, Any] | None = None, **more: Any) -> Minion:
        """The ``Minion`` for functions that only the command can answer; it does not compile."""
        from pushsalt.minion.minion import Minion

        remote = self._remote_of()
        return Minion(self.project, self.target, self._options, self._grains, remote, pillar=pillar or {}, **more)

    def _remote_of(self) -> Callable[[str, list[Any], dict[str, Any]], Any] | None:
        calls = self._calls
        if calls is None:
            return None
        loop = self._pool.loop

        def call(fun: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
            async def run() -> Any:
                return await calls(fun, args, kwargs)

            return asyncio.run_coroutine_threadsafe(run(), loop).result()

        return call

    def _asked_function(self, question: dict[str, Any]) -> Any:
        name = str(question["fun"])
        own = function_named(name)
        if own is None or not is_for_command(own):
            raise FunctionError("unknown_function", f"'{name}' is not available.", "report this", "SaltException")
        minion = self.minion(question.get("pillar"), rendering=bool(question.get("rendering")))
        return own(minion, *question["args"], **question["kwargs"])

    def _asked_decrypt(self, question: dict[str, Any]) -> Any:
        from pushsalt.render import RenderContext
        from pushsalt.render.pipeline import decrypt_stage

        opts = self.project.shared.settings(
            self.target, test=None, saltenv=self._options.saltenv, pillarenv=self._options.pillarenv
        ).values
        context = RenderContext(
            self.target.id,
            opts,
            {},
            {},
            {},
            run=run_program,
            private=self.project.private,
            decrypted=self.project.redactor.add,
        )
        return decrypt_stage(
            str(question["renderer"]),
            question["data"],
            context,
            str(question["argline"]),
            bool(question["translate_newlines"]),
        )

    def _asked_has_ext_pillar(self, question: dict[str, Any]) -> bool:
        return self._source(str(question["name"]), {}) is not None

    def _source(self, name: str, seen: Mapping[str, Any], pillar: Mapping[str, Any] | None = None) -> Any:
        from pushsalt.ext_pillar import Outside, find_source
        from pushsalt.plugins import folders

        config = self.project.config.opts
        minion = self.minion(pillar, rendering=True)
        opts = {**config, **minion.opts, **seen}
        path = self.project.config.path
        outside = Outside(
            opts, minion.context, run_program, minion.match, lambda: self.project.remotes, path.parent if path else None
        )
        return find_source(name, folders("ext_pillar", config), outside)

    def _asked_ext_pillar(self, question: dict[str, Any]) -> Any:
        """An external pillar of the configuration, or of ``pillar.ext`` if ``on_demand_ext_pillar`` allows it."""
        name, args, kwargs = str(question["name"]), list(question["args"]), dict(question["kwargs"])
        opts, pillar = self.project.config.opts, dict(question["pillar"])
        seen = {key: question.get(key) for key in ("saltenv", "pillarenv")}
        self.project.secrets.fill_for_plugins(self.target.id)
        function = self._source(name, seen, pillar)
        if function is None:
            return None
        configured = opts.get("ext_pillar") or []
        if len(args) == 1 and not kwargs and type(args[0]) is int and 0 <= args[0] < len(configured):
            given = self.project.sdb.resolve(configured[args[0]].get(name))
            if isinstance(given, Mapping):
                return function(self.target.id, pillar, **given)
            return function(self.target.id, pillar, *(given if isinstance(given, list) else [given]))
        if name not in opts["on_demand_ext_pillar"]:
            raise RenderError(f"ext_pillar {name} is neither configured nor in on_demand_ext_pillar")
        return function(self.target.id, pillar, *args, **kwargs)

    def _asked_tops(self, question: dict[str, Any]) -> Any:
        from pushsalt.ext_pillar import Outside
        from pushsalt.plugins import folders
        from pushsalt.tops import top_data

        self.project.secrets.fill_for_plugins(self.target.id)
        config = self.project.config.opts
        minion = self.minion(question["pillar"], rendering=True)
        opts = {**config, **minion.opts, "saltenv": question.get("saltenv")}
        outside = Outside(opts, minion.context, run_program, minion.match, lambda: self.project.remotes)
        return top_data(config.get("master_tops") or {}, folders("tops", config), outside)

    def _asked_managed(self, question: dict[str, Any]) -> Any:
        return self.project.managed.declared(self.target.key)

    def _asked_mine_store(self, question: dict[str, Any]) -> bool:
        from pushsalt.minion import mine

        return mine.store(self.project, self.target, dict(question["values"]), clear=bool(question["clear"]))

    def _asked_requests(self, question: dict[str, Any]) -> Any:
        bank, key = self.project.requests, self.target.id
        if question["do"] == "put":
            bank.put(key, question["value"])
        elif question["do"] == "delete":
            bank.delete(key)
        else:
            return bank.get(key)
        return None

    def _asked_git(self, question: dict[str, Any]) -> Any:
        remotes, do = self.project.remotes, question["do"]
        by_key = self._git_remotes(remotes)
        if do == "sync":
            remotes.sync([by_key[key] for key in question["keys"] if key in by_key])
            return None
        remote = by_key.get(str(question["key"]))
        if remote is None:
            raise StateError("a git remote that the configuration does not have")
        mirror = remotes.mirror(remote)
        if do == "refs":
            return remotes.refs(remote)
        if do == "trouble":
            trouble = remotes.trouble(remote)
            return [trouble.message, trouble.hint] if trouble else None
        if do == "repaired":
            return remotes.repaired(mirror, str(question["commit"]), int(question["number"]))
        if do == "complete":
            return mirror.complete(str(question["tree"]))
        resolved = remotes.resolve(remote, str(question["ref"]))
        return None if resolved is None else [str(resolved[0].folder.parents[1]), resolved[1], resolved[2]]

    def _git_remotes(self, remotes: Remotes) -> dict[str, Remote]:
        """The git remotes of the configuration, by the key of their copy."""
        from pushsalt.git.project import configured

        return {remotes.mirror(each).key: each for each in configured(self.project.config)}


class _Blobs(Mapping[str, Blob]):
    """The blobs of a plan, looked up on access."""

    def __init__(self, openers: Mapping[str, Callable[[], Blob]]) -> None:
        self._made = openers

    def __getitem__(self, digest: str) -> Blob:
        return self._made[digest]()

    def __iter__(self) -> Any:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)
