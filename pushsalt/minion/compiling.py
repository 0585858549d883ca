"""Compiles one target's pillar and states from the file trees and from external sources.

The input is a ``Minion``, which keeps the results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, cast

from pushsalt.compile import StateCompiler
from pushsalt.ext_pillar import Outside, find_source
from pushsalt.fileserver.trees import PillarTree, RenderedTree
from pushsalt.memo.reads import plain, spoil
from pushsalt.minion.settings import renders
from pushsalt.pillar.source import ExtPillar
from pushsalt.plugins import folders
from pushsalt.programs import run_program

if TYPE_CHECKING:
    from pushsalt.fileserver import FileServer
    from pushsalt.job import JobOptions
    from pushsalt.memo.tree import Level
    from pushsalt.minion.files import RecordedFiles
    from pushsalt.minion.shared import MemoPillar
    from pushsalt.minion.trees import Trees
    from pushsalt.model import Target
    from pushsalt.modules.signatures import StateFunctions
    from pushsalt.pillar import PillarResult
    from pushsalt.render import RenderContext


class Inputs(Protocol):
    """The file server with recorded reads of one target."""

    def recorded_files(self, tree: str, /) -> RecordedFiles: ...


class Compiling(Protocol):
    """The target whose pillar and states are compiled: ``pushsalt.minion.minion.Minion``."""

    project: Trees
    target: Target
    options: JobOptions
    rendering: bool
    own_pillar: dict[str, Any] | None

    @property
    def id(self) -> str: ...
    @property
    def saltenv(self) -> str: ...
    @property
    def inputs(self) -> Inputs: ...
    @property
    def opts(self) -> dict[str, Any]: ...
    @property
    def pillar(self) -> dict[str, Any]: ...
    @property
    def shared_pillar(self) -> MemoPillar: ...
    @property
    def files(self) -> FileServer: ...
    @property
    def context(self) -> RenderContext: ...
    @property
    def state_functions(self) -> StateFunctions: ...
    def match(self, expr: str, tgt_type: str) -> bool: ...
    def decrypt(self, value: Any, renderer: str | None) -> Any: ...
    def once(self, level: Level[Any], question: Any, render: Callable[[], Any]) -> Any: ...


def compiled_pillar(
    twin: Compiling, override: Mapping[str, Any], more: Mapping[str, Any] | None = None
) -> PillarResult:
    """Compile the pillar. ``twin`` is the target for pillar SLS; its pillar is updated while SLS are rendered.

    ``override`` is merged over the result, ``more`` are external sources besides those of the configuration.
    """
    from pushsalt.pillar import compile_pillar

    config = twin.project.config.opts
    opts = {**config, **plain(twin.opts)}
    if opts.get("ext_pillar"):  # the configuration is trusted; ``more`` may come from a foreign template
        opts["ext_pillar"] = twin.project.private["ext_pillar"]
    if more:
        opts["ext_pillar"] = [*(opts.get("ext_pillar") or []), dict(more)]
    if opts.get("ext_pillar"):
        spoil("external pillar")
    files = cast("FileServer", twin.inputs.recorded_files("pillar"))
    context = replace(twin.context, fileserver=files, keep_code=False)
    path = twin.project.config.path
    outside = Outside(
        opts, context, run_program, twin.match, lambda: twin.project.remotes, path.parent if path is not None else None
    )
    result = compile_pillar(
        twin.id,
        opts,
        PillarTree(files, context, twin.once),
        twin.match,
        saltenv=opts.get("saltenv"),
        pillarenv=opts.get("pillarenv"),
        target_pillar=twin.target.pillar,
        ext_pillars=partial(_source, twin, outside),
        override=override,
        visible=twin.pillar,
        decrypt=twin.decrypt,
    )
    if opts.get("pillar_opts"):
        result.pillar["master"] = twin.project.shown_config
    return result


def pillar_top(twin: Compiling) -> tuple[dict[str, Any], list[str]]:
    """The pillar top files of all saltenvs as one, and their errors. Salt: ``Pillar.get_top``."""
    from pushsalt.pillar.top import MergedTop

    opts = {**twin.project.config.opts, **plain(twin.opts)}
    files = cast("FileServer", twin.inputs.recorded_files("pillar"))
    context = replace(twin.context, fileserver=files, keep_code=False)
    tree = PillarTree(files, context, twin.once)
    top = MergedTop(tree, opts, opts.get("saltenv"), opts.get("pillarenv"))
    return top.data, top.errors


def _source(twin: Compiling, outside: Outside, name: str) -> ExtPillar | None:
    """The external pillar of this name. A render process calls only those that render files, and asks the command for
    the others."""
    config = twin.project.config.opts
    if twin.project.is_command or renders(name, config):
        return find_source(name, folders("ext_pillar", config), outside)
    source: ExtPillar | None = twin.project.ext_pillar(name, outside)
    return source


def state_compiler(minion: Compiling) -> StateCompiler:
    """The compiler of this target's states."""
    return StateCompiler(
        RenderedTree(minion.files, minion.context, minion.once),
        minion.opts,
        matcher=minion.match,
        functions=minion.state_functions,
        master_tops=partial(_master_tops, minion) if minion.project.config.opts.get("master_tops") else None,
        check=True,
        strict=minion.project.config.opts["strict_arguments"],
        unknown_states_run=minion.options.unknown_states_run,
    )


def _master_tops(minion: Compiling) -> dict[str, list[str]]:
    """saltenv -> SLS names that ``master_tops`` gives for this target. Raises StateError."""
    from pushsalt.tops import top_data

    spoil("external top data")
    if not minion.project.is_command:
        return minion.project.tops(minion)
    config = minion.project.config.opts
    opts = {**config, **plain(minion.opts)}
    outside = Outside(opts, minion.context, run_program, minion.match, lambda: minion.project.remotes)
    return top_data(config["master_tops"], folders("tops", config), outside)
