import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from thin.grains import collect

ROOT = Path(__file__).parents[3]
linux_only = pytest.mark.skipif(platform.system() != "Linux", reason="grains of Linux")


@pytest.fixture
def opts(tmp_path):
    return {"id": "web1", "master": "salt", "conf_file": str(tmp_path / "minion")}


@linux_only
def test_grains_that_formulas_use_exist(opts):
    grains = collect(opts)
    assert json.loads(json.dumps(grains)) == grains, "plain data only"
    assert set(grains) >= {
        "os",
        "os_family",
        "osfullname",
        "osrelease",
        "oscodename",
        "osarch",
        "kernel",
        "kernelrelease",
        "kernelversion",
        "nodename",
        "cpuarch",
        "init",
        "virtual",
        "mem_total",
        "swap_total",
        "num_cpus",
        "cpu_model",
        "cpu_flags",
        "ip_interfaces",
        "ip4_interfaces",
        "ip6_interfaces",
        "hwaddr_interfaces",
        "fqdn_ip4",
        "fqdn_ip6",
        "ipv4",
        "ipv6",
        "ip4_gw",
        "ip6_gw",
        "ip_gw",
        "id",
        "host",
        "fqdn",
        "domain",
        "localhost",
        "locale_info",
        "path",
        "systempath",
        "pythonversion",
        "pythonpath",
        "pythonexecutable",
        "saltversion",
        "saltversioninfo",
        "saltpath",
        "server_id",
        "disks",
        "ssds",
        "gpus",
        "num_gpus",
        "kernelparams",
        "shell",
        "ps",
        "uid",
        "gid",
        "username",
        "groupname",
        "pid",
        "cwd",
        "efi",
        "efi-secure-boot",
        "transactional",
        "fibre_channel_host",
        "master",
    }
    assert (grains["id"], grains["saltversioninfo"][0]) == ("web1", 3008)
    assert grains["num_cpus"] == os.cpu_count() or grains["num_cpus"] > 0


def test_grains_of_file_and_option_have_precedence(opts, tmp_path):
    (tmp_path / "grains").write_text("role: web\nos: Mine\nnested: {a: 1}\n")
    opts["grains"] = {"role": "db", "nested": {"b": 2}}
    grains = collect(opts)
    assert (grains["role"], grains["os"], grains["nested"]) == ("db", "Mine", {"b": 2})
    grains = collect(dict(opts, grains_deep_merge=True))
    assert grains["nested"] == {"a": 1, "b": 2}


def test_grains_are_collected_when_they_are_read(opts):
    from thin.loader import LazyDict

    opts["grains"] = LazyDict(lambda: collect(opts))
    assert opts["grains"]["id"] == "web1"


def test_a_grains_file_with_unsupported_yaml_is_ignored(opts, tmp_path, caplog):
    (tmp_path / "grains").write_text("a: &x 1\nb: *x\n")
    assert "a" not in collect(opts)
    assert "is left out: line 1" in caplog.text
    assert collect(opts, parse_yaml=lambda text: {"a": 1, "b": 1})["b"] == 1


def test_grains_on_the_blacklist_are_removed(opts):
    grains = collect(dict(opts, grains_blacklist=["ip*", "os"]))
    assert "os" not in grains and "os_family" in grains
    assert not [name for name in grains if name.startswith("ip")]


def test_an_error_in_one_part_leaves_the_others(opts, monkeypatch, caplog):
    from thin.grains import hardware

    monkeypatch.setattr(hardware, "grains", lambda opts: 1 / 0)
    grains = collect(opts)
    assert "mem_total" not in grains
    assert {"os", "init", "virtual", "fqdn", "id"} <= set(grains)
    assert "ZeroDivisionError" in caplog.text


@linux_only
def test_no_expensive_module_is_imported():
    code = (
        "import sys; sys.path.insert(0, %r); from thin.grains import collect; collect({'id': 'x'}); print(*sys.modules)"
    )
    process = subprocess.run([sys.executable, "-I", "-S", "-c", code % str(ROOT)], stdout=subprocess.PIPE, check=True)
    expensive = {"socket", "platform", "json", "ipaddress", "email", "urllib", "asyncio", "ctypes", "uuid", "pushsalt"}
    assert expensive & set(process.stdout.decode().split()) <= {"socket"}, "a resolver without an answer needs socket"
