"""Terraform and OpenTofu states: machines of the common providers, by the attributes that say how to reach them.

The format is version 4 of the state file (https://developer.hashicorp.com/terraform/internals/json-format describes
its attributes); ``terraform show -json`` has the same resources below ``values``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from pushsalt.inventory.merge import Host
from pushsalt.inventory.schema import Layer, Source, check_id, parse_layer

#: resource type -> (attributes for the name, attributes for the address); the first that is set is used
_NAMES: Final = ("name", "hostname", "display_name", "label", "vm_name", "instance_name")
_ADDRESSES: Final = (
    "public_ip",
    "ipv4_address",
    "public_ip_address",
    "access_ip_v4",
    "main_ip",
    "ip_address",
    "default_ip_address",
    "default_ipv4_address",
    "ssh_host",
    "private_ip",
    "private_ip_address",
    "ipv4_address_private",
    "access_public_ipv4",
    "access_private_ipv4",
)
_MACHINES: Final = frozenset(
    (
        *("aws_instance", "aws_lightsail_instance", "azurerm_linux_virtual_machine", "azurerm_virtual_machine"),
        *("digitalocean_droplet", "google_compute_instance", "hcloud_server", "ibm_is_instance", "linode_instance"),
        *("oci_core_instance", "openstack_compute_instance_v2", "equinix_metal_device", "packet_device"),
        *("proxmox_vm_qemu", "proxmox_lxc", "proxmox_virtual_environment_vm", "libvirt_domain", "upcloud_server"),
        *("scaleway_instance_server", "vultr_instance", "vsphere_virtual_machine", "exoscale_compute_instance"),
        *("lxd_instance", "incus_instance", "ovh_cloud_project_instance", "yandex_compute_instance"),
        *("alicloud_instance", "nutanix_virtual_machine", "cloudscale_server", "kamatera_server"),
    )
)


def is_state(data: object) -> bool:
    """Whether data is a state, or output of ``terraform show -json``."""
    return isinstance(data, dict) and "terraform_version" in data and ("resources" in data or "values" in data)


def parse_state(source: Source, base: Layer, warnings: list[str]) -> list[Host]:
    """The machines of a state: ids are their names, groups their resource types; tags and labels are grains."""
    source = replace(source, foreign=True)
    hosts: dict[str, Host] = {}
    for kind, name, values in _instances(source.data):
        address = _first(values, _ADDRESSES) or _nested(values)
        tags = _tags(values)
        raw = str(tags.get("Name") or _first(values, _NAMES) or name)
        where = source.where(())
        id = check_id(raw.replace(" ", "-"), where)
        if id in hosts:  # instances of one group often have the same name
            id = next(each for each in (f"{id}-{number}" for number in itertools.count(2)) if each not in hosts)
        if not address:
            warnings.append(f"{source.path}: {kind} {name} has no address, and is left out")
            continue
        settings: dict[str, Any] = {"host": str(address)}
        if tags:
            settings["grains"] = {"terraform": {"type": kind, "tags": tags}}
        hosts[id] = Host(id, where, (base, parse_layer(settings, source, (), f"host {id}", warnings)), (kind,))
    return list(hosts.values())


def _instances(data: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for resource in _mappings(data.get("resources")):
        if not _is_machine(resource):
            continue
        instances = _mappings(resource.get("instances"))
        name = resource.get("name", "machine")
        for number, instance in enumerate(instances):
            key = instance.get("index_key", number)
            values = _mapping(instance.get("attributes"))
            yield str(resource["type"]), f"{name}-{key}" if len(instances) > 1 else str(name), values
    yield from _modules(_mapping(_mapping(data.get("values")).get("root_module")))


def _modules(module: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for resource in _mappings(module.get("resources")):
        if _is_machine(resource):
            index = resource.get("index")
            name = str(resource.get("name", "machine"))
            values = _mapping(resource.get("values"))
            yield str(resource["type"]), name if index is None else f"{name}-{index}", values
    for child in _mappings(module.get("child_modules")):
        yield from _modules(child)


def _is_machine(resource: dict[str, Any]) -> bool:
    kind = resource.get("type")
    return resource.get("mode", "managed") == "managed" and isinstance(kind, str) and kind in _MACHINES


def _mappings(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _first(values: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((values[name] for name in names if isinstance(values.get(name), str) and values[name]), None)


def _nested(values: dict[str, Any]) -> Any:
    """Addresses within network interfaces, as in resources of Google, libvirt, vSphere and similar."""
    for interface in _mappings(values.get("network_interface")):
        outside = [access.get("nat_ip") for access in _mappings(interface.get("access_config"))]
        more = interface.get("addresses")
        for address in (*outside, interface.get("network_ip"), *(more if isinstance(more, list) else ())):
            if address and isinstance(address, str):
                return address
    return None


def _tags(values: dict[str, Any]) -> dict[str, Any]:
    for name in ("tags", "labels", "metadata"):
        tags = values.get(name)
        if isinstance(tags, dict) and tags:
            return tags
        if isinstance(tags, list) and tags and all(isinstance(item, str) for item in tags):
            return dict.fromkeys(tags, True)
    return {}
