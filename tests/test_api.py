"""The Python API, with the names of the command line: sync, async, streaming; typed returns; errors as values."""

import asyncio
import json

import pytest

from pushsalt.api import Client, JobOptions, Reporter, Selection, Settings
from pushsalt.errors import InventoryError, NoTargetError
from pushsalt.model import TargetReturn
from pushsalt.run.jobstart import Account, on_behalf_of

INVENTORY = {
    "hosts": {
        "here": {"transport": "local", "grains": {"role": "web"}},
        "paper": {"transport": "offline", "grains": {"os": "Rocky", "os_family": "RedHat", "id": "paper"}},
    }
}


@pytest.fixture
def client(tmp_path):
    (tmp_path / "salt").mkdir()
    (tmp_path / "salt" / "hello.sls").write_text("{{ grains.os_family }}:\n  test.succeed_with_changes: []\n")
    (tmp_path / "inventory.yaml").write_text(json.dumps(INVENTORY))
    settings = Settings(
        inventories=[tmp_path / "inventory.yaml"], file_roots=[tmp_path / "salt"], cache_dir=tmp_path / "cache"
    )
    return Client(settings)


def test_apply_gives_one_typed_return_a_target(client):
    returns = client.apply(Selection("*"), ["hello"])
    assert set(returns) == {"here", "paper"}
    only = returns["here"]
    assert isinstance(only, TargetReturn)
    assert (only.shape, only.exit_code, only.round_trips > 0) == ("states", 0, True)
    [ret] = only.ret.values()
    assert (ret["result"], ret["__sls__"], bool(ret["changes"])) == (True, "hello", True)
    assert {"connect", "grains", "render", "run"} <= set(only.phases)
    paper = returns["paper"]
    assert (paper.shape, paper.exit_code, paper.ret["error"]["kind"]) == ("error", 3, "offline")


def test_offline_targets_compile(client):
    [chunk] = client.run(Selection("paper"), "state.show_low_sls", ["hello"])["paper"].ret
    assert (chunk["state"], chunk["fun"], chunk["name"]) == ("test", "succeed_with_changes", "RedHat")


def test_test_mode_and_pillar(client):
    returns = client.run(Selection("here"), "pillar.raw", options=JobOptions(pillar={"a": {"b": 1}}))
    assert returns["here"].ret == {"a": {"b": 1}}
    [ret] = client.apply(Selection("here"), ["hello"], JobOptions(test=True))["here"].ret.values()
    assert ret["result"] is None


async def test_async_and_streaming(client):
    returns = await client.run_async(Selection("here"), "test.echo", ["hi"])
    assert returns["here"].ret == "hi"
    seen = [result.id async for result in client.stream_run(Selection("*"), "grains.get", ["os_family"])]
    assert sorted(seen) == ["here", "paper"]


async def test_sync_calls_inside_of_a_running_loop(client):
    assert client.run(Selection("here"), "test.ping")["here"].ret is True


def test_two_clients_side_by_side(client):
    async def both():
        return await asyncio.gather(
            client.run_async(Selection("here"), "test.ping"),
            Client(client.settings).run_async(Selection("here"), "test.echo", [2]),
        )

    one, two = asyncio.run(both())
    assert (one["here"].ret, two["here"].ret) == (True, 2)


def test_grains_are_collected_merged_and_kept(client):
    grains = client.grains(Selection("here"))["here"].ret
    assert (grains["id"], grains["role"]) == ("here", "web")
    assert grains.pop("pid") and client.project.grains.get("here") == grains
    assert client.grains(Selection("paper"))["paper"].ret["os"] == "Rocky"


def test_stop_gives_the_rest_the_kind_interrupted(client):
    class Stopper(Reporter):
        def target_phase(self, id, phase):
            if phase == "run":
                client.stop()

    client.reporter = Stopper()
    client.project.reporter = client.reporter
    result = client.run(Selection("here"), "test.sleep", [30])["here"]
    assert result.ret["error"]["kind"] == "interrupted"
    assert result.exit_code == 3


def test_wrong_commands_raise(client, tmp_path):
    with pytest.raises(NoTargetError, match="nosuch"):
        client.target(Selection("nosuch"))
    with pytest.raises(NoTargetError):
        client.apply(Selection("nosuch"), ["hello"])
    (tmp_path / "broken.yaml").write_text("hosts: [")
    with pytest.raises(InventoryError, match=r"broken\.yaml:\d"):
        Client(Settings(inventories=[tmp_path / "broken.yaml"])).target(Selection("*"))


def test_a_client_for_some_targets_leaves_out_the_others(client):
    other = client.within()
    other.only = frozenset({"paper", "gone"})
    assert other.target(Selection("*")) == ["paper"]
    assert set(other.run(Selection("*"), "state.show_low_sls", ["hello"])) == {"paper"}
    with pytest.raises(NoTargetError):
        other.target(Selection("here"))
    assert sorted(client.target(Selection("*"))) == ["here", "paper"]


def test_jobs_on_behalf_of_an_account(client):
    with on_behalf_of(Account("anna", "file")):
        client.run(Selection("here"), "test.ping")
    client.run(Selection("here"), "test.ping")
    last, first = (client.jobs.get(job.jid) for job in client.jobs.list())
    assert (first.user, first.detail["origin"]["eauth"]) == ("anna", "file")
    assert last.user != "anna" and "eauth" not in last.detail["origin"]
