"""The project of a render process: it has the file trees, and asks the command for everything else.

It has no access to the inventory, connections, credentials or other targets. For these, the command is asked, which
knows the target of the work and answers for that target only.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pushsalt.children.codec import Ask
from pushsalt.config import Config
from pushsalt.lazy import cached_property, forget
from pushsalt.memo.reads import plain
from pushsalt.minion.trees import AskingTarget, Trees
from pushsalt.redact import Redactor

if TYPE_CHECKING:
    from pushsalt.ext_pillar import Outside
    from pushsalt.git.remotes import Remotes
    from pushsalt.pillar.source import ExtPillar


class ReportingRedactor(Redactor):
    """Collects the secrets that renderings read, and sends each once to the command, which redacts output."""

    def __init__(self, secret_keys: Sequence[str], tell: Callable[[list[str]], None]) -> None:
        super().__init__(secret_keys)
        self._tell = tell
        self._told: set[str] = set()

    def _add(self, value: str) -> None:
        if value not in self._told:
            self._told.add(value)
            self._tell([value])


class RenderProject(Trees):
    """The project as a render process has it. ``ask`` sends questions for the target of this thread's work."""

    def __init__(
        self,
        config: Config,
        ask: Ask,
        tell: Callable[[list[str]], None],
        shown: dict[str, Any] | None = None,
        groups: Collection[str] = (),
    ) -> None:
        self._groups = groups
        self._shown = shown or {}
        #: name of an external pillar -> whether it exists
        self._sources: dict[str, bool] = {}
        super().__init__(config, ReportingRedactor(config.opts["secret_keys"], tell))
        self.ask = ask
        self._managed = _ManagedResources(ask)
        self._requests = _Requests(ask)

    @property
    def managed(self) -> _ManagedResources:
        return self._managed

    @property
    def requests(self) -> _Requests:
        return self._requests

    @property
    def shown_config(self) -> dict[str, Any]:
        """The configuration as ``pillar_opts`` shows it; empty unless that option is set."""
        return copy.deepcopy(self._shown)

    @property
    def groups(self) -> Collection[str]:
        """The names of groups, without their members."""
        return self._groups

    def renew(self, config: Config, shown: dict[str, Any], groups: Collection[str]) -> None:
        """Begin a further job: memoized results stay, file snapshots are dropped."""
        self.config, self._shown, self._groups = config, shown, groups
        forget(self, "files", "pillar_files", "remotes", "vocabulary", "functions")
        self._custom.clear()
        self._sources.clear()
        self.shared.renew()

    @cached_property
    def remotes(self) -> Remotes:
        """The copies of git remotes in the cache; the command fetches."""
        from pushsalt.children.copies import Copies

        return Copies(self.config, self.ask)

    def function(self, minion: AskingTarget, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """Call a function in the command, for this target."""
        pillar = plain(minion.own_pillar) if minion.own_pillar is not None else None
        return self.ask("function", fun=name, args=list(args), kwargs=kwargs, pillar=pillar, rendering=minion.rendering)

    def store_in_mine(self, values: Mapping[str, Any], *, clear: bool) -> bool:
        """Store mine values of the target."""
        return bool(self.ask("mine_store", values=dict(values), clear=clear))

    def decrypt(self, name: str, data: Any, argline: str, translate_newlines: bool) -> Any:
        """Data, decrypted by a renderer of this name in the command."""
        return self.ask("decrypt", renderer=name, data=data, argline=argline, translate_newlines=translate_newlines)

    def ext_pillar(self, name: str, outside: Outside) -> ExtPillar | None:
        """An external pillar that the command calls; its arguments are its number in the configuration."""
        seen = {key: outside.opts.get(key) for key in ("saltenv", "pillarenv")}
        exists = self._sources.get(name)
        if exists is None:
            exists = self._sources[name] = bool(self.ask("has_ext_pillar", name=name))
        if not exists:
            return None

        def source(minion_id: str, pillar: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
            return self.ask("ext_pillar", name=name, args=list(args), kwargs=kwargs, pillar=plain(pillar), **seen)

        return source

    def tops(self, minion: AskingTarget) -> dict[str, list[str]]:
        """saltenv -> SLS names that ``master_tops`` gives for a target."""
        pillar = plain(minion.own_pillar) if minion.own_pillar is not None else minion.shared_pillar.values
        top: dict[str, list[str]] = self.ask("tops", pillar=pillar, saltenv=minion.saltenv)
        return top


class _ManagedResources:
    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def declared(self, key: str) -> dict[str, Any]:
        """type -> ids of what the target manages."""
        declarations: dict[str, Any] = self._ask("managed")
        return declarations


class _Requests:
    """The requested state runs of the target, stored by the command."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def get(self, key: str) -> Any:
        return self._ask("requests", do="get")

    def put(self, key: str, value: Any) -> None:
        self._ask("requests", do="put", value=value)

    def delete(self, key: str) -> None:
        self._ask("requests", do="delete")
