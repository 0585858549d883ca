import os
from pathlib import Path

import pytest

from pushsalt.config import CliOverrides, load_config, minion_opts, target_opts
from pushsalt.errors import ConfigError
from pushsalt.model import Target
from pushsalt.options import OPTIONS
from pushsalt.redact import Redactor

NOTHING = CliOverrides()


@pytest.fixture
def tree(tmp_path):
    """Write files below a private folder: text by relative path."""

    def tree(**files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    os.chmod(tmp_path, 0o755)
    return tree


@pytest.fixture
def load(tmp_path):
    def load(path=None, *, cwd=tmp_path, cli=NOTHING, **env):
        return load_config(path, cli=cli, cwd=cwd, environ={"HOME": str(tmp_path / "home"), **env})

    return load


def test_every_option_is_complete():
    for name, option in OPTIONS.items():
        assert option.name == name and option.doc.endswith("."), name


def test_without_any_file(load, tmp_path):
    config = load()
    assert (config.path, config.project, config.inventories, config.warnings) == (None, None, [], [])
    assert config.opts["file_roots"] == {"base": ["/srv/salt", "/srv/spm/salt"]}
    assert config.cache_dir == tmp_path / "home/.cache/pushsalt"


def test_defaults_are_not_shared(load):
    load().opts["file_roots"]["base"].append("/x")
    assert load().opts["file_roots"] == {"base": ["/srv/salt", "/srv/spm/salt"]}


def test_project_folder_above(load, tree):
    top = tree(
        **{"pushsalt.yaml": "file_roots: {base: [states, ~/x, /abs], dev: dev}\n", "inventory.yaml": "", "a/b/c": ""}
    )
    config = load(cwd=top / "a/b")
    assert (config.project, config.path, config.inventories) == (top, top / "pushsalt.yaml", [top / "inventory.yaml"])
    assert config.opts["file_roots"] == {
        "base": [str(top / "states"), str(Path("~/x").expanduser()), "/abs"],
        "dev": [str(top / "dev")],
    }
    assert config.given == {"file_roots"}


@pytest.mark.parametrize("victim", [".", "pushsalt.yaml"])
@pytest.mark.parametrize("mode", [0o020, 0o002])
def test_a_project_that_others_can_write_to_is_said_and_skipped(load, tree, victim, mode):
    top = tree(**{"pushsalt.yaml": "renderer: x\n"})
    os.chmod(top / victim, (top / victim).stat().st_mode | mode)
    config = load()
    assert (config.project, config.path, config.opts["renderer"]) == (None, None, "jinja|yaml")
    assert "pushsalt.yaml is not used: others can write to" in config.warnings[0]
    assert load(top).opts["renderer"] == "x", "named, it is the operator's word"


@pytest.mark.skipif(os.geteuid() != 0, reason="giving a file away needs root")
@pytest.mark.parametrize("victim", [".", "pushsalt.yaml"])
def test_a_project_of_another_user_is_skipped(load, tree, victim):
    top = tree(**{"pushsalt.yaml": "renderer: x\n"})
    os.chown(top / victim, 12345, -1)
    config = load()
    assert config.project is None
    assert "belongs to another user (uid 12345)" in config.warnings[0]


def test_a_link_into_an_unsafe_folder_is_skipped(load, tree):
    top = tree(**{"open/real.yaml": "renderer: x\n"})
    os.chmod(top / "open", 0o777)
    (top / "pushsalt.yaml").symlink_to(top / "open/real.yaml")
    assert load().project is None


def test_an_unsafe_inventory_next_to_the_configuration_is_not_used(load, tree):
    top = tree(**{"pushsalt.yaml": "", "inventory.yaml": ""})
    os.chmod(top / "inventory.yaml", 0o666)
    config = load()
    assert (config.inventories, config.refused) == ([], top / "inventory.yaml")
    assert "inventory.yaml is not used" in config.warnings[0]
    assert load(PUSHSALT_INVENTORY=str(top / "inventory.yaml")).refused is None


def test_users_configuration_folder(load, tree):
    top = tree(**{"xdg/pushsalt/pushsalt.yaml": "renderer: x\n", "xdg/pushsalt/inventory.yaml": ""})
    config = load(XDG_CONFIG_HOME=str(top / "xdg"), XDG_CACHE_HOME=str(top / "cache"))
    assert (config.opts["renderer"], config.project) == ("x", None)
    assert config.inventories == [top / "xdg/pushsalt/inventory.yaml"]
    assert config.cache_dir == top / "cache/pushsalt"
    assert load(XDG_CONFIG_HOME="xdg").path is None, "relative values do not count"


def test_salt_master_configuration(load, tree):
    top = tree(
        **{
            "salt/master": "worker_threads: 5\ncachedir: /var/cache/salt/master\ninterface: 0.0.0.0\ntimeout: 10\n"
            "file_roots:\n  base: [/a]\nrenderer: one\npillar_roots:\n",
            "salt/master.d/2.conf": "renderer: three\n",
            "salt/master.d/1.conf": "renderer: two\nstate_top: t.sls\n",
            "salt/roster": "a: b\n",
        }
    )
    config = load(top / "salt")
    assert (config.path, config.inventories, config.warnings) == (top / "salt/master", [top / "salt/roster"], [])
    assert (config.opts["renderer"], config.opts["state_top"]) == ("three", "t.sls")
    assert config.opts["pillar_roots"]["base"][0] == "/srv/pillar"
    assert config.cache_dir == top / "home/.cache/pushsalt"


def test_saltfile(load, tree):
    top = tree(
        **{
            "Saltfile": "salt-ssh: {config_dir: etc, ssh_user: ops, ssh_usr: x, my_own: 5}\nsalt: {x: 1}\n",
            "etc/master": "ssh_user: salt\nstate_top: t.sls\n",
            "etc/roster": "a: b\n",
            "deeper/x": "",
        }
    )
    config = load()
    assert (config.path, config.project, config.refused) == (top / "etc/master", None, None)
    assert (config.opts["ssh_user"], config.opts["state_top"]) == ("ops", "t.sls")
    assert config.inventories == [top / "etc/roster"]
    assert config.unknown == [f"{top}/Saltfile:1: unknown option `my_own`"]
    assert load(cwd=top / "deeper").path is None, "only that of the working folder counts"
    assert load(cwd=top / "deeper", SALT_SALTFILE="../Saltfile").inventories == [top / "etc/roster"]
    tree(**{"pushsalt.yaml": ""})
    assert load().path == top / "pushsalt.yaml"


def test_saltfile_alone(load, tree):
    top = tree(**{"Saltfile": "salt-ssh:\n  roster_file: hosts/roster\n  ssh_sudo: true\n", "hosts/roster": "a: b\n"})
    config = load()
    assert (config.path, config.inventories) == (top / "Saltfile", [top / "hosts/roster"])
    assert config.target_defaults() == {"sudo": True}


def test_saltfile_of_the_user(load, tree):
    top = tree(**{"home/.salt/Saltfile": "salt-ssh: {config_dir: ../etc}\n", "home/etc/roster": "a: b\n", "x/y": ""})
    assert load(cwd=top / "x").inventories == [top / "home/etc/roster"]
    tree(**{"x/Saltfile": "salt-call: {local: true}\n"})
    assert load(cwd=top / "x").inventories == [top / "home/etc/roster"], "that one says nothing to salt-ssh"


@pytest.mark.parametrize("victim", ["Saltfile", "etc", "etc/master", "etc/roster"])
def test_a_saltfile_and_the_files_that_it_names_must_be_trusted(load, tree, victim):
    top = tree(**{"Saltfile": "salt-ssh: {config_dir: etc}\n", "etc/master": "", "etc/roster": "a: b\n"})
    assert load().refused is None
    os.chmod(top / victim, 0o777)
    config = load()
    assert (config.inventories, config.refused) == ([], top / ("etc/master" if victim == "etc" else victim))
    assert "is not used: others can write to" in config.warnings[0]
    assert load(PUSHSALT_TRUST=str(top)).inventories == [top / "etc/roster"]
    assert load(SALT_SALTFILE=str(top / "Saltfile")).inventories == [top / "etc/roster"], "named, it is trusted"


@pytest.mark.parametrize(
    "text, words", [("salt-ssh: [", "not valid YAML"), ("salt-ssh: {config_dir: nope}", "there is no folder")]
)
def test_a_saltfile_that_is_wrong(load, tree, text, words):
    tree(Saltfile=text)
    with pytest.raises(ConfigError, match=words):
        load()


def test_a_saltfile_that_is_named_and_not_there(load):
    with pytest.raises(ConfigError, match="there is no configuration"):
        load(SALT_SALTFILE="nope")


def test_include(load, tree):
    top = tree(**{"pushsalt.yaml": "include: more/*.yaml\nrenderer: one\n", "more/a.yaml": "renderer: two\n"})
    assert load(top).opts["renderer"] == "two"


def test_command_line_and_environment_come_first(load, tree, tmp_path):
    top = tree(**{"pushsalt.yaml": "file_roots: {base: [/a]}\ncache_dir: cache\ninventory: [x, y]\n"})
    assert load().inventories == [top / "x", top / "y"]
    assert load().cache_dir == top / "cache"
    config = load(PUSHSALT_CONFIG=str(top), PUSHSALT_INVENTORY="i", PUSHSALT_CACHE="c")
    assert (config.inventories, config.cache_dir) == ([top / "i"], top / "c")
    cli = CliOverrides((Path("j"),), (Path("s"), Path("t")), (Path("/p"),), Path("d"), "debug")
    config = load(cli=cli, PUSHSALT_INVENTORY="i", PUSHSALT_CACHE="c")
    assert (config.inventories, config.cache_dir) == ([top / "j"], top / "d")
    assert config.opts["file_roots"] == {"base": [str(top / "s"), str(top / "t"), "/a"]}
    assert config.opts["pillar_roots"]["base"] == ["/p", "/srv/pillar", "/srv/spm/pillar"]
    assert config.opts["log_level"] == "debug"


def test_unknown_options_are_a_warning(load, tree):
    top = tree(**{"pushsalt.yaml": "renderer: x\nfile_root: {}\nmy_own: 1\n"})
    config = load()
    assert config.unknown == [
        f"{top}/pushsalt.yaml:2: unknown option `file_root`; did you mean `file_roots`?",
        f"{top}/pushsalt.yaml:3: unknown option `my_own`",
    ]
    assert config.opts["my_own"] == 1


def test_options_that_would_accept_any_host_key_are_said(load, tree):
    top = tree(
        **{"pushsalt.yaml": "ignore_host_keys: true\nssh_options: [StrictHostKeyChecking=no]\nno_host_keys: false\n"}
    )
    config = load()
    said, [last] = config.warnings, config.unknown
    assert [text.partition(": ")[0] for text in said] == [f"{top}/pushsalt.yaml:1", f"{top}/pushsalt.yaml:2"]
    assert all("has no effect; --accept-new-host-keys" in text for text in said)
    assert "unknown option `no_host_keys`" in last


def test_a_working_folder_that_was_removed(tmp_path, monkeypatch):
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    with pytest.raises(ConfigError, match="the working folder was removed"):
        load_config(environ={"HOME": str(tmp_path)})


def test_what_cannot_be_meant_is_said(load, tree):
    top = tree(**{"pushsalt.yaml": "hash_type: crc\npillar_source_merging_strategy: smart\n"})
    config = load(cli=CliOverrides(file_roots=(top / "gone", top)))
    assert config.warnings == [
        f"{top}/pushsalt.yaml:1: `hash_type` must be one of sha256, sha512, sha384, sha224, sha1, md5, not 'crc'",
        f"--file-root: there is no folder {top}/gone",
    ]


@pytest.mark.parametrize(
    "text, line, words",
    [
        ("a: [}", 1, "not valid YAML"),
        ("a: 1\na: 2\n", 2, "conflicting ID"),
        ("- a", 1, "a configuration is a mapping"),
        ("x: 1\nfile_roots: [a]", 2, "`file_roots` must be a mapping of saltenvs to lists of folders, not a list"),
        ("file_roots: {base: [{a: b}]}", 1, "an entry that is not a path"),
        ("failhard: perhaps", 1, "`failhard` must be true or false"),
        ("gitfs_depth: 1.5", 1, "`gitfs_depth` must be a whole number"),
        ("nodegroups: [a]", 1, "`nodegroups` must be a mapping, not a list"),
        ("ext_pillar: 5", 1, "`ext_pillar` must be a list, not a number"),
        ("text", 1, "a configuration is a mapping of options, not text"),
    ],
)
def test_malformed(load, tree, text, line, words):
    tree(**{"pushsalt.yaml": text})
    with pytest.raises(ConfigError) as caught:
        load()
    assert words in caught.value.message
    assert caught.value.hint
    assert caught.value.where.line == line


@pytest.mark.parametrize("name", ["nope", "nope/deeper", "\0"])
def test_a_named_file_that_is_not_there(load, tmp_path, name):
    with pytest.raises(ConfigError):
        load(tmp_path / name)


def test_a_folder_without_configuration(load, tmp_path):
    with pytest.raises(ConfigError, match=r"neither a pushsalt\.yaml nor a master"):
        load(tmp_path)


@pytest.mark.parametrize(
    "text, name, value",
    [
        ("failhard: 'yes'", "failhard", True),
        ("gitfs_depth: '3'", "gitfs_depth", 3),
        ("gitfs_base: 3006", "gitfs_base", "3006"),
        ("fileserver_backend: git", "fileserver_backend", ["git"]),
        ("renderer:", "renderer", "jinja|yaml"),
    ],
)
def test_what_salt_takes_for_a_value(load, tree, text, name, value):
    tree(**{"pushsalt.yaml": text})
    assert load().opts[name] == value


def test_target_defaults(load, tree):
    tree(
        **{
            "pushsalt.yaml": "ssh_user: ops\nssh_port: 2222\nroster_defaults: {user: salt, sudo: true}\n"
            "connect_timeout: 7\n"
        }
    )
    assert load().target_defaults() == {"user": "salt", "port": 2222, "sudo": True, "timeout": 7}


def test_minion_opts(load, tree):
    tree(
        **{
            "pushsalt.yaml": "saltenv: dev\nssh_passwd: hunter2\ngitfs_password: hunter2\nmy_own: 1\n"
            "my_token: hunter2\n"
            "pillarenv_from_saltenv: true\ndisabled_requisites: [onfail]\n"
        }
    )
    config = load()
    target = Target("web1", minion_opts={"id": "evil", "custom": {"a": 1}, "test": True, "state_top": "t.sls"})
    opts = minion_opts(config, target)
    assert {key: opts[key] for key in ("id", "__role", "__cli", "file_client", "test", "saltenv", "pillarenv")} == {
        "id": "web1",
        "__role": "minion",
        "__cli": "salt-minion",
        "file_client": "local",
        "test": True,
        "saltenv": "dev",
        "pillarenv": "dev",
    }
    assert (opts["custom"], opts["state_top"]) == ({"a": 1}, "t.sls")
    assert "my_own" not in opts  # an option of the controller, which no minion has
    assert opts["disabled_requisites"] == ["onfail"]
    assert "hunter2" not in repr(opts)
    opts["custom"]["a"] = 2
    assert target.minion_opts["custom"] == {"a": 1}
    opts = minion_opts(config, target, test=False, saltenv="qa", pillarenv="prod")
    assert (opts["test"], opts["saltenv"], opts["pillarenv"]) == (False, "qa", "prod")


def test_target_opts_have_the_options_that_are_sent_to_targets(load, tree):
    tree(
        **{
            "pushsalt.yaml": "file_roots: {base: [states]}\nrenderer: py\nfailhard: true\nca_bundle: /ca.pem\nmine: 1\n"
            "schedule: {a: {kwargs: {word: hunter2}}}\ngrains: {tier: front}\n"
        }
    )
    config = load()
    target = Target("web1", minion_opts={"mysql.pass": "for web1", "renderer": "json"})
    sent, seen = target_opts(config, target), minion_opts(config, target)
    for opts in (sent, seen):
        assert (opts["failhard"], opts["ca_bundle"], opts["grains"]) == (True, "/ca.pem", {"tier": "front"})
        assert (opts["schedule"], opts["mysql.pass"], opts["renderer"]) == ({}, "for web1", "json")
        assert "mine" not in opts and "verify_ssl" not in opts
    assert sent["file_roots"] == OPTIONS["file_roots"].default
    assert seen["file_roots"] == config.opts["file_roots"]


def test_only_options_without_secrets_travel():
    is_secret = Redactor().is_secret_key
    for name, option in OPTIONS.items():
        if option.travels:
            assert not is_secret(name) and option.scope != "controller", name


def test_an_option_of_a_module_has_its_place(load, tree):
    tree(**{"pushsalt.yaml": "mysql.host: db1\nno_such: 1\n"})
    assert [("`minion_opts` of a host" in text) for text in load().unknown] == [True, False]


def test_signing_policies_travel_without_keys(load, tree):
    policy = "{www: [{signing_private_key: /ca.key}, {signing_private_key_passphrase: hunter2}, {O: x}]}"
    key = "'-----BEGIN RSA PRIVATE KEY-----'"
    more = f"{{h: {{signing_private_key: {key}}}}}"
    tree(**{"pushsalt.yaml": f"x509_signing_policies: {policy}\nssh_signing_policies: {more}\n"})
    for make in (target_opts, minion_opts):
        opts = make(load(), Target("web1"))
        assert opts["x509_signing_policies"] == {"www": [{"signing_private_key": "/ca.key"}, {}, {"O": "x"}]}
        assert opts["ssh_signing_policies"] == {"h": {"signing_private_key": None}}
    assert "hunter2" in repr(target_opts(load(), Target("here", transport="local")))


@pytest.mark.parametrize(
    "name, transport, own, want",
    [
        ("pushsalt.yaml", "local", {}, "/somewhere"),
        ("pushsalt.yaml", "ssh", {}, "/var/cache/salt/minion"),
        ("pushsalt.yaml", "local", {"cachedir": "/own"}, "/own"),
        ("master", "local", {}, "/var/cache/salt/minion"),
    ],
)
def test_cachedir_of_a_target(tmp_path, name, transport, own, want):
    (tmp_path / name).write_text("cachedir: /somewhere\n")
    config = load_config(tmp_path / name)
    assert minion_opts(config, Target("it", transport=transport, minion_opts=own))["cachedir"] == want


@pytest.mark.parametrize("victim", ["home/.config/pushsalt/pushsalt.yaml", "home/.salt/Saltfile"])
def test_no_inventory_takes_the_place_of_the_user_s_own_that_is_not_trusted(load, tree, victim):
    files = {"home/.salt/Saltfile": "salt-ssh: {config_dir: ../etc}\n", "home/etc/roster": "a: b\n", "x/y": ""}
    top = tree(**{victim: "", **files})
    os.chmod(top / victim, 0o666)
    config = load(cwd=top / "x")
    assert (config.inventories, config.refused) == ([], top / victim)
    assert f"{victim} is not used: others can write to" in config.warnings[0]
    assert load(cwd=top / "x", PUSHSALT_TRUST=str(top)).refused is None
