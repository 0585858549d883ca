"""Values that a project hides before it reaches any target."""

from __future__ import annotations

from pushsalt.api import Client, Settings

INVENTORY = """
hosts:
  web1:
    passwd: login-word
    pillar: {db: {password: of-the-pillar}, plain: shown-as-it-is}
    minion_opts: {api_token: of-the-options}
"""


def test_secrets_of_an_inventory(tmp_path):
    (tmp_path / "inventory.yaml").write_text(INVENTORY)
    project = Client(Settings(inventories=[tmp_path / "inventory.yaml"], cache_dir=tmp_path / "cache")).project
    assert list(project.inventory.targets) == ["web1"]
    for secret in ("login-word", "of-the-pillar", "of-the-options"):
        assert project.redactor.text(f"a {secret} b") == "a ********** b"
    assert project.redactor.text("shown-as-it-is") == "shown-as-it-is"
