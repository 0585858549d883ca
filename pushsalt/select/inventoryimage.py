"""An encrypted image of an inventory, so that the next command need not read its files again.

The image is valid while the bytes of the inventory's files (including ``group_vars`` and ``host_vars``), the output of
inventory programs, and the default settings are unchanged. Templates are rendered each time; their result must be
unchanged. The image contains secrets, so it is encrypted with the user's key (``cache.sealed``); without a key there is
no image. Targets are created on demand; then their secrets are added to the redactor.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pushsalt import __version__, regular
from pushsalt.discover import Trust, working_folder
from pushsalt.errors import InventoryError
from pushsalt.inventory import Inventory, folder_files, is_program
from pushsalt.inventory.kinds import template
from pushsalt.model import Asked, Deferred, SdbUri, Secret, SecretCommand, Target
from pushsalt.sdb import vaultpassword
from thin import wire

if TYPE_CHECKING:
    from pushsalt.select.project import SelectingProject

#: Number of targets from which on an image is made.
WORTH_IT: Final = 50
_FORMAT: Final = 7
#: Minimum number of bytes for each of so many targets.
_USUAL: Final = 16
#: As in `inventory.load`.
MAX_BYTES: Final = 64 * 1024 * 1024
_SECRETS: Final = ("passwd", "priv_passwd", "sudo_password")
#: Key of a row that has paths and kinds of values to be fetched later; it is not a field of a target.
_DEFERRED: Final = "deferred"
_KINDS: Final[dict[str, type[Deferred]]] = {kind.__name__: kind for kind in (SdbUri, SecretCommand, Asked)}
#: Fields that are stored; the id is the key.
_DEFAULTS: Final = {each.name: getattr(Target(""), each.name) for each in fields(Target) if each.name != "id"}


def digest_of(project: SelectingProject) -> bytes | None:
    """A digest of everything that an image of the inventory depends on; None if the inventory is too small."""
    if project.config.rosters:  # users' code, which is called each time
        return None
    vaults = vaultpassword.identity(project.config.opts, os.environ)
    trusted = [*map(str, Trust(working_folder(), os.environ, []).folders)] if project.config.found else None
    seen = hashlib.sha256(repr((_FORMAT, __version__, project.target_defaults(), vaults, trusted)).encode())
    total = 0
    loops = False
    for path in project.config.inventories:
        for file in _files(path):
            try:
                if is_program(file):
                    data = project.listed(file).encode()
                elif file.is_file() and file.stat().st_size <= MAX_BYTES:  # reading a FIFO would block
                    data = regular.read_bytes(file)
                else:
                    return None
            except (OSError, InventoryError):  # reported by the caller
                return None
            total += len(data)
            loops = loops or b"{%" in data
            if project.config.found and file != path:  # owner and mode decide whether the file is trusted
                seen.update(_states(file, path.parent))
            seen.update(str(file).encode("utf-8", "surrogateescape") + b"\0" + hashlib.sha256(data).digest())
    return seen.digest() if loops or total > WORTH_IT * _USUAL else None


def _files(path: Path) -> Iterator[Path]:
    """All existing files of an inventory."""
    yield from folder_files(path) if path.is_dir() else [path]
    parent = path if path.is_dir() else path.parent
    for kind in ("group_vars", "host_vars"):
        folder = parent / kind
        if folder.is_dir():
            yield from sorted(each for each in folder.rglob("*") if regular.is_meant(each))


def _states(file: Path, top: Path) -> bytes:
    """Owner and mode of a file and of its folders below ``top``."""
    way = [file, file.resolve().parent, *(folder for folder in file.parents if folder.is_relative_to(top))]
    return repr([(state.st_uid, state.st_mode) for state in (each.stat() for each in way)]).encode()


def is_worth_it(project: SelectingProject, inventory: Inventory) -> bool:
    """Whether an image is worthwhile and possible."""
    return len(inventory.ids) >= WORTH_IT and not project.rosters.unsteady


def holds(project: SelectingProject, image: dict[str, Any], digest: bytes) -> bool:
    """Whether an image has this digest, and templates still render to the same text.

    Which files are templates follows from their bytes, so the digest need not contain it.
    """
    if image.get("digest") != digest:
        return False
    for path, rendered in image["rendered"].items():
        file = Path(path)
        try:
            text = None if is_program(file) else template(file, regular.read_bytes(file).decode("utf-8-sig"))
        except (OSError, ValueError, InventoryError):  # reported by the caller
            return False
        if text is None or not project.rosters.same(text, path, rendered):
            return False
    return True


def load(project: SelectingProject, digest: bytes, on_target: Callable[[Target], None]) -> Inventory | None:
    """The inventory from its image, if there is a valid one. ``on_target`` is called with each target that is made."""
    image = _bank(project).get(_name(project))
    if not isinstance(image, dict) or not holds(project, image, digest):
        return None
    ids = image["ids"].split("\0")
    targets = Targets(dict(zip(ids, image["rows"], strict=True)), on_target)
    return Inventory(
        targets,
        tuple(project.config.inventories),
        tuple(image["warnings"]),
        frozenset(image["groups"]),
        tuple(image["secrets"]),
    )


def keep(project: SelectingProject, digest: bytes, inventory: Inventory) -> None:
    """Store the image of an inventory, if that is worthwhile."""
    if not is_worth_it(project, inventory):
        return
    rows = [wire.pack(row(target)) for target in inventory.targets.values()]
    image = {
        "digest": digest,
        "rendered": project.rosters.digests,
        "ids": "\0".join(inventory.ids),
        "rows": rows,
        "groups": sorted(inventory.groups),
        "secrets": list(inventory.secrets),
        "warnings": list(inventory.warnings),
    }
    _bank(project).put(_name(project), image)


def _bank(project: SelectingProject) -> Any:
    from pushsalt.cache.sealed import SealedBank, key_path

    return SealedBank(project.cache_dir, "hosts", key_path())


def _name(project: SelectingProject) -> str:
    return "\0".join(str(path) for path in project.config.inventories)


def is_asked(value: Any) -> bool:
    """Whether a setting stands for a value that the operator types."""
    return isinstance(value, Asked)


def row(target: Target) -> dict[str, Any]:
    """The fields that are set, in types of msgpack."""
    values = {name: getattr(target, name) for name, default in _DEFAULTS.items() if getattr(target, name) != default}
    packed = {
        name: str(value) if isinstance(value, Secret) else list(value) if isinstance(value, tuple) else value
        for name, value in values.items()
    }
    deferred = list(_deferred(values, []))
    return {**packed, _DEFERRED: deferred} if deferred else packed


def _deferred(value: Any, way: list[Any]) -> Iterator[list[Any]]:
    """Kinds and paths of the ``Deferred`` texts in a row."""
    if isinstance(value, Deferred):
        yield [type(value).__name__, way]
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _deferred(item, [*way, key])
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from _deferred(item, [*way, at])


def _mark(values: Any, deferred: list[list[Any]]) -> None:
    for kind, way in deferred:
        place = values
        for key in way[:-1]:
            place = place[key]
        place[way[-1]] = _KINDS[kind](place[way[-1]])


class Targets(Mapping[str, Target]):
    """Targets that are made from their packed rows on demand. ``on_target`` is called with each of them."""

    def __init__(self, rows: dict[str, bytes], on_target: Callable[[Target], None]) -> None:
        self._rows = rows
        self._made: dict[str, Target] = {}
        self._tell = on_target

    def __getitem__(self, id: str) -> Target:
        target = self._made.get(id)
        if target is None:
            fields = wire.unpack(self._rows[id])
            deferred = fields.pop(_DEFERRED, [])
            fields.update({name: Secret(fields[name]) for name in _SECRETS if fields.get(name) is not None})
            _mark(fields, deferred)
            values: dict[str, Any] = {
                name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()
            }
            target = self.completed(Target(id=id, **values))
            self._tell(target)
            self._made[id] = target
        return target

    def completed(self, target: Target) -> Target:
        """The target with what its row does not have."""
        return target

    def __contains__(self, id: object) -> bool:
        return id in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)
