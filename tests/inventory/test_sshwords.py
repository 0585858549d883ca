"""Values that become arguments of ssh or a shell: allowed characters, and that every kind of inventory checks them."""

from __future__ import annotations

import json
import string
import subprocess

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pushsalt.errors import InventoryError
from pushsalt.inventory.load import load_inventory
from pushsalt.inventory.sshwords import (
    command_problem,
    host_problem,
    jump_problem,
    option_problem,
    sudo_user_problem,
    unchecked,
    user_problem,
)

#: Values that OpenSSH refuses in user and host names (9.6 for CVE-2023-51385, 10.1 for CVE-2025-61984, control
#: characters, and CVE-2025-61985, NUL), and those that it does not refuse.
HOSTILE = (
    "-oProxyCommand=touch x",
    "--",
    "a;touch x",
    "a|touch x",
    "a&touch x",
    "a<x",
    "a>x",
    "$(touch x)",
    "${IFS}",
    "$HOME",
    "`touch x`",
    "'x'",
    '"x"',
    "a\\",
    "a\\$x",
    "(x)",
    "{x}",
    "a b",
    "a\tb",
    "a\nb",
    "a\r\nb",
    "a\0b",
    "a\x01b",
    "a\x7fb",
    "a\x85b",
    "a\x9bb",
    "a\u2028b",
    "a\u202eb",
    "a*",
    "a?",
    "[!x]",
    "a!x",
    "a#x",
    "~root",
    "../x",
    "/etc/passwd",
    "a%hb",
    "$[\n source poc \n]",
    "x" * 300,
    "",
    "..",
    "⑴",
    "x\uff04x",
    "x\ufe54x",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_words_are_no_host_and_no_user(text):
    assert host_problem(text) and user_problem(text) and sudo_user_problem(text) and jump_problem(text)
    assert jump_problem(f"{text}@host") or not text
    assert jump_problem(f"user@{text}")
    assert option_problem(f"HostName={text}") or text in ("", '"x"', "a%hb")  # its own quotes and tokens
    assert option_problem(f"HostKeyAlias {text}") or text in ("", '"x"')


@pytest.mark.parametrize(
    "text",
    [
        "web1",
        "web-1.example.org.",
        "web_1",
        "10.0.0.1",
        "::1",
        "fe80::1%eth0",
        "fe80::1%br-0.5",
        "2001:db8::1",
        "jürgen.de",
        "例え.jp",
        "1",
    ],
)
def test_hosts(text):
    assert host_problem(text) is None
    assert jump_problem(f"[{text}]:22" if ":" in text else f"{text}:22") is None


@pytest.mark.parametrize("text", ["[::1]", "host:22", "fe80::1%$(x)", "fe80::1%", "a..b", ".a", "user@host", "1::2::3"])
def test_no_hosts(text):
    assert host_problem(text)


@pytest.mark.parametrize(
    "text",
    ["root", "deploy-1", "a.b", "a@b.example", "_x", "CORP\\jo", "jo+x", "josé", "a@b@c", "user:target", "a.b@c:ssh"],
)
def test_users(text):
    assert user_problem(text) is None


def test_sudo_may_become_a_number():
    assert sudo_user_problem("#1000") is None
    assert sudo_user_problem("#") and sudo_user_problem("#1;x") and user_problem("#1000")


@given(st.text(max_size=20) | st.text(string.printable, max_size=8))
@example("$(x)")
@example("a%eth0")
def test_what_passes_means_itself_in_a_shell(text):
    if host_problem(text) and user_problem(text) and jump_problem(text):
        return
    if "\\" in text:
        return  # the user of a domain: an argument or a parameter, never a part of a script
    done = subprocess.run(["/bin/sh", "-c", f"printf %s {text}"], capture_output=True, check=False)
    assert done.stdout.decode() == text


@pytest.mark.parametrize("text", ["/usr/bin/python3", "python3.11", "/opt/my python/bin/python3"])
def test_programs(text):
    assert command_problem(text) is None


@pytest.mark.parametrize("text", ["python3;x", "$(x)", "`x`", "a\nb", "-c", "", "a'b", "a|b", "a>b", "a\\b"])
def test_no_programs(text):
    assert command_problem(text)


@pytest.mark.parametrize(
    "text, wanted",
    [
        ("StrictHostKeyChecking=no", True),
        ("stricthostkeychecking no", True),
        ("StrictHostKeyChecking = off", True),
        ('StrictHostKeyChecking="no"', True),
        ("StrictHostKeyChecking\tno", True),
        ("StrictHostKeyChecking=No", True),
        ("StrictHostKeyChecking=accept-new", True),
        (" StrictHostKeyChecking=false", True),
        ("StrictHostKeyChecking=yes", False),
        ("StrictHostKeyChecking=ask", False),
        ("Port=22", False),
        ("UserKnownHostsFile=/dev/null", True),
        ("UserKnownHostsFile none", True),
        ("UserKnownHostsFile=/dev/./null", True),
        ('UserKnownHostsFile="/dev/null"', True),
        ("GlobalKnownHostsFile=/dev/null", True),
        ("UserKnownHostsFile=/dev/null /dev/null", True),
        ("UserKnownHostsFile=/home/x/known_hosts", False),
        ("UserKnownHostsFile=/dev/null /x", False),
    ],
)
def test_options_that_turn_the_check_of_host_keys_off(text, wanted):
    assert unchecked(text) is wanted


# --- every kind of inventory


def never(text, path):
    raise AssertionError("this is no template")


def _quoted(value):
    return json.dumps(value)


KINDS = {
    "native": ("inventory.yaml", lambda key, value: f"hosts:\n  a: {{{key}: {_quoted(value)}}}\n"),
    "native defaults": (
        "inventory.yaml",
        lambda key, value: f"defaults: {{{key}: {_quoted(value)}}}\nhosts: {{a: }}\n",
    ),
    "roster": ("roster", lambda key, value: f"a: {{{key}: {_quoted(value)}}}\n"),
    "JSON": ("x.json", lambda key, value: json.dumps({"hosts": {"a": {key: value}}})),
    "Ansible YAML": (
        "hosts.yml",
        lambda key, value: f"all: {{hosts: {{a: {{{ANSIBLE[key]}: {_quoted(value)}}}}}}}\n",
    ),
    "Ansible listing": (
        "list.json",
        lambda key, value: json.dumps({"_meta": {"hostvars": {"a": {ANSIBLE[key]: value}}}, "g": {"hosts": ["a"]}}),
    ),
}
ANSIBLE = {
    "host": "ansible_host",
    "user": "ansible_user",
    "sudo_user": "ansible_become_user",
    "port": "ansible_port",
    "python": "ansible_python_interpreter",
}
SETTINGS = {
    "host": "x$(touch canary)",
    "user": "root;touch canary",
    "sudo_user": "`touch canary`",
    "port": "22;touch canary",
    "python": "/bin/sh -c 'touch canary'",
}


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_inventory_refuses_them(kind, setting, tmp_path):
    name, text = KINDS[kind]
    path = tmp_path / name
    path.write_text(text(setting, SETTINGS[setting]))
    with pytest.raises(InventoryError) as caught:
        load_inventory([path], render=never)
    assert caught.value.where.path == str(path) and f"`{setting}`" in caught.value.message and caught.value.hint
    assert ("defaults" if "defaults" in kind else "host a") in caught.value.message


@pytest.mark.parametrize(
    "name, text",
    [
        ("roster", "a: {thin_dir: '/tmp/$(touch canary)'}"),
        ("roster", "a: {ssh_options: ['HostKeyAlias=no-pty ssh-ed25519 AAAA']}"),
        ("roster", "a: {ssh_options: ['ProxyJump=x,$(touch canary)']}"),
        ("roster", "a: {ssh_options: ['HostName=-oProxyCommand=x']}"),
        ("hosts.ini", "[g]\na ansible_host='x;touch canary'\n"),
        ("hosts.ini", "[g]\na\n[g:vars]\nansible_user=`touch canary`\n"),
        ("hosts.ini", "[g]\na ansible_ssh_common_args='-J x$(touch${IFS}canary)'\n"),
        ("config", "Host a\n  HostName x$(touch${IFS}canary)\n"),
        ("config", "Host a\n  User root;x\n"),
        (
            "terraform.tfstate",
            json.dumps(
                {
                    "terraform_version": "1",
                    "resources": [
                        {
                            "type": "aws_instance",
                            "name": "a",
                            "instances": [{"attributes": {"public_ip": "1.2.3.4;touch x"}}],
                        }
                    ],
                }
            ),
        ),
    ],
)
def test_wherever_they_stand(name, text, tmp_path):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InventoryError) as caught:
        load_inventory([path], render=never)
    assert "host a" in caught.value.message or "group g" in caught.value.message
    assert caught.value.where.path == str(path)


def test_variables_next_to_an_inventory_are_refused_too(tmp_path):
    (tmp_path / "hosts.ini").write_text("[g]\na\n")
    (tmp_path / "group_vars").mkdir()
    (tmp_path / "group_vars" / "g.yml").write_text('ansible_user: "$(touch canary)"\n')
    with pytest.raises(InventoryError, match="`user` of group g"):
        load_inventory([tmp_path / "hosts.ini"], render=never)
