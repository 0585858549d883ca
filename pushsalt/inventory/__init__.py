"""Inventory files become Targets.

Two shapes, told apart by their keys: the native one (``defaults``, ``hosts``, ``groups``) and the salt-ssh flat roster.
A file that has no Jinja in it is read as YAML, with the line of every key; one that has is rendered first, unless it
already reads as a native inventory (whose braces then belong to its values).

Several files: each is complete in itself (its defaults and groups hold for its own hosts only), ``jump`` may name ids
of all. An id that a later file has again is taken wholly from there, and a warning says so: two machines of one name
never share settings.
"""

from __future__ import annotations

import functools
import re
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pushsalt.errors import InventoryError, Position, RenderError
from pushsalt.inventory.merge import Host, build_targets
from pushsalt.inventory.native import is_native, parse_native
from pushsalt.inventory.roster import parse_roster
from pushsalt.inventory.schema import Layer, Source, parse_layer
from pushsalt.model import Target
from pushsalt.nearest import nearest
from pushsalt.yamlio import YamlError, load_yaml_with_lines

__all__ = ["Inventory", "load_inventory"]

MAX_BYTES: Final = 64 * 1024 * 1024

#: text and path of a roster -> its data, rendered as Salt does (Jinja, then YAML)
Render = Callable[[str, str], Any]

_TEMPLATE: Final = re.compile(r"\A#!|\{[{%#]")


@dataclass(frozen=True)
class Inventory:
    """All targets, in the order of the files. ``warnings`` are texts for people, each with its place."""

    targets: Mapping[str, Target]
    paths: tuple[Path, ...] = ()
    warnings: tuple[str, ...] = field(default=(), compare=False)

    @functools.cached_property
    def ids(self) -> tuple[str, ...]:
        return tuple(self.targets)

    def nearest(self, pattern: str, limit: int = 3) -> list[str]:
        """Ids that a person who typed ``pattern`` may have meant, the likeliest first."""
        words = [word for word in re.split(r"[*?\[\]^$(),|\s]+", pattern) if word]
        found: list[str] = []
        for word in words or [pattern]:
            # each id is compared: in a large inventory only those that begin alike
            ids = self.ids if len(self.ids) <= 5000 else [id for id in self.ids if id[:2].lower() == word[:2].lower()]
            folded = {id.lower(): id for id in reversed(ids)}
            near = nearest(word.lower(), folded, limit, 0.5)
            near += [id for id in folded if word.lower() in id or id in word.lower()]
            found += [folded[id] for id in near]
        return list(dict.fromkeys(found))[:limit]


def load_inventory(paths: Sequence[Path], *, render: Render, defaults: Mapping[str, Any] | None = None) -> Inventory:
    """The targets of these files; with no file at all the one local target ``localhost``.

    ``defaults`` are settings by their inventory keys that lie below all files (``Config.target_defaults``).
    Raises InventoryError, with file and line, on whatever is malformed.
    """
    warnings: list[str] = []
    base = parse_layer(dict(defaults or {}), Source(Path("configuration"), {}), (), "configuration", warnings)
    if not paths:
        return Inventory({"localhost": Target(id="localhost", transport="local")})
    hosts: dict[str, Host] = {}
    for path in paths:
        for host in _read(path, render, base, warnings):
            if host.id in hosts:
                old = hosts.pop(host.id)
                warnings.append(f"{host.where}: host {host.id} replaces the one of {old.where}")
            hosts[host.id] = host
    if not hosts:
        warnings.append(f"{', '.join(str(path) for path in paths)}: no host is in the inventory")
    return Inventory(build_targets(hosts.values()), tuple(paths), tuple(warnings))


def _read(path: Path, render: Render, base: Layer, warnings: list[str]) -> list[Host]:
    source = _parse(path, _text(path), render)
    if source.data is None:
        return []
    if not isinstance(source.data, dict):
        raise InventoryError(
            f"an inventory is a mapping, not a {type(source.data).__name__}",
            hint="write `hosts:` and the ids below it, or a salt-ssh roster with the ids as keys",
            where=source.where(()),
        )
    parse = parse_native if is_native(source.data) else parse_roster
    return parse(source, base, warnings)


def is_template(text: str) -> bool:
    """Whether an inventory's text may be one that is rendered first."""
    return _TEMPLATE.search(text) is not None


def _text(path: Path) -> str:
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise InventoryError(f"{path} is a folder", hint="name the inventory file in it")
        if not stat.S_ISREG(status.st_mode):
            raise InventoryError(f"{path} is no regular file", hint="name an inventory file")
        if status.st_size > MAX_BYTES:
            raise InventoryError(f"{path} is larger than {MAX_BYTES // 2**20} MiB", hint="split it into several files")
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise InventoryError(f"there is no inventory {path}", hint="check the path given with -i") from None
    except UnicodeDecodeError as exc:
        line = exc.object.count(b"\n", 0, exc.start) + 1
        where = Position(str(path), line)
        raise InventoryError("the text is not UTF-8", hint="save it as UTF-8", where=where) from None
    except (OSError, ValueError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else str(exc)
        raise InventoryError(f"{path} cannot be read: {reason}", hint="check the path and its permissions") from None


def _parse(path: Path, text: str, render: Render) -> Source:
    template = _TEMPLATE.search(text)
    try:
        data, lines = load_yaml_with_lines(text, str(path))
        if not template or (is_native(data) and not text.startswith("#!")):
            return Source(path, data, lines, text)
    except YamlError as exc:
        if not template:
            raise _not_yaml(path, exc) from None
    try:
        return Source(path, render(text, str(path)), {}, text)
    except YamlError as exc:
        raise _not_yaml(path, exc) from None
    except RenderError as exc:
        # the first line says what is wrong; the source lines after it may hold a password
        reason = exc.errors[0].splitlines()[0] if exc.errors else "no reason given"
        where = exc.where or Position(str(path))
        raise InventoryError(f"the roster cannot be rendered: {reason}", exc.hint or "correct it", where) from None


def _not_yaml(path: Path, exc: YamlError) -> InventoryError:
    """The reason and place alone: an excerpt of the text might show a password."""
    where = Position(str(path), exc.line, exc.column)
    return InventoryError(f"not valid YAML: {exc.problem}", hint="correct that line", where=where)
