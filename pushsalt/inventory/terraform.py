"""Terraform and OpenTofu states: machines of the common providers, by the attributes that say how to reach them.

The format is version 4 of the state file (https://developer.hashicorp.com/terraform/internals/json-format describes
its attributes); ``terraform show -json`` has the same resources below ``values``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Final

from pushsalt.inventory.merge import Host
from pushsalt.inventory.schema import Layer, Source, check_id, parse_layer

#: resource type -> attributes that may have the name, and those that may have the address, the first that is set
_NAMES: Final = ("name", "hostname", "display_name", "label", "vm_name", "instance_name")
_ADDRESSES: Final = (
    "public_ip", "ipv4_address", "public_ip_address", "access_ip_v4", "main_ip", "ip_address", "default_ip_address",
    "default_ipv4_address", "ssh_host", "private_ip", "private_ip_address", "ipv4_address_private",
    "access_public_ipv4", "access_private_ipv4",
)  # fmt: skip
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
    """Whether it is a state, or what ``terraform show -json`` prints."""
    return isinstance(data, dict) and "terraform_version" in data and ("resources" in data or "values" in data)


def parse_state(source: Source, base: Layer, warnings: list[str]) -> list[Host]:
    """The machines of a state: ids are their names, groups their resource types; tags and labels are grains."""
    hosts: dict[str, Host] = {}
    for kind, name, values in _instances(source.data):
        address = _first(values, _ADDRESSES) or _nested(values)
        tags = _tags(values)
        raw = str(tags.get("Name") or _first(values, _NAMES) or name)
        where = source.where(())
        id = check_id(raw.replace(" ", "-"), where)
        if id in hosts:  # machines of one name are usual: those of a group that grows and shrinks
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
    for resource in data.get("resources") or ():
        if isinstance(resource, dict) and resource.get("mode", "managed") == "managed":
            for number, instance in enumerate(resource.get("instances") or ()):
                if resource.get("type") in _MACHINES and isinstance(instance, dict):
                    key = instance.get("index_key", number)
                    name = resource.get("name", "machine")
                    many = len(resource["instances"]) > 1
                    yield (
                        str(resource["type"]),
                        f"{name}-{key}" if many else str(name),
                        instance.get("attributes") or {},
                    )
    yield from _modules((data.get("values") or {}).get("root_module") or {})


def _modules(module: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for resource in module.get("resources") or ():
        if resource.get("mode", "managed") == "managed" and resource.get("type") in _MACHINES:
            index = resource.get("index")
            name = str(resource.get("name", "machine"))
            yield str(resource["type"]), name if index is None else f"{name}-{index}", resource.get("values") or {}
    for child in module.get("child_modules") or ():
        yield from _modules(child)


def _first(values: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((values[name] for name in names if isinstance(values.get(name), str) and values[name]), None)


def _nested(values: dict[str, Any]) -> Any:
    """Addresses within network interfaces: Google, libvirt, vSphere and what is like them."""
    for interface in values.get("network_interface") or ():
        if isinstance(interface, dict):
            outside = [
                access.get("nat_ip") for access in interface.get("access_config") or () if isinstance(access, dict)
            ]
            for address in (*outside, interface.get("network_ip"), *(interface.get("addresses") or ())):
                if address:
                    return address
    return None


def _tags(values: dict[str, Any]) -> dict[str, Any]:
    for name in ("tags", "labels", "metadata"):
        found = values.get(name)
        if isinstance(found, dict) and found:
            return found
        if isinstance(found, list) and found and all(isinstance(item, str) for item in found):
            return dict.fromkeys(found, True)
    return {}
