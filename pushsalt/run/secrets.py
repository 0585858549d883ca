"""Resolves sdb:// URIs, and other values to fetch, of the configuration and the inventory of one command.

Values of the inventory (``model.Deferred``) and of pushsalt's own options are resolved when the first target needs
them, in a thread; a failure is an error of the targets that need the value. Options of users' own external pillars and
master_tops, and keys of renderers, are resolved when these are used. Logins of git remotes are resolved when the
remotes are opened. ``pushsalt.sdb`` calls the drivers, ``run/secretcommands.py`` runs commands.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Protocol

from pushsalt.config import is_profile
from pushsalt.errors import ConfigError, TargetError
from pushsalt.inventory.schema import URI_FIELDS, checked_value
from pushsalt.model import Asked, Deferred, SdbUri, Secret, SecretCommand, Target
from pushsalt.options import OPTIONS
from pushsalt.run.secretcommands import SecretCommands
from pushsalt.sdb.uri import has, holds_uri, replaced

if TYPE_CHECKING:
    from pushsalt.config import Config
    from pushsalt.inventory import Inventory
    from pushsalt.redact import Redactor
    from pushsalt.sdb.store import Sdb

#: Options whose URIs are resolved elsewhere: with the inventory, by renderers, external pillars or drivers.
_ELSEWHERE: Final = frozenset(
    """roster_defaults ssh_user ssh_port ssh_passwd ssh_priv_passwd ssh_sudo_user ssh_minion_opts
    nacl.config gpg_keydir age_identity ext_pillar vault""".split()  # noqa: SIM905
)
#: Fields of a target that may have URIs.
_DEFERRABLE: Final = (*URI_FIELDS, "pillar", "minion_opts")
_GIT: Final = ("gitfs_", "git_pillar_")


class SecretsProject(Protocol):
    """The part of ``pushsalt.run.project.Project`` that is used here."""

    config: Config
    redactor: Redactor
    asked: dict[str, Secret]

    @property
    def inventory(self) -> Inventory: ...
    @property
    def sdb(self) -> Sdb: ...
    @property
    def secrets(self) -> Secrets: ...
    def forget_sdb(self) -> None: ...
    def hide(self, target: Target) -> None: ...


def open_sdb(project: SecretsProject) -> Sdb:
    """The profiles of a project's configuration. Their own passwords are added to the redactor."""
    from pushsalt.plugincommands import commands
    from pushsalt.plugins import folders
    from pushsalt.programs import run_program
    from pushsalt.sdb import Outside
    from pushsalt.sdb.store import Sdb

    opts = project.config.opts
    for name, value in opts.items():
        if name == "vault" or is_profile(value):
            project.redactor.add_pillar(value)
    outside = Outside(run_program, lambda data: _decrypted(project, data), opts, commands(run_program))
    return Sdb(opts, outside, folders=folders("sdb", opts), hide=lambda value: project.redactor.add(value))


def _decrypted(project: SecretsProject, data: Any) -> Any:
    """Data with its PGP messages decrypted, by the renderer gpg and the configuration's key ring."""
    from pushsalt.errors import RenderError
    from pushsalt.programs import run_program
    from pushsalt.render import RenderContext
    from pushsalt.render.pipeline import decrypt_value
    from pushsalt.sdb import Trouble

    opts = project.config.opts
    context = RenderContext(
        "", opts, {}, {}, {}, run=run_program, private=opts, decrypted=project.redactor.add, frozen=opts
    )
    try:
        return decrypt_value(data, "gpg", context)
    except RenderError as exc:
        raise Trouble(exc.message.splitlines()[0], exc.hint or "see gpg_keydir") from None


class Resolved(Mapping[str, Any]):
    """The configuration for renderers: reading an option resolves its URIs, and may raise TargetError."""

    def __init__(self, project: SecretsProject) -> None:
        self._project = project

    def __getitem__(self, name: str) -> Any:
        value = self._project.config.opts[name]
        return self._project.sdb.resolve(value) if holds_uri(value) else value

    def __iter__(self) -> Iterator[str]:
        return iter(self._project.config.opts)

    def __len__(self) -> int:
        return len(self._project.config.opts)


class ReadyTargets(Mapping[str, Target]):
    """The inventory for connecting: reading a target fetches its secrets, and may raise TargetError."""

    def __init__(self, project: SecretsProject) -> None:
        self._project = project

    def __getitem__(self, id: str) -> Target:
        return self._project.secrets.filled(self._project.inventory.targets[id])

    def __contains__(self, id: object) -> bool:
        return id in self._project.inventory.targets

    def __iter__(self) -> Iterator[str]:
        return iter(self._project.inventory.targets)

    def __len__(self) -> int:
        return len(self._project.inventory.targets)


class Secrets:
    """Replaces URIs by their values, once for each target and option."""

    def __init__(self, project: SecretsProject) -> None:
        self._project = project
        self._lock = threading.Lock()
        self._filled: dict[str, tuple[Target, Target]] = {}
        self._commands = SecretCommands()
        opts = project.config.opts
        given = [name for name in project.config.given if self._is_ours(name) and holds_uri(opts[name])]
        self._options = [name for name in given if name in OPTIONS]
        self._of_plugins = [name for name in given if name not in OPTIONS]

    def forget(self) -> None:
        """Forget all values, since a new job begins."""
        self._filled.clear()
        self._commands.forget()
        self._project.forget_sdb()

    def has(self, target: Target) -> bool:
        """Whether ``ready`` has to fetch values; that may take long, and needs a thread."""
        targets = self._project.inventory.targets
        names = [target.manager, *target.jump] if target.manager else target.jump
        way = [targets[name] for name in names if name in targets]
        return (
            bool(self._options) or any(_has_deferred(each) for each in (target, *way)) or any(each.jump for each in way)
        )

    def ready(self, target: Target) -> Target:
        """The target with its values, after those of its manager and jump hosts were fetched. Raises TargetError."""
        self._fill(self._options, target.id)
        targets = self._project.inventory.targets
        for name in (*target.jump, *([target.manager] if target.manager else [])):
            if name in targets:
                self.filled(targets[name])
                for way in targets[name].jump:
                    if way in targets:
                        self.filled(targets[way])
        return self.filled(target)

    def filled(self, target: Target) -> Target:
        """The target with its values. Raises TargetError with the setting, its file and line, and the URI."""
        before = self._filled.get(target.key)
        if before is not None and before[0] is target:
            return before[1]
        values: dict[str, Any] = {}
        for name in _DEFERRABLE:
            value = getattr(target, name)
            new = replaced(value, _is_deferred, self._giving(target, name))
            if new is not value:
                values[name] = _checked(target, name, value, new)
        if not values:
            return target
        filled = replace(target, **values)
        self._project.hide(filled)
        self._filled[target.key] = target, filled
        return filled

    def _giving(self, target: Target, name: str) -> Callable[[str], Any]:
        def give(deferred: str) -> Any:
            if isinstance(deferred, Asked):
                return self._project.asked[deferred]
            try:
                if isinstance(deferred, SecretCommand):
                    return self._commands.value(deferred, target.id)
                return self._project.sdb.value(str(deferred))
            except TargetError as exc:
                text = f"{_setting(target, name, deferred)}: {exc.message}"
                raise TargetError(exc.kind, text, exc.hint) from None

        return give

    def _is_ours(self, name: str) -> bool:
        opts = self._project.config.opts
        return name not in _ELSEWHERE and not name.startswith(_GIT) and not is_profile(opts[name])

    def fill_for_plugins(self, id: str) -> None:
        """Resolve options that only plug-ins (external pillar, master_tops) may read. Raises TargetError."""
        self._fill(self._of_plugins, id)

    def _fill(self, names: list[str], id: str) -> None:
        with self._lock:
            while names:
                name = names[-1]
                opts = self._project.config.opts
                try:
                    opts[name] = self._project.sdb.resolve(opts[name])
                except TargetError as exc:
                    raise TargetError(exc.kind, f"{id}: the option `{name}`: {exc.message}", exc.hint) from None
                names.pop()

    def open_git(self) -> None:
        """Resolve the options of git remotes. Raises ConfigError."""
        config = self._project.config
        names = [name for name in config.given if name.startswith(_GIT) and holds_uri(config.opts[name])]
        pillar = config.opts.get("ext_pillar") or []
        sources = [at for at, each in enumerate(pillar) if isinstance(each, dict) and "git" in each and holds_uri(each)]
        if not names and not sources:
            return
        try:
            for name in names:
                config.opts[name] = self._project.sdb.resolve(config.opts[name])
            for at in sources:
                pillar[at] = self._project.sdb.resolve(pillar[at])
        except TargetError as exc:
            raise ConfigError(f"a login of a git remote: {exc.message}", exc.hint) from None


def _is_deferred(value: Any) -> bool:
    return isinstance(value, Deferred)


def _has_deferred(target: Target) -> bool:
    return any(has(getattr(target, name), _is_deferred) for name in _DEFERRABLE)


def _setting(target: Target, name: str, deferred: Any) -> str:
    """Text for messages: target, setting, and its place in the inventory."""
    key = f"{name}_command" if isinstance(deferred, SecretCommand) else name
    origin = target.origin.get(name)
    return f"{target.id}: `{key}`" + (f" ({origin})" if origin else "")


def _checked(target: Target, name: str, deferred: Any, value: Any) -> Any:
    if name not in URI_FIELDS:
        return value
    try:
        return checked_value(name, value)
    except ValueError as exc:
        giver = str(deferred) if isinstance(deferred, SdbUri) else "it"
        text = f"{_setting(target, name, deferred)}: what {giver} gives {exc}"
        raise TargetError("secret_unavailable", text, "correct the value where it is stored") from None
