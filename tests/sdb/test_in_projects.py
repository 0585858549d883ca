"""sdb:// URIs of a project, by the real command line: where they are resolved, and where they stay texts."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from pushsalt.api import Client, Settings
from pushsalt.config import without_secrets
from pushsalt.errors import ConfigError, TargetError
from pushsalt.minion.settings import for_rendering
from pushsalt.model import SdbUri, Secret
from pushsalt.select import inventoryimage
from tests.beds import sshd
from tests.beds.project import Project
from tests.beds.sshd import free_port, keygen

pytestmark = pytest.mark.slow

#: A driver that counts its calls, in the folder of its profile.
COUNTING = """
import pathlib


def get(key, profile=None):
    log = pathlib.Path(profile["log"])
    log.write_text((log.read_text() if log.exists() else "") + key + "\\n")
    return None if key == "nothing" else f"value-of-{key}"
"""
SHOW = "it:\n  test.configurable_test_state:\n    - changes: false\n    - comment: {{ shown | json }}\n"


def project(tmp_path, hosts, **config):
    """A project with the profiles `site` (a file), `counted` (a user's driver) and `dead` (an unreachable server)."""
    made = Project(
        tmp_path,
        hosts,
        site={"driver": "yaml", "files": [str(tmp_path / "secrets.yaml")]},
        counted={"driver": "counting", "log": str(tmp_path / "asked")},
        dead={"driver": "redis", "host": "127.0.0.1", "port": free_port()},
        osenv={"driver": "env"},
        **config,
    )
    (tmp_path / "secrets.yaml").write_text("db: {password: kept-in-the-file}\n")
    made.write("salt/_sdb/counting.py", COUNTING)
    return made


def asked(tmp_path):
    log = tmp_path / "asked"
    return log.read_text().split() if log.exists() else []


def offline(**kwargs):
    return {"transport": "offline", "grains": {"os": "Debian"}, **kwargs}


def opened(made):
    return Client(Settings(config=made.folder / "pushsalt.yaml", cache_dir=made.cache)).project


def shown(made, target, what):
    """The value of an expression in an SLS of that target."""
    made.write("salt/show.sls", f"{{% set shown = {what} %}}\n{SHOW}")
    ret = made.json("run", target, "state.show_low_sls", "show").data[target]
    return ret[0]["comment"] if isinstance(ret[0], dict) else ret


def test_in_configuration_inventory_pillar_and_states(tmp_path):
    own = {"deep": {"x": ["sdb://counted/opt"]}, "mysql.pass": "sdb://site/db:password"}
    hosts = {"web1": offline(pillar={"own": "sdb://counted/own"}, minion_opts=own)}
    made = project(tmp_path, hosts, proxy_host="sdb://counted/proxy")
    made.files(
        {
            "pillar/top.sls": "base: {'*': [a]}\n",
            "pillar/a.sls": "password: {{ salt['sdb.get']('sdb://site/db:password') }}\nraw: sdb://site/db:password\n",
        }
    )
    look = "[pillar.own, opts.deep.x[0], opts['mysql.pass'], pillar.password, opts.proxy_host]"
    assert shown(made, "web1", look) == [
        "value-of-own",
        "value-of-opt",
        "kept-in-the-file",
        "kept-in-the-file",
        "value-of-proxy",
    ]
    assert shown(made, "web1", "salt['config.get']('mysql.pass')") == "kept-in-the-file"
    assert shown(made, "web1", "salt['sdb.get']('sdb://counted/nothing')") is None
    # as in Salt, a URI in the pillar is a text
    assert shown(made, "web1", "pillar.raw") == "sdb://site/db:password"


def test_external_pillar_and_keys_of_renderers(tmp_path, monkeypatch):
    nacl = pytest.importorskip("nacl.public")
    import base64

    key = nacl.PrivateKey.generate()
    sealed = base64.b64encode(nacl.SealedBox(key.public_key).encrypt(b"sealed-for-it")).decode()
    (tmp_path / "secrets.yaml").write_text(f"nacl: {base64.b64encode(bytes(key)).decode()}\n")
    made = Project(
        tmp_path,
        {"web1": offline()},
        site={"driver": "yaml", "files": [str(tmp_path / "secrets.yaml")]},
        osenv={"driver": "env"},
        ext_pillar=[{"mine": {"word": "sdb://site/nacl"}}],
        **{"nacl.config": {"sk": "sdb://site/nacl"}},
    )
    made.write("salt/_pillar/mine.py", "def ext_pillar(id, pillar, word):\n    return {'given': word[:4]}\n")
    made.files({"pillar/top.sls": "base: {'*': [a]}\n", "pillar/a.sls": f"#!yaml|nacl\nx: NACL[{sealed}]\n"})
    given = base64.b64encode(bytes(key)).decode()[:4]
    assert shown(made, "web1", "[pillar.x, pillar.given]") == ["sealed-for-it", given]


def test_external_pillar_that_a_template_asks_for_is_no_configuration(tmp_path):
    made = project(
        tmp_path,
        {"web1": offline(grains={"os": "Debian", "evil": "sdb://counted/stolen"})},
        on_demand_ext_pillar=["mine"],
    )
    made.write("salt/_pillar/mine.py", "def ext_pillar(id, pillar, word):\n    return {'given': word}\n")
    assert shown(made, "web1", "salt['pillar.ext']({'mine': {'word': grains.evil}}).given") == "sdb://counted/stolen"
    assert asked(tmp_path) == []


def test_pgp_messages_in_files_of_the_driver_yaml(tmp_path, password_store):
    argv = [
        "gpg",
        "--homedir",
        str(password_store.gnupghome),
        "--encrypt",
        "--armor",
        "--trust-model",
        "always",
        "--recipient",
        "pass@test",
    ]
    message = subprocess.run(argv, input=b"by-gpg-sealed", check=True, capture_output=True).stdout.decode()
    (tmp_path / "sealed.yaml").write_text("a:\n  b: |\n" + "".join(f"    {line}\n" for line in message.splitlines()))
    made = Project(
        tmp_path,
        {"web1": offline()},
        gpg_keydir=str(password_store.gnupghome),
        sealed={"driver": "yaml", "files": [str(tmp_path / "sealed.yaml")], "gpg": True},
    )
    assert shown(made, "web1", "salt['sdb.get']('sdb://sealed/a:b')") == "by-gpg-sealed"


def test_each_uri_is_asked_once_for_all_targets(tmp_path):
    hosts = {f"web{at}": offline(pillar={"own": "sdb://counted/own"}) for at in range(8)}
    made = project(tmp_path, hosts)
    made.write("salt/a.sls", "it:\n  test.nop: [{x: \"{{ salt['sdb.get']('sdb://counted/state') }}\"}]\n")
    assert made.json("run", "*", "state.show_low_sls", "a").code == 0
    assert sorted(asked(tmp_path)) == ["own", "state"]


def test_nothing_is_asked_for_targets_that_are_not_used(tmp_path):
    made = project(tmp_path, {"web1": offline(pillar={"own": "sdb://counted/own"}), "web2": offline()})
    assert made.run("target", "*").out.split() == ["web1", "web2"]
    assert made.json("run", "web2", "state.show_sls", "none").code == 2
    assert made.run("inventory", "show", "web1").code == 0
    assert asked(tmp_path) == []


def test_a_driver_that_is_down_is_an_error_of_the_targets_that_need_it(tmp_path):
    hosts = {
        "web1": offline(passwd="sdb://dead/login"),
        "web2": offline(),
        "web3": offline(pillar={"password": "sdb://dead/y"}),
        "web4": offline(grains={"os": "Debian", "needs": True}),
    }
    made = project(tmp_path, hosts)
    made.files(
        {
            "pillar/top.sls": "base: {'*': [a]}\n",
            "pillar/a.sls": "{% if grains.get('needs') %}x: {{ salt['sdb.get']('sdb://dead/z') }}{% endif %}\n",
            "salt/a.sls": "it: test.nop\n",
        }
    )
    done = made.json("run", "*", "state.show_low_sls", "a")
    assert done.code == 3
    assert isinstance(done.data["web2"], list) and done.data["web2"][0]["fun"] == "nop"
    for id, words in {"web1": "`passwd` (", "web3": "`pillar` (", "web4": "pillar/a.sls:1"}.items():
        error = done.error(id)
        assert error["kind"] == "secret_unavailable", error
        assert error["message"].startswith(f"{id}: ") and words in error["message"] and "redis" in error["message"]
        assert "sdb://dead/" in error["message"]
    assert "inventory.yaml:1" in done.error("web1")["message"]


def test_an_option_that_only_external_pillar_reads_is_asked_for_then(tmp_path):
    made = project(tmp_path, {"web1": offline()}, **{"mine.word": "sdb://counted/word", "other.word": "sdb://dead/x"})
    made.write("salt/a.sls", "it: test.nop\n")
    done = made.json("run", "*", "state.show_low_sls", "a")
    assert done.code == 0 and asked(tmp_path) == []
    source = "def ext_pillar(id, pillar, on):\n    return {'given': __opts__['mine.word']}\n"
    made.write("salt/_pillar/mine.py", source)
    inside = tmp_path / "b"
    inside.mkdir()
    for words, given in ({"mine.word": "sdb://counted/word"}, "value-of-word"), ({"x.y": "sdb://dead/x"}, None):
        made = project(inside, {"web1": offline()}, ext_pillar=[{"mine": [True]}], **{"mine.word": "plain"} | words)
        made.write("salt/_pillar/mine.py", source)
        made.write("salt/a.sls", "it: test.nop\n")
        if given:
            assert shown(made, "web1", "pillar.given") == given
        else:
            done = made.json("run", "*", "state.show_low_sls", "a")
            assert done.code == 2 and "the option `x.y`: sdb://dead/x" in str(done.data["web1"])


def test_a_missing_value_or_profile_is_no_password(tmp_path):
    hosts = {"web1": offline(passwd="sdb://counted/nothing"), "web2": offline(passwd="sdb://sites/x")}
    made = project(tmp_path, hosts)
    done = made.json("run", "*", "pillar.items")
    assert "there is no value" in done.error("web1")["message"]
    assert done.error("web2")["hint"] == "did you mean site?"


def test_values_are_checked_like_those_of_the_inventory(tmp_path):
    (tmp_path / "bad.yaml").write_text("port: 99999\nhost: -oProxyCommand=x\ngood: 2222\n")
    hosts = {
        "web1": offline(port="sdb://bad/port"),
        "web2": offline(host="sdb://bad/host"),
        "web3": offline(port="sdb://bad/good"),
        "web4": offline(sudo="sdb://bad/good"),
    }
    made = Project(
        tmp_path,
        {id: hosts[id] for id in ("web1", "web2", "web3")},
        bad={"driver": "yaml", "files": [str(tmp_path / "bad.yaml")]},
    )
    found = opened(made)
    for id, words in {"web1": "`port`", "web2": "begins with '-'"}.items():
        with pytest.raises(TargetError, match=words):
            found.secrets.ready(found.inventory.targets[id])
    assert found.secrets.ready(found.inventory.targets["web3"]).port == 2222
    made.write("inventory.yaml", json.dumps({"hosts": {"web4": hosts["web4"]}}))
    assert "`sudo` of host web4 cannot be an sdb:// URI" in made.run("target", "*").err


# foreign data --------------------------------------------------------------------------------------------------------


def test_what_a_target_claims_is_a_text(tmp_path):
    made = project(tmp_path, {"here": {"transport": "local", "thin_dir": str(tmp_path / "thin")}})
    made.write("salt/_grains/liar.py", "def liar():\n    return {'liar': 'sdb://counted/stolen'}\n")
    made.files(
        {
            "pillar/top.sls": "base: {'*': [a]}\n",
            "pillar/a.sls": "copied: {{ grains.liar }}\n",
        }
    )
    look = "[grains.liar, pillar.copied, salt['config.get']('liar'), salt['config.get']('copied'),"
    look += " salt['test.echo'](grains.liar), salt['cmd.run']('echo sdb://counted/stolen')]"
    assert shown(made, "here", look) == ["sdb://counted/stolen"] * 6
    done = made.json("run", "here", "test.echo", "sdb://counted/stolen")
    assert done.data == {"here": "sdb://counted/stolen"}
    assert asked(tmp_path) == []


def test_a_target_cannot_have_its_own_text_ask(tmp_path):
    made = project(tmp_path, {"here": {"transport": "local", "thin_dir": str(tmp_path / "thin")}})
    made.write(
        "salt/a.sls",
        f"""
it:
  file.managed:
    - name: {tmp_path}/out
    - contents: "{{% raw %}}{{{{ salt['sdb.get']('sdb://counted/stolen') }}}}{{% endraw %}}"
    - template: jinja
""",
    )
    ret = next(iter(made.json("apply", "here", "a").data["here"].values()))
    assert ret["result"] is False and "not one of your own files" in json.dumps(ret)
    assert asked(tmp_path) == [] and not (tmp_path / "out").exists()


def test_a_text_with_data_of_a_target_cannot_read_secrets(tmp_path):
    evil = "{{ salt['sdb.get']('sdb://counted/stolen') }}"
    made = project(tmp_path, {"web1": offline(grains={"os": "Debian", "evil": evil})})
    said = shown(made, "web1", "salt['slsutil.renderer'](string=grains.evil, default_renderer='jinja')")
    assert "not one of your own files" in said[0]
    made.write("salt/text.jinja", "{{ salt['sdb.get']('sdb://counted/mine') }}")
    own = shown(made, "web1", "salt['slsutil.renderer']('salt://text.jinja', default_renderer='jinja')")
    assert own == "value-of-mine"
    assert asked(tmp_path) == ["mine"]


@pytest.mark.parametrize(
    "name, text",
    [
        (
            "program",
            '#!/bin/sh\necho \'{"hosts": {"web1": {"transport": "offline", "passwd": "sdb://counted/p", '
            '"pillar": {"x": "sdb://counted/x"}}}}\'\n',
        ),
        ("program", '#!/bin/sh\necho \'{"_meta": {"hostvars": {"web1": {"ansible_password": "sdb://counted/p"}}}}\'\n'),
        ("listing.json", '{"_meta": {"hostvars": {"web1": {"ansible_password": "sdb://counted/p"}}}}'),
        (
            "terraform.tfstate",
            json.dumps(
                {
                    "version": 4,
                    "terraform_version": "1.9.0",
                    "lineage": "x",
                    "serial": 1,
                    "outputs": {},
                    "resources": [
                        {
                            "mode": "managed",
                            "type": "aws_instance",
                            "name": "web1",
                            "instances": [
                                {
                                    "attributes": {
                                        "public_ip": "192.0.2.1",
                                        "tags": {"Name": "web1", "x": "sdb://counted/x"},
                                    }
                                }
                            ],
                        }
                    ],
                }
            ),
        ),
    ],
)
def test_what_programs_and_clouds_print_is_a_text(tmp_path, name, text):
    made = project(tmp_path, None)
    path = made.write(name, text)
    if name == "program":
        path.chmod(0o755)
    found = Client(Settings(config=made.folder / "pushsalt.yaml", inventories=[path], cache_dir=made.cache)).project
    target = found.inventory.targets["web1"]
    assert found.secrets.ready(target) is target
    assert "sdb://counted/" in f"{target.host} {target.passwd!s} {target.pillar} {target.grains}"
    assert not isinstance(target.passwd, SdbUri)
    assert asked(tmp_path) == []


@pytest.mark.parametrize("name", ["terraform.tfstate", "listing.json"])
def test_a_uri_that_others_write_is_no_host(tmp_path, name):
    data = {
        "terraform.tfstate": {
            "version": 4,
            "terraform_version": "1.9.0",
            "resources": [
                {
                    "mode": "managed",
                    "type": "aws_instance",
                    "name": "web1",
                    "instances": [{"attributes": {"public_ip": "sdb://counted/h"}}],
                }
            ],
        },
        "listing.json": {"_meta": {"hostvars": {"web1": {"ansible_host": "sdb://counted/h"}}}},
    }
    made = project(tmp_path, None)
    done = made.run("-i", str(made.write(name, json.dumps(data[name]))), "target", "*")
    assert done.code == 1 and "`host` of host web1" in done.err and "no host name" in done.err
    assert asked(tmp_path) == []


def test_inventories_of_the_operator_have_uris(tmp_path):
    made = project(tmp_path, None, ssh_passwd="sdb://counted/general")
    texts = {
        "roster": "web1: {host: sdb://counted/host, passwd: sdb://counted/p}\n",
        "jinja": "{% set word = 'p' %}\nweb1: {host: sdb://counted/host, passwd: 'sdb://counted/{{ word }}'}\n",
        "ini": "[web]\nweb1 ansible_host=sdb://counted/host ansible_password=sdb://counted/p\n",
        "all.yaml": "all: {hosts: {web1: {ansible_host: sdb://counted/host, ansible_password: sdb://counted/p}}}\n",
    }
    for name, text in texts.items():
        path = made.write(name, text)
        found = Client(Settings(config=made.folder / "pushsalt.yaml", inventories=[path], cache_dir=made.cache)).project
        target = found.secrets.ready(found.inventory.targets["web1"])
        assert (target.host, target.passwd) == ("value-of-host", "value-of-p"), name
        assert isinstance(target.passwd, Secret) and not isinstance(target.passwd, SdbUri)
        assert found.redactor.text("x value-of-p y") == "x ********** y"
    path = made.write("plain", "web1: {host: 192.0.2.1}\n")
    found = Client(Settings(config=made.folder / "pushsalt.yaml", inventories=[path], cache_dir=made.cache)).project
    assert found.secrets.ready(found.inventory.targets["web1"]).passwd == "value-of-general"


def test_grains_of_an_inventory_are_no_secrets(tmp_path):
    made = project(tmp_path, {"web1": offline(grains={"os": "Debian", "x": "sdb://counted/x"})})
    assert shown(made, "web1", "grains.x") == "sdb://counted/x"
    assert asked(tmp_path) == []


@pytest.mark.parametrize(
    "folder, config",
    [
        ("salt/_sdb", {}),
        ("mods/_sdb", {"module_dirs": ["mods"]}),
        ("mods/sdb", {"module_dirs": ["mods"]}),
        ("ext/sdb", {"extension_modules": "ext"}),
    ],
)
def test_where_users_drivers_lie(tmp_path, folder, config):
    made = Project(tmp_path, {"web1": offline()}, own={"driver": "own", "word": "from the profile"}, **config)
    made.write(f"{folder}/own.py", "def get(key, profile):\n    return key + ' ' + profile['word']\n")
    assert shown(made, "web1", "salt['sdb.get']('sdb://own/key')") == "key from the profile"


def test_a_users_driver_overrides_the_shipped_one_and_its_errors_are_reported(tmp_path):
    made = Project(tmp_path, {"web1": offline()}, osenv={"driver": "env"})
    made.write("salt/_sdb/env.py", "def get(key, profile=None):\n    raise RuntimeError('out of order')\n")
    made.write("salt/a.sls", "it:\n  test.nop: [{x: \"{{ salt['sdb.get']('sdb://osenv/HOME') }}\"}]\n")
    error = made.json("run", "web1", "state.show_low_sls", "a").error("web1")
    assert error["kind"] == "secret_unavailable" and "RuntimeError: out of order" in error["message"]
    made.write("salt/_sdb/env.py", "def get(key:\n")
    error = made.json("run", "web1", "state.show_low_sls", "a").error("web1")
    assert "salt/_sdb/env.py:1" in error["message"]


def test_profiles_come_from_the_configuration_alone(tmp_path):
    hosts = {"web1": offline(pillar={"mine": {"driver": "yaml", "files": ["/etc/passwd"]}})}
    made = project(tmp_path, hosts)
    assert "in pillar or minion_opts" in shown(made, "web1", "salt['sdb.get']('sdb://mine/root')")[0]


# where secrets may be -----------------------------------------------------------------------------------------------


def test_no_value_is_shown_or_kept(tmp_path):
    hosts = {
        "here": {
            "transport": "local",
            "thin_dir": str(tmp_path / "thin"),
            "pillar": {"x": "sdb://counted/own"},
            "minion_opts": {"mysql.pass": "sdb://site/db:password"},
        }
    }
    made = project(tmp_path, hosts)
    made.files(
        {
            "pillar/top.sls": "base: {'*': [a]}\n",
            "pillar/a.sls": "a: {{ salt['sdb.get']('sdb://counted/pillar') }}\n",
            "salt/a.sls": "{% set w = salt['sdb.get']('sdb://counted/state') %}\nit:\n  test.fail_without_changes:\n"
            "    - comment: {{ w }} {{ pillar.a }} {{ pillar.x }} {{ opts['mysql.pass'] }}\n",
        }
    )
    for words in ((), ("-l", "debug"), ("--out", "json")):
        done = made.run("apply", *words, "here", "a")
        assert done.code == 2 and "**********" in done.out
        assert "value-of-" not in done.out + done.err and "kept-in-the-file" not in done.out + done.err
    for path in (*made.cache.rglob("*"), *(tmp_path / "thin").rglob("*")):
        if path.is_file():
            assert b"value-of-" not in path.read_bytes() and b"kept-in-the-file" not in path.read_bytes(), path


def test_a_command_line_sees_a_value_when_it_says_so(tmp_path):
    made = project(tmp_path, {"web1": offline()})
    assert made.json("run", "web1", "sdb.get", "sdb://site/db:password").data == {"web1": "**********"}
    clear = made.json("run", "web1", "sdb.get", "sdb://site/db:password", "unmask=True")
    assert clear.data == {"web1": "kept-in-the-file"}
    assert made.json("run", "web1", "sdb.get", "nothing").data == {"web1": "nothing"}
    error = made.json("run", "web1", "sdb.get", "sdb://nobody/x", "strict=True").data["web1"]["error"]
    assert (error["kind"], error["exception"]) == ("exception", "SaltInvocationError")


def test_a_password_that_is_made_once_is_there_in_a_dry_run(tmp_path):
    made = project(tmp_path, {"web1": offline()}, kept={"driver": "sqlite3", "database": str(tmp_path / "kept.sqlite")})
    made.write("salt/a.sls", "it:\n  test.nop: [{x: \"{{ salt['sdb.get_or_set_hash']('sdb://kept/a', 20) }}\"}]\n")

    def x(*arguments):
        ret = made.json("run", "web1", "state.show_low_sls", "a", *arguments).data["web1"][0]
        return ret["x"] if isinstance(ret, dict) else ret

    assert "this is a dry run" in x("test=True")
    first = x()
    assert len(first) == 20 and x("test=True") == first == x()


def test_profiles_do_not_travel(tmp_path):
    made = project(
        tmp_path,
        {"here": {"transport": "local", "thin_dir": str(tmp_path / "thin")}},
        myvault={"driver": "vault", "auth": {"token": "a-root-token"}},
        vault={"auth": {"token": "another-token"}},
    )
    made.write("salt/_modules/look.py", "def at(name):\n    return __opts__.get(name)\n")
    assert made.json("run", "here", "look.at", "myvault").data == {"here": None}
    assert made.json("run", "here", "look.at", "vault").data == {"here": None}
    made.write("pushsalt.yaml", (made.folder / "pushsalt.yaml").read_text().replace("{", '{"pillar_opts": true, ', 1))
    pillar = made.json("run", "here", "pillar.items", "unmask=True").data["here"]["master"]
    assert "root_dir" in pillar and not {"myvault", "vault"} & set(pillar)
    assert not {"myvault", "vault"} & set(without_secrets(opened(made).config.opts))
    error = made.json("run", "here", "state.single", "module.run", "look.at=[{name: myvault}]")
    assert "a-root-token" not in error.out


def test_a_render_process_is_told_of_no_login(tmp_path):
    made = project(
        tmp_path,
        {"web1": offline(passwd="sdb://counted/p")},
        myvault={"driver": "vault", "url": "https://vault.example", "auth": {"token": "a-root-token"}},
        vault={"auth": {"role_id": "a-role", "secret_id": "a-secret-id"}},
        age_identity="/keys/age.txt",
    )
    told = json.dumps(for_rendering(opened(made).config))
    for word in ("myvault", "vault.example", "a-root-token", "a-role", "a-secret-id", "/keys/age.txt", "secrets.yaml"):
        assert word not in told


def test_check_reads_no_secrets(tmp_path):
    made = project(tmp_path, {"web1": offline()})
    made.write("salt/a.sls", "it:\n  test.nop: [{x: \"{{ salt['sdb.get']('sdb://counted/x') }}\"}]\n")
    made.write("salt/top.sls", "base: {'*': [a]}\n")
    done = made.run("check")
    assert done.code == 0, done.out + done.err
    assert asked(tmp_path) == []


def test_the_image_of_a_large_inventory_keeps_uris(tmp_path, monkeypatch):
    monkeypatch.setattr(inventoryimage, "WORTH_IT", 2)
    hosts = {
        f"web{at}": {"passwd": "sdb://counted/p", "pillar": {"a": [{"b": "sdb://counted/x"}], "c": "sdb"}}
        for at in range(40)
    }
    made = project(tmp_path, hosts)
    monkeypatch.setenv("HOME", str(made.home))
    first, second = opened(made), opened(made)
    assert type(first.inventory.targets) is not type(second.inventory.targets), "the second is not of the image"
    for found in (first, second):
        target = found.secrets.ready(found.inventory.targets["web7"])
        assert (target.passwd, target.pillar["a"]) == ("value-of-p", [{"b": "value-of-x"}])
        assert isinstance(target.passwd, Secret)


def test_logins_of_git_remotes(tmp_path):
    made = project(
        tmp_path,
        {"web1": offline()},
        gitfs_password="sdb://site/db:password",
        gitfs_user="me",
        fileserver_backend=["roots"],
        gitfs_remotes=["https://git.example/a.git"],
    )
    found = opened(made)
    assert found.config.opts["gitfs_password"] == "sdb://site/db:password"
    found.secrets.open_git()
    assert found.config.opts["gitfs_password"] == "kept-in-the-file"
    made = project(tmp_path, {"web1": offline()}, gitfs_password="sdb://dead/x")
    with pytest.raises(ConfigError, match="a login of a git remote: sdb://dead/x"):
        opened(made).secrets.open_git()


def test_paths_of_the_configuration_are_no_uris(tmp_path):
    made = Project(tmp_path, {"web1": offline()}, cache_dir="sdb://a/b")
    done = made.run("target", "*")
    assert done.code == 1 and "`cache_dir` cannot be an sdb:// URI" in done.err


@pytest.mark.sshd
@pytest.mark.skipif(bool(sshd.missing()), reason=sshd.missing() or "-")
def test_passphrases_of_a_target_and_of_its_jump_host(tmp_path, tmp_path_factory):
    with sshd.sshd_bed(tmp_path_factory.mktemp("bed"), 2) as bed:
        one, two = bed.targets["t1"].host(), bed.targets["t2"].host()
        keys = {name: tmp_path / name for name in ("first", "second")}
        for name, key in keys.items():
            keygen(key, passphrase=f"value-of-{name}")
            with (bed.root / "authorized_keys").open("a") as let_in:
                let_in.write(Path(f"{key}.pub").read_text())
        made = project(
            tmp_path,
            {
                "jump": {**one, "priv": str(keys["first"]), "priv_passwd": "sdb://counted/first", "agent": False},
                "t2": {
                    **two,
                    "priv": str(keys["second"]),
                    "priv_passwd": "sdb://counted/second",
                    "agent": False,
                    "jump": "jump",
                },
            },
            known_hosts_file=str(bed.known_hosts),
        )
        assert made.json("run", "t2", "test.ping").data == {"t2": True}
        assert sorted(asked(tmp_path)) == ["first", "second"]
        made.write("salt/_sdb/counting.py", COUNTING.replace("value-of-", "wrong-"))
        assert made.json("run", "jump", "test.ping").error("jump")["kind"] == "key_unusable"


def test_a_project_without_uris_opens_no_driver(tmp_path):
    made = Project(tmp_path, {"web1": offline()})
    found = opened(made)
    found.secrets.ready(found.inventory.targets["web1"])
    assert "sdb" not in found.__dict__
