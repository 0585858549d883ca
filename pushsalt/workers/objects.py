"""The project on the NATS server: pieces in a key-value bucket of each site, by their content.

A file, the inventory and the manifest are cut into pieces of at most 480 KiB, each compressed and encrypted to the
site. The name of a piece is a MAC of its content with a key of the controllers, so the server learns nothing from it,
and a piece that is there is not sent again. A key of the bucket is ``GENERATION.NAME``. A generation lasts 30 days; the
last two are kept.

A reference, ``GENERATION.NAME.DIGEST``, names the root: a signed piece with the names of the pieces of two lists, and
the digest of the second one. The first, the manifest, has the digests of all files, which are checked before use; the
second, the index, has the pieces of each digest. The root is sent last, so whoever finds it finds the others. DIGEST is
that of the manifest with a secret salt. Both lists are checked before they are unpacked: pieces are not signed.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import re
import time
import zlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from pushsalt.errors import CommandError, UsageError
from pushsalt.planning import agefile
from pushsalt.workers import names, unpack
from pushsalt.workers.keys import CONTROLLER
from pushsalt.workers.parts import Collector, Parts
from pushsalt.workers.seal import Keys, NotAuthentic
from thin import wire

if TYPE_CHECKING:
    from pushsalt.job import Settings
    from pushsalt.run.project import Project
    from pushsalt.workers.parties import Party

_PIECE: Final = 480 * 1024
#: Bytes that a manifest may have, unpacked.
_MANIFEST: Final = 512 * 1024 * 1024
#: Messages under way at a time.
_WIDTH: Final = 64
#: Seconds without an answer of the server after which a request is given up.
_PATIENCE: Final = 30.0
_PAGE: Final = 100_000
_REFERENCE: Final = re.compile(r"[0-9]{1,8}\.[0-9a-f]{40}\.[0-9a-f]{64}")
_ROOT: Final = "project"
#: Part of the names of roots: one of another format has another name, and is not taken for this one.
_FORMAT: Final = b"2"


def _keys(party: Party) -> Keys:
    if not isinstance(party, Keys):
        raise UsageError("a project is sealed, and there are no keys", hint="`pushsalt worker init SITE` makes them")
    return party


class StoreError(CommandError):
    """The project cannot be stored on the NATS server, or read from it."""


@dataclass(frozen=True)
class ProjectRef:
    """site -> reference of the stored project."""

    references: Mapping[str, str]

    def of(self, site: str) -> dict[str, Any]:
        """What ``materialize`` needs at a site."""
        return {"site": site, "objects": self.references[site]}


# --- the controller --------------------------------------------------------------------------------------------------


async def upload(nc: Any, project: Project, sites: Sequence[str], party: Party) -> ProjectRef:
    """Store the project for the workers of these sites. ``nc``: the client of nats-py.

    What is there already is not sent. Raises UsageError for a site without keys, and for files that cannot be read;
    StoreError if the server cannot store the project.
    """
    keys = _keys(party)
    for site in sites:
        keys.peer(site)
    collector = await asyncio.to_thread(Collector, project)
    references: dict[str, str] = {}
    for site in sites:
        parts = await asyncio.to_thread(collector.parts, site)
        with _told(f"the project cannot be stored for the site {site}"):
            references[site] = await _Upload(nc, site, parts, keys).run()
    return ProjectRef(references)


class _Upload:
    def __init__(self, nc: Any, site: str, parts: Parts, keys: Keys) -> None:
        self._nc, self._js = nc, nc.jetstream(prefix=names.api_of(nc))
        self._bucket = names.objects_bucket(site)
        self._site = site
        self._parts = parts
        self._keys = keys
        self._recipient = keys.peer(site).seal
        self._secret = keys.private.derived(f"names of pieces\0{site}\0{self._recipient}")
        self._generation = int(time.time() // names.GENERATION)
        self._there: set[str] = set()

    async def run(self) -> str:
        """Send what is missing. Returns the reference."""
        manifest = wire.pack(self._parts.manifest)
        # the salt keeps the digest, which travels with the work, from telling whether a guessed content is right
        salt = self._mac(hashlib.sha256(manifest).digest())
        name, digest = self._name(_FORMAT + salt), hashlib.sha256(salt + manifest).hexdigest()
        reference = f"{self._generation}.{name}.{digest}"
        if await self._has(name):
            return reference
        await self._prepare()
        index = wire.pack({each: await self._send(source) for each, source in self._parts.sources.items()})
        root = {"salt": salt, "manifest": await self._send_bytes(manifest)}
        root |= {"index": await self._send_bytes(index), "index_digest": hashlib.sha256(index).digest()}
        await self._put(name, self._keys.seal(self._site, zlib.compress(wire.pack(root)), _ROOT))
        return reference

    def _mac(self, data: bytes) -> bytes:
        return hmac.new(self._secret, data, hashlib.sha256).digest()

    def _name(self, data: bytes) -> str:
        return self._mac(data).hex()[:40]

    async def _has(self, name: str) -> bool:
        return await _get(self._nc, self._bucket, f"{self._generation}.{name}") is not None

    async def _prepare(self) -> None:
        """Make the bucket, remove generations that are over, and look which pieces are there."""
        from nats.js.api import DiscardPolicy, StorageType, StreamConfig

        stream = f"KV_{self._bucket}"
        config = StreamConfig(
            name=stream,
            subjects=[f"$KV.{self._bucket}.>"],
            storage=StorageType.FILE,
            max_msgs_per_subject=1,
            discard=DiscardPolicy.NEW,
            allow_direct=True,
            allow_rollup_hdrs=True,
            deny_delete=False,
        )
        if not await _exists(self._nc, stream):
            await self._js.add_stream(config)
        generations = set()
        offset = 0
        while True:
            info = await _api(self._nc, f"STREAM.INFO.{stream}", {"subjects_filter": ">", "offset": offset})
            subjects = (info.get("state") or {}).get("subjects") or {}
            for subject in subjects:
                generation, name = subject.split(".")[-2:]
                generations.add(generation)
                if generation == str(self._generation):
                    self._there.add(name)
            offset += len(subjects)
            if not subjects or offset >= int(info.get("total") or 0):
                break
        for generation in generations:
            if generation.isdigit() and int(generation) < self._generation - 1:
                await self._js.purge_stream(stream, subject=f"$KV.{self._bucket}.{generation}.>")

    async def _send(self, source: Callable[[], BinaryIO]) -> list[str]:
        """Send the missing pieces of a file, some at a time, so that memory is bounded. Returns all names."""
        pieces, found = _pieces(source), list[str]()
        while batch := await asyncio.to_thread(self._batch, pieces, found):
            await asyncio.gather(*(self._put(name, data) for name, data in batch))
        return found

    async def _send_bytes(self, data: bytes) -> list[str]:
        return await self._send(lambda: BytesIO(data))

    def _batch(self, pieces: Iterator[bytes], found: list[str]) -> list[tuple[str, bytes]]:
        """The next pieces to send, empty at the end; ``found`` gets the names of all pieces."""
        missing: list[tuple[str, bytes]] = []
        for piece in pieces:
            name = self._name(piece)
            found.append(name)
            if name not in self._there:
                self._there.add(name)
                missing.append((name, agefile.encrypt(zlib.compress(piece, 1), [self._recipient])))
            if len(missing) >= _WIDTH:
                break
        return missing

    async def _put(self, name: str, data: bytes) -> None:
        subject = f"$KV.{self._bucket}.{self._generation}.{name}"
        await self._js.publish(subject, data, timeout=_PATIENCE)


def _pieces(source: Callable[[], BinaryIO]) -> Iterator[bytes]:
    """The pieces of a file; an empty file has none."""
    with source() as stream:
        while piece := stream.read(_PIECE):
            yield piece


# --- the worker ------------------------------------------------------------------------------------------------------


async def materialize(nc: Any, named: Mapping[str, Any], cache_dir: Path, party: Party) -> Path:
    """The private folder with a project, made from the server's objects unless it is there. ``named``: a ProjectRef's.

    Raises StoreError if the server does not have it, NotAuthentic for a project that no controller of this site made.
    """
    keys = _keys(party)
    site, reference = names.check_site(str(named.get("site"))), str(named.get("objects"))
    if not _REFERENCE.fullmatch(reference):
        raise StoreError(f"{reference[:80]!r} is no reference of a project", hint="use the same version everywhere")
    generation, name, digest = reference.split(".")
    store = unpack.Store(cache_dir)
    there = await asyncio.to_thread(store.project, digest)
    if there is not None:
        return there
    reader = _Reader(nc, site, generation, keys)
    with _told(f"the project cannot be read for the site {site}"):
        root = wire.unpack(_inflated(keys.open(CONTROLLER, await reader.get(name), _ROOT), _MANIFEST))
        packed = await reader.whole(root["manifest"], _MANIFEST)
        if hashlib.sha256(root["salt"] + packed).hexdigest() != digest:
            raise _altered()
        manifest = unpack.checked(wire.unpack(packed), site)
        listed = await reader.whole(root["index"], _MANIFEST)
        if hashlib.sha256(listed).digest() != root["index_digest"]:
            raise _altered()
        index = wire.unpack(listed)
        for wanted, size in unpack.wanted(manifest).items():
            if not await asyncio.to_thread(store.has, wanted):
                with store.writing(wanted, size) as write:
                    async for piece in reader.pieces(index[wanted]):
                        await asyncio.to_thread(write, piece)
    return await asyncio.to_thread(store.build, digest, manifest)


def _altered() -> NotAuthentic:
    return NotAuthentic("the project on the server was altered", hint="who else can write to the bucket?")


class _Reader:
    def __init__(self, nc: Any, site: str, generation: str, keys: Keys) -> None:
        self._nc = nc
        self._bucket = names.objects_bucket(site)
        self._generation = generation
        self._identity = keys.private.identity

    async def get(self, name: str) -> bytes:
        """A piece as the server has it. Raises StoreError."""
        data = await _get(self._nc, self._bucket, f"{self._generation}.{name}")
        if data is None:
            raise StoreError("a part of the project is not on the server any more", hint="run the command again")
        return data

    async def pieces(self, wanted: Sequence[str]) -> AsyncIterator[bytes]:
        """The content of pieces, in order; some are asked for at a time."""
        for at in range(0, len(wanted), _WIDTH // 4):
            group = wanted[at : at + _WIDTH // 4]
            for data in await asyncio.gather(*(self.get(name) for name in group)):
                yield await asyncio.to_thread(self._opened, data)

    def _opened(self, data: bytes) -> bytes:
        try:
            return _inflated(agefile.decrypt(data, [self._identity]), _PIECE)
        except agefile.Unreadable as exc:
            raise NotAuthentic(f"a part of the project cannot be read: {exc}", hint="run the command again") from None

    async def whole(self, wanted: Sequence[str], limit: int) -> bytes:
        """All pieces joined. Raises StoreError if they are larger than ``limit``."""
        found = bytearray()
        async for piece in self.pieces(wanted):
            found += piece
            if len(found) > limit:
                raise StoreError("the project's list of files is too large", hint="leave out files: `file_ignore_glob`")
        return bytes(found)


def _inflated(data: bytes, limit: int) -> bytes:
    """Raises StoreError for more than ``limit`` bytes, and zlib.error."""
    machine = zlib.decompressobj()
    found = machine.decompress(data, limit + 1)
    if len(found) > limit or not machine.eof:
        raise StoreError("a part of the project is damaged", hint="run the command again")
    return found


# --- the server ------------------------------------------------------------------------------------------------------


async def _get(nc: Any, bucket: str, key: str) -> bytes | None:
    """The value of a key; None if the bucket does not have it, or if there is no bucket."""
    from nats.errors import NoRespondersError

    subject = f"{names.api_of(nc)}.DIRECT.GET.KV_{bucket}.$KV.{bucket}.{key}"
    try:
        found = await nc.request(subject, b"", timeout=_PATIENCE)
    except NoRespondersError:
        return None
    status = (found.headers or {}).get("Status")
    if status is not None and status.startswith("404"):
        return None
    return bytes(found.data)


async def _exists(nc: Any, stream: str) -> bool:
    found = await _api(nc, f"STREAM.INFO.{stream}", {}, missing=True)
    return bool(found)


async def _api(nc: Any, name: str, request: dict[str, Any], missing: bool = False) -> dict[str, Any]:
    """The answer of JetStream; empty with ``missing`` if there is no such thing. Raises StoreError."""
    subject = f"{names.api_of(nc)}.{name}"
    answer = json.loads((await nc.request(subject, json.dumps(request).encode(), timeout=_PATIENCE)).data)
    error = answer.get("error")
    if error is None:
        return dict(answer)
    if missing and error.get("code") == 404:
        return {}
    raise StoreError(f"the NATS server refuses {name}: {error.get('description')}", hint="see the server's log")


@contextmanager
def _told(what: str) -> Iterator[None]:
    """Errors of the connection, the server and damaged data as StoreError."""
    import nats.errors

    hint = "is the server reachable, has it JetStream, and room on its disk? `pushsalt worker status` asks it"
    try:
        yield
    except nats.errors.NoRespondersError:
        raise StoreError(
            f"{what}: the server has no JetStream", hint="start it with `-js`, or its configuration"
        ) from None
    except (nats.errors.Error, TimeoutError, asyncio.TimeoutError) as exc:
        raise StoreError(f"{what}: {exc or type(exc).__name__}", hint) from None
    except (zlib.error, ValueError, KeyError, TypeError) as exc:
        raise StoreError(f"{what}: a part of it is damaged ({exc})", hint="run the command again") from None
    except OSError as exc:
        raise StoreError(f"{what}: {exc.strerror or exc}", hint="is there room on this machine's disk?") from None


# --- opening it ------------------------------------------------------------------------------------------------------


def settings_of(folder: Path, cache_dir: Path) -> Settings:
    """The settings of the project in a folder of ``materialize``."""
    from pushsalt.job import Settings

    return Settings(
        config=folder / "pushsalt.yaml",
        inventories=[folder / "inventory.yaml"],
        cache_dir=cache_dir,
        options=unpack.options_of(folder),
    )


def furnish(project: Project, keys_folder: Path | None) -> None:
    """Give a project of ``settings_of`` the inventory's part for the site; other projects are unchanged.

    Private SSH keys are those of ``keys_folder/ssh``, by the names of the files in the inventory.
    """
    folder = project.config.project
    if folder is not None and unpack.is_unpacked_project(folder):
        ssh_keys = keys_folder.absolute() / "ssh" if keys_folder is not None else None
        vars(project)["inventory"] = unpack.inventory_of(folder, project.hide, ssh_keys)
