"""Ansible inventories, read without Ansible: INI, YAML, and the JSON of ``ansible-inventory --list`` or of a script.

Connection variables become settings, the others pillar. ``group_vars`` and ``host_vars`` beside the file are read too.
Precedence is Ansible's: ``all``, then groups by depth (parents below children) and name, ``group_vars`` of each over
its own variables, then the host with its ``host_vars``. In the operator's own files vaults are decrypted, and plain
references to other variables replaced (``ansiblevars``); variables with other Jinja are left out, with a warning.
Source: Ansible's documentation, "Building Ansible inventories" and "Connecting to hosts".
"""

from __future__ import annotations

import ast
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import yaml

from pushsalt.errors import InventoryError, Position
from pushsalt.inventory.ansibleshapes import SECTION, is_yaml
from pushsalt.inventory.ansiblevars import References, VarsFolders, opened, refers
from pushsalt.inventory.ansibleyaml import Unsafe, Vaulted, load, plain
from pushsalt.inventory.hostpatterns import expanded, with_port
from pushsalt.inventory.merge import Host
from pushsalt.inventory.schema import FIELDS, Layer, Source, check_id, parse_layer
from pushsalt.inventory.sshwords import option as sshoption
from pushsalt.inventory.sshwords import unchecked
from pushsalt.inventory.values import BECOME
from pushsalt.yamlio import YamlError

_METHOD: Final = "ansible_become_method"
_CONNECTION: Final = "ansible_connection"
#: Ansible's variable -> setting of an inventory
_SETTINGS: Final = {
    "ansible_host": "host",
    "ansible_ssh_host": "host",
    "ansible_port": "port",
    "ansible_ssh_port": "port",
    "ansible_user": "user",
    "ansible_ssh_user": "user",
    "ansible_password": "passwd",
    "ansible_ssh_pass": "passwd",
    "ansible_ssh_private_key_file": "priv",
    "ansible_private_key_file": "priv",
    "ansible_become": "sudo",
    "ansible_become_user": "sudo_user",
    "ansible_become_password": "sudo_password",
    "ansible_become_pass": "sudo_password",
    _METHOD: "become_method",
    "ansible_python_interpreter": "python",
}
_CONNECTIONS: Final = {"ssh": "ssh", "paramiko": "ssh", "paramiko_ssh": "ssh", "smart": "ssh", "local": "local"}
#: variables whose values need more than a renaming
_SSH_ARGS: Final = ("ansible_ssh_args", "ansible_ssh_common_args", "ansible_ssh_extra_args")
_CHECKING: Final = ("ansible_host_key_checking", "ansible_ssh_host_key_checking")
_ALSO: Final = {_CONNECTION: "transport", **dict.fromkeys(_SSH_ARGS, "jump")}
_LONGEST_LITERAL: Final = 65_536


@dataclass(frozen=True)
class _Written:
    """The variables of a group or a host, unresolved. ``refers``: whether they may refer to other variables."""

    variables: Mapping[Any, Any]
    key: tuple[Any, ...]
    words: str
    places: Mapping[Any, Position]
    refers: bool


@dataclass
class Group:
    """One group as it is in the file. ``hosts``: id -> variables.

    ``places``: id (None for the group itself) -> the places of its variables; empty unless requested.
    """

    name: str
    hosts: dict[str, dict[str, Any]] = field(default_factory=dict)
    children: list[str] = field(default_factory=list)
    variables: dict[str, Any] = field(default_factory=dict)
    places: dict[str | None, dict[Any, Position]] = field(default_factory=dict)

    def stand(self, id: str | None, places: Mapping[Any, Position]) -> None:
        """Record the places of variables: those of a host, or with ``id`` None those of the group."""
        if places:
            self.places.setdefault(id, {}).update(places)


# --- the three formats -----------------------------------------------------------------------------------------------


def parse_ini(source: Source, base: Layer, warnings: list[str]) -> list[Host]:
    """The hosts of an INI inventory; ``source`` has only its text. Raises InventoryError."""
    path, text = source.path, source.text
    groups: dict[str, Group] = {}
    lines: dict[tuple[Any, ...], int] = {}
    section, kind = "ungrouped", ""
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        where = Position(str(path), number)
        if not line or line.startswith(("#", ";")):
            continue
        match = SECTION.match(line)
        if match is not None:
            section, kind = match["name"].strip(), match["kind"] or ""
            if kind not in ("", "vars", "children"):
                raise InventoryError(f"there is no section [{section}:{kind}]", "vars or children", where)
            groups.setdefault(section, Group(section))
            lines.setdefault(("groups", section), number)
            continue
        group = groups.setdefault(section, Group(section))
        try:
            words = shlex.split(line, comments=True)
        except ValueError as exc:
            raise InventoryError(f"a quote is not closed: {exc}", "write name key='value' ...", where) from None
        if not words:
            continue
        if kind == "children":
            group.children.append(words[0])
        elif kind == "vars":
            name, equals, value = line.partition("=")
            if not equals:
                raise InventoryError(f"{_shown(line, source)} is no variable", "write name=value", where)
            group.variables[name.strip()] = _literal(value.strip())
            group.stand(None, {name.strip(): where})
        else:
            variables = dict(_pair(word, where, source) for word in words[1:])
            for id in expanded(words[0], where):
                name, port = with_port(id)
                group.hosts.setdefault(name, {}).update({**port, **variables})
                lines[("hosts", name)] = number
                if source.detailed:
                    group.stand(name, dict.fromkeys([*port, *variables], where))
    return _hosts(replace(source, lines=lines), groups, base, warnings)


def parse_yaml(source: Source, base: Layer, warnings: list[str]) -> list[Host]:
    groups: dict[str, Group] = {}
    for name, body in source.data.items():
        _add_yaml(str(name), body, groups, source, (name,))
    return _hosts(source, groups, base, warnings)


def _add_yaml(name: str, body: Any, groups: dict[str, Group], source: Source, at: tuple[Any, ...]) -> None:
    """Add a group of a YAML file; ``at`` is the path of keys to it."""
    group = groups.setdefault(name, Group(name))
    if body is None:
        return
    if not isinstance(body, dict):
        raise InventoryError(f"group {name} must be a mapping", "of hosts, children and vars", source.where((name,)))
    for id, variables in _mapping(body.get("hosts"), f"hosts of group {name}", source, name).items():
        variables = _mapping(variables, f"variables of host {id}", source, id)
        for each in expanded(str(id), source.where((id,))):
            group.hosts.setdefault(each, {}).update(variables)
            group.stand(each, source.places((*at, "hosts", id), variables or ()))
    group.variables.update(_mapping(body.get("vars"), f"vars of group {name}", source, name))
    group.stand(None, source.places((*at, "vars"), body.get("vars") or ()))
    for child, inner in _mapping(body.get("children"), f"children of group {name}", source, name).items():
        group.children.append(str(child))
        _add_yaml(str(child), inner, groups, source, (*at, "children", child))


def parse_listing(source: Source, base: Layer, warnings: list[str]) -> list[Host]:
    """The hosts of ``{group: {hosts: [..], children: [..], vars: {..}}, _meta: {hostvars: {id: {..}}}}``.

    A group may also be the list of its hosts. Raises InventoryError.
    """
    groups: dict[str, Group] = {}
    meta = _mapping(source.data.get("_meta"), "_meta", source, "_meta")
    hostvars = _mapping(meta.get("hostvars"), "_meta: hostvars", source, "_meta")
    for name, body in source.data.items():
        if name == "_meta":
            continue
        body = {"hosts": body} if isinstance(body, list) else body
        if not isinstance(body, dict):
            raise InventoryError(f"group {name} is no mapping", "see `ansible-inventory --list`", source.where((name,)))
        hosts = _names(body.get("hosts"), f"hosts of group {name}", source, name)
        group = groups[str(name)] = Group(str(name), {id: {} for id in hosts})
        group.children = _names(body.get("children"), f"children of group {name}", source, name)
        group.variables = dict(_mapping(body.get("vars"), f"vars of group {name}", source, name))
        group.stand(None, source.places((name, "vars"), group.variables))
    rest = Group("ungrouped")
    for id, variables in hostvars.items():
        variables = _mapping(variables, f"variables of host {id}", source, str(id))
        at = next((group for group in groups.values() if str(id) in group.hosts), rest)
        at.hosts.setdefault(str(id), {}).update(variables)
        at.stand(str(id), source.places(("_meta", "hostvars", id), variables or ()))
    if rest.hosts:
        groups.setdefault("ungrouped", rest).hosts.update(rest.hosts)
    return _hosts(source, groups, base, warnings)


# --- from groups to hosts --------------------------------------------------------------------------------------------


def _hosts(source: Source, groups: dict[str, Group], base: Layer, warnings: list[str]) -> list[Host]:
    all_group = groups.pop("all", Group("all"))
    _check_children(groups, all_group, source)
    depths = _depths(groups)
    members = {name: _members(name, groups) for name in groups}
    ids = list(dict.fromkeys([*all_group.hosts, *(id for group in groups.values() for id in group.hosts)]))
    folders = VarsFolders(source, warnings)
    left_out: set[str] = set()
    unresolved: dict[str, str] = {}  # variable and its group or host -> why a reference in it cannot be replaced

    def own(variables: dict[Any, Any]) -> dict[Any, Any]:
        return opened(variables, source.vault, source.path) if source.own else variables

    def layer(written: _Written, references: References | None = None) -> Layer:
        variables, reasons = (written.variables, {}) if references is None else references.filled(written.variables)
        unresolved.update({f"{name} of {written.words}": reason for name, reason in reasons.items() if reason})
        variables = {name: value for name, value in variables.items() if not reasons.get(name)}
        settings = _settings(variables, ids, left_out)
        return _placed(parse_layer(settings, source, written.key, written.words, warnings), written.places)

    def of_group(group: Group, key: tuple[Any, ...]) -> _Written:
        more, places = folders.of("group_vars", group.name)
        merged = {**group.places.get(None, {}), **places}
        variables = {**own(group.variables), **more}
        return _Written(variables, key, f"group {group.name}", merged, source.own and refers(variables))

    order = sorted(groups, key=lambda name: (depths[name], _priority(groups[name]), name))
    written: dict[str | None, _Written] = {None: of_group(all_group, ("all",))}
    written.update({name: of_group(groups[name], ("groups", name)) for name in order})
    shared = {name: layer(each) for name, each in written.items() if not each.refers}
    hosts = []
    for raw in ids:
        id = check_id(raw, source.where(("hosts", raw)))
        variables: dict[Any, Any] = {}
        places: dict[Any, Position] = {}
        for group in (all_group, *groups.values()):
            variables.update(group.hosts.get(raw, {}))
            places.update(group.places.get(raw, {}))
        more, more_places = folders.of("host_vars", raw)
        variables = {**own(variables), **more}
        last = _Written(
            variables, ("hosts", raw), f"host {id}", {**places, **more_places}, source.own and refers(variables)
        )
        of = [name for name in order if raw in members[name]]
        named = tuple(name for name in of if name != "ungrouped")
        parts = {name: written[name] for name in (None, *of)}
        references = None
        if last.refers or any(each.refers for each in parts.values()):
            references = References(_scope(raw, named, [*parts.values(), last], source), source.vault.closed_names())
        layers = [layer(each, references) if each.refers else shared[name] for name, each in parts.items()]
        layers.append(layer(last, references if last.refers else None))
        hosts.append(Host(id, source.where(("hosts", raw)), (base, *layers), named))
    warnings += _warnings(source, left_out, unresolved)
    return hosts


def _warnings(source: Source, left_out: set[str], unresolved: Mapping[str, str]) -> Iterator[str]:
    """The warnings about variables that cannot be used. ``unresolved``: variable -> why it cannot be computed."""
    if _METHOD in left_out:
        left_out.discard(_METHOD)
        yield f"{source.path}: `{_METHOD}` is ignored where it is not one of {', '.join(BECOME)}"
    if _CONNECTION in left_out:
        left_out.discard(_CONNECTION)
        ways = ", ".join(dict.fromkeys(_CONNECTIONS))
        yield f"{source.path}: hosts whose `{_CONNECTION}` is not one of {ways} are reached by SSH"
    if left_out:
        names = ", ".join(sorted(left_out)[:5]) + (f" and {len(left_out) - 5} more" if len(left_out) > 5 else "")
        what = "Jinja other than {{ name }}" if source.own else "Jinja or in a vault"
        yield f"{source.path}: variables with {what} are not supported and left out: {names}"
    if unresolved:
        items = [f"{name} ({reason})" for name, reason in sorted(unresolved.items())]
        items[5:] = [f"and {len(items) - 5} more"] if len(items) > 5 else []
        what = "variables whose references cannot be replaced are left out"
        yield f"{source.path}: {what}: {', '.join(items)}"


def _scope(raw: str, groups: tuple[str, ...], parts: list[_Written], source: Source) -> dict[Any, Any]:
    """All variables of a host, unresolved, and those that Ansible itself defines (``inventory_hostname`` …)."""
    folder = source.path.absolute().parent
    scope: dict[Any, Any] = {
        "inventory_hostname": raw,
        "inventory_hostname_short": raw.partition(".")[0],
        "group_names": sorted(groups),
        "inventory_file": str(source.path.absolute()),
        "inventory_dir": str(folder),
    }
    for part in parts:
        scope.update(part.variables)
    return scope


def _placed(layer: Layer, places: Mapping[Any, Position]) -> Layer:
    """The layer with the places of its variables."""
    if not places:
        return layer
    settings = dict(layer.settings)
    for variable, where in places.items():
        name, _ = FIELDS.get(_SETTINGS.get(variable) or _ALSO.get(variable, ""), ("", None))
        if name in settings:
            settings[name] = replace(settings[name], where=where)
    pillar = settings.get("pillar")
    if pillar is not None and pillar.value:
        used = {str(variable): where for variable, where in places.items() if str(variable) in pillar.value}
        where = next(iter(used.values())) if len(set(used.values())) == 1 == len(used) else pillar.where
        settings["pillar"] = replace(pillar, where=where, places={**pillar.places, **used})
    return replace(layer, settings=settings)


def _check_children(groups: dict[str, Group], all_group: Group, source: Source) -> None:
    for group in (all_group, *list(groups.values())):
        for child in group.children:
            if child not in groups:
                groups[child] = Group(child)  # Ansible takes an undeclared child for an empty group in YAML and JSON
            if group.name != "all" and group.name in _members_of_children(child, groups):
                raise InventoryError(
                    f"group {group.name} is its own child, directly or through other groups",
                    "remove it from `children` of one of them",
                    source.where(("groups", group.name)),
                )


def _members_of_children(name: str, groups: Mapping[str, Group]) -> set[str]:
    """The names of all groups below one, and its own."""
    members = {name}
    waiting = [name]
    while waiting:
        group = groups.get(waiting.pop())
        for child in group.children if group is not None else ():
            if child not in members:
                members.add(child)
                waiting.append(child)
    return members


def _members(name: str, groups: Mapping[str, Group]) -> set[str]:
    return {id for each in _members_of_children(name, groups) if each in groups for id in groups[each].hosts}


def _depths(groups: Mapping[str, Group]) -> dict[str, int]:
    """Group -> its depth below ``all``, by the longest path."""
    depths = dict.fromkeys(groups, 1)
    for _ in groups:
        before = dict(depths)
        for group in groups.values():
            for child in group.children:
                depths[child] = max(depths.get(child, 1), depths[group.name] + 1)
        if depths == before:
            break
    return depths


def _priority(group: Group) -> int:
    try:
        return int(group.variables.get("ansible_group_priority", 1))
    except (TypeError, ValueError):
        return 1


def _settings(variables: Mapping[str, Any], ids: list[str], left_out: set[str]) -> dict[str, Any]:
    """The settings for Ansible's variables; variables that are not about the connection become pillar.

    The names of variables that cannot be used are added to ``left_out``.
    """
    settings: dict[str, Any] = {}
    pillar: dict[str, Any] = {}
    ssh_options: list[str] = []
    for name, value in variables.items():
        if _is_ansibles(value) or (name == _METHOD and value not in BECOME):
            left_out.add(str(name))
            continue
        value = plain(value)
        if name in _SETTINGS:
            settings[_SETTINGS[name]] = value
        elif name == _CONNECTION:
            way = _CONNECTIONS.get(str(value).rpartition(".")[2])
            settings["transport"] = way or "ssh"
            if way is None:
                left_out.add(_CONNECTION)
        elif name in _SSH_ARGS:
            for option, word in _ssh_args(str(value)):
                if option == "proxyjump":
                    hops = [hop.rpartition("@")[2].partition(":")[0] for hop in word.split(",")]
                    if all(hop in ids for hop in hops):
                        settings["jump"] = hops
                    else:
                        ssh_options.append(f"ProxyJump={word}")
                elif unchecked(f"{option}={word}"):
                    ssh_options.append(f"{_UNCHECKED.get(option, option)}={word}")
        elif name in _CHECKING:
            if str(value).lower() in ("false", "no", "off", "0"):
                ssh_options.append("StrictHostKeyChecking=no")
        elif not str(name).startswith("ansible_"):
            pillar[str(name)] = value
    interpreter = str(settings.get("python", ""))
    if interpreter.startswith("auto"):  # a discovery mode, not a path
        del settings["python"]
    if ssh_options:
        settings["ssh_options"] = ssh_options
    if pillar:
        settings["pillar"] = pillar
    return settings


_UNCHECKED: Final = {
    name.lower(): name for name in ("StrictHostKeyChecking", "UserKnownHostsFile", "GlobalKnownHostsFile")
}


def _ssh_args(text: str) -> Iterator[tuple[str, str]]:
    """(name in lower case, value) of each ``-o`` and ``-J`` option in a line of ssh's arguments."""
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    words = [word.lstrip() for word in words]
    while words:
        word = words.pop(0)
        if word in ("-o", "-J") and words:
            word += words.pop(0).lstrip()
        if word.startswith("-o"):
            yield sshoption(word[2:])
        elif word.startswith("-J"):
            yield "proxyjump", word[2:]


def _is_ansibles(value: Any) -> bool:
    """Whether a value contains Jinja or an encrypted text."""
    if isinstance(value, str):
        return not isinstance(value, Unsafe) and ("{{" in value or "{%" in value or value.startswith("$ANSIBLE_VAULT;"))
    if isinstance(value, Mapping):
        return "__ansible_vault" in value or any(_is_ansibles(item) for item in value.values())
    return isinstance(value, Vaulted) or (isinstance(value, list) and any(map(_is_ansibles, value)))


def load_tagged(text: str) -> dict[Any, Any] | None:
    """The data of an inventory with tags that only Ansible's YAML has; None for other texts."""
    try:
        data = load(text)
    except (yaml.YAMLError, YamlError, ValueError):
        return None
    return data if is_yaml(data) else None


# --- checks of values ------------------------------------------------------------------------------------------------


def _mapping(value: Any, what: str, source: Source, key: str) -> dict[Any, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InventoryError(f"{what} must be a mapping", "a name and a colon a line", source.where((key,)))
    return value


def _names(value: Any, what: str, source: Source, key: str) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, str | int) for item in value):
        raise InventoryError(f"{what} must be a list of names", "see `ansible-inventory --list`", source.where((key,)))
    return [str(item) for item in value]


def _shown(text: str, source: Source) -> str:
    return "this line" if source.encrypted else repr(text)


def _pair(word: str, where: Position, source: Source) -> tuple[str, Any]:
    name, equals, value = word.partition("=")
    if not equals:
        raise InventoryError(f"{_shown(word, source)} is no variable", "write  name key=value key=value", where)
    return name, _literal(value)


def _literal(text: str) -> Any:
    """The value of an INI file's variable: a Python literal, else the text."""
    if len(text) > _LONGEST_LITERAL:
        return text
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
