"""Foreign values of an inventory stay data: they are not rendered or evaluated, and do not affect the controller."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pushsalt.errors import InventoryError
from pushsalt.inventory import kinds
from pushsalt.inventory.ansibleshapes import is_listing, is_yaml
from pushsalt.inventory.load import load_inventory
from pushsalt.inventory.native import is_native
from pushsalt.inventory.rendering import Rosters
from pushsalt.programs import list_inventory
from pushsalt.trust import Trusted

pytestmark = pytest.mark.slow


def rendered(text, path):
    """Every rendered template must be the operator's."""
    assert isinstance(text, Trusted)
    raise AssertionError(f"{path} was rendered: {text[:200]!r}")


HOSTILE = [
    "{{ 7*7 }}",
    "{% for x in [1] %}x{% endfor %}",
    "{# \x7f #}",
    "{# x #}{{ 7*7 }}",
    "{{ salt['cmd.run']('touch canary') }}",
    "#!py\ndef run(): return {}",
    "#!jinja|yaml",
    "!!python/object/apply:os.system ['touch canary']",
    "\x7f",
    "\x85\x9b",
    "\x00",
    "\ud800",
    "\u2028x: y",
    "x\nhosts:\n  b: {}\n",
    "'",
    '"',
    "{",
    "[",
    "a: b: c",
    "&a [*a]",
    "<<: *x",
    "- x",
    "%YAML 1.2",
    "---\n...",
    "%h",
    "${HOME}",
    "$(touch canary)",
    "\ufeff",
    "[" * 300,
    "{a: " * 300,
]

anything = st.sampled_from(HOSTILE) | st.text(max_size=12) | st.integers(-3, 70000) | st.none() | st.booleans()
values = st.recursive(
    anything,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(HOSTILE) | st.just("k"), inner),
    max_leaves=4,
)
some_keys = (
    "host",
    "user",
    "port",
    "grains",
    "pillar",
    "minion_opts",
    "jump",
    "ssh_options",
    "priv",
    "groups",
    "passwd",
)
settings_of_hosts = st.dictionaries(st.sampled_from(some_keys) | st.sampled_from(HOSTILE), values, max_size=4)


def _json(data):
    return json.dumps(data, default=str)


def _yaml(data):
    return yaml.safe_dump(data, allow_unicode=True)


def _terraform(host):
    attributes = {"public_ip": "192.0.2.1", "tags": host, **host}
    return {
        "version": 4,
        "terraform_version": "1",
        "resources": [
            {"mode": "managed", "type": "aws_instance", "name": "a", "instances": [{"attributes": attributes}]}
        ],
    }


def _listing(host):
    return {
        "_meta": {"hostvars": {"a": {f"ansible_{key}": value for key, value in host.items()} | host}},
        "g": {"hosts": ["a"], "vars": host},
    }


#: kind -> (name of the file, whether it is a program, text for the settings of one host)
SHAPES = {
    "native": ("inventory.yaml", False, lambda host: _yaml({"hosts": {"a": host}})),
    "native JSON": ("inventory", False, lambda host: _json({"hosts": {"a": host}})),
    "Ansible YAML": ("hosts.yml", False, lambda host: _yaml({"all": {"hosts": {"a": host}, "vars": host}})),
    "Ansible group first": (
        "hosts.yml",
        False,
        lambda host: _yaml({"web": {"hosts": {"a": host}}, "db": {"vars": host}}),
    ),
    "Ansible listing": ("list", False, lambda host: _json(_listing(host))),
    "Terraform state": ("terraform.tfstate", False, lambda host: _json(_terraform(host))),
    "Terraform state by another name": ("inventory.yaml", False, lambda host: "\n" + _json(_terraform(host))),
    "Terraform show": (
        "x.json",
        False,
        lambda host: _json(
            {
                "terraform_version": "1",
                "values": {
                    "root_module": {
                        "resources": [
                            {
                                "type": "hcloud_server",
                                "name": "a",
                                "values": {"ipv4_address": "192.0.2.1", "labels": host, **host},
                            }
                        ]
                    }
                },
            }
        ),
    ),
    "program, native": ("prog", True, lambda host: _json({"hosts": {"a": host}})),
    "program, roster": ("prog", True, lambda host: _yaml({"a": host})),
    "program, listing": ("prog", True, lambda host: _json(_listing(host))),
}


def read(folder, name, program, text):
    path = folder / name
    raw = text.encode("utf-8", "surrogatepass")
    execute = None
    if program:
        path.write_bytes(b"#!/bin/sh\n")
        path.chmod(0o700)
        execute = lambda _: raw.decode("utf-8", "replace")  # noqa: E731
    else:
        path.write_bytes(raw)
    try:
        return load_inventory([path], render=rendered, **({"execute": execute} if execute else {}))
    except InventoryError as exc:
        assert exc.message and exc.where is not None and exc.where.path == str(path), exc
        return None


@pytest.mark.parametrize("kind", SHAPES)
@given(host=settings_of_hosts)
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_hostile_values_stay_data_or_are_an_error_with_file_and_host(kind, host, tmp_path):
    name, program, text = SHAPES[kind]
    found = read(tmp_path, name, program, text(host))
    for target in found.targets.values() if found is not None else ():
        shown = repr([target.grains, target.pillar, target.minion_opts])
        assert "49" not in shown or "49" in repr(host)


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("value", HOSTILE)
def test_each_hostile_string_in_each_kind(kind, value, tmp_path):
    name, program, text = SHAPES[kind]
    for host in ({"pillar": {"x": value}}, {"grains": {"x": value}}, {"Name": value}, {"note": value}, {value: value}):
        found = read(tmp_path, name, program, text(host))
        for target in found.targets.values() if found is not None else ():
            assert "49" not in repr([target.grains, target.pillar])


@pytest.mark.parametrize(
    "text", ['{"_meta": {"hostvars": %s}, "g": %s, "h": {"hosts": %s, "children": %s, "vars": %s}}']
)
@given(parts=st.lists(values, min_size=5, max_size=5))
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_listings_of_any_shape(text, parts, tmp_path):
    read(tmp_path, "list.json", False, text % tuple(_json(part) for part in parts))


@pytest.mark.slow
@given(part=values, other=values)
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_states_of_any_shape(part, other, tmp_path):
    for resources in (
        part,
        [part],
        [{"type": "aws_instance", "instances": part}],
        [{"type": part, "mode": other}],
        [{"type": "aws_instance", "name": other, "instances": [{"attributes": part, "index_key": other}]}],
        [{"type": "aws_instance", "instances": [{"attributes": {"tags": part, "network_interface": other}}]}],
        [
            {
                "type": "aws_instance",
                "instances": [{"attributes": {"network_interface": [{"access_config": part, "addresses": other}]}}],
            }
        ],
    ):
        read(tmp_path, "a.tfstate", False, _json({"terraform_version": "1", "resources": resources}))
    for module in (part, {"resources": part, "child_modules": other}, {"child_modules": [part]}):
        read(tmp_path, "a.tfstate", False, _json({"terraform_version": "1", "values": {"root_module": module}}))


@given(text=st.text(st.characters(codec="utf-8"), max_size=60) | st.lists(st.sampled_from(HOSTILE)).map("\n".join))
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_ini_of_any_text(text, tmp_path):
    read(tmp_path, "hosts.ini", False, "[web]\na x=1\n" + text)


# --- which files are templates


@pytest.mark.parametrize(
    "name, text",
    [
        ("roster", "{% set x = 1 %}\nweb{{ x }}: h\n"),
        ("roster", "web: {host: '{{ x }}'}"),
        ("roster", "# c\nweb: h # {# x #}"),
        ("inventory.yaml", "{# c #}\nweb: h"),
        ("inventory.yaml", "---\nweb:\n  host: '{{ x }}'\n  pillar:\n    hosts: 1\n"),
        ("roster", "#!jinja|yaml\nweb: h"),
        ("roster", "#!yaml\nweb: h"),
        ("x", "{{ everything }}"),
        ("x", "{%- if x %}\n"),
        ("roster.yaml", "web:\n  minion_opts:\n    hosts: '{{ x }}'\n"),
        ("r", "{% for x in y %}\n  a: b\n{% endfor %}"),
    ],
)
def test_rosters_are_templates(name, text):
    found = kinds.template(Path(name), text)
    assert isinstance(found, Trusted) and (found, found.origin) == (text, name)


@pytest.mark.parametrize(
    "name, text",
    [
        ("x.json", "{% x %}"),
        ("x.JSON", "#!jinja|yaml\n"),
        ("terraform.tfstate", "{{ x }}"),
        ("a.tfstate.backup", "{{ x }}"),
        ("x", '{"a": "{{ x }}"}'),
        ("x", '\n\n  {\n"a": "{{ x }}"}'),
        ("x", "[{{ x }}]"),
        ("x", "# c\n---\n# d\n{a: '{{ x }}'}"),
        ("x", "--- {a: '{{ x }}'}"),
        ("x", "--- !!map {a: '{{ x }}'}"),
        ("x", "!!map {a: '{{ x }}'}"),
        ("x", "&a {b: '{{ x }}'}"),
        ("x", "{}{{ x }}"),
        ("inventory.yaml", "hosts:\n  a: {pillar: {x: '{{ y }}'}}"),
        ("x", "'hosts': {a: '{{ x }}'}"),
        ("x", '"hosts" : {a: "{{ x }}"}'),
        ("x", "defaults: {user: '{{ x }}'}\nhosts: {}"),
        ("x", "{# c #}\nhosts: {}"),
        ("x", "all:\n  vars: {x: '{{ y }}'}"),
        ("x", "web:\n\n  # c\n  hosts:\n    a: {x: '{{ y }}'}"),
        ("x", "all: {children: {web: {hosts: {a: {x: '{{ y }}'}}}}}"),
        ("x", "all: # c\n  children:\n    x: '{{ y }}'"),
        ("x", "a: '{{ x }}'\nterraform_version: 1"),
        ("x", "[web]\na x='{{ y }}'"),
        ("x", "Host a\n  User {{ x }}"),
        ("x", "web: h"),
        ("x", ""),
        ("x", "all: &all\n  hosts:\n    a: '{{ x }}'"),
    ],
)
def test_all_else_is_not(name, text):
    assert kinds.template(Path(name), text) is None


names = st.sampled_from(["a", "web", "all", "hosts", "children", "vars", "defaults", "groups", "_meta", "x y", "1"])
trees = st.recursive(
    st.sampled_from(["{{ x }}", "{% x %}", "a", "hosts: {{ x }}", "x\n\nhosts:\n  {{ y }}"]),
    lambda inner: st.dictionaries(names, inner, min_size=1, max_size=3) | st.lists(inner, max_size=2),
    max_leaves=8,
)


@given(
    data=st.dictionaries(names, st.dictionaries(names, trees, min_size=1, max_size=3), min_size=1, max_size=3),
    flow=st.sampled_from([True, False, None]),
    width=st.sampled_from([5, 20, 1000]),
    start=st.sampled_from(["", "---\n", "# c\n\n", "--- \n# hosts: x\n", "--- !!map\n"]),
    indent=st.sampled_from(["", "  "]),
    style=st.sampled_from([None, '"', "'"]),
)
@settings(max_examples=150, deadline=None)
def test_what_reads_as_another_kind_is_no_template_in_whatever_style(data, flow, width, start, indent, style):
    """The text of the lines decides what a parser would find; if it does not, a file with Jinja is a roster."""
    text = yaml.safe_dump(data, default_flow_style=flow, width=width, default_style=style)
    text = start + "".join(f"{indent}{line}\n" for line in text.splitlines())
    read_as = yaml.safe_load(text)
    assert read_as.keys() == data.keys()
    if "{{" not in text and "{%" not in text:
        return
    found = kinds.template(Path("x"), text)
    if (is_native(read_as) and "hosts" in read_as) or is_yaml(read_as) or is_listing(read_as):
        assert found is None, text
    elif flow is not True and not any(set(inner) & {"hosts", "children", "vars"} for inner in data.values()):
        assert found is not None, text


def test_what_cannot_be_parsed_is_an_error_and_not_a_template(tmp_path):
    """A control character in Jinja's comment: YAML fails, and only Jinja would have parsed it."""
    canary = tmp_path / "canary"
    evil = "{# \x7f #}{{ cycler.__init__.__globals__.os.system('touch " + str(canary) + "') }}"
    rosters = Rosters({})
    for name, text in (
        ("terraform.tfstate", json.dumps(_terraform({"Name": evil}), ensure_ascii=False)),
        ("state.yaml", json.dumps(_terraform({"Name": evil}), ensure_ascii=False)),
        ("hosts.yml", f'all:\n  hosts:\n    a: {{x: "{evil}"}}\n'),
        ("inventory.yaml", f'hosts:\n  a: {{pillar: {{x: "{evil}"}}}}\n'),
    ):
        path = tmp_path / name
        path.write_text(text)
        with pytest.raises(InventoryError, match="not valid YAML: control character U") as caught:
            load_inventory([path], render=rosters.render)
        assert caught.value.where.path == str(path) and "roster only" in caught.value.hint
    path = tmp_path / "prog"
    path.write_text(f"#!/bin/sh\ncat <<'E'\na: {{host: h, note: \"{evil}\"}}\nE\n")
    path.chmod(0o755)
    with pytest.raises(InventoryError, match="not valid YAML"):
        load_inventory([path], render=rosters.render, execute=list_inventory)
    assert not canary.exists()


@pytest.mark.parametrize("first", ["", "#!py\n", "#!jinja|yaml\n"])
def test_what_a_program_prints_is_no_template(first, tmp_path):
    path = tmp_path / "prog"
    path.write_text(f"#!/bin/sh\ncat <<'E'\n{first}a: {{host: h, pillar: {{x: '{{{{ 7*7 }}}}'}}}}\nE\n")
    path.chmod(0o755)
    found = load_inventory([path], render=rendered, execute=list_inventory)
    assert found.targets["a"].pillar == {"x": "{{ 7*7 }}"}


def test_the_operators_roster_is_rendered_as_ever(tmp_path):
    path = tmp_path / "roster"
    path.write_text(
        "{% for n in (1, 2) %}\nw{{ n }}: {host: 192.0.2.{{ n }}, pillar: {x: '{{ 7 * 7 }}'}}\n{% endfor %}"
    )
    found = load_inventory([path], render=Rosters({}).render).targets
    assert [(target.host, target.pillar) for target in found.values()] == [
        ("192.0.2.1", {"x": "49"}),
        ("192.0.2.2", {"x": "49"}),
    ]


def test_what_a_roster_gives_is_not_rendered_again(tmp_path):
    path = tmp_path / "roster"
    path.write_text("{{ '#!py' if false }}w: {host: h, pillar: {x: '{{ \"{{ 7*7 }}\" }}'}}\n")
    assert load_inventory([path], render=Rosters({}).render).targets["w"].pillar == {"x": "{{ 7*7 }}"}


def test_a_program_that_may_not_be_executed_is_said(tmp_path):
    path = tmp_path / "prog"
    path.write_text("#!/bin/sh\necho '{}'\n")
    with pytest.raises(InventoryError, match="is not executable"):
        load_inventory([path], render=rendered)


# --- values that a program cannot set


def printed(tmp_path, data):
    path = tmp_path / "prog"
    path.write_text("#!/bin/sh\ncat <<'E'\n" + json.dumps(data) + "\nE\n")
    path.chmod(0o755)
    return load_inventory([path], render=rendered, execute=list_inventory)


@pytest.mark.parametrize(
    "host",
    [
        {"minion_opts": {"ext_pillar": [{"cmd_yaml": "touch canary"}]}},
        {"minion_opts": {"renderer": "py"}},
        {"minion_opts": {"pillar_roots": {"base": ["/tmp"]}}},
        {"minion_opts": {"module_dirs": ["/tmp"]}},
        {"ssh_options": ["UserKnownHostsFile=~/.ssh/authorized_keys"]},
        {"ssh_options": ["IdentityAgent=/run/x"]},
    ],
)
def test_a_program_cannot_name_programs_for_the_controller(host, tmp_path):
    with pytest.raises(InventoryError, match="of host a") as caught:
        printed(tmp_path, {"hosts": {"a": {"host": "h", **host}}})
    assert "only a file or the configuration" in caught.value.message
    with pytest.raises(InventoryError, match="only a file"):
        printed(tmp_path, {"a": {"host": "h", **host}})
    path = tmp_path / "inventory.yaml"
    path.write_text(yaml.safe_dump({"hosts": {"a": host}}))
    assert load_inventory([path], render=rendered).ids == ("a",)


def test_a_program_cannot_name_this_machine(tmp_path):
    found = printed(tmp_path, {"hosts": {"a": {"transport": "local"}, "b": {"host": "h"}}})
    assert found.ids == ("b",) and "host a is left out" in found.warnings[0]
    found = printed(tmp_path, {"_meta": {"hostvars": {"a": {"ansible_connection": "local"}, "b": {}}}})
    assert found.ids == ("b",)


def test_what_a_program_may_still_say(tmp_path):
    host = {
        "host": "h",
        "minion_opts": {"mine_interval": 5},
        "mine_functions": {"test.ping": []},
        "port": 2222,
        "ssh_options": ["ConnectTimeout=5"],
        "grains": {"role": "web"},
        "pillar": {"key": "a\nb"},
    }
    target = printed(tmp_path, {"hosts": {"a": host}}).targets["a"]
    assert (target.grains, target.pillar, target.port) == ({"role": "web"}, {"key": "a\nb"}, 2222)
    assert target.minion_opts == {"mine_interval": 5, "mine_functions": {"test.ping": []}}


def test_grains_of_others_have_no_line_breaks(tmp_path):
    path = tmp_path / "t.tfstate"
    tags = {"role": "web", "motd": "x\n  - evil", "k\ney": "x", "deep": {"a": ["ok", "x\x85y"]}}
    path.write_text(json.dumps(_terraform({"Name": "w"} | tags)))
    found = load_inventory([path], render=rendered)
    assert found.targets["w"].grains["terraform"]["tags"]["role"] == "web"
    assert "\n" not in repr(found.targets["w"].grains).replace("\\n", "\n")
    assert found.targets["w"].grains["terraform"]["tags"]["deep"] == {"a": ["ok"]}
    assert "host w" in found.warnings[0] and "motd" in found.warnings[0] and found.warnings[0].isprintable()
    mine = tmp_path / "inventory.yaml"
    mine.write_text('hosts: {a: {grains: {motd: "x\\ny"}}}')
    assert load_inventory([mine], render=rendered).targets["a"].grains == {"motd": "x\ny"}


# --- all values


def test_the_command_runs_nothing_of_an_inventory(tmp_path):
    """From the command line, with all values that a program could print at once."""
    canary = tmp_path / "canary"
    path = tmp_path / "prog"
    evil = "{{ cycler.__init__.__globals__.os.system('touch " + str(canary) + "') }}"
    path.write_text(
        f'#!/bin/sh\ncat <<\'E\'\na: {{transport: offline, grains: {{x: "{evil}"}}, pillar: {{y: "{evil}"}}}}\nE\n'
    )
    path.chmod(0o755)
    command = [sys.executable, "-m", "pushsalt", "-i", str(path), "--cache-dir", str(tmp_path / "cache")]
    for function in ("grains.items", "pillar.items"):
        done = subprocess.run(
            [*command, "run", "a", function, "--out", "json"],
            capture_output=True,
            text=True,
            check=False,
            cwd=Path(__file__).parents[2],
            env={**os.environ, "HOME": str(tmp_path)},
        )
        assert done.returncode == 0, done
        assert "cycler" in done.stdout or function == "pillar.items"  # whose values are masked
    assert not canary.exists()
