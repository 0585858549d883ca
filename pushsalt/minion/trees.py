"""The part of a project that render processes also have: file servers, users' modules, memoized results."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pushsalt.config import Config, without_secrets
from pushsalt.lazy import cached_property
from pushsalt.redact import Redactor
from pushsalt.targeting.compound import NamedGroups
from pushsalt.targeting.vocabulary import Vocabulary

if TYPE_CHECKING:
    from pushsalt.ext_pillar import Outside
    from pushsalt.fileserver import FileServer
    from pushsalt.git.remotes import Remotes
    from pushsalt.minion.command import CommandProject, ManagedResources, Requests
    from pushsalt.minion.shared import MemoPillar, Shared
    from pushsalt.minion.wrappers import ControllerFunctions
    from pushsalt.modules.custom import CustomModules
    from pushsalt.modules.saltpython import SaltPython
    from pushsalt.pillar.source import ExtPillar


class AskingTarget(Protocol):
    """The target for which the command is asked: ``pushsalt.minion.minion.Minion``."""

    rendering: bool
    own_pillar: dict[str, Any] | None

    @property
    def saltenv(self) -> str: ...
    @property
    def shared_pillar(self) -> MemoPillar: ...


class Trees:
    """File servers, users' modules and memoized results; costly attributes are made on first use.

    ``Project`` adds inventory, caches and connections for the command, ``children.project.RenderProject`` questions to
    the command for a render process.
    """

    def __init__(self, config: Config, redactor: Redactor) -> None:
        self.config = config
        self.redactor = redactor
        self._custom: dict[str, CustomModules] = {}
        #: warnings that were logged, to log each once for all targets
        self.said: set[str] = set()

    #: whether this is the process of the command, with the whole project
    is_command = False
    #: a function that decrypts in another process (see ``render.RenderContext``); None to decrypt in this process
    decrypt: Any = None

    @property
    def command(self) -> CommandProject:
        """The whole project, which only the command has; functions that need it are marked ``for_command``."""
        raise NotImplementedError

    @property
    def managed(self) -> ManagedResources:
        """The managed resources of all targets."""
        raise NotImplementedError

    @property
    def requests(self) -> Requests:
        """State runs that were requested (``state.request``)."""
        raise NotImplementedError

    @property
    def private(self) -> Mapping[str, Any]:
        """The configuration for renderers."""
        return self.config.opts

    def function(self, minion: AskingTarget, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """Call a function that only the command can answer."""
        raise NotImplementedError

    def store_in_mine(self, values: Mapping[str, Any], *, clear: bool) -> bool:
        """Store mine values of the target that is being rendered; for render processes, which ask the command."""
        raise NotImplementedError

    def ext_pillar(self, name: str, outside: Outside) -> ExtPillar | None:
        """An external pillar that only the command can call; None if there is none of that name."""
        raise NotImplementedError

    def tops(self, minion: AskingTarget) -> dict[str, list[str]]:
        """saltenv -> SLS names that ``master_tops`` gives for a target."""
        raise NotImplementedError

    @property
    def shown_config(self) -> dict[str, Any]:
        """The configuration as ``pillar_opts`` shows it."""
        return without_secrets(self.config.opts)

    @property
    def groups(self) -> Collection[str]:
        """The names of the groups of the inventory."""
        raise NotImplementedError

    @property
    def nodegroups(self) -> NamedGroups:
        """The groups for ``N@name``: the nodegroups of the configuration, and the groups of the inventory."""
        return self.named_groups(lambda: self.groups)

    def named_groups(self, groups: Callable[[], Collection[str]]) -> NamedGroups:
        """As ``nodegroups``, with these groups of an inventory."""
        opts = self.config.opts
        return NamedGroups({**(opts.get("ssh_list_nodegroups") or {}), **(opts.get("nodegroups") or {})}, groups)

    @cached_property
    def functions(self) -> ControllerFunctions:
        """The functions of the controller: ours, and those of plug-ins."""
        from pushsalt.minion.wrappers import ControllerFunctions
        from pushsalt.plugins import folders

        return ControllerFunctions(lambda: folders("functions", self.config.opts))

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The matchers of this configuration, by type and by letter."""
        from pushsalt.plugins import folders

        return Vocabulary(lambda: folders("matchers", self.config.opts))

    @cached_property
    def keeps_templates(self) -> bool:
        """Whether compiled templates are cached between runs; also tells the render code the folder for them."""
        from pushsalt.cache import templates
        from pushsalt.render.code import codes

        path = templates.folder() if self.config.opts["template_cache"] else None
        if path is None:
            return False
        codes.store = templates.store_in(path)
        return True

    @cached_property
    def files(self) -> FileServer:
        from pushsalt.files.digests import digest_cache
        from pushsalt.fileserver import FileServer

        digest_cache.keep_in(self.config.cache_dir)
        return FileServer(self.config.opts, self.remotes if self.uses_gitfs else None)

    @property
    def remotes(self) -> Remotes:
        """The git remotes of states and pillar."""
        raise NotImplementedError

    @property
    def uses_gitfs(self) -> bool:
        """Whether states come from git remotes."""
        opts = self.config.opts
        return bool(opts.get("gitfs_remotes")) and not {"git", "gitfs"}.isdisjoint(opts.get("fileserver_backend") or ())

    @cached_property
    def salt_python(self) -> SaltPython | None:
        """Real Salt, if the configuration sets ``salt_python``."""
        if not self.config.opts["salt_python"]:
            return None
        from pushsalt.cache.store import Bank
        from pushsalt.modules.saltpython import SaltPython

        return SaltPython(str(self.config.opts["salt_python"]), Bank(self.config.cache_dir, "salt"))

    @cached_property
    def pillar_files(self) -> FileServer:
        from pushsalt.fileserver import FileServer

        return FileServer(
            {**self.config.opts, "file_roots": self.config.opts["pillar_roots"], "fileserver_backend": ["roots"]}
        )

    @cached_property
    def shared(self) -> Shared:
        """Data that targets share while they are rendered."""
        from pushsalt.minion.shared import Shared

        return Shared(self)

    def custom(self, saltenv: str) -> CustomModules:
        """Users' own modules, for a job in this saltenv."""
        if saltenv not in self._custom:
            from pushsalt.modules.custom import CustomModules

            self._custom[saltenv] = CustomModules(self.files, self.config.opts, saltenv)
        return self._custom[saltenv]

    @property
    def cache_dir(self) -> Path:
        """The folder of the project's caches."""
        return self.config.cache_dir
