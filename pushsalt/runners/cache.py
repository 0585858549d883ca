"""Cached data of targets, without connecting. Salt: ``salt/runners/cache.py``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from pushsalt.cache.sealed import SealedBank, key_path
from pushsalt.errors import FunctionError, NoTargetError
from pushsalt.orchestrate.unsupported import refuse
from pushsalt.run import caches

if TYPE_CHECKING:
    from pushsalt.cache.store import Bank
    from pushsalt.orchestrate.runnercalls import Run

__func_alias__ = {"list_": "list"}

#: Banks of Salt's master that have data of targets, by their ids. They are read only.
_OF_TARGETS: Final = ("grains", "pillar", "mine")


def _keys(run: Run, tgt: Any, tgt_type: str) -> list[str]:
    expr = ",".join(map(str, tgt)) if isinstance(tgt, list) else str(tgt)
    try:
        return run.client.project.find(expr, "list" if isinstance(tgt, list) else tgt_type)
    except NoTargetError:
        return []


def _shown(run: Run, bank: str, tgt: Any, tgt_type: str) -> dict[str, Any]:
    keys = _keys(run, "*" if tgt is None else tgt, tgt_type)
    if not keys:
        return {}
    entries = caches.show(run.client.project, bank, keys, unmask=True)
    names = dict(zip(keys, run.client.project.names(keys), strict=True))
    return {names[key]: entry["value"] for key, entry in entries.items()}


def grains(run: Run, tgt: Any, tgt_type: str = "glob", **kwargs: Any) -> dict[str, Any]:
    """id -> grains, of targets that have been asked for them."""
    return _shown(run, "grains", tgt, tgt_type)


def pillar(run: Run, tgt: Any = None, tgt_type: str = "glob", **kwargs: Any) -> dict[str, Any]:
    """id -> pillar, of targets for which it was compiled; secrets are hidden in output."""
    return _shown(run, "pillar", tgt, tgt_type)


def mine(run: Run, tgt: Any = None, tgt_type: str = "glob", **kwargs: Any) -> dict[str, Any]:
    """id -> values of the mine."""
    return _shown(run, "mine", tgt, tgt_type)


def _clear(run: Run, bank: str, tgt: Any, tgt_type: str) -> bool:
    keys = _keys(run, "*" if tgt is None else tgt, tgt_type)
    if not keys:
        return True  # as in Salt
    return any(caches.clear(run.client.project, bank, keys).values())


def clear_grains(run: Run, tgt: Any = None, tgt_type: str = "glob") -> bool:
    """Remove cached grains."""
    return _clear(run, "grains", tgt, tgt_type)


def clear_pillar(run: Run, tgt: Any = None, tgt_type: str = "glob") -> bool:
    """Remove cached pillar."""
    return _clear(run, "pillar", tgt, tgt_type)


def clear_mine(run: Run, tgt: Any = None, tgt_type: str = "glob") -> bool:
    """Remove values of the mine."""
    return _clear(run, "mine", tgt, tgt_type)


def clear_mine_func(run: Run, tgt: Any = None, tgt_type: str = "glob", clear_mine_func_flag: str | None = None) -> bool:
    """Remove one value of the mine."""
    bank = run.client.project.mine
    removed = False
    for key in _keys(run, "*" if tgt is None else tgt, tgt_type):
        if clear_mine_func_flag is not None and clear_mine_func_flag in (bank.get(key) or {}):
            removed = bank.update(key, {}, without=[clear_mine_func_flag]) or removed
    return removed


def clear_all(run: Run, tgt: Any = None, tgt_type: str = "glob") -> bool:
    """Remove grains, pillar and values of the mine."""
    cleared = [_clear(run, bank, tgt, tgt_type) for bank in ("grains", "pillar", "mine")]
    return any(cleared)


def clear_git_lock(run: Run, role: str, remote: Any = None, **kwargs: Any) -> str:
    """Remove nothing: a lock of a fetch ends with its process, so none is left behind."""
    return "No locks were removed"


def cloud(run: Run, tgt: Any, provider: Any = None) -> None:
    """Fails: salt-cloud is not part of pushsalt."""
    hint = "a roster or a script as inventory lists the machines of a provider: docs/inventory.md"
    refuse("cache.cloud", "there is no salt-cloud, which would fill this cache", hint)


def migrate(
    run: Run,
    src_driver: str = "localfs",
    dst_driver: str = "mmap_cache",
    bank: Any = None,
    cachedir: Any = None,
    dry_run: bool = False,
) -> None:
    """Fails: caches have one format."""
    refuse("cache.migrate", "caches have one format", "nothing has to be migrated: docs/cache.md")


# banks of users' own data: encrypted files, whose keys are pairs of bank and key --------------------------------------


def _store(run: Run) -> SealedBank:
    return SealedBank(run.client.project.config.cache_dir, "store", key_path())


def _name(bank: Any, key: Any) -> str:
    return json.dumps([_path(bank), str(key)])


def _path(bank: Any) -> str:
    return "/".join(part for part in str(bank).split("/") if part not in ("", "."))


def _of_bank(store: Bank, bank: Any) -> Iterator[tuple[str, str, str]]:
    """Name, bank and key of each entry of a bank and of the banks below it."""
    wanted = _path(bank)
    for name, _, _ in store.entries():
        stored, key = json.loads(name)
        if not wanted or stored == wanted or stored.startswith(f"{wanted}/"):
            yield name, stored, key


def _check_bank(bank: Any) -> None:
    """Raises FunctionError for a bank that holds data of targets."""
    if _path(bank) in _OF_TARGETS:
        hint = "`pushsalt cache clear` and cache.clear_* remove entries; runs on targets make them"
        raise FunctionError("exception", f"the bank {bank} has data of targets", hint, "SaltCacheError")


def store(run: Run, bank: str, key: str, data: Any, cachedir: Any = None) -> None:
    """Keep data under a key of a bank; banks are paths: ``app/releases``."""
    _check_bank(bank)
    run.client.redactor().add_pillar(data if isinstance(data, dict) else {})
    if not _store(run).put(_name(bank, key), data):
        path = run.client.project.config.cache_dir / "store"
        hint = "check the free space, and the mode of the folder and of the user's key"
        raise FunctionError("exception", f"{path} cannot be written", hint, "SaltCacheError")


def fetch(run: Run, bank: str, key: str, cachedir: Any = None) -> Any:
    """The data of a key; an empty mapping if there is none. ``grains``, ``pillar`` and ``mine``: those of an id."""
    if _path(bank) in _OF_TARGETS:
        return _shown(run, _path(bank), [str(key)], "list").get(str(key), {})
    value = _store(run).get(_name(bank, key))
    return {} if value is None else value


def list_(run: Run, bank: str, cachedir: Any = None) -> list[str]:
    """The keys of a bank, and the names of the banks in it."""
    if _path(bank) in _OF_TARGETS:
        return sorted(_shown(run, _path(bank), "*", "glob"))
    names, start = set(), _path(bank)
    for _, inner, key in _of_bank(_store(run), bank):
        names.add(key if inner == start else inner[len(start) :].strip("/").split("/")[0])
    return sorted(names)


def contains(run: Run, bank: str, key: str | None = None, cachedir: Any = None) -> bool:
    """Whether a bank has a key; without a key: whether it has any."""
    if key is None:
        return bool(list_(run, bank))
    if _path(bank) in _OF_TARGETS:
        return str(key) in list_(run, bank)
    return _store(run).get(_name(bank, key)) is not None


def updated(run: Run, bank: str, key: str, cachedir: Any = None) -> int | None:
    """When a key was stored, in seconds since 1970; None if there is none."""
    if _path(bank) in _OF_TARGETS:
        [kept] = caches.banks(run.client.project, _path(bank)).values()
        names = _keys(run, [key], "list")
        moment = kept.written(names[0]) if names else None
    else:
        moment = _store(run).written(_name(bank, key))
    return None if moment is None else int(moment)


def flush(run: Run, bank: str, key: str | None = None, cachedir: Any = None) -> bool:
    """Remove a key of a bank; without a key the bank with all that is in it."""
    _check_bank(bank)
    kept = _store(run)
    if key is not None:
        return kept.delete(_name(bank, key))
    removed = [kept.delete(name) for name, _, _ in list(_of_bank(kept, bank))]
    return any(removed)
