"""Inventory files become Targets.

There are two native shapes, distinguished by their keys: the native one (``defaults``, ``hosts``, ``groups``) and the
salt-ssh flat roster. Other formats are recognized by their content: Ansible's INI, YAML and ``--list`` JSON, Terraform
states, ssh_config. A folder has an inventory in each file, or, as in Salt's ``dir`` roster, the settings of one host in
the file of its name. A file that is executable and begins with ``#!/`` is run with ``--list``, and its output is read
as data. A roster that contains Jinja is rendered first (``kinds``); other files are read as YAML with the line of every
key, and braces are part of values.

Of several files each is independent (its defaults and groups apply to its own hosts only); ``jump`` may name ids of all
files. If a later file has the same id, its host replaces the earlier one completely, with a warning: two machines of
the same name never share settings.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from pushsalt import regular
from pushsalt.errors import InventoryError, Position, RenderError
from pushsalt.inventory import THIS_MACHINE, Inventory, folder_files, is_program, kinds
from pushsalt.inventory.ansibleshapes import has_tags, is_ini, is_listing, is_yaml
from pushsalt.inventory.merge import Host, build_targets
from pushsalt.inventory.native import is_native, parse_native
from pushsalt.inventory.roster import parse_roster
from pushsalt.inventory.schema import (
    FIELDS,
    WITHOUT_EFFECT,
    Layer,
    Source,
    check_id,
    parse_layer,
    with_deferred,
)
from pushsalt.inventory.sshhosts import is_ssh_config, parse_ssh_config
from pushsalt.inventory.terraform import is_state, parse_state
from pushsalt.inventory.values import TRANSPORTS
from pushsalt.inventory.vault import HEADER, Vault
from pushsalt.model import Target
from pushsalt.trust import Foreign, Trusted
from pushsalt.yamlio import YamlError, load_yaml_with_lines

MAX_BYTES: Final = 64 * 1024 * 1024

#: text and path of a roster -> its data, rendered as Salt does (Jinja, then YAML)
Render = Callable[[Trusted, str], Any]

#: path of a program -> its output for ``--list``. Raises InventoryError.
Execute = Callable[[Path], str]

#: The keys of one host's settings.
SETTINGS: Final = frozenset((*FIELDS, *WITHOUT_EFFECT))


def _not_executed(path: Path) -> str:
    raise InventoryError(f"{path} is a program, which is not run here", hint="name a file with the inventory itself")


def load_inventory(
    paths: Sequence[Path],
    *,
    render: Render,
    defaults: Mapping[str, Any] | None = None,
    execute: Execute = _not_executed,
    detailed: bool = False,
    vault: Vault | None = None,
    transports: Callable[[], Collection[str]] = lambda: TRANSPORTS,
    from_plugins: Sequence[tuple[Path, Mapping[str, Any]]] = (),
    may_use: Callable[[Path, list[str]], bool] = lambda path, warnings: True,
    named_by: str = "-i",
) -> Inventory:
    """The targets of these files; without files the only target is the local ``localhost``.

    ``defaults``: settings by inventory keys that all files override (``Config.target_defaults``).
    ``detailed``: the targets get the place of each key of their grains, pillar and minion_opts.
    ``vault`` decrypts texts of ansible-vault. ``transports`` returns the allowed values of `transport` in the
    operator's own files; it is called for names that are not shipped. ``from_plugins``: (file, hosts) of roster
    plug-ins. ``may_use``: whether a file or folder next to an inventory, or in one, may be used; adds refused ones to
    the warnings. ``named_by``: the option that names the files, for the hint if one is missing.
    Raises InventoryError, with file and line, for malformed input.
    """
    warnings: list[str] = []
    below = Source(Path("configuration"), {}, own=True, transports=transports)
    base = parse_layer(dict(defaults or {}), below, (), "configuration", warnings)
    if not paths and not from_plugins:
        own = with_deferred("minion_opts", dict((defaults or {}).get("minion_opts") or {}))
        return Inventory({THIS_MACHINE: Target(id=THIS_MACHINE, transport="local", minion_opts=own)})
    hosts: dict[str, Host] = {}
    vault = vault or Vault()
    reader = _Reader(render, execute, base, warnings, detailed, vault, transports, may_use)
    for path in paths:
        if not os.path.lexists(path):
            raise InventoryError(f"there is no inventory {path}", hint=_hint_of_missing(path, named_by))
    files = [(path, reader.read(path)) for path in paths] + [
        (path, reader.from_plugin(path, data)) for path, data in from_plugins
    ]
    for _, of_one in files:
        for host in of_one:
            if host.id in hosts:
                old = hosts.pop(host.id)
                warnings.append(f"{host.where}: host {host.id} replaces the one of {old.where}")
            hosts[host.id] = host
    if not hosts:
        warnings.append(f"{', '.join(str(path) for path, _ in files)}: no host is in the inventory")
    warnings += vault.warnings()
    return Inventory(build_targets(hosts.values()), tuple(paths), tuple(warnings), secrets=vault.secrets)


class _Reader:
    """Reads the files of one inventory, of any format."""

    def __init__(
        self,
        render: Render,
        execute: Execute,
        base: Layer,
        warnings: list[str],
        detailed: bool,
        vault: Vault,
        transports: Callable[[], Collection[str]],
        may_use: Callable[[Path, list[str]], bool],
    ) -> None:
        self._may_use = may_use
        self._transports = transports
        self._detailed = detailed
        self._vault = vault
        self._render = render
        self._execute = execute
        self._base = base
        self._warnings = warnings
        #: files that are encrypted as a whole
        self._encrypted: set[Path] = set()

    def read(self, path: Path) -> list[Host]:
        if path.is_dir():
            return self._folder(path)
        if is_program(path):
            printed = Foreign(self._execute(path), str(path))
            return [host for host in self._of_text(path, printed) if not self._is_local(path, host)]
        return self._of_text(path, self._named(path))

    def from_plugin(self, path: Path, data: Mapping[str, Any]) -> list[Host]:
        """Read the hosts from a plug-in: data about machines, like the output of a program."""
        source = Source(path, data, detailed=self._detailed, foreign=True, vault=self._vault)
        return [host for host in parse_roster(source, self._base, self._warnings) if not self._is_local(path, host)]

    def _named(self, path: Path) -> str:
        """The text of a file that the operator named, decrypted; ``Trusted`` if it is a roster to render."""
        text = _text(path)
        if text.startswith(HEADER):
            opened = self._vault.open(text)
            if opened is None:
                where = Position(str(path), 1)
                raise InventoryError("the inventory is encrypted by ansible-vault", self._vault.why(), where)
            self._encrypted.add(path)
            text = opened
        return kinds.template(path, text) or text

    def _is_local(self, path: Path, host: Host) -> bool:
        """Whether a host has ``transport: local``, which a program's output must not set; adds a warning then."""
        layers = [layer for layer in host.layers if layer is not self._base and "transport" in layer.settings]
        is_local = bool(layers) and layers[-1].settings["transport"].value == "local"
        if is_local:
            self._warnings.append(
                f"{path}: host {host.id} is left out: only an inventory file can set `transport: local`"
            )
        return is_local

    def _folder(self, folder: Path) -> list[Host]:
        """The hosts of all files of a folder, in the order of their names."""
        hosts: dict[str, Host] = {}
        for path in folder_files(folder):
            if not self._may_use(path, self._warnings):
                continue
            for host in self._of_host(path) or self.read(path):
                hosts.pop(host.id, None)
                hosts[host.id] = host
        return list(hosts.values())

    def _of_host(self, path: Path) -> list[Host]:
        """The host of a file that is named after it; None for other files. Salt: roster dir."""
        if is_program(path):
            return []
        text = self._named(path)
        if not isinstance(text, Trusted) and (is_ini(text, path.name) or is_ssh_config(text)):
            return []
        source = self._parsed(path, text)
        if not isinstance(source.data, dict) or not source.data or not all(key in SETTINGS for key in source.data):
            return []
        id = check_id(path.name, source.where(()))
        layer = parse_layer(source.data, source, (), f"host {id}", self._warnings)
        return [Host(id, source.where(()), (self._base, layer), passwd_for_sudo=True)]

    def _parsed(self, path: Path, text: str) -> Source:
        if isinstance(text, Trusted):
            source = _rendered(path, text, self._render)
        else:
            source = _tagged(path, text) if has_tags(text) else _parse(path, text)
        foreign = isinstance(text, Foreign)
        own = not foreign and not _is_printed(source.data)
        more: dict[str, Any] = {"transports": self._transports} if own else {}
        more |= {"encrypted": path in self._encrypted, "may_use": self._may_use}
        return replace(source, detailed=self._detailed, foreign=foreign, own=own, vault=self._vault, **more)

    def _of_text(self, path: Path, text: str) -> list[Host]:
        """The hosts of a text: ``Trusted`` is a roster to render, ``Foreign`` a program's."""
        foreign = isinstance(text, Foreign)
        if not isinstance(text, Trusted):
            lines = Source(path, {}, {}, text, foreign=foreign, vault=self._vault, encrypted=path in self._encrypted)
            if is_ini(text, "" if foreign else path.name):
                from pushsalt.inventory import ansible

                source = replace(lines, detailed=self._detailed, own=not foreign, may_use=self._may_use)
                return ansible.parse_ini(source, self._base, self._warnings)
            if is_ssh_config(text):
                return parse_ssh_config(lines, self._base, self._warnings)
        source = self._parsed(path, text)
        if source.data is None:
            return []
        if not isinstance(source.data, dict):
            raise InventoryError(
                f"an inventory is a mapping, not a {type(source.data).__name__}",
                hint="write `hosts:` and the ids below it, or a salt-ssh roster with the ids as keys",
                where=source.where(()),
            )
        return _parser(source.data)(source, self._base, self._warnings)


def _tagged(path: Path, text: str) -> Source:
    """A text with tags of Ansible's YAML."""
    from pushsalt.inventory.ansible import load_tagged

    data = load_tagged(text)
    return _parse(path, text) if data is None else Source(path, data, {}, text)


def _is_printed(data: Any) -> bool:
    """Whether data of this shape comes from a program or a cloud, even if it is in a file."""
    return isinstance(data, dict) and (is_state(data) or is_listing(data))


def _parser(data: Any) -> Callable[[Source, Layer, list[str]], list[Host]]:
    """The parser for data of this shape; Ansible's are imported on demand."""
    if is_state(data):
        return parse_state
    if is_listing(data):
        from pushsalt.inventory.ansible import parse_listing

        return parse_listing
    if is_native(data):
        return parse_native
    if is_yaml(data):
        from pushsalt.inventory.ansible import parse_yaml

        return parse_yaml
    return parse_roster


def _hint_of_missing(path: Path, named_by: str) -> str:
    if not named_by.startswith("`"):
        return f"check the path given with {named_by}"
    return f"correct {named_by}; a relative path begins at the folder of that file"


def _text(path: Path) -> str:
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise InventoryError(f"{path} is no regular file", hint="name an inventory file")
        if status.st_size > MAX_BYTES:
            raise InventoryError(f"{path} is larger than {MAX_BYTES // 2**20} MiB", hint="split it into several files")
        return regular.read_bytes(path).decode("utf-8-sig")
    except FileNotFoundError:
        raise InventoryError(f"there is no inventory {path}", hint="check that path, which may be a link") from None
    except UnicodeDecodeError as exc:
        line = exc.object.count(b"\n", 0, exc.start) + 1
        where = Position(str(path), line)
        raise InventoryError("the text is not UTF-8", hint="save it as UTF-8", where=where) from None
    except (OSError, ValueError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else str(exc)
        raise InventoryError(f"{path} cannot be read: {reason}", hint="check the path and its permissions") from None


def _parse(path: Path, text: str) -> Source:
    if len(text) > MAX_BYTES:
        raise InventoryError(f"{path} prints more than {MAX_BYTES // 2**20} MiB", hint="have it print less")
    try:
        data, lines = load_yaml_with_lines(text, str(path))
    except YamlError as exc:
        raise _not_yaml(path, exc, text) from None
    return Source(path, data, lines, text)


def _rendered(path: Path, text: Trusted, render: Render) -> Source:
    try:
        return Source(path, render(text, str(path)), {}, text)
    except YamlError as exc:
        raise _not_yaml(path, exc) from None
    except RenderError as exc:
        # only the first line, which has the error: the source lines after it may contain a password
        reason = exc.errors[0].splitlines()[0] if exc.errors else "no reason given"
        where = exc.where or Position(str(path))
        raise InventoryError(f"the roster cannot be rendered: {reason}", exc.hint or "correct it", where) from None


def _not_yaml(path: Path, exc: YamlError, text: str = "") -> InventoryError:
    """The error with reason and place, without an excerpt of the text, which may contain a password."""
    where = Position(str(path), exc.line, exc.column)
    hint = "correct that line"
    if kinds.has_jinja(text):
        hint += "; Jinja is rendered in a salt-ssh roster only, or where the first line is #!jinja|yaml"
    return InventoryError(f"not valid YAML: {exc.problem}", hint=hint, where=where)
