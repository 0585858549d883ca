import os
import re
from pathlib import Path

import pytest

from pushsalt.errors import InventoryError
from pushsalt.inventory import Inventory
from pushsalt.inventory.load import load_inventory
from pushsalt.model import Target
from pushsalt.yamlio import load_yaml

ROOT = Path(__file__).parents[2]


def jinja_then_yaml(text, path):
    import jinja2

    return load_yaml(jinja2.Template(text.removeprefix("#!jinja|yaml\n")).render(), path)


@pytest.fixture
def load(tmp_path):
    def load(*texts, defaults=None):
        paths = []
        for number, text in enumerate(texts):
            path = tmp_path / (f"inventory{number}.yaml" if number else "inventory.yaml")
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
            paths.append(path)
        return load_inventory(paths, render=jinja_then_yaml, defaults=defaults)

    return load


def test_no_inventory_is_localhost():
    assert load_inventory([], render=jinja_then_yaml).targets == {"localhost": Target("localhost", transport="local")}


def test_example_is_valid_and_without_warnings():
    inventory = load_inventory([ROOT / "inventory.example.yaml"], render=load_yaml)
    assert inventory.warnings == ()
    assert inventory.ids == ("web1", "web2", "bastion", "db1", "here", "ci-rocky9")
    assert inventory.targets["db1"].jump == ("bastion", "web1")
    assert inventory.targets["bastion"].jump == ()
    assert inventory.targets["web1"].user == "www"


def test_layers_of_the_native_shape(load):
    target = load("""
defaults: {user: deploy, sudo: true, grains: {a: {x: 1, y: 1}}, priv: key}
hosts:
  web1: {host: 10.0.0.11, port: "22", grains: {a: {z: 3}}, pillar: {vhost: a.example}}
groups:
  web: {hosts: ['web*'], user: www, grains: {a: {y: 2}, tier: front}}
  all: {hosts: [web1], user: last, priv: null}
""").targets["web1"]
    assert (target.host, target.port, target.user, target.sudo) == ("10.0.0.11", 22, "last", True)
    assert target.grains == {"a": {"x": 1, "y": 2, "z": 3}, "tier": "front"}
    assert target.pillar == {"vhost": "a.example"}
    assert target.groups == ("web", "all")
    assert target.priv == ()
    assert re.fullmatch(r".*inventory\.yaml:7 \(group all\)", target.origin["user"])
    assert "priv" not in target.origin


def test_hosts_do_not_share_values_of_defaults(load):
    targets = load("defaults: {grains: {roles: [a]}}\nhosts: {one: {}, two: {}}").targets
    targets["one"].grains["roles"].append("b")
    assert targets["two"].grains == {"roles": ["a"]}


@pytest.mark.parametrize(
    "text",
    [
        "web1: 192.0.2.1\nweb2: {host: 192.0.2.2, user: root, passwd: 1234, sudo: True}\n",
        "#!jinja|yaml\n{% for n in (1, 2) %}\nweb{{ n }}: {host: 192.0.2.{{ n }}, passwd: '1234'}\n{% endfor %}\n",
        "web{{ 1 }}: 192.0.2.1\nweb2: {host: 192.0.2.2, passwd: '{{ 1234 }}'}\n",
    ],
    ids=["plain", "shebang", "jinja"],
)
def test_roster(load, text):
    targets = load(text).targets
    assert list(targets) == ["web1", "web2"]
    assert [target.host for target in targets.values()] == ["192.0.2.1", "192.0.2.2"]
    assert targets["web2"].passwd == "1234"
    assert "1234" not in repr(targets["web2"])


def test_roster_settings_of_salt_ssh(load, tmp_path):
    inventory = load("""
a: {host: h, priv: agent-forwarding, identities_only: true, tty: true, timeout: 60, thin_dir: /var/tmp/x, mods: 1}
b: {host: h, priv: keys/id, ssh_options: [StrictHostKeyChecking=no], minion_opts: {a: 1}, usr: root}
10: h3
""")
    a, b, ten = inventory.targets.values()
    assert (a.priv, a.agent, a.tty, a.timeout, a.thin_dir) == ((), False, True, 60.0, "/var/tmp/x")
    assert b.priv == (str(tmp_path / "keys/id"),)
    assert (b.ssh_options, b.minion_opts) == (("StrictHostKeyChecking=no",), {"a": 1})
    assert (ten.id, ten.host) == ("10", "h3")
    assert [re.sub(r".*/", "", text) for text in inventory.warnings] == [
        "inventory.yaml:2: `mods` of host a has no effect here: modules are sent as they are needed",
        "inventory.yaml:3: unknown setting `usr` of host b is ignored (did you mean `user`?)",
    ]


@pytest.mark.parametrize(
    "host, answer",
    [
        ("{sudo: true, passwd: a}", "a"),
        ("{sudo: true, passwd: a, sudo_password: b}", "b"),
        ("{sudo: true, passwd: a, sudo_password: null}", None),
        ("{passwd: a}", None),
        ("{sudo: true}", "of all"),
        ("{sudo: true, passwd: ''}", None),
        ("{sudo: true, passwd: 'sdb://vault/x'}", "sdb://vault/x"),
    ],
)
def test_the_password_of_a_roster_answers_sudo_too(load, host, answer, tmp_path):
    defaults = {"passwd": "of all"} if answer == "of all" else None
    found = load(f"web: {host}\n", defaults=defaults).targets["web"]
    assert found.sudo_password == answer
    assert answer is None or type(found.sudo_password) is type(found.passwd) or answer == "b"
    (tmp_path / "roster.d").mkdir()
    (tmp_path / "roster.d/web").write_text(host)
    of_folder = load_inventory([tmp_path / "roster.d"], render=jinja_then_yaml, defaults=defaults).targets["web"]
    assert of_folder.sudo_password == answer
    if answer != "b":
        assert load(f"hosts: {{web: {host}}}\n", defaults=defaults).targets["web"].sudo_password is None, "not native"


def test_native_braces_are_values(load):
    assert load("hosts: {a: {pillar: {x: '{{ y }}'}}}").targets["a"].pillar == {"x": "{{ y }}"}


def test_defaults_of_the_configuration_lie_below_all(load):
    targets = load("hosts: {a: {}, b: {user: c}}", defaults={"user": "salt", "port": "2222"}).targets
    assert [(target.user, target.port) for target in targets.values()] == [("salt", 2222), ("c", 2222)]


def test_a_later_file_replaces_a_host_wholly(load):
    inventory = load("hosts: {a: {host: one, passwd: old}, b: one}", "defaults: {user: x}\nhosts: {a: two}")
    assert inventory.ids == ("b", "a")
    assert (inventory.targets["a"].host, inventory.targets["a"].passwd) == ("two", None)
    assert inventory.targets["b"].user is None
    assert re.search(r"inventory1\.yaml:2: host a replaces the one of .*inventory\.yaml:1", inventory.warnings[0])


def test_empty_inventory_has_no_targets(load):
    inventory = load("# nothing\n")
    assert inventory.ids == ()
    assert "no host" in inventory.warnings[0]


def test_things_that_are_said_but_do_no_harm(load):
    inventory = load("host: {}\nhosts:\n  a: {}\ngroups:\n  g: {hosts: [b, 'c*', a]}\n")
    assert [re.sub(r".*/", "", text) for text in inventory.warnings] == [
        "inventory.yaml:1: unknown key `host` of the inventory is ignored (did you mean `hosts`?)",
        "inventory.yaml:5: `b` in group g matches no host of this inventory",
        "inventory.yaml:5: `c*` in group g matches no host of this inventory",
    ]


@pytest.mark.parametrize(
    "text, line, words",
    [
        ("hosts:\n  a: {port: 0}", 2, "`port` of host a must be between 1 and 65535, not 0"),
        ("hosts:\n  a: {port: ssh}", 2, "`port` of host a must be a port number, not text"),
        ("hosts:\n  a:\n    port: true", 3, "`port` of host a must be a port number, not true/false"),
        ("hosts:\n  a: {host: -oProxyCommand=x}", 2, "`host` of host a begins with '-'"),
        ("hosts:\n  a: {host: 'a b'}", 2, "`host` of host a has a space in it"),
        ('hosts:\n  a: {user: "x\\ny"}', 2, "`user` of host a has a control character or a line break in it"),
        ('hosts:\n  a: {passwd: "x\\ny"}', 2, "`passwd` of host a has a line break or NUL in it"),
        ("hosts:\n  a: {passwd: 1.50}", 2, "`passwd` of host a is read as a number with a fraction"),
        ("hosts:\n  a: {passwd: [x]}", 2, "`passwd` of host a must be text, not a list"),
        ("hosts:\n  a: {sudo: maybe}", 2, "`sudo` of host a must be true or false, not text"),
        ("hosts:\n  a: {timeout: -1}", 2, "`timeout` of host a must be more than 0"),
        ("hosts:\n  a: {timeout: .nan}", 2, "`timeout` of host a must be more than 0"),
        ("hosts:\n  a: {grains: [x]}", 2, "`grains` of host a must be a mapping, not a list"),
        ("hosts:\n  a: {transport: telnet}", 2, "`transport` of host a must be one of ssh, local, offline"),
        ("hosts:\n  a: {thin_dir: ../x}", 2, "`thin_dir` of host a must be an absolute path"),
        ("hosts:\n  a: [x]", 2, "host a must be a mapping of settings, not a list"),
        ("hosts: [a, b]", 1, "`hosts` must be a mapping of names"),
        ("hosts:\n  a/b: {}", 2, "the id 'a/b' looks like a path"),
        ("hosts:\n  'a b': {}", 2, "the id 'a b' has a space"),
        ("hosts:\n  1.10: {}", 2, "the id 1.1 is read as a number, not as text"),
        ("hosts:\n  on: {}", 2, "the id true is read as true/false"),
        ("hosts:\n  -x: {}", 2, "the id '-x' begins with '-'"),
        ("hosts:\n  a: {}\ngroups:\n  g: {user: x}", 4, "group g has no list of `hosts`"),
        ("hosts:\n  a: {}\n  a: {}", 3, "conflicting ID 'a'"),
        ("hosts:\n  a: {b: ]\n", 2, "not valid YAML"),
        ("hosts:\n\ta: {}", 2, "not valid YAML: illegal tab character"),
        ("- a\n- b", 1, "an inventory is a mapping, not a list"),
        ("a: 1.2.3.4\nb: [x]", 2, "host b has neither an address nor settings"),
        ("defaults: {port: 99999}\nhosts: {a: {}}", 1, "`port` of defaults must be between"),
        (b"hosts:\n  a: {host: \xff}", 2, "not UTF-8"),
        # rendered: the line is that of the source
        ("{% set x = 1 %}\n\nweb: {host: h}\ndb: {port: {{ x }}00000}", 4, "`port` of host db must be between"),
    ],
)
def test_malformed(load, text, line, words):
    with pytest.raises(InventoryError) as caught:
        load(text)
    assert words in caught.value.message
    assert caught.value.hint
    assert caught.value.where.path.endswith("inventory.yaml")
    assert caught.value.where.line == line


def test_errors_do_not_show_passwords(load):
    with pytest.raises(InventoryError) as caught:
        load("hosts:\n  a: {passwd: hunter2, port: [}")
    assert "hunter2" not in str(caught.value) + caught.value.hint


@pytest.mark.parametrize("make, words", [(os.mkfifo, "no regular file"), (lambda p: None, "no inventory")])
def test_unreadable(tmp_path, make, words):
    make(tmp_path / "x")
    with pytest.raises(InventoryError, match=words):
        load_inventory([tmp_path / "x"], render=jinja_then_yaml)


def test_a_fifo_is_not_waited_for(tmp_path):
    import os

    os.mkfifo(tmp_path / "x")
    with pytest.raises(InventoryError, match="no regular file"):
        load_inventory([tmp_path / "x"], render=jinja_then_yaml)


@pytest.mark.parametrize(
    "hosts, id, way",
    [
        ("{a: {}, b: {jump: a}, c: {jump: b}}", "c", ("a", "b")),
        ("{c: {jump: b}, b: {jump: [a]}, a: {}}", "c", ("a", "b")),
        ("{a: {}, b: {jump: a}, c: {jump: [a, b]}}", "c", ("a", "b")),
        ("{a: {}, b: {jump: a}, d: {}, c: {jump: [b, d]}}", "c", ("a", "b", "d")),
    ],
)
def test_jump_is_the_whole_way(load, hosts, id, way):
    assert load(f"hosts: {hosts}").targets[id].jump == way


def test_a_long_chain_of_jumps(load):
    hosts = "\n".join(f"  h{n}: {{jump: h{n + 1}}}" for n in range(2000))
    assert len(load(f"hosts:\n{hosts}\n  h2000: {{}}").targets["h0"].jump) == 2000


def test_inherited_jump_does_not_hold_for_the_jump_host(load):
    targets = load("defaults: {jump: gate}\nhosts: {gate: {}, a: {}, here: {transport: local}}").targets
    assert [target.jump for target in targets.values()] == [(), ("gate",), ()]


@pytest.mark.parametrize(
    "hosts, words",
    [
        ("{a: {jump: nope}}", "names 'nope', which is no id"),
        ("{bastion: {}, a: {jump: bastoin}}", "names 'bastoin'"),
        ("{a: {jump: a}}", "jump hosts form a circle: a -> a"),
        ("{a: {jump: b}, b: {jump: c}, c: {jump: b}}", "jump hosts form a circle: b -> c -> b"),
        ("{a: {jump: [b, a]}, b: {}}", "over a itself"),
        ("{a: {jump: b}, b: {transport: offline}}", "whose transport is offline"),
    ],
)
def test_jumps_that_lead_nowhere(load, hosts, words):
    with pytest.raises(InventoryError, match=words) as caught:
        load(f"hosts: {hosts}")
    assert caught.value.where.line == 1
    assert caught.value.hint


@pytest.mark.parametrize(
    "pattern, first",
    [("wbe1", "web1"), ("wep*", "web1"), ("WEB1", "web1"), ("db", "db1.example"), ("zzzz", None), ("*", None)],
)
def test_nearest(pattern, first):
    inventory = Inventory({id: Target(id) for id in ("web1", "web2", "db1.example")})
    assert (inventory.nearest(pattern) or [None])[0] == first


def test_mine_functions_of_a_roster_are_minion_options(load):
    native = load(
        "defaults: {mine_functions: {test.ping: []}}\n"
        "hosts:\n  a: {minion_opts: {x: 1}, mine_functions: {test.echo: [b]}}\n  b: {mine_functions: [test.ping]}\n"
    )
    assert native.targets["a"].minion_opts == {"x": 1, "mine_functions": {"test.ping": [], "test.echo": ["b"]}}
    assert native.targets["b"].minion_opts == {"mine_functions": ["test.ping"]}
    roster = load("a: {host: h, mine_functions: {test.echo: [b]}}\n")
    assert (roster.targets["a"].minion_opts, roster.warnings) == ({"mine_functions": {"test.echo": ["b"]}}, ())
    with pytest.raises(InventoryError, match="`mine_functions` of host a must be a mapping of functions, not text"):
        load("a: {host: h, mine_functions: test.ping}\n")


# --- becoming another user


@pytest.mark.parametrize(
    "defaults, host, want",
    [
        ("{}", "{}", (False, None)),
        ("{}", "{become: doas}", (True, "doas")),
        ("{}", "{become: su, sudo: false}", (False, "su")),
        ("{become: doas}", "{}", (True, "doas")),
        ("{become: doas}", "{sudo: true}", (True, "doas")),
        ("{become: doas}", "{sudo: false}", (False, "doas")),
        ("{become: doas}", "{become: run0}", (True, "run0")),
        ("{become: doas}", "{become: null}", (True, None)),
        ("{become_method: doas}", "{}", (False, "doas")),
        ("{become_method: doas}", "{sudo: true}", (True, "doas")),
    ],
)
def test_become_names_the_program_and_implies_becoming(load, defaults, host, want):
    target = load(f"defaults: {defaults}\nhosts:\n  a: {host}\n").targets["a"]
    assert (target.sudo, target.become) == want


@pytest.mark.parametrize(
    "value, said",
    [
        ("pbrun", "must be one of sudo, su, doas, run0, not 'pbrun'"),
        ("true", "the name of a program"),
        ("[su]", "must be"),
    ],
)
def test_become_with_an_unknown_program(load, value, said):
    with pytest.raises(InventoryError, match=said) as caught:
        load(f"hosts:\n  a: {{become: {value}}}\n")
    assert caught.value.where.line == 2


def test_ansibles_become_method(tmp_path):
    path = tmp_path / "hosts.ini"
    path.write_text(
        "[all]\na ansible_become=true ansible_become_method=su\nb ansible_become_method=doas\n"
        "c ansible_become=true ansible_become_method=enable\n"
    )
    found = load_inventory([path], render=load_yaml)
    assert [(each.sudo, each.become) for each in found.targets.values()] == [
        (True, "su"),
        (False, "doas"),
        (True, None),
    ]
    assert len(found.warnings) == 1 and "`ansible_become_method` is ignored where it is not one of" in found.warnings[0]


def test_su_wants_another_password_than_the_login(load):
    found = load("a: {host: 192.0.2.1, become: su, passwd: x}\nb: {host: 192.0.2.2, become: doas, passwd: x}\n")
    assert [each.sudo_password for each in found.targets.values()] == [None, "x"]
