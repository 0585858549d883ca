"""What templates may call while a dry run is rendered."""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path

import pytest

from pushsalt.api import Client, JobOptions, Selection, Settings
from pushsalt.options import OPTIONS
from pushsalt.run.callerrors import all_remote
from pushsalt.run.dryrun import CHANGES, COMMANDS, treatment
from pushsalt.run.salt import exists

VERBS = re.compile(
    r"(^|_)(add|append|assign|chown|chgrp|chmod|ch[a-z]+|clone|commit|copy|create|del|delete|disable|enable|extract|"
    r"erase|format|halt|hold|import|init|insert|install|kill|line|link|load|lock|make|makedirs|mask|mkdir|mknod|mod|"
    r"mount|move|new|patch|persist|poweroff|prepend|pull|purge|push|reboot|refresh|reload|remount|remove|rename|replace|"
    r"reset|resize|restart|restore|rm|rmdir|run|save|set|set[a-z]+|shutdown|start|stop|swapoff|swapon|symlink|sync|"
    r"touch|truncate|umount|unhold|uninstall|unload|unlock|unmask|unset|update|upgrade|wipe|write)(_|$)"
)
#: Functions of ours that sound as if they changed something, and do not: what they write is a cache, or nothing.
READ_ALL_THE_SAME = {
    *("file.check_hash", "file.check_file_meta", "file.check_managed", "file.check_managed_changes"),
    *("file.is_link", "file.is_hardlink", "file.readlink", "file.lines_given", "alternatives.show_link"),
    *("augeas.would_change", "event.link", "x509.load", "tls.load", "tls.set_ca_path"),
    *("mine.link", "mine.delete", "mine.update"),  # the controller's cache
    *("sdb.get_or_set_hash",),  # it looks at that itself: what is there may be read
    *("match.link", "match.data", "pip.upgrade_available", "pkg.upgrade_available", "network.links", "test.retcode"),
    *("alternatives.check_exists", "alternatives.check_installed", "archive.check_members", "git.check_url"),
    *("dig.check_ip", "ssh.check_key", "ssh.check_key_file", "network.default_route", "sysctl.default_config"),
    *("saltutil.refresh_beacons", "saltutil.refresh_grains", "saltutil.refresh_modules", "saltutil.refresh_pillar"),
    *("saltutil.refresh_matchers", "saltutil.refresh_resources", "ssh.check_known_host", "kmod.check_available"),
    *("jinja.import_json", "jinja.import_yaml", "jinja.load_map", "out.html_format", "out.out_format"),
    *("out.string_format", "saltutil.kill_all_jobs", "saltutil.kill_job", "saltutil.pillar_refresh"),
    *("saltutil.update", "minion.kill", "minion.restart", "state.soft_kill"),  # there is nothing to do
    *("kmod.mod_list", "partition.align_check", "partition.check"),
    *("service.add_svc_avail_path", "runit.add_svc_avail_path", "shadow.get_change", "shadow.get_last_change"),
    *("system.get_restart_delay", "system.get_disable_keyboard_on_lock"),
    *("sys.reload_modules", "pkg_resource.add_pkg", "network.dns_check", "git.is_worktree"),
    *("mount.read_mount_cache", "mount.write_mount_cache", "mount.delete_mount_cache", "mount.get_mount_from_path"),
    *("file.is_chrdev", "file.extract_hash", "defaults.copy", "pkg_resource.check_extra_requirements"),
    *("archive.guess_format", "defaults.update", "system.has_settable_hwclock", "data.load"),
    *("environ.setenv", "environ.setval"),  # of the runtime's own process
    *("pillar.copy", "archive.extract_tar"),  # imported, not offered
    *("debconf.get_selections", "pkg.get_selections", "virtualenv.get_distribution_path"),
    *("apache.check_conf_enabled", "apache.check_mod_enabled", "apache.check_site_enabled", "mysql.db_check"),
    *("postgres.create_metadata", "rabbitmq.check_password"),
    *("dnsutil.check_ip", "ipset.check", "ipset.check_set", "ipset.list_sets", "iptables.check"),
    *("iptables.check_chain", "nftables.check", "nftables.check_chain", "nftables.check_table"),
    *("lowpkg.checksum", "pkg.services_need_restart", "pkg_resource.format_pkg_list", "pkg_resource.format_version"),
    "ip.get_network_settings",
    *("ufw.would_add", "ufw.would_delete", "ip.check"),  # the last is imported, not offered
}


def test_every_function_that_sounds_so_is_known():
    shipped = {name for name in all_remote() if name.islower() and exists(name)}
    ours = {re.sub(r"_$", "", name) for name in shipped if VERBS.search(name.partition(".")[2])}
    unknown = {
        name for name in ours - CHANGES - COMMANDS - READ_ALL_THE_SAME
        if not name.startswith(("saltutil.sync", "test.", "log.", "slsutil.", "sys."))
    }  # fmt: skip
    assert unknown == set(), "say in pushsalt.run.dryrun whether it changes the system, or here that it does not"


@pytest.mark.parametrize(
    "name, opts, want",
    [
        ("pkg.install", {}, "refuse"),
        ("pkg.version", {}, "allow"),
        ("cmd.run", {}, "warn"),
        ("cmd.which", {}, "allow"),
        ("mine.own", {}, "allow"),
        ("pkg.install", {"test_template_functions": "warn"}, "warn"),
        ("pkg.install", {"test_template_functions": "allow"}, "allow"),
        ("cmd.run", {"test_template_functions": "allow"}, "allow"),
        ("pkg.install", {"test_template_functions": "nonsense"}, "refuse"),
        ("pkg.install", {"test_template_allow": ["pkg.*"]}, "allow"),
        ("cmd.run", {"test_template_allow": ["cmd.*"]}, "allow"),
        ("cmd.run", {"test_template_refuse": ["cmd.*"]}, "refuse"),
        ("cmd.run", {"test_template_refuse": ["cmd.*"], "test_template_allow": ["cmd.run"]}, "allow"),
        ("cmd.run", {"test_template_refuse": ["cmd.*"], "test_template_allow": ["cmd*"]}, "refuse"),
        ("mine.own", {"test_template_refuse": ["mine.*"]}, "refuse"),
    ],
)
def test_treatment(name, opts, want):
    assert treatment(name, opts) == want
    assert treatment("mine.own", {}, changes=True) == "refuse"


def test_the_options_default_to_what_is_treated_so():
    assert OPTIONS["test_template_functions"].default == "refuse"
    assert OPTIONS["test_template_allow"].default == OPTIONS["test_template_refuse"].default == []


OWN = "__changes__ = ('put',)\n\ndef put(path):\n    open(path, 'w').close()\n\ndef get():\n    return 7\n"


class Tree:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.made = folder / "made"
        self.write("salt/_modules/mine_own.py", OWN)
        self.write("inventory.yaml", json.dumps({"hosts": {"it": {"transport": "local"}}}))

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    def apply(self, sls: str, *, test: bool = True, **config):
        self.write("salt/web.sls", sls)
        trees = {"file_roots": {"base": ["salt"]}, "pillar_roots": {"base": ["pillar"]}}
        self.write("pushsalt.yaml", json.dumps({**trees, **config}))
        settings = Settings([self.folder / "inventory.yaml"], self.folder / "pushsalt.yaml")
        settings = Settings(settings.inventories, settings.config, cache_dir=self.folder / "cache")
        [result] = Client(settings).apply(Selection("it"), ["web"], JobOptions(test=test)).values()
        return result


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


def comments(result) -> str:
    assert result.shape == "states", result.ret
    return " ".join(sorted(ret["name"] for ret in result.ret.values()))


REFUSED = "changes the system, and this is a dry run: it was not called"


@pytest.mark.parametrize("function", ["file.write", "mine_own.put"])
def test_a_changing_function_is_refused_with_its_line(tree, function):
    lib = "{% macro make(path) %}\n{{ salt['FUN'](path) }}\n{% endmacro %}\n".replace("FUN", function)
    tree.write("salt/lib.jinja", lib)
    sls = "{% from 'lib.jinja' import make %}\n# " + "{{ make('" + str(tree.made) + "') }}\nx: test.nop\n"
    result = tree.apply(sls)
    [text] = result.ret
    assert f"{function} {REFUSED}" in text
    assert f"in {tree.folder}/salt/lib.jinja:2\n  from {tree.folder}/salt/web.sls:2" in text
    assert "hint: leave it out with {% if not opts.test %}" in text
    assert not tree.made.exists()


def test_without_test_it_runs(tree):
    result = tree.apply(f"# {{{{ salt['mine_own.put']('{tree.made}') }}}}\nx: test.nop\n", test=False)
    assert comments(result) == "x"
    assert tree.made.exists()


def test_other_renderers_are_refused_too(tree):
    result = tree.apply(f"#!py\ndef run():\n    __salt__['file.touch']('{tree.made}')\n    return {{}}\n")
    [text] = result.ret
    assert REFUSED in text and "web.sls:3" in text
    assert not tree.made.exists()


def test_the_pillar_is_refused_too(tree):
    tree.write("pillar/top.sls", "base: {'*': [p]}\n")
    tree.write("pillar/p.sls", f"a: {{{{ salt['file.touch']('{tree.made}') }}}}\n")
    result = tree.apply("x: test.nop\n")
    assert REFUSED in result.ret[1] and "pillar/p.sls:1" in result.ret[1]
    assert not tree.made.exists()


def test_guards_and_reading_functions(tree):
    sls = (
        "{% if not opts.test %}{% do salt['file.touch']('" + str(tree.made) + "') %}{% endif %}\n"
        "'a{{ salt['mine_own.get']() }}-{{ opts['test'] }}': test.nop\n"
    )
    assert comments(tree.apply(sls)) == "a7-True"
    assert not tree.made.exists()
    assert comments(tree.apply(sls.replace("touch", "directory_exists"), test=False)) == "a7-False"


def test_commands_run_and_are_said_once(tree, caplog):
    sls = "{% for i in range(3) %}\na{{ i }}{{ salt['cmd.run']('echo -n x') }}: test.nop\n{% endfor %}\n"
    with caplog.at_level(logging.WARNING):
        assert comments(tree.apply(sls)) == "a0x a1x a2x"
    said = [record.getMessage() for record in caplog.records if "dry run" in record.getMessage()]
    assert said == [f"{tree.folder}/salt/web.sls:2: cmd.run runs a command, in a dry run too"]
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        assert comments(tree.apply(sls, test_template_allow=["cmd.*"])) == "a0x a1x a2x"
        assert comments(tree.apply(sls, test=False)) == "a0x a1x a2x"
    assert "dry run" not in caplog.text
    assert REFUSED in tree.apply(sls, test_template_refuse=["cmd.run"]).ret[0]


def test_commands_of_python_are_said_with_their_line(tree, caplog):
    sls = "#!py\ndef run():\n    return {__salt__['cmd.run']('echo -n x'): {'test.nop': []}}\n"
    with caplog.at_level(logging.WARNING):
        assert comments(tree.apply(sls)) == "x"
    assert f"{tree.folder}/salt/web.sls:3: cmd.run runs a command, in a dry run too" in caplog.text


def test_it_can_be_let_through(tree, caplog):
    sls = f"# {{{{ salt['file.touch']('{tree.made}') }}}}\nx: test.nop\n"
    with caplog.at_level(logging.WARNING):
        assert comments(tree.apply(sls, test_template_functions="warn")) == "x"
    assert tree.made.exists()
    assert "file.touch changes the system, in a dry run too" in caplog.text
