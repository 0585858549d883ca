"""The project at a worker: a private cache of files by digest, and a folder for each project, made from them.

::

    CACHE/workers/objects/ab/DIGEST        files by SHA-256, checked when they are written and when they are used
    CACHE/workers/projects/DIGEST/         pushsalt.yaml, inventory.yaml, inventory.rows, trees/NAME/…, made at once

Everything is the worker's own, with mode 0700 and 0600 above the trees. Paths of a manifest are checked: nothing is
written outside of the tree, files and folders are made new, links last, and a link that leaves its tree is refused.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, Final

from pushsalt import regular
from pushsalt.cache.store import private_dir
from pushsalt.errors import CommandError
from pushsalt.fileserver.backends.roots import LIMITS
from pushsalt.git.lockfile import LockFile
from pushsalt.inventory import Inventory
from pushsalt.model import Target
from pushsalt.select import inventoryimage
from pushsalt.workers.parts import MAX_FILE, MAX_FILES, TREES
from pushsalt.yamldump import dump_yaml
from thin import wire

#: Bytes that a project may have at a worker.
MAX_TOTAL: Final = 64 * 1024**3
#: Seconds after which a project, and a file, that was not used any more is removed.
_LIFE: Final = 14 * 86400
_NAME: Final = frozenset("abcdefghijklmnopqrstuvwxyz-0123456789")


class DamagedProject(CommandError):
    """What the server has is no project that could be used."""


def _refuse(what: str) -> DamagedProject:
    return DamagedProject(
        f"the project from the server is refused: {what}", hint="is the controller's version this one?"
    )


# --- the manifest ----------------------------------------------------------------------------------------------------


def checked(manifest: Mapping[str, Any], site: str) -> dict[str, Any]:
    """The manifest, if all of its names, paths and sizes may be used. Raises DamagedProject."""
    if manifest.get("site") != site:
        raise _refuse(f"it is for the site {str(manifest.get('site'))[:40]!r}")
    if not isinstance(manifest.get("options"), dict) or not isinstance(manifest.get("trees"), dict):
        raise _refuse("it has no options or trees")
    _check_digest(manifest.get("inventory"))
    count = total = 0
    for name, tree in manifest["trees"].items():
        if not isinstance(name, str) or not name or not _NAME.issuperset(name):
            raise _refuse(f"a tree has the name {str(name)[:40]!r}")
        for path, mode, size, digest in tree["files"]:
            _check_path(path)
            _check_digest(digest)
            count, total = count + 1, total + size
            if not isinstance(mode, int) or not isinstance(size, int) or not 0 <= size <= MAX_FILE:
                raise _refuse(f"{path!r} has a size or mode that cannot be")
            if count > MAX_FILES or total > MAX_TOTAL:
                raise _refuse(f"it is larger than {MAX_FILES} files or {MAX_TOTAL // 1024**3} GiB")
        for path in tree["dirs"]:
            _check_path(path)
        for path, to in tree["links"].items():
            _check_path(path)
            place = posixpath.normpath(posixpath.join(posixpath.dirname(path), to))
            if to.startswith("/") or place.split("/", 1)[0] in ("..", ".") or "\0" in to or len(to) > 4096:
                raise _refuse(f"the link {path!r} leaves its tree")
    return dict(manifest)


def _check_path(path: Any) -> None:
    words = path.split("/") if isinstance(path, str) else [""]
    if any(word in ("", ".", "..") or len(os.fsencode(word)) > 255 for word in words) or "\0" in path:
        raise _refuse(f"it has the path {str(path)[:80]!r}")


def _check_digest(digest: Any) -> None:
    if not isinstance(digest, str) or len(digest) != 64 or set(digest) - set("0123456789abcdef"):
        raise _refuse("a digest is none")


def wanted(manifest: Mapping[str, Any]) -> dict[str, int]:
    """digest -> size of all files; the size of the inventory's rows is not known: MAX_FILE."""
    found = {digest: size for tree in manifest["trees"].values() for _, _, size, digest in tree["files"]}
    return {**found, manifest["inventory"]: MAX_FILE}


# --- the cache -------------------------------------------------------------------------------------------------------


class Store:
    """The cache of one worker. Several processes may use it at the same time."""

    def __init__(self, cache_dir: Path) -> None:
        """Raises OSError if the folder is not private."""
        self._home = cache_dir / "workers"
        for folder in (self._home, self._home / "objects", self._home / "projects"):
            private_dir(folder)

    def _object(self, digest: str) -> Path:
        return self._home / "objects" / digest[:2] / digest

    def has(self, digest: str) -> bool:
        """Whether a file is there; its content is checked when it is used."""
        try:
            os.utime(self._object(digest))
        except OSError:
            return False
        return True

    @contextmanager
    def writing(self, digest: str, size: int) -> Iterator[Callable[[bytes], None]]:
        """A function that writes the next bytes of a file; the file is there at the end if it has that digest.

        Raises DamagedProject for other bytes, or more than ``size``.
        """
        place = self._object(digest)
        private_dir(place.parent)
        aside = place.with_name(f".{digest}.{secrets.token_hex(6)}")
        hasher = hashlib.sha256()
        written = 0
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as stream:

                def write(data: bytes) -> None:
                    nonlocal written
                    written += len(data)
                    if written > size:
                        raise _refuse("a file is larger than it should be")
                    hasher.update(data)
                    stream.write(data)

                yield write
            if hasher.hexdigest() != digest:
                raise _refuse("a file does not have its digest")
            aside.replace(place)
        finally:
            aside.unlink(missing_ok=True)

    def project(self, digest: str) -> Path | None:
        """The folder of a project that is there already."""
        place = self._home / "projects" / digest
        try:
            private_dir(self._home / "projects")
            os.utime(place)
        except OSError:
            return None
        return place

    def build(self, digest: str, manifest: Mapping[str, Any]) -> Path:
        """Make the folder of a project from files that are there. Raises DamagedProject."""
        place = self._home / "projects" / digest
        aside = place.with_name(f".{digest}.{secrets.token_hex(6)}")
        aside.mkdir(mode=0o700)
        try:
            (aside / "trees").mkdir(mode=0o700)
            for name, tree in manifest["trees"].items():
                self._write_tree(aside / "trees" / name, tree)
            self._copy(manifest["inventory"], aside / "inventory.rows", 0o600)
            _write_files(aside, place, manifest)
            with suppress(OSError):  # another process was faster
                aside.rename(place)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
        self._expire(place)
        return place

    def _write_tree(self, folder: Path, tree: Mapping[str, Any]) -> None:
        folder.mkdir(mode=0o700)
        made = {""}

        def make(path: str) -> None:
            if path not in made:
                make(posixpath.dirname(path))
                (folder / path).mkdir(mode=0o700)
                made.add(path)

        try:
            for path in tree["dirs"]:
                make(path)
            for path, mode, _, digest in tree["files"]:
                make(posixpath.dirname(path))
                self._copy(digest, folder / path, mode & 0o7777)
            for path, to in tree["links"].items():
                make(posixpath.dirname(path))
                (folder / path).symlink_to(to)
        except FileExistsError as exc:
            raise _refuse(f"{Path(exc.filename).name!r} is there twice") from None
        inside = f"{os.path.realpath(folder)}/"
        for path in tree["links"]:
            if not os.path.realpath(folder / path).startswith(inside):
                raise _refuse(f"the link {path!r} leaves its tree")

    def _copy(self, digest: str, place: Path, mode: int) -> None:
        """A copy of a file, whose content is checked. A damaged one is removed, so that it is fetched again."""
        hasher = hashlib.sha256()
        with regular.opened(self._object(digest), os.O_NOFOLLOW) as source, _new(place) as target:
            while data := source.read(1024 * 1024):
                hasher.update(data)
                target.write(data)
        if hasher.hexdigest() != digest:
            self._object(digest).unlink(missing_ok=True)
            raise DamagedProject(
                "a file in the worker's cache was damaged, and was removed", hint="run the command again"
            )
        place.chmod(mode)

    def _expire(self, kept: Path) -> None:
        """Remove projects and files that were not used for long."""
        before = time.time() - _LIFE
        for folder in (self._home / "projects").iterdir():
            if folder != kept and _time(folder) < before:
                shutil.rmtree(folder, ignore_errors=True)
        for file in (self._home / "objects").glob("*/*"):
            if _time(file) < before:
                file.unlink(missing_ok=True)


def _new(place: Path) -> BinaryIO:
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    return os.fdopen(descriptor, "wb")


def _time(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:
        return time.time()


# --- the files of a project ------------------------------------------------------------------------------------------


def _write_files(folder: Path, place: Path, manifest: Mapping[str, Any]) -> None:
    """Write configuration, lock file, limits and the stub of the inventory; ``place``: where the folder will be."""
    trees = f"{place}/trees/"
    options = _placed(manifest["options"], trees)
    rows = wire.unpack((folder / "inventory.rows").read_bytes())["rows"]
    texts = {
        "pushsalt.yaml": dump_yaml(options, sort_keys=False),
        "inventory.yaml": f"# The inventory is in inventory.rows.\nhosts: {{{', '.join(map(_quoted, rows))}}}\n",
    }
    for name, text in texts.items():
        with _new(folder / name) as stream:
            stream.write(text.encode("utf-8", "surrogateescape"))
    limits = {trees + name: tree["limit"] for name, tree in manifest["trees"].items() if tree["limit"] is not None}
    about = {"limits": limits, "groups": manifest["groups"]}
    with _new(folder / "about") as stream:
        stream.write(wire.pack(about))
    if manifest["pins"]:
        LockFile(folder / "pushsalt.lock").change(manifest["pins"])


def _quoted(id: str) -> str:
    return "'" + id.replace("'", "''") + "': {transport: offline}"


def _placed(value: Any, trees: str) -> Any:
    """Options with the folder of the trees in place of its mark."""
    match value:
        case str():
            return trees + value[len(TREES) :] if value.startswith(TREES) else value
        case Mapping():
            return {key: _placed(item, trees) for key, item in value.items()}
        case list():
            return [_placed(item, trees) for item in value]
    return value


def options_of(folder: Path) -> dict[str, Any]:
    """Options that no file can set: which renderers the files of a tree may use."""
    limits = _about(folder)["limits"]
    return {LIMITS: limits} if limits else {}


def is_unpacked_project(folder: Path) -> bool:
    """Whether ``Store.build`` made this folder."""
    return (folder / "about").is_file() and (folder / "inventory.rows").is_file()


def inventory_of(folder: Path, made: Callable[[Target], None], ssh_keys: Path | None) -> Inventory:
    """The inventory of a project's folder. ``made`` is called with each target that is made.

    ``ssh_keys``: the folder of this worker's private keys; None: ``~/.ssh``.
    """
    about = _about(folder)
    rows = wire.unpack((folder / "inventory.rows").read_bytes())["rows"]
    targets = _Targets(rows, made, ssh_keys or Path.home() / ".ssh")
    return Inventory(targets, (folder / "inventory.yaml",), (), frozenset(about["groups"]))


def _about(folder: Path) -> dict[str, Any]:
    return dict(wire.unpack((folder / "about").read_bytes()))


class _Targets(inventoryimage.Targets):
    """Targets with the private keys of this worker: of a path in the inventory the file's name counts."""

    def __init__(self, rows: dict[str, bytes], made: Callable[[Target], None], ssh_keys: Path) -> None:
        super().__init__(rows, made)
        self._ssh_keys = ssh_keys

    def completed(self, target: Target) -> Target:
        return (
            replace(target, priv=tuple(str(self._ssh_keys / name) for name in target.priv)) if target.priv else target
        )
