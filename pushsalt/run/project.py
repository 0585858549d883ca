"""The project of one command: configuration, inventory, file servers, runtime, caches; shared by all targets."""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pushsalt.config import CliOverrides, Config, load_config
from pushsalt.discover import INVENTORIES, Trust, way_to_trust, working_folder
from pushsalt.errors import InventoryError
from pushsalt.events import Reporter
from pushsalt.inventory import THIS_MACHINE, Inventory
from pushsalt.inventory.rendering import Rosters
from pushsalt.inventory.values import COMMANDS
from pushsalt.job import Settings
from pushsalt.lazy import forget, is_made
from pushsalt.minion.trees import Trees
from pushsalt.model import Asked, Deferred, Secret
from pushsalt.options import has_secrets
from pushsalt.redact import Redactor
from pushsalt.run.beaconing import notice_beacons

if TYPE_CHECKING:
    import asyncio

    from pushsalt.bundle.runtime import Runtime
    from pushsalt.cache.grains import GrainBank
    from pushsalt.cache.mine import MineBank
    from pushsalt.cache.pillar import PillarBank
    from pushsalt.cache.resources import ResourceBank
    from pushsalt.cache.store import Bank
    from pushsalt.children.pool import Pool
    from pushsalt.git.remotes import Remotes
    from pushsalt.model import Blob, Target
    from pushsalt.run.secrets import ReadyTargets, Resolved, Secrets
    from pushsalt.sdb.store import Sdb
    from pushsalt.select.resources import Resources
    from pushsalt.sources import Sources
    from pushsalt.transport import Keeper

log = logging.getLogger(__name__)

#: Options of the file server that are only checked when it is made.
_TOLD_EARLY: Final = frozenset({"fileserver_backend", "file_ignore_regex", "file_ignore_glob"})


class Project(Trees):
    """Shared by all targets of a command. Read-only except for the caches; costly attributes are made on first use."""

    is_command = True

    def __init__(self, config: Config, reporter: Reporter, passwords: Mapping[str, Secret] | None = None) -> None:
        """``passwords``: passwords (``passwd``, ``sudo_password``) for hosts without one in the inventory."""
        super().__init__(config, Redactor(secret_keys=config.opts["secret_keys"]))
        self.reporter = reporter
        self.asked = dict(passwords or {})
        self.redactor.add_secrets(*self.asked.values())
        self._listed: dict[Path, str] = {}
        self._told: set[str] = set()
        self._made: dict[str, tuple[Path, dict[str, Any]]] = {}
        #: renders the files of the inventory that are templates
        self.rosters = Rosters(config.opts)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._prepared = False
        self.keeper: Keeper | None = None  # the keeper of a kept session; None without one
        self._hidden: set[int] = set()  # hashes of the cached pillars whose secrets are known to the redactor
        self.redactor.add_pillar({name: config.opts[name] for name in config.given if has_secrets(name)})
        for text in (*config.warnings, *self._unknown_options()):
            reporter.warning(None, text)

    @classmethod
    def open(cls, settings: Settings, reporter: Reporter) -> Project:
        """The project of these settings. Raises ConfigError or InventoryError for files that cannot be used."""
        overrides = CliOverrides(
            inventories=tuple(settings.inventories),
            file_roots=tuple(settings.file_roots),
            pillar_roots=tuple(settings.pillar_roots),
            cache_dir=settings.cache_dir,
            locked=settings.locked,
            lock_file=settings.lock_file,
            options=settings.options,
        )
        passwords = {"passwd": settings.passwd, "sudo_password": settings.sudo_password}
        given = {name: Secret(value) for name, value in passwords.items() if value is not None}
        return cls(load_config(settings.config, cli=overrides), reporter, given)

    def target_defaults(self) -> dict[str, Any]:
        """Default settings of all targets: those of the configuration, then the passwords that were asked for."""
        deferred = {name: Asked(name) for name in self.asked}
        instead = {key for key, name in COMMANDS.items() if name in deferred}
        settings = self.config.target_defaults()
        return {key: value for key, value in settings.items() if key not in instead} | deferred

    def _unknown_options(self) -> list[str]:
        if not self.config.unknown:
            return []
        from pushsalt.run.daily import not_reported

        return not_reported(self.config.cache_dir, self.config.unknown)

    @cached_property
    def inventory(self) -> Inventory:
        """All targets; those of a large inventory are read from its cached image. Raises InventoryError."""
        from pushsalt.select import inventoryimage

        digest = inventoryimage.digest_of(self)
        inventory = inventoryimage.load(self, digest, self.hide) if digest is not None else None
        if inventory is not None:
            self.redactor.add_secrets(*inventory.secrets)
            self.report_warnings(inventory)
            return inventory
        inventory = self.read_inventory()
        if digest is not None:
            inventoryimage.keep(self, digest, inventory)
        return inventory

    def need_inventory(self) -> None:
        """Raises InventoryError if there is no inventory: then only this machine can be selected, by its id."""
        refused = self.config.refused
        if refused is not None:
            raise InventoryError(
                f"no inventory here or above that is trusted; use -i ({refused} is not used)",
                hint=f"if you trust it: {way_to_trust(refused)}",
            )
        if not self.config.has_inventory:
            place = self.config.project or "a project folder (pushsalt init makes one)"
            hint = f"or write {INVENTORIES[0]} into {place}; only {THIS_MACHINE}, this machine, needs none"
            raise InventoryError("no inventory here or above; use -i", hint=hint)

    def read_inventory(self, detailed: bool = False) -> Inventory:
        """All targets, read from the inventory's files, with the place of each value. Raises InventoryError."""
        from pushsalt.inventory.load import load_inventory
        from pushsalt.inventory.vault import Vault
        from pushsalt.sdb import vaultpassword

        inventory = load_inventory(
            self.config.inventories,
            render=self.rosters.render,
            defaults=self.target_defaults(),
            execute=self.listed,
            detailed=detailed,
            transports=self._transports,
            may_use=self._may_be_used,
            named_by=self.config.named_by,
            from_plugins=[self.roster(name) for name in self.config.rosters],
            vault=Vault(partial(vaultpassword.passwords, self.config.opts, os.environ), self.redactor.add_secrets),
        )
        self.report_warnings(inventory)
        for target in inventory.targets.values():
            self.hide(target)
        return inventory

    def _may_be_used(self, path: Path, warnings: list[str]) -> bool:
        """Whether a file of the inventory may be used. If the inventory was found, not named, it must be trusted."""
        if not self.config.found:
            return True
        [inventory] = self.config.inventories
        return Trust(working_folder(), os.environ, warnings).allows(path, way_to_trust(inventory))

    def _transports(self) -> Collection[str]:
        """The allowed values of `transport`."""
        from pushsalt import plugins

        names = plugins.names("transport", plugins.folders("transport", self.config.opts))
        return [name for name in names if name != "resource"]

    @property
    def groups(self) -> Collection[str]:
        """The names of the groups of the inventory."""
        from pushsalt.select.selectable import selectable

        return selectable(self).inventory.groups

    def listed(self, path: Path) -> str:
        """The output of an inventory program, which is run once. Raises InventoryError."""
        if path not in self._listed:
            from pushsalt.programs import list_inventory

            self._listed[path] = list_inventory(path)
        return self._listed[path]

    def roster(self, name: str) -> tuple[Path, dict[str, Any]]:
        """The file of a roster plug-in and its hosts; it is called once. Raises ConfigError, InventoryError."""
        if name not in self._made:
            from pushsalt.programs import run_program
            from pushsalt.rosters import hosts_of

            self._made[name] = hosts_of(name, self.config.opts, run_program)
        return self._made[name]

    def report_warnings(self, inventory: Inventory) -> None:
        """Report the warnings of an inventory, each once: files and image may give the same ones."""
        for text in inventory.warnings:
            if text not in self._told:
                self._told.add(text)
                self.reporter.warning(None, text)

    def hide(self, target: Target) -> None:
        """Add the secrets of a target to the redactor, except those that are not fetched yet."""
        passwords = (target.passwd, target.priv_passwd, target.sudo_password)
        self.redactor.add_secrets(*(each for each in passwords if not isinstance(each, Deferred)))
        self.redactor.add_pillar(target.pillar)
        self.redactor.add_pillar(target.minion_opts)

    @cached_property
    def sdb(self) -> Sdb:
        """The profiles of sdb, and the values that were read from them."""
        from pushsalt.run.secrets import open_sdb

        return open_sdb(self)

    def forget_sdb(self) -> None:
        """Forget the values, since a new job begins."""
        if is_made(self, "sdb"):
            self.sdb.forget()

    @cached_property
    def secrets(self) -> Secrets:
        """Resolves sdb:// URIs of the configuration and the inventory."""
        from pushsalt.run.secrets import Secrets

        return Secrets(self)

    @property
    def private(self) -> Resolved:
        """The configuration for renderers: options that are sdb:// URIs are resolved when they are read."""
        from pushsalt.run.secrets import Resolved

        return Resolved(self)

    @cached_property
    def reachable(self) -> ReadyTargets:
        """The targets of the inventory with their secrets, for connecting."""
        from pushsalt.run.secrets import ReadyTargets

        return ReadyTargets(self)

    def select(
        self, expr: str, tgt_type: str, delimiter: str, exclude: Sequence[str] = (), limit: int | None = None
    ) -> list[str]:
        """Names of the matching targets (``targeting.names``) in the inventory's order, resources after managers.

        Raises NoTargetError or UsageError.
        """
        from pushsalt.select import selecting

        return selecting.select(self, expr, tgt_type, delimiter, exclude, limit)

    def target(self, name: str) -> Target:
        """The target of a name that ``select`` returned. Raises TargetError for an unknown resource."""
        from pushsalt.select import selecting

        return selecting.target(self, name)

    def find(self, expr: Any, tgt_type: str, *, pillar_exact: bool = True) -> list[str]:
        """Keys (``Target.key``) of the targets that match an expression from a target, such as the one of ``mine.get``.

        Pillar is compared exactly unless ``pillar_exact`` is false; the result may be empty. Raises UsageError.
        """
        from pushsalt.select import selecting

        return selecting.find(self, expr, tgt_type, pillar_exact=pillar_exact)

    def names(self, keys: Sequence[str]) -> list[str]:
        """The names of the targets with these keys, one for each."""
        from pushsalt.targeting import names

        return names(keys, self.inventory)

    @property
    def cache_life(self) -> float:
        """Seconds after which cached data of targets is reported as old."""
        return float(self.config.opts["cache_life"])

    @cached_property
    def sources(self) -> Sources:
        """Files of URL schemes that plug-ins serve."""
        from pushsalt.sources import Sources

        return Sources(self.config.opts, self.config.cache_dir)

    @cached_property
    def remotes(self) -> Remotes:
        """The git remotes of states and pillar. Raises ConfigError for invalid options or an invalid lock file."""
        from pushsalt.git.project import open_remotes

        self.secrets.open_git()
        return open_remotes(self.config, self.redactor, self._remote_progress)

    async def prepare(self, stop: asyncio.Event) -> None:
        """Fetch the git remotes that are due, before targets need them. Raises ConfigError for invalid options."""
        import asyncio  # slow to import, and not needed without connections

        self._loop = asyncio.get_running_loop()
        if self.salt_python is not None:
            await asyncio.to_thread(self.salt_python.start_fields)
        opts = self.config.opts
        if self._prepared and is_made(self, "remotes"):  # a further job uses the remotes' current revisions
            self.remotes.close()
            forget(self, "files", "remotes")
            self._custom.clear()
        elif opts.get("gitfs_remotes") and not self.uses_gitfs:
            log.warning("gitfs_remotes is set, but fileserver_backend does not have git: they are not used")
        self._prepared = True
        if self.config.locked or _has_git_pillar(opts):
            _ = self.remotes  # made here to report errors in the options, and before threads use it
        if not self.uses_gitfs:
            if not _TOLD_EARLY.isdisjoint(self.config.given):
                _ = self.files  # made here to report errors in the options once, not for each target
            return
        opening = asyncio.create_task(asyncio.to_thread(self._open_files))
        stopping = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait((opening, stopping), return_when=asyncio.FIRST_COMPLETED)
            if not opening.done():
                self.remotes.stop()
            await asyncio.wait((opening,))
        finally:
            stopping.cancel()
        if not stop.is_set():
            opening.result()
        else:
            opening.exception()

    def _open_files(self) -> None:
        from pushsalt.fileserver.extracted import extract_plugins

        places = extract_plugins(self.files, self.config)
        if places is not None and str(places) not in self.config.opts["module_dirs"]:
            self.config.opts["module_dirs"] = [*self.config.opts["module_dirs"], str(places)]

    def _remote_progress(self, name: str, words: str) -> None:
        """Passes progress from any thread to the reporter in the thread of the event loop."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.reporter.remote_progress, name, words)

    @cached_property
    def runtime(self) -> Runtime:
        from pushsalt.bundle.runtime import Runtime

        return Runtime.load(self.config.cache_dir)

    @cached_property
    def grains(self) -> GrainBank:
        """The bank with the last known grains of each target."""
        from pushsalt.cache.grains import GrainBank

        return GrainBank(self.config.cache_dir)

    @cached_property
    def resource_grains(self) -> GrainBank:
        """The bank with the grains of each resource, by ``type:id``."""
        from pushsalt.cache.grains import GrainBank

        return GrainBank(self.config.cache_dir, "resource_grains")

    def grains_of(self, target: Target) -> GrainBank:
        """The bank for the grains of a target or resource; the key is ``Target.key``."""
        return self.resource_grains if target.resource else self.grains

    @cached_property
    def pillar_bank(self) -> PillarBank:
        """The bank with the last compiled pillar of each target, encrypted."""
        from pushsalt.cache.pillar import PillarBank
        from pushsalt.cache.sealed import key_path

        return PillarBank(self.config.cache_dir, "pillar", key_path())

    @cached_property
    def resources(self) -> ResourceBank:
        """The bank of known resources, by type and by manager."""
        from pushsalt.cache.resources import ResourceBank

        return ResourceBank(self.config.cache_dir)

    @cached_property
    def managed(self) -> Resources:
        """The managed resources of all targets."""
        from pushsalt.select.resources import Resources

        return Resources(self)

    @property
    def has_pillar(self) -> bool:
        """Whether there may be pillar from other sources than the inventory."""
        opts = self.config.opts
        roots = opts.get("pillar_roots") or {}
        top = opts.get("state_top") or "top.sls"
        return (
            bool(opts.get("ext_pillar"))
            or "__env__" in roots
            or any(
                os.path.exists(f"{root}/{top}")  # noqa: PTH110
                for folders in roots.values()
                for root in folders or ()
            )
        )

    @property
    def keeps_pillar(self) -> bool:
        """Whether compiled pillar is cached for targeting."""
        return bool(self.config.opts["pillar_cache"] and self.config.opts["minion_data_cache"])

    def remember_grains(self, target: Target, grains: dict[str, Any]) -> None:
        """Cache grains that were just collected, and the target's manager."""
        from pushsalt.select.lookup import manager_of

        if not self.config.opts["minion_data_cache"] or not self.grains_of(target).put(target.key, grains):
            return
        if not target.resource:
            self.resources.register(target.transport, target.id, manager_of(target))

    def is_kept(self, target: Target, pillar: dict[str, Any]) -> bool:
        """Whether a compiled pillar equals the cached one that ``hide_kept`` has read; if so, its time is updated."""
        return self.keeps_pillar and self.pillar_bank.renew(target.key, pillar)

    def remember_pillar(self, target: Target, pillar: dict[str, Any]) -> None:
        """Cache a compiled pillar, without the overrides of the command line."""
        notice_beacons(self.keeper, self.config.opts, target, pillar)
        if not self.keeps_pillar:
            return
        bank, key = self.pillar_bank, target.key
        before = bank.get(key) if self.has_kept_pillar(target) else None
        bank.put(key, pillar)
        former = set(self.redactor.secrets_of(before)) if before is not None else set()
        if forgotten := former - set(self.redactor.secrets_of(pillar)):
            bank.add_former(key, forgotten)

    def has_kept_pillar(self, target: Target) -> bool:
        """Whether the target has a cached pillar."""
        return self.keeps_pillar and self.pillar_bank.written(target.key) is not None

    def hide_kept(self, target: Target) -> None:
        """Add current and former secrets of the target's cached pillar to the redactor: its files may contain them."""
        if not self.keeps_pillar:
            return
        bank, key = self.pillar_bank, target.key
        self.redactor.add(bank.given())
        data = bank.bytes_of(key)
        if data is None and bank.written(key) is None:
            return
        if data is not None and hash(data) not in self._hidden:  # many targets have the same secrets
            self._hidden.add(hash(data))
            self.redactor.add_pillar(pillar := bank.get(key))
            notice_beacons(self.keeper, self.config.opts, target, pillar)
        self.redactor.add(bank.former(key))

    @property
    def command(self) -> Project:
        return self

    @property
    def requests(self) -> Bank:
        """The bank of state runs that were requested and not run yet (``state.request``), by target."""
        from pushsalt.cache.store import Bank

        return Bank(self.config.cache_dir, "requests")

    @cached_property
    def pool(self) -> Pool:
        """The render processes."""
        from pushsalt.children.pool import Pool

        return Pool(lambda values: self.redactor.add_secrets(*values))

    @cached_property
    def mine(self) -> MineBank:
        """The bank of mine values."""
        from pushsalt.cache.mine import MineBank

        return MineBank(self.config.cache_dir)

    def custom_archive(self, saltenv: str) -> Blob | None:
        """The archive of users' own modules, or None; the file server is only opened if there may be any."""
        return self.custom(saltenv).archive if self._may_have_custom else None

    @cached_property
    def _may_have_custom(self) -> bool:
        opts = self.config.opts
        roots = opts.get("file_roots") or {}
        backends = list(opts.get("fileserver_backend") or ["roots"])
        if opts.get("module_dirs") or "__env__" in roots or backends != ["roots"]:
            return True
        from pushsalt.modules.resourcetypes import any_installed

        # os.path rather than pathlib: it is faster, and every command runs this.
        return any_installed() or any(
            os.path.isdir(f"{root}/_{kind}")  # noqa: PTH112
            for folders in roots.values()
            for root in folders or ()
            for kind in ("modules", "states", "beacons", "grains", "utils", "resources")
        )


def _has_git_pillar(opts: Mapping[str, Any]) -> bool:
    return any(isinstance(source, dict) and "git" in source for source in opts.get("ext_pillar") or ())
