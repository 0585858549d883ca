"""mine.get answers from the cache, for any matcher, and for nobody when nothing is kept."""

import json

import pytest

from pushsalt.api import Client, Selection, Settings


@pytest.fixture
def ask(tmp_path):
    hosts = {id: {"transport": "offline", "grains": {"role": id[:-1]}} for id in ("web1", "web2", "db1")}
    (tmp_path / "inventory.yaml").write_text(json.dumps({"hosts": hosts}))
    client = Client(Settings(inventories=[tmp_path / "inventory.yaml"], cache_dir=tmp_path / "cache"))
    for id in ("web1", "web2"):
        client.project.mine.put(id, {"network.ip_addrs": [id], "test.ping": True})

    def call(*args, **kwargs):
        return client.run(Selection("web1"), "mine.get", list(args), kwargs)["web1"].ret

    return call


@pytest.mark.parametrize(
    "args, kwargs, want",
    [
        (["*", "network.ip_addrs"], {}, {"web1": ["web1"], "web2": ["web2"]}),
        (["web2", "network.ip_addrs"], {}, {"web2": ["web2"]}),
        (["*", "network.ip_addrs"], {"exclude_minion": True}, {"web2": ["web2"]}),
        (["role:web", "test.ping"], {"tgt_type": "grain"}, {"web1": True, "web2": True}),
        (["web1", "test.ping,nothing"], {}, {"test.ping": {"web1": True}, "nothing": {}}),
        (["web1", ["test.ping"]], {}, {"web1": True}),
        (["nobody*", "test.ping"], {}, {}),
        (["db1", "test.ping"], {}, {}),
    ],
)
def test_what_was_kept_is_the_answer(ask, args, kwargs, want):
    assert ask(*args, **kwargs) == want
