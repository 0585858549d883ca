"""External pillars: one file per source, named like its key under ``ext_pillar`` in the configuration.

A source has the function ``ext_pillar(minion_id, pillar, ...)``, as in Salt, so that users' sources work unchanged::

    ext_pillar:
      - cmd_yaml: cat /etc/pillar.yaml             ext_pillar(id, pillar, "cat /etc/pillar.yaml")
      - stack: [/a.cfg, /b.cfg]                    ext_pillar(id, pillar, "/a.cfg", "/b.cfg")
      - http_json: {url: "https://...", key: x}    ext_pillar(id, pillar, url="https://...", key="x")

A source with a parameter ``outside`` gets an ``Outside`` in it. Users' sources, from ``_pillar`` folders, have Salt's
``__opts__``, ``__grains__``, ``__salt__`` and ``__pillar__`` as globals.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pushsalt.errors import PushsaltError, RenderError
from pushsalt.pillar.source import ExtPillar
from pushsalt.plugincommands import commands
from pushsalt.render import RenderContext
from pushsalt.render.context import RunProgram

if TYPE_CHECKING:
    from pushsalt.git.remotes import Remotes


@dataclass(frozen=True)
class Outside:
    """The objects that a source may use.

    ``opts``: the target's options over the controller's; ``context``: renders for the target; ``matches``: whether an
    expression with its ``tgt_type`` matches it; ``remotes``: returns the git remotes of this command; ``folder``: that
    of the configuration.
    """

    opts: Mapping[str, Any]
    context: RenderContext
    run: RunProgram
    matches: Callable[[str, str], bool]
    remotes: Callable[[], Remotes] | None = None
    folder: Path | None = None

    def output(self, argv: Sequence[str]) -> bytes:
        """The output of a program. Raises OSError with its stderr if it fails without output."""
        done = self.run(argv)
        if done.code and not done.out.strip():
            message = done.err.decode("utf-8", "replace").strip()
            raise OSError(f"the command ended with code {done.code}: {message or 'no output'}")
        return done.out


def find_source(name: str, folders: Sequence[Path] = (), outside: Outside | None = None) -> ExtPillar | None:
    """The function of a source; None for an unknown name. ``folders``: folders of users' sources.

    Raises ConfigError if it cannot be loaded.
    """
    from pushsalt import plugins

    names: dict[str, Any] = {}
    if outside is not None:
        names = outside.context.dunders(str(outside.opts.get("saltenv") or "base"), "")
        names.update(__opts__=outside.opts, __salt__=SourceFunctions(outside))
    module = plugins.load_virtual("ext_pillar", name, folders, names)
    if module is None:
        return None
    function: ExtPillar = module.ext_pillar
    if outside is not None and "outside" in inspect.signature(function).parameters:
        function = partial(function, outside=outside)
    if not module.__name__.startswith(__name__):
        function = partial(_named, function)
    return function


def _named(function: ExtPillar, minion_id: str, pillar: dict[str, Any], /, *args: Any, **kwargs: Any) -> Any:
    """Wrap a user's source, so that its exceptions name the file."""
    from pushsalt.plugins import blamed

    try:
        return function(minion_id, pillar, *args, **kwargs)
    except PushsaltError:
        raise
    except (Exception, SystemExit) as exc:
        raise RenderError(f"{exc}{blamed(exc)}") from exc


class SourceFunctions(Mapping[str, Callable[..., Any]]):
    """``__salt__`` of users' sources: as on Salt's master, ``cmd.*`` runs on the controller.

    It also has the functions of other modules that do not need a target.
    """

    def __init__(self, outside: Outside) -> None:
        self._outside = outside
        self._own = commands(outside.run)

    def __getitem__(self, name: str) -> Callable[..., Any]:
        return self._own[name] if name in self._own else self._outside.context.salt[name]

    def __iter__(self) -> Iterator[str]:
        yield from sorted({*self._own, *self._outside.context.salt})

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in self._outside.context.salt
