"""Each runner function of Salt 3008 exists: it works, or says why it has no meaning here."""

from __future__ import annotations

import json
import shutil

import pytest

from pushsalt.api import Client, Settings
from pushsalt.errors import FunctionError
from pushsalt.orchestrate.runnercalls import function
from tests.beds.gitserver import Repo

#: The public functions of these runners of Salt 3008.3.
FUNCTIONS = {
    "jobs": "master active lookup_jid list_job list_jobs list_jobs_filter print_job exit_success last_run",
    "manage": "status key_regen down up list_state list_not_state present not_present joined not_joined allowed "
    "not_allowed alived not_alived reaped not_reaped safe_accept versions bootstrap bootstrap_psexec",
    "cache": "grains pillar mine clear_pillar clear_grains clear_mine clear_mine_func clear_all clear_git_lock cloud "
    "store list fetch flush migrate",
    "fileserver": "envs clear_file_list_cache file_list symlink_list dir_list empty_dir_list update clear_cache "
    "clear_lock lock",
    "pillar": "show_top show_pillar clear_pillar_cache show_pillar_cache",
    "mine": "get update",
    "survey": "hash diff",
    "salt": "cmd execute",
    "state": "pause set_pause resume rm_pause soft_kill orchestrate orch sls orchestrate_single orchestrate_high "
    "orchestrate_show_sls orch_show_sls graph graph_highstate event",
    "http": "query update_ca_bundle",
    "event": "send",
    "match": "compound_matches",
    "net": "interfaces findarp findmac lldp find multi_find",
    "doc": "runner wheel execution",
}
NAMES = [f"{module}.{name}" for module, names in FUNCTIONS.items() for name in names.split()]

#: function -> arguments, of the functions that fail with the reason
UNSUPPORTED = {
    "manage.key_regen": [],
    "manage.safe_accept": ["web*"],
    "manage.bootstrap": ["1.0", "sh"],
    "manage.bootstrap_psexec": ["web1"],
    "cache.cloud": ["web*"],
    "cache.migrate": [],
    "fileserver.lock": [],
    "state.pause": ["20261121204500000000"],
    "state.rm_pause": ["20261121204500000000"],
    "state.soft_kill": ["20261121204500000000", "id"],
}


@pytest.fixture
def client(tmp_path):
    """Makes a client; keyword arguments are further options of the configuration."""

    def make(**config):
        path = tmp_path / "pushsalt.yaml"
        path.write_text(json.dumps({"cache_dir": str(tmp_path / "cache"), "file_roots": {"base": ["salt"]}, **config}))
        inventory = tmp_path / "inventory.yaml"
        inventory.write_text(json.dumps({"hosts": {"web1": {"transport": "offline"}}}))
        return Client(Settings(config=path, inventories=[inventory]))

    return make


def test_all_functions_exist(client):
    made = client()
    assert [name for name in NAMES if function(made, name) is None] == []


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_functions_without_a_meaning_give_the_reason_and_the_replacement(client, name):
    with pytest.raises(FunctionError) as raised:
        client().runner(name, UNSUPPORTED[name], {})
    assert "is not supported: " in raised.value.message and raised.value.hint


@pytest.mark.parametrize(
    "name, args, value",
    [
        ("fileserver.clear_lock", [], "No locks were removed"),
        ("cache.clear_git_lock", ["gitfs"], "No locks were removed"),
        ("fileserver.clear_file_list_cache", [], {}),
        ("fileserver.clear_cache", [], "No cache was cleared"),
    ],
)
def test_functions_that_have_nothing_to_remove(client, name, args, value):
    assert client().runner(name, args, {})["return"] == value


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_copies_of_git_remotes_are_removed_and_fetched_again(client, tmp_path):
    repo = Repo(tmp_path / "states.git", {"a.sls": "a:\n  test.nop: []\n"})
    made = client(fileserver_backend=["roots", "git"], gitfs_remotes=[repo.url])
    copies = tmp_path / "cache" / "git"
    assert "a.sls" in made.runner("fileserver.file_list", [], {})["return"]
    assert list(copies.glob("*/*.git"))
    assert made.runner("fileserver.clear_cache", ["roots"], {})["return"] == "No cache was cleared"
    assert made.runner("fileserver.clear_cache", ["-git"], {})["return"] == "No cache was cleared"
    assert list(copies.glob("*/*.git"))
    cleared = {"cleared": ["The git fileserver cache was successfully cleared"]}
    assert made.runner("fileserver.clear_cache", [], {})["return"] == cleared
    assert not list(copies.glob("*/*.git")) and not list((copies / "notes").glob("*"))
    assert "a.sls" in made.runner("fileserver.file_list", [], {})["return"]
    assert list(copies.glob("*/*.git"))
