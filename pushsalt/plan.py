"""The plan of one target's run: its chunks, and the files that they will need.

File server and template renderer are arguments. Each file that the plan has saves a round trip. Other files (a source
computed by a slot, files of a custom state) are requested when the chunk runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO, Protocol

from pushsalt.model import Blob, Chunk, Plan, tag_of
from pushsalt.salturl import split_url
from thin import wire


class Found(Protocol):
    """A file of the file server."""

    @property
    def path(self) -> str: ...
    def digest(self) -> str: ...
    @property
    def size(self) -> int: ...
    def open(self) -> BinaryIO: ...


class Files(Protocol):
    """The part of the file server that planning needs."""

    def find(self, path: str, saltenv: str) -> Found | None: ...


#: (source URL, saltenv, engine, context, defaults, chunk) -> the variables of the template as the target will send
#: them, and the rendered text. None if the text cannot be rendered before the run: the template calls the target, or it
#: fails (then the chunk reports the error).
Prerender = Callable[[str, str, str, Any, Any, Chunk], "tuple[dict[str, Any] | None, bytes] | None"]


def make_plan(
    chunks: Sequence[Chunk], files: Files, prerender: Prerender, *, test: bool
) -> tuple[Plan, list[list[str | None]]]:
    """The plan, and ``[digest, path on the target that may have it]`` of each blob that may have to be sent."""
    plan = Plan(list(chunks), test=test)
    wants: dict[str, str | None] = {}
    for chunk in chunks:
        saltenv = str(chunk.get("__env__") or "base")
        template = chunk.get("template") if chunk["state"] == "file" else None
        for url in _sources(chunk):
            where = split_url(url, saltenv)
            file = files.find(*where) if where else None
            if where is None or file is None:
                continue
            key = wire.file_key(url, saltenv)
            plan.files[key] = digest = file.digest()
            if template:
                _foresee_template(plan, chunk, url, saltenv, str(template), prerender, wants)
                break
            plan.blobs[digest] = Blob(digest, file.size, path=file.path, place=where, open=file.open)
            wants.setdefault(digest, _destination(chunk))
            if chunk["fun"] == "managed":
                break  # the first existing file of a list is used
    return plan, [[digest, path] for digest, path in wants.items()]


def _foresee_template(
    plan: Plan, chunk: Chunk, url: str, saltenv: str, engine: str, prerender: Prerender, wants: dict[str, str | None]
) -> None:
    context, defaults = chunk.get("context"), chunk.get("defaults")
    foreseen = prerender(url, saltenv, engine, context, defaults, chunk)
    if foreseen is None:
        return
    import hashlib

    names, text = foreseen
    digest = hashlib.sha256(text).hexdigest()
    plan.templates[wire.template_key(url, saltenv, engine, context, defaults, tag_of(chunk), names)] = digest
    plan.blobs[digest] = Blob(digest, len(text), data=text)
    wants.setdefault(digest, _destination(chunk))


def _destination(chunk: Chunk) -> str | None:
    """The destination of a file, if it is literal. The target looks for the bytes there before it asks for them."""
    name = chunk.get("name")
    return name if chunk["state"] == "file" and chunk["fun"] == "managed" and isinstance(name, str) else None


def _sources(chunk: Chunk) -> Iterator[str]:
    """The ``salt://`` files that this chunk names, without directories (file.recurse)."""
    if chunk["fun"] == "recurse":
        return
    for key in ("source", "sources", "source_hash", "name"):
        yield from _urls(chunk.get(key))


def _urls(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if value.startswith("salt://"):
            yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _urls(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _urls(key)
            yield from _urls(item)
