"""The systems that a check renders for: shipped grains, or grains of a user's file."""

from __future__ import annotations

import copy
import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from pushsalt import regular
from pushsalt.errors import ConfigError, Position, UsageError
from pushsalt.nearest import nearest
from pushsalt.regular import read_text
from pushsalt.yamlio import YamlError, load_yaml

_SHIPPED: Final = Path(__file__).with_name("systems.yaml")


@cache
def _shipped() -> dict[str, Any]:
    data: dict[str, Any] = load_yaml(_SHIPPED.read_text("utf-8"), str(_SHIPPED))
    return data


def names() -> list[str]:
    """The names of the shipped systems."""
    return list(_shipped()["systems"])


def systems(wanted: Sequence[str] = ()) -> dict[str, dict[str, Any]]:
    """Grains by system: all shipped ones, or those that match globs (``debian-*``), and files of grains.

    Raises UsageError for an unknown name, ConfigError for a file without grains.
    """
    if not wanted:
        return {name: _grains(name, number) for number, name in enumerate(names())}
    chosen: dict[str, dict[str, Any]] = {}
    for word in wanted:
        if word.endswith((".yaml", ".yml", ".json")):
            chosen[Path(word).stem] = _of_file(Path(word))
            continue
        matching = [name for name in names() if fnmatch.fnmatchcase(name, word)]
        if not matching:
            near = nearest(word, names())
            raise UsageError(
                f"unknown system {word!r}",
                (f"did you mean {near[0]}? " if near else "") + f"use one of {', '.join(names())}, or a file of grains",
            )
        chosen.update((name, _grains(name, names().index(name))) for name in matching)
    return chosen


def with_inventory(grains: Mapping[str, Any], hosts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """A system's grains, extended by other grains of the inventory's hosts (``role: web``).

    For equal keys the first host counts. The system's own grains have priority. A host whose grains are those of
    another system is not used.
    """
    merged = dict(grains)
    for host in hosts:
        if all(host.get(key, grains.get(key)) == grains.get(key) for key in ("kernel", "os_family", "os")):
            _fill(merged, host)
    return merged


def _fill(into: dict[str, Any], more: Mapping[str, Any]) -> None:
    for key, value in more.items():
        current = into.setdefault(key, value)
        if current is not value and isinstance(current, dict) and isinstance(value, Mapping):
            into[key] = dict(current)
            _fill(into[key], value)


@dataclass(frozen=True)
class Claims:
    """The systems that a formula supports; empty for all."""

    os: tuple[str, ...] = ()
    os_family: tuple[str, ...] = ()

    def has(self, grains: Mapping[str, Any]) -> bool:
        if not self.os and not self.os_family:
            return True
        named = (str(grains.get("os")).lower() in self.os, str(grains.get("os_family")).lower() in self.os_family)
        return any(named)


def claims(path: Path) -> Claims:
    """The ``os`` and ``os_family`` of a file ``FORMULA``, lists or comma-separated; empty for other files."""
    try:
        data = load_yaml(read_text(path, "replace"), str(path))
    except (OSError, YamlError):
        data = None
    values = data if isinstance(data, dict) else {}
    return Claims(_words(values.get("os")), _words(values.get("os_family")))


def _words(value: Any) -> tuple[str, ...]:
    words = value if isinstance(value, list) else str(value or "").split(",")
    return tuple(str(word).strip().lower() for word in words if str(word).strip())


def _grains(name: str, number: int) -> dict[str, Any]:
    """The grains of the file, and those that depend on the name: addresses, ids, paths of Python."""
    grains = copy.deepcopy({**_shipped()["common"], **_shipped()["systems"][name]})
    bsd = grains["kernel"] == "FreeBSD"
    host, last = name.replace(".", ""), number + 10
    card, loop = ("vtnet0", "lo0") if bsd else ("eth0" if grains["os_family"] in ("Suse", "Alpine") else "ens3", "lo")
    address, address6 = f"192.0.2.{last}", f"2001:db8::{last:x}"
    python = f"python{grains['pythonversion'][0]}.{grains['pythonversion'][1]}"
    grains.update(
        id=f"{host}.example.net",
        host=host,
        localhost=host,
        nodename=host,
        fqdn=f"{host}.example.net",
        fqdns=[f"{host}.example.net"],
        fqdn_ip4=[address],
        fqdn_ip6=[address6],
        ipv4=["127.0.0.1", address],
        ipv6=["::1", address6],
        ip4_interfaces={loop: ["127.0.0.1"], card: [address]},
        ip6_interfaces={loop: ["::1"], card: [address6]},
        ip_interfaces={loop: ["127.0.0.1", "::1"], card: [address, address6]},
        hwaddr_interfaces={loop: "00:00:00:00:00:00", card: f"02:00:00:00:00:{last:02x}"},
        machine_id=f"{last:032x}",
        uuid=f"00000000-0000-4000-8000-{last:012x}",
        server_id=100_000_000 + last,
        pythonpath=["", f"/usr/lib/{python}"],
        saltpath=f"/usr/lib/{python}/site-packages/salt",
        **_salt_version(),
    )
    return grains


def _salt_version() -> dict[str, Any]:
    """The grains of Salt's version as targets report them, since formulas test them."""
    from thin.grains.process import SALT_VERSION, SALT_VERSION_INFO

    return {"saltversion": SALT_VERSION, "saltversioninfo": list(SALT_VERSION_INFO)}


def _of_file(path: Path) -> dict[str, Any]:
    where, holds = Position(str(path)), "it must contain the output of `grains.items`"
    try:
        grains = load_yaml(regular.read_text(path), str(path))
    except OSError as exc:
        raise ConfigError(f"the grains cannot be read: {exc.strerror}", "name a file of grains", where) from None
    except YamlError as exc:
        raise ConfigError(str(exc), holds, where) from None
    if isinstance(grains, dict) and len(grains) == 1 and isinstance(next(iter(grains.values())), dict):
        grains = next(iter(grains.values()))  # ``pushsalt run web1 grains.items --out json``
    if not isinstance(grains, dict) or "os_family" not in grains:
        raise ConfigError("these are not grains: os_family is missing", holds, where)
    return {"id": path.stem, **grains}
