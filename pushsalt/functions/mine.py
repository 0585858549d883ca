"""Salt's ``mine``: values that targets have provided before, from the cache, without connecting to other targets.

The functions in ``mine_functions`` (configuration, roster, pillar) are called when grains are collected (``pushsalt
grains``, ``--refresh``), after a run of states, and by ``mine.update``. Salt: ``salt/modules/mine.py``, and the
master's ``_mine_get``.
"""

from __future__ import annotations

import ipaddress
import logging
import re
import time
from typing import TYPE_CHECKING, Any, Final

from pushsalt.ages import age_text
from pushsalt.errors import PushsaltError, UsageError
from pushsalt.minion import mine
from pushsalt.minion.salt import exists
from pushsalt.modules.controller import for_command, for_targets

if TYPE_CHECKING:
    from pushsalt.minion.minion import Minion

__reads__ = ("get", "valid", "get_docker")
__changes__ = ("update", "send", "delete", "flush")

log = logging.getLogger(__name__)

_ALL: Final = "0.0.0.0"  # noqa: S104


@for_command
def get(minion: Minion, tgt: Any, fun: Any, tgt_type: str = "glob", exclude_minion: bool = False) -> dict[str, Any]:
    """``{id: value}`` of a mine function for the matching targets; of several functions, ``{function: {id: value}}``.

    Targets without such a value are left out, as are those that do not allow this target (``allow_tgt``). Pillar is
    matched exactly. The key of a resource is its id, or ``type:id`` if two of the returned resources have the same id.
    """
    if not isinstance(fun, str | list):
        return {}
    names = [name.strip() for name in fun.split(",")] if isinstance(fun, str) else [str(name) for name in fun]
    by_function = isinstance(fun, list) or len(set(names)) > 1
    names = [name for name in names if _may_ask(minion, name)]
    values: dict[str, dict[str, Any]] = {}
    oldest: dict[str, float] = {}
    for key in _find(minion, tgt, tgt_type) if names else ():
        kept, seen = minion.project.command.mine.with_times(key)
        if exclude_minion and key == minion.target.key:
            continue
        for name in names:
            if name not in kept:
                continue
            value, allowed = mine.unwrap(kept[name])
            if allowed is None or minion.target.key in _find(minion, *allowed, pillar_exact=False):
                values.setdefault(key, {})[name] = value
                oldest[key] = min(seen[name], oldest.get(key, seen[name]))
    called = dict(zip(values, map(str, minion.project.command.names(list(values))), strict=True))
    _say_ages(minion, {called[key]: seen for key, seen in oldest.items()})
    if by_function:
        return {
            name: {called[key]: of[name] for key, of in values.items() if name in of}
            for name in names
            if any(name in of for of in values.values())
        }
    return {called[key]: value for key, of in values.items() for value in of.values()}


def update(minion: Minion, clear: bool = False, mine_functions: Any = None) -> bool | None:
    """Call the functions of ``mine_functions`` and store the values; None if there are none. Salt: mine.update."""
    functions = mine.definitions(mine_functions) if mine_functions else _configured(minion)
    if not functions:
        return None
    data = {}
    for each in functions:
        try:
            value = minion.call(each.function, each.args, each.kwargs)
        except PushsaltError as exc:
            log.error("%s: the mine function %s is not kept: %s", minion.id, each.function, exc.message)
            continue
        data[each.alias] = each.wrapped(value)
    return mine.store(minion.project, minion.target, data, clear=bool(clear))


def send(minion: Minion, name: str, *args: Any, **kwargs: Any) -> bool:
    """Call one function and store its value under this name. Returns whether that succeeded. Salt: mine.send."""
    options = {key: value for key, value in kwargs.items() if not key.startswith("__pub_")}
    [each] = mine.definitions({name: [*args, options]})
    try:
        value = minion.call(each.function, each.args, each.kwargs)
    except PushsaltError as exc:
        log.error("%s: the mine function %s is not kept: %s", minion.id, each.function, exc.message)
        return False
    return mine.store(minion.project, minion.target, {each.alias: each.wrapped(value)})


@for_targets
@for_command
def delete(minion: Minion, fun: str) -> bool:
    """Remove the value of one function of this target. Salt: mine.delete."""
    return mine.forget(minion.project, minion.target, str(fun))


@for_targets
@for_command
def flush(minion: Minion) -> bool:
    """Remove all values of this target. Salt: mine.flush."""
    minion.project.command.mine.delete(minion.target.key)
    return True


def valid(minion: Minion) -> dict[str, Any] | None:
    """The valid entries of ``mine_functions``: ``{name: arguments}``, or ``{alias: {function: arguments}}``.

    None if there are none. Salt: mine.valid.
    """
    functions = _configured(minion)
    if not functions:
        return None
    entries: dict[str, Any] = {}
    for each in functions:
        if not _available(minion, each.function):
            log.error("%s: mine_functions: there is no function %s", minion.id, each.function)
        elif each.function != each.alias:
            entries[each.alias] = {each.function: [*each.args, *({key: value} for key, value in each.kwargs.items())]}
        else:
            entries[each.alias] = each.given
    return entries


@for_command
def get_docker(minion: Minion, interfaces: Any = None, cidrs: Any = None, with_container_id: bool = False) -> Any:
    """``{image: {"ipv4": {port inside: ["address:port outside", ...]}}}`` from the values of ``docker.ps`` in the mine.

    A port that is open on all addresses is listed with the host's addresses of these ``interfaces`` and in these
    networks (``cidrs``). ``with_container_id`` gives pairs with the container's id. Salt: mine.get_docker.
    """
    wanted = interfaces if isinstance(interfaces, list) else [interfaces] if interfaces else None
    networks = cidrs if isinstance(cidrs, list) else [cidrs] if cidrs else None
    containers: dict[str, Any] = {}
    for containers_of in get(minion, "*", "docker.ps").values():
        if not isinstance(containers_of, dict) or not isinstance(containers_of.get("host"), dict):
            continue
        addresses = _addresses(containers_of["host"].get("interfaces") or {}, wanted, networks)
        for name, container in containers_of.items():
            if name == "host":
                continue
            ports = containers.setdefault(container["Image"], {})
            for port in container["Ports"]:
                ip = port.get("IP")
                for address in addresses if ip == _ALL else [ip] if ip else ():
                    place = f"{address}:{port['PublicPort']}"
                    value = (place, container["Info"]["Id"]) if with_container_id else place
                    listed = ports.setdefault("ipv4", {}).setdefault(port["PrivatePort"], [])
                    if value not in listed:
                        listed.append(value)
    return containers


def _addresses(interfaces: dict[str, Any], wanted: list[Any] | None, networks: list[Any] | None) -> list[str]:
    """The IPv4 addresses of a host that belong to these interfaces and networks."""
    addresses = [
        entry["address"]
        for name, interface in interfaces.items()
        if wanted is None or name in wanted
        for entry in interface.get("inet") or ()
    ]
    if networks is not None:
        inside = [ipaddress.ip_network(network, strict=False) for network in networks]
        addresses = [text for text in addresses if any(ipaddress.ip_address(text) in network for network in inside)]
    return list(dict.fromkeys(addresses))


def _configured(minion: Minion) -> list[mine.MineFunction]:
    pillar = {"mine_functions": minion.pillar_value("mine_functions")}
    return mine.configured(minion.project, minion.target, pillar)


def _available(minion: Minion, name: str) -> bool:
    own = minion.controller.named(name) is not None or minion.on_controller(name)
    return own or exists(name) or minion.has_custom(name) or minion.has_salt(name)


def _find(minion: Minion, tgt: Any, tgt_type: str, *, pillar_exact: bool = True) -> list[str]:
    try:
        return minion.project.command.find(tgt, str(tgt_type).lower(), pillar_exact=pillar_exact)
    except UsageError as exc:
        log.error("%s: mine.get: %s", minion.id, exc.message)
        return []


def _may_ask(minion: Minion, name: str) -> bool:
    """Whether the option ``mine_get``, ``{regular expression of ids: [those of functions]}``, allows this target to
    read the function.
    """
    rules = minion.project.config.opts.get("mine_get")
    if rules is None:
        return True
    if not isinstance(rules, dict):
        return False
    allowed = [rule for id, functions in rules.items() if re.match(id, minion.id) for rule in functions or ()]
    return any(re.match(rule, name) for rule in allowed)


def _say_ages(minion: Minion, oldest: dict[str, float]) -> None:
    """Warn of values that are older than the option ``cache_life``, by name."""
    now = time.time()
    for name, seen in oldest.items():
        if now - seen > minion.project.command.cache_life:
            minion.warn(f"the mine of {name} is {age_text(now - seen)} old: pushsalt grains {name} collects it")
