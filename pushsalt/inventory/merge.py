"""Merges layers of settings to Targets, and resolves ``jump`` to the complete chain of jump hosts.

Precedence, lowest first: configuration (``ssh_user``, ``roster_defaults`` ...), defaults, groups in the file's order,
the host. ``grains``, ``pillar`` and ``minion_opts`` are merged key by key, other settings are replaced; null resets a
setting of a lower layer.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pushsalt.errors import InventoryError, Position
from pushsalt.inventory.schema import MERGED, Layer, Setting
from pushsalt.model import Target
from pushsalt.nearest import nearest


@dataclass(frozen=True)
class Host:
    """A host before merging. ``layers`` are ordered by increasing precedence, the host's own last.

    ``passwd_for_sudo``: the login's password is also used for sudo, if `sudo_password` is not set.
    """

    id: str
    where: Position
    layers: tuple[Layer, ...]
    groups: tuple[str, ...] = ()
    passwd_for_sudo: bool = False


def build_targets(hosts: Iterable[Host]) -> dict[str, Target]:
    """Targets by id in the given order. Raises InventoryError for a ``jump`` to an unknown id."""
    by_id = {host.id: host for host in hosts}
    return resolve_jumps(by_id, {host.id: _merge(host) for host in by_id.values()})


def _merge(host: Host) -> Target:
    values: dict[str, Any] = {}
    origin: dict[str, str] = {}
    for layer in host.layers:
        for name, setting in layer.settings.items():
            if setting.value is None:
                values.pop(name, None)
                origin = {key: place for key, place in origin.items() if key.partition(".")[0] != name}
                continue
            merged = name in MERGED and name in values
            values[name] = deep_merge(values[name], setting.value) if merged else copy.deepcopy(setting.value)
            origin[name] = f"{setting.where} ({layer.words})"
            for key, place in setting.places.items():
                origin[f"{name}.{key}"] = f"{place} ({layer.words})"
    says_nothing_of_sudo = not any("sudo_password" in layer.settings for layer in host.layers)
    is_own = values.get("become") != "su"  # su asks for the password of the other user
    if host.passwd_for_sudo and says_nothing_of_sudo and is_own and values.get("sudo") and values.get("passwd"):
        values["sudo_password"] = values["passwd"]
        origin["sudo_password"] = f"{origin['passwd']}: `passwd`, as with salt-ssh"
    return Target(id=host.id, groups=host.groups, origin=origin, **values)


def deep_merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """A new mapping of both; ``above`` wins; nested mappings are merged recursively, lists replaced."""
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        merged[key] = deep_merge(old, value) if both else copy.deepcopy(value)  # type: ignore[arg-type]
    return merged


def resolve_jumps(hosts: Mapping[str, Host], targets: Mapping[str, Target]) -> dict[str, Target]:
    """Targets whose ``jump`` is the complete chain, the nearest to the controller first.

    ``jump: b`` where b itself has ``jump: a`` becomes (a, b). A list is used as written; only the chain of its first id
    is prepended. A jump that is inherited from defaults or a group does not apply to the jump hosts themselves.
    """
    targets = {id: _drop_own_inherited(hosts[id], target) for id, target in targets.items()}
    ways: dict[str, tuple[str, ...]] = {}
    for id, target in targets.items():
        for jump in target.jump:
            _check_jump(hosts[id], jump, targets)
    for id in targets:
        _way(id, targets, hosts, ways)
    return {id: replace(target, jump=ways[id]) if target.jump else target for id, target in targets.items()}


def _jump_setting(host: Host) -> tuple[Setting | None, bool]:
    """The effective setting ``jump``, and whether the host itself has it."""
    for layer in reversed(host.layers):
        if "jump" in layer.settings:
            return layer.settings["jump"], layer is host.layers[-1]
    return None, False


def _drop_own_inherited(host: Host, target: Target) -> Target:
    _, own = _jump_setting(host)
    if target.jump and not own and (host.id in target.jump or target.transport != "ssh"):
        return replace(target, jump=())
    return target


def _check_jump(host: Host, jump: str, targets: Mapping[str, Target]) -> None:
    setting, _ = _jump_setting(host)
    where = setting.where if setting else host.where
    if jump not in targets:
        near = nearest(jump, targets, n=3)
        raise InventoryError(
            f"`jump` of host {host.id} names {jump!r}, which is no id of the inventory",
            hint=f"did you mean {' or '.join(near)}?" if near else f"add a host with the id {jump}",
            where=where,
        )
    if targets[jump].transport != "ssh":
        raise InventoryError(
            f"`jump` of host {host.id} names {jump}, whose transport is {targets[jump].transport}",
            hint="only hosts reached over ssh can be jumped over",
            where=where,
        )


def _way(id: str, targets: Mapping[str, Target], hosts: Mapping[str, Host], ways: dict[str, tuple[str, ...]]) -> None:
    """Compute ``ways`` for this id and its jump hosts, by a loop, since chains may be too long for recursion."""
    chain: list[str] = []
    at = id
    while at not in ways:
        if at in chain:
            setting, _ = _jump_setting(hosts[at])
            raise InventoryError(
                f"the jump hosts form a circle: {' -> '.join([*chain[chain.index(at) :], at])}",
                hint="one of them must be reachable without the others",
                where=setting.where if setting else hosts[at].where,
            )
        jumps = targets[at].jump
        if not jumps:
            ways[at] = ()
            break
        chain.append(at)
        at = jumps[0]
    for member in reversed(chain):
        jumps = targets[member].jump
        way = (*ways[jumps[0]], *jumps)
        if member in way:
            setting, _ = _jump_setting(hosts[member])
            raise InventoryError(
                f"the way to {member} leads over {member} itself: {' -> '.join(way)}",
                hint="remove it from its own `jump`",
                where=setting.where if setting else hosts[member].where,
            )
        ways[member] = way
