"""Grain queries over a fleet: ``python index_grains.py STORE FIGURE FOLDER PROFILES``; JSON on stdout.

PROFILES is a JSON file of complete grains by system, ``{name: {grain: value}}``. Each id gets the grains of one of them
with a name, addresses and UUIDs of its own.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

COUNT = int(os.environ.get("PUSHSALT_GRAINS_COUNT", "100000"))
ROLES = (["web", "db"], ["db"], ["web"], ["cache", "mail"])
#: name -> terms: (kind, expression)
QUERIES = {
    "-G os:Debian": [("glob", "os:Debian")],
    "-P os:(debian|ubuntu)": [("regex", "os:(debian|ubuntu)")],
    "-G roles:web": [("glob", "roles:web")],
    "-G ipv4:10.0.1.*": [("glob", "ipv4:10.0.1.*")],
    "-G ip_interfaces:eth0:10.0.0.7": [("glob", "ip_interfaces:eth0:10.0.0.7")],
    "-G nodename:host-000012*": [("glob", "nodename:host-000012*")],
    "-P ipv4:10.0.(1|2).1": [("regex", r"ipv4:10\.0\.(1|2)\.1")],
    "-S 10.0.3.0/24": [("subnet", "10.0.3.0/24")],
    "-C G@os:Debian and G@ipv4:10.0.1.* and P@roles:^web": [
        ("glob", "os:Debian"),
        ("glob", "ipv4:10.0.1.*"),
        ("regex", "roles:^web"),
    ],
}
now = time.perf_counter


def replace_texts(value: Any, pairs: list[tuple[str, str]]) -> Any:
    if isinstance(value, str):
        for old, new in pairs:
            value = value.replace(old, new)
        return value
    if isinstance(value, list):
        return [replace_texts(item, pairs) for item in value]
    return {key: replace_texts(item, pairs) for key, item in value.items()} if isinstance(value, dict) else value


def fleet(profiles: str, first: int, last: int) -> list[tuple[str, dict[str, Any]]]:
    systems = list(json.loads(Path(profiles).read_text()).values())
    hosts = []
    for n in range(first, last):
        system, id = systems[n % len(systems)], f"host-{n:07d}"
        address = f"10.{n >> 16 & 255}.{n >> 8 & 255}.{n & 255}"
        pairs = [(old_address, address) for old_address in system["ipv4"] if old_address != "127.0.0.1"]
        pairs += [(old_address, f"2001:db8::{n:x}") for old_address in system["ipv6"] if old_address != "::1"]
        pairs += [(system["id"], f"{id}.example.net"), (system["localhost"], id)]
        pairs += [
            (system[name], f"{system[name][:-12]}{n:012x}") for name in ("uuid", "machine_id") if system.get(name)
        ]
        grains = {**replace_texts(system, pairs), "server_id": n, "roles": ROLES[n % len(ROLES)]}
        grains["ip_interfaces"].setdefault("eth0", [address])
        hosts.append((id, grains))
    return hosts


class Pushsalt:
    def __init__(self, folder: str) -> None:
        from pushsalt.index import GrainIndex

        self.index = GrainIndex(folder)

    def build(self, profiles: str) -> None:
        for first in range(0, COUNT, 5000):
            self.index.put_many(fleet(profiles, first, min(first + 5000, COUNT)))
        self.index.compact()

    def ask(self, terms: list[tuple[str, str]]) -> list[str]:
        view = self.index.view()
        matching = view.everything
        for kind, expr in terms:
            matching &= view.subnet(expr) if kind == "subnet" else view.grain(expr, regex=kind == "regex")
        return view.ids(matching)

    def put(self, entries: list[tuple[str, dict[str, Any]]]) -> None:
        self.index.put_many(entries)


class Salt:
    """The matching of a Salt master: its cache on disk, one entry an id."""

    def __init__(self, folder: str) -> None:
        import salt.config
        import salt.utils.minions

        opts = salt.config.master_config(None)
        opts.update(cachedir=folder, pki_dir=f"{folder}/pki", minion_data_cache=True, cache="localfs")
        Path(folder, "pki", "minions").mkdir(parents=True, exist_ok=True)
        self.minions = salt.utils.minions.CkMinions(opts)

    def build(self, profiles: str) -> None:
        for id, grains in fleet(profiles, 0, COUNT):
            self.minions.cache.store("grains", id, grains)

    def ask(self, terms: list[tuple[str, str]]) -> list[str]:
        matching: set[str] | None = None
        for kind, expr in terms:
            if kind == "subnet":
                result = self.minions._check_ipcidr_minions(expr, False)
            else:
                result = self.minions._check_cache_minions(expr, ":", False, "grains", regex_match=kind == "regex")
            matching = set(result["minions"]) & (matching if matching is not None else set(result["minions"]))
        return sorted(matching or ())

    def put(self, entries: list[tuple[str, dict[str, Any]]]) -> None:
        for id, grains in entries:
            self.minions.cache.store("grains", id, grains)


STORES: dict[str, Callable[[str], Any]] = {"pushsalt": Pushsalt, "salt": Salt}


def main(name: str, figure: str, folder: str, profiles: str) -> None:
    store = STORES[name](folder)
    if figure == "build":
        store.build(profiles)
        result: Any = None
    elif figure == "put":
        entries = fleet(profiles, COUNT - 1000, COUNT)
        began = now()
        store.put(entries)
        result = now() - began
    else:
        if name == "pushsalt":
            store.index.view()
        began = now()
        ids = store.ask(QUERIES[figure])
        result = {"seconds": now() - began, "found": len(ids)}
    print(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
