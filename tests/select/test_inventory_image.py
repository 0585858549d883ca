"""The inventory from its image equals that of the files, with the place of each setting."""

from __future__ import annotations

from pushsalt.api import Client
from pushsalt.job import Settings
from pushsalt.select import inventoryimage
from tests.beds.project import Project


def test_all_of_a_target_is_in_the_image(tmp_path):
    hosts = {f"h{n}": {"host": f"192.0.2.{n}", "ssh_options": ["Port=22"], "grains": {"n": n}} for n in range(60)}
    made = Project(tmp_path, hosts)

    def read():
        settings = Settings([made.folder / "inventory.yaml"], made.folder / "pushsalt.yaml", cache_dir=made.cache)
        return Client(settings).project.inventory

    first, second = read(), read()
    assert isinstance(second.targets, inventoryimage.Targets)
    assert not isinstance(first.targets, inventoryimage.Targets)
    for id, target in first.targets.items():
        assert second.targets[id] == target
        assert second.targets[id].origin == target.origin
    assert "inventory.yaml:" in second.targets["h7"].origin["ssh_options"]
