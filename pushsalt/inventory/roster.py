"""The salt-ssh flat roster: a mapping of ids, each with its settings or just its address. Salt: salt.roster.flat."""

from __future__ import annotations

from pushsalt.errors import InventoryError
from pushsalt.inventory.merge import Host
from pushsalt.inventory.schema import Layer, Source, check_id, parse_layer


def parse_roster(source: Source, base: Layer, warnings: list[str]) -> list[Host]:
    """The hosts in the file's order, each with its layers: ``base``, itself.

    `passwd` is also the password for sudo. Salt: ``salt.client.ssh.shell.Shell``.
    Without a login name, ~/.ssh/config and the option ``ssh_user`` apply (salt-ssh would log in as root).
    """
    hosts = []
    for raw_id, raw in source.data.items():
        where = source.where((raw_id,))
        id = check_id(raw_id, where)
        if not isinstance(raw, str | dict):
            raise InventoryError(
                f"host {id} has neither an address nor settings",
                hint=f"write  {id}: 192.0.2.10  or  {id}: {{host: 192.0.2.10, user: deploy}};"
                " a native inventory has its ids below `hosts:`",
                where=where,
            )
        settings = {"host": raw} if isinstance(raw, str) else raw
        layer = parse_layer(settings, source, (raw_id,), f"host {id}", warnings)
        hosts.append(Host(id, where, (base, layer), passwd_for_sudo=True))
    return hosts
