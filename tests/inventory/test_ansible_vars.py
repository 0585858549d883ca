"""Vaults and references in Ansible's own files, compared with Ansible's results; and hostile files."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st

from pushsalt.errors import InventoryError
from pushsalt.inventory.ansiblevars import References
from pushsalt.inventory.load import load_inventory
from pushsalt.inventory.vault import Vault
from pushsalt.programs import list_inventory
from pushsalt.sdb import vaultpassword
from tests.beds.project import Project

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parent / "ansible"
#: Written by ansible-vault of ansible-core 2.19; each contains "open sesame", with and without a label.
PASSWORD, LABELLED = b"first password", ("prod", b"second password")
PLAIN, WITH_LABEL, FILE = [(FOLDER / name).read_text() for name in ("plain.vault", "labelled.vault", "file.vault")]

NO_OPTION = {"ansible_vault_password_file": ""}


def tagged(envelope):
    return "!vault |\n" + "".join(f"  {line}\n" for line in envelope.splitlines())


@pytest.mark.parametrize(
    "passwords, plain, labelled",
    [
        ([], None, None),
        ([("", b"wrong")], None, None),
        ([("", PASSWORD)], "open sesame", None),
        ([LABELLED, ("", PASSWORD)], "open sesame", "open sesame"),
        ([("", LABELLED[1])], None, "open sesame"),
    ],
)
def test_vaults_are_opened_with_the_right_password(passwords, plain, labelled):
    vault = Vault(lambda: passwords)
    assert (vault.open(PLAIN), vault.open(WITH_LABEL)) == (plain, labelled)


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[:-10],
        lambda text: text.replace("AES256", "AES"),
        lambda text: text.replace("1.1", "1.9"),
        lambda text: text[:60] + ("0" if text[60] != "0" else "1") + text[61:],
        lambda text: text.splitlines()[0],
        lambda text: "$ANSIBLE_VAULT;",
        lambda text: text + "zz",
    ],
)
def test_a_vault_that_is_damaged_stays_closed(damage):
    assert Vault(lambda: [("", PASSWORD)]).open(damage(PLAIN)) is None


FILES = {
    "hosts.ini": "[web]\nweb1 ansible_host='{{ address }}' address=192.0.2.7 base=8000 listen='{{ base }}'\n"
    "web2.example.com\n"
    "[web:vars]\nansible_user={{ who }}\nurl=http://{{ inventory_hostname }}:{{ base }}/{{ tier }}\nbase=80\n"
    "[all:vars]\nansible_host={{ inventory_hostname_short }}.internal\nwho=ops-{{ tier }}\ntier=front\n"
    "short={{ url | upper }}\nto={{ fro }}\nfro={{ to }}\ngone={{ nowhere }}\nwhere={{inventory_hostname}}\n",
    "group_vars/all/vars.yml": "ansible_become: true\nansible_become_password: '{{ vault_become }}'\n"
    "nested: {a: ['{{ tier }}', '{{ base }}'], b: 'x{{ who }}'}\nmine: '{{ group_names }}'\n",
    "group_vars/all/vault.yml": FILE,
    "group_vars/web.yml": f"door: {tagged(PLAIN)}other: {tagged(WITH_LABEL)}",
}


@pytest.fixture
def inventory(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "hosts.ini"


def no_render(text, path):
    raise AssertionError("this is no template")


def test_variables_are_as_ansible_has_them(inventory):
    """``hostvars.json`` is the output of ansible-core 2.19's debug module for these variables."""
    heard = []
    vault = Vault(lambda: [("", PASSWORD), LABELLED], heard.append)
    found = load_inventory([inventory], render=no_render, vault=vault)
    for id, want in json.loads((FOLDER / "hostvars.json").read_text()).items():
        target = found.targets[id]
        settings = {"ansible_host": target.host, "ansible_user": target.user}
        assert {**settings, "ansible_become_password": target.sudo_password} == {
            name: want.pop(name) for name in ["ansible_host", "ansible_user", "ansible_become_password"]
        }
        assert {name: target.pillar[name] for name in want} == want
    assert {"open sesame", "all may become root"} <= set(heard) == set(found.secrets)
    assert found.warnings == (
        f"{inventory}: variables with Jinja other than {{{{ name }}}} are not supported and left out: short",
        f"{inventory}: variables whose references cannot be replaced are left out: fro of group all (fro refers to "
        "itself), gone of group all (nowhere is not defined), to of group all (fro refers to itself)",
    )


def test_references_to_encrypted_variables_and_lists(tmp_path):
    inventory = tmp_path / "hosts.ini"
    inventory.write_text("[web]\nweb1\n[web:vars]\nurl=db://{{ pass }}\nin=groups {{ group_names }}\nno=a {{ map }}\n")
    (tmp_path / "group_vars").mkdir()
    (tmp_path / "group_vars/web.yml").write_text(f"pass: {tagged(PLAIN)}map: {{a: 1}}\n")
    found = load_inventory([inventory], render=no_render)
    assert found.targets["web1"].pillar == {"in": "groups ['web']", "map": {"a": 1}}
    assert any(
        "no of group web (map is no text), url of group web (pass is encrypted)" in one for one in found.warnings
    )


@pytest.mark.parametrize("own", ["hosts.yml", "group_vars/web.yml"])
def test_unsafe_texts_keep_their_braces(tmp_path, own):
    """Source: Ansible's documentation, "Unsafe or raw strings"."""
    variables = {
        "raw": '!unsafe "{{ inventory_hostname }}"',
        "list": '[!unsafe "{% x %}", "{{ inventory_hostname }}"]',
        "whole": '!unsafe {a: ["{{ b }}"]}',
        "same": '"{{ raw }}"',
        "within": '"a {{ raw }} {{ inventory_hostname }}"',
        "ansible_password": '!unsafe "{{ pass }}"',
        "number": "!unsafe 7",
    }
    lines = "".join(f"{name}: {text}\n" for name, text in variables.items())
    texts = {"hosts.yml": "web:\n  hosts: {web1: }\n", "group_vars/web.yml": ""}
    texts[own] += "  vars:\n    " + lines.replace("\n", "\n    ") if own == "hosts.yml" else lines
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found = load_inventory([tmp_path / "hosts.yml"], render=no_render)
    target = found.targets["web1"]
    assert (target.passwd, found.warnings) == ("{{ pass }}", ())
    assert target.pillar == {
        "raw": "{{ inventory_hostname }}",
        "list": ["{% x %}", "web1"],
        "whole": {"a": ["{{ b }}"]},
        "same": "{{ inventory_hostname }}",
        "within": "a {{ inventory_hostname }} web1",
        "number": "7",
    }
    assert {type(target.pillar[name]) for name in ("raw", "same", "within")} == {str}


@pytest.mark.parametrize("text", ["h1\n", "h1\nh2:22\n", "# all\nh1 \n[web]\nh1\n"])
def test_files_named_ini_are_read_as_ini(tmp_path, text):
    path = tmp_path / "hosts.ini"
    path.write_text(text)
    assert "h1" in load_inventory([path], render=no_render).targets


def test_a_way_that_is_none_of_ours_is_said(tmp_path):
    path = tmp_path / "hosts.ini"
    ways = {"a": "community.docker.docker", "b": "winrm", "c": "local"}
    path.write_text("".join(f"{id} ansible_connection={way}\n" for id, way in ways.items()))
    found = load_inventory([path], render=no_render)
    assert {id: target.transport for id, target in found.targets.items()} == {"a": "ssh", "b": "ssh", "c": "local"}
    [said] = found.warnings
    assert said.startswith(f"{path}: hosts whose `ansible_connection` is not one") and said.endswith("reached by SSH")


def test_undecrypted_values_are_reported_once_per_file(inventory):
    found = load_inventory([inventory], render=no_render, vault=Vault(lambda: [LABELLED]))
    assert found.targets["web1"].pillar["other"] == "open sesame"
    assert "door" not in found.targets["web1"].pillar and found.targets["web1"].sudo_password is None
    folder = inventory.parent / "group_vars"
    closed = [text for text in found.warnings if "encrypted" in text]
    assert closed == [
        f"{folder}/all/vault.yml: encrypted by ansible-vault, and left out; none of the given passwords decrypts it",
        f"{folder}/web.yml: encrypted by ansible-vault, and left out: door; none of the given passwords decrypts it",
    ]


def test_an_inventory_that_is_encrypted_as_a_whole(tmp_path):
    path = tmp_path / "hosts.yml"
    path.write_text(FILE)
    with pytest.raises(InventoryError, match="is encrypted by ansible-vault") as caught:
        load_inventory([path], render=no_render)
    assert "ANSIBLE_VAULT_PASSWORD_FILE" in caught.value.hint and caught.value.where.path == str(path)
    with pytest.raises(InventoryError, match="`host` of host vault_become has a space"):
        load_inventory([path], render=no_render, vault=Vault(lambda: [("", PASSWORD)]))


def encrypted(text, password=PASSWORD):
    """Encrypted as by ansible-vault. Source: Ansible's documentation, the format of files."""
    salt = bytes(32)
    keys = hashlib.pbkdf2_hmac("sha256", password, salt, 10_000, 80)
    room = 16 - len(text.encode()) % 16
    encryptor = Cipher(algorithms.AES(keys[:32]), modes.CTR(keys[64:])).encryptor()
    data = encryptor.update(text.encode() + bytes([room]) * room) + encryptor.finalize()
    mac = hmac.digest(keys[32:64], data, "sha256")
    digits = b"\n".join(part.hex().encode() for part in (salt, mac, data)).hex()
    lines = [digits[at : at + 80] for at in range(0, len(digits), 80)]
    return "\n".join(["$ANSIBLE_VAULT;1.1;AES256", *lines, ""])


@pytest.mark.parametrize(
    "name, text",
    [
        (
            "hosts.ini",
            "[web]\nserver-1 ansible_password=InnerS3cretLogin ansible_user=operator\n[web:vars]\nx=In-Group\n",
        ),
        (
            "hosts.yml",
            "web:\n  hosts: {server-1: {ansible_password: InnerS3cretLogin, ansible_user: operator}}\n"
            "  vars: {x: In-Group}\n",
        ),
        (
            "native.yaml",
            "hosts: {server-1: {host: server-1, passwd: InnerS3cretLogin, user: operator}}\n"
            "groups: {web: {hosts: ['*'], transport: offline, pillar: {x: In-Group}}}\n",
        ),
        ("roster", "server-1: {host: h, passwd: InnerS3cretLogin, user: operator, pillar: {x: In-Group}}\n"),
    ],
)
def test_the_values_of_an_inventory_that_is_encrypted_as_a_whole_are_secrets(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(encrypted(text))
    heard = []
    found = load_inventory([path], render=no_render, vault=Vault(lambda: [("", PASSWORD)], heard.append))
    assert found.targets["server-1"].passwd == "InnerS3cretLogin"
    assert {"InnerS3cretLogin", "operator", "In-Group"} <= set(heard) == set(found.secrets)
    assert not {"server-1", "web", "offline"} & set(heard)


def test_a_line_of_an_encrypted_inventory_is_not_shown(tmp_path):
    path = tmp_path / "hosts.ini"
    for text in ("[web]\nweb1 InnerS3cretLogin\n", "[web:vars]\nInnerS3cretLogin\n"):
        path.write_text(encrypted(text))
        with pytest.raises(InventoryError, match="this line is no variable"):
            load_inventory([path], render=no_render, vault=Vault(lambda: [("", PASSWORD)]))


def test_no_vault_is_opened_for_hosts_that_a_program_names(tmp_path):
    """Otherwise the program would decide which machines get the secrets."""
    for name, text in {"all.yml": f"ansible_password: {tagged(PLAIN)}plain: 1\n", "web.yml": FILE}.items():
        (tmp_path / "group_vars").mkdir(exist_ok=True)
        (tmp_path / "group_vars" / name).write_text(text)
    program = tmp_path / "inventory"
    listing = {"web": {"hosts": ["evil"]}, "_meta": {"hostvars": {"evil": {"ansible_host": "192.0.2.6"}}}}
    program.write_text(f"#!/bin/sh\necho '{json.dumps(listing)}'\n")
    program.chmod(0o755)
    written = tmp_path / "list.json"
    written.write_text(json.dumps(listing))
    for path in (program, written):
        vault = Vault(lambda: [("", PASSWORD)])
        found = load_inventory([path], render=no_render, vault=vault, execute=list_inventory)
        evil = found.targets["evil"]
        assert (evil.host, evil.passwd, evil.sudo_password, evil.pillar) == ("192.0.2.6", None, None, {"plain": 1})
        assert not vault.secrets and not vault.left_out
        assert [
            f"{tmp_path}/group_vars/web.yml: left out: it is encrypted by ansible-vault" in text
            for text in found.warnings
        ] == [True, False]
        assert "in a vault are not supported and left out: ansible_password" in found.warnings[1]


def test_what_a_program_printed_is_neither_opened_nor_filled_in(tmp_path):
    """It could make pushsalt send a secret of the operator's to a machine of its choice."""
    listing = {"_meta": {"hostvars": {"a": {"x": {"__ansible_vault": PLAIN}, "y": "{{ z }}", "z": 1, "v": PLAIN}}}}
    path = tmp_path / "list.json"
    path.write_text(json.dumps(listing))
    vault = Vault(lambda: [("", PASSWORD)])
    found = load_inventory([path], render=no_render, vault=vault)
    assert found.targets["a"].pillar == {"z": 1} and not vault.secrets
    assert "Jinja or in a vault are not supported and left out: v, x, y" in found.warnings[0]


@pytest.mark.parametrize(
    "value, want",
    [
        ("{{ one }}", 1),
        (" {{one}} ", 1),
        ("{{ list }}", [1, "b"]),
        ("a{{ one }}b{{ word }}", "a1bx"),
        ("{{ word }}{{ word }}", "xx"),
        ("a {{ list }}", "a [1, 'b']"),
        ("{{ yes }}-", "True-"),
        ({"k": ["{{ word }}"]}, {"k": ["x"]}),
    ],
)
def test_plain_references(value, want):
    variables = {"one": 1, "list": ["{{ one }}", "b"], "word": "x", "yes": True}
    assert References(variables, ()).filled({"v": value}) == ({"v": want}, {})


@pytest.mark.parametrize(
    "value",
    [
        "{{ word.upper() }}",
        "{{ word | upper }}",
        "{{ 7*7 }}",
        "{{ lookup('pipe', 'id') }}",
        "{{ word['a'] }}",
        "{{ gone }}",
        "{{ me }}",
        "{% if 1 %}{{ word }}{% endif %}",
        "{{ word }}{# x #}",
        "{{ word }} {{",
        "{{ {{ word }} }}",
        "{{- word }}",
        "{{ __class__ }}",
        "{{ bomb }}",
        "{{ deep99 }}",
        "a{{ none }}",
    ],
)
def test_all_else_is_left_to_ansible(value):
    variables = {"word": "x", "list": [1], "me": "{{ me }}", "none": None, "bomb": "{{ b9 }}" * 10, "b0": "x" * 10}
    variables |= {f"b{n}": f"{{{{ b{n - 1} }}}}" * 10 for n in range(1, 10)}
    variables |= {f"deep{n}": f"{{{{ deep{n - 1} }}}}" for n in range(1, 100)} | {"deep0": 1}
    values, reasons = References(variables, ()).filled({"v": value})
    assert (values, reasons.keys()) == ({"v": value}, {"v"})


names = st.sampled_from("abcd")
pieces = st.sampled_from(["{{ a }}", "{{b}}", "{{ c }}", "{{", "}}", "{%", "{{ a | x }}", "text", "{#", "7*7"])
trees = st.recursive(
    st.lists(pieces, max_size=3).map("".join) | st.none() | st.integers(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=2),
    max_leaves=4,
)


@given(st.dictionaries(names, trees, max_size=4))
def test_any_variables_are_filled_in_or_stay(variables):
    found, _ = References(variables, ()).filled(variables)
    assert found.keys() == variables.keys()
    assert References(found, ()).filled(found)[0] == found, "nothing is left that could be filled in"


# --- the command line -------------------------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path):
    """``hosts.ini`` next to the project, and no inventory.yaml."""
    project = Project(tmp_path)
    project.files(
        {
            "hosts.ini": "[web]\nweb1 ansible_connection=local\n",
            "group_vars/web.yml": f"door: {tagged(PLAIN)}sentence: 'say {{{{ door }}}}, please'\n",
            "salt/t.sls": "show:\n  test.configurable_test_state: [{comment: {{ pillar['sentence'] | json }} }]\n",
            "password": PASSWORD + b"\n",
        }
    )
    return project


def test_hosts_ini_next_to_a_project_is_found(project):
    done = project.run("target", "*")
    assert (done.code, done.out) == (0, "web1\n")
    assert done.err.count("encrypted by ansible-vault, and left out: door; set ANSIBLE_VAULT_PASSWORD_FILE to") == 1
    project.write("inventory.yaml", "hosts: {own: {}}\n")
    assert project.run("target", "*").out == "own\n"


@pytest.mark.parametrize(
    "victim, count",
    [("group_vars", 1), ("group_vars/web", 2100), ("group_vars/web/in", 1), ("group_vars/web/in/x.yml", 2100)],
)
def test_files_next_to_a_found_inventory_must_be_trusted(project, victim, count):
    hosts = "".join(f"w{n} ansible_connection=local\n" for n in range(count))
    project.write("hosts.ini", f"[web]\n{hosts}")
    (project.folder / "group_vars/web.yml").unlink()
    project.write("group_vars/web/in/x.yml", "mine: yes-it-is\n")
    words = ("run", "w0", "pillar.get", "mine", "unmask=True")
    assert "yes-it-is" in project.run(*words).out
    path = project.folder / victim
    mode = path.stat().st_mode
    path.chmod(0o777)
    for _ in range(2):
        done = project.run(*words)
        assert done.code == 0 and "yes-it-is" not in done.out
        [said] = [line for line in done.err.splitlines() if "is not used: others can write to" in line]
        assert f"{path} (chmod go-w it); if you trust it: -i {project.folder}/hosts.ini, or PUSHSALT_TRUST=" in said
    assert "yes-it-is" in project.run("-i", "hosts.ini", *words).out
    project.variables["PUSHSALT_TRUST"] = str(project.folder)
    assert "yes-it-is" in project.run(*words).out
    del project.variables["PUSHSALT_TRUST"]
    path.chmod(mode)
    assert "yes-it-is" in project.run(*words).out


def test_files_of_a_folder_that_was_found_must_be_trusted(project):
    """Each file could declare that a host is this machine."""
    project.write("inventory.yaml/mine", "hosts: {web1: {}}\n")
    for name, text in {"theirs": "hosts: {evil: {transport: local}}\n", "web2": "host: evil.example.org\n"}.items():
        project.write(f"inventory.yaml/{name}", text)
        (project.folder / "inventory.yaml" / name).chmod(0o666)
    done = project.run("target", "*")
    assert (done.code, done.out) == (0, "web1\n")
    hint = f"if you trust it: -i {project.folder}/inventory.yaml, or PUSHSALT_TRUST="
    assert [line.count(hint) for line in done.err.splitlines()] == [1, 1]
    assert project.run("-i", "inventory.yaml", "target", "*").out == "web1\nevil\nweb2\n"


def test_a_trusted_folder_is_where_the_command_is_called(project):
    project.write("hosts.ini", "[web]\n" + "".join(f"w{n} ansible_connection=local\n" for n in range(2100)))
    project.write("group_vars/web.yml", "mine: yes-it-is\n")
    (project.folder / "group_vars").chmod(0o777)
    (project.folder / "sub").mkdir()
    project.variables["PUSHSALT_TRUST"] = "."
    words = ("run", "w0", "pillar.get", "mine", "unmask=True")
    assert "yes-it-is" in project.run(*words).out
    assert "yes-it-is" not in project.run(*words, cwd=project.folder / "sub").out


@pytest.mark.parametrize("way", ["file", "identities", "program", "option"])
def test_the_password_is_found_where_ansible_finds_it(project, way):
    path = str(project.folder / "password")
    if way == "option":
        project.write("pushsalt.yaml", "ansible_vault_password_file: password\nfile_roots: {base: [salt]}\n")
    elif way == "program":
        program = project.write("pass-client", f'#!/bin/sh\n[ "$*" = "--vault-id x" ] && cat {path}\n')
        program.chmod(0o755)
        project.variables["ANSIBLE_VAULT_IDENTITY_LIST"] = f"x@{program}"
    elif way == "identities":
        project.variables["ANSIBLE_VAULT_IDENTITY_LIST"] = f"dev@prompt, prod@{path}"
    else:
        project.variables["ANSIBLE_VAULT_PASSWORD_FILE"] = path
    done = project.json("apply", "web1", "t")
    assert (done.code, done.err) == (0, "")
    assert "open sesame" not in done.out and "say **********, please" in done.out
    assert project.json("run", "web1", "pillar.get", "sentence", "unmask=True").data == {
        "web1": "say open sesame, please"
    }


def test_a_program_that_others_can_change_is_not_asked_for_a_password(tmp_path, monkeypatch):
    program = tmp_path / "vault-pass"
    program.write_text(f"#!/bin/sh\necho x >> {tmp_path}/ran\necho secret\n")
    program.chmod(0o777)
    env = {"ANSIBLE_VAULT_PASSWORD_FILE": str(program)}
    with pytest.raises(InventoryError, match="is not run, since others can change") as caught:
        vaultpassword.passwords(NO_OPTION, env)
    assert f"PUSHSALT_TRUST={tmp_path}" in caught.value.hint and not (tmp_path / "ran").exists()
    monkeypatch.setenv("PUSHSALT_TRUST", str(tmp_path))
    assert vaultpassword.passwords(NO_OPTION, env) == [("", b"secret")]


def test_a_home_that_is_not_there_is_said(project):
    project.variables["ANSIBLE_VAULT_PASSWORD_FILE"] = "~nosuch-user/x"
    done = project.run("target", "*")
    assert done.code == 1 and "~nosuch-user/x, is not there" in done.err and "defect" not in done.err
    project.write("group_vars/web.yml", "a: 1\n")
    assert project.run("target", "*").out == "web1\n", "it is not needed"


def test_only_ansibles_words_for_a_prompt_are_not_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("prompt", "prompt_ask_vault_pass", "prompt-of-prod", "prompts"):
        Path(name).write_text(name)
    entries = "a@prompt, b@prompt_ask_vault_pass, c@prompt-of-prod, prompts, prompt"
    assert vaultpassword.passwords(NO_OPTION, {"ANSIBLE_VAULT_IDENTITY_LIST": entries}) == [
        ("c", b"prompt-of-prod"),
        ("", b"prompts"),
    ]


def test_one_password_that_is_missing_does_not_stop_the_others(project):
    project.variables["ANSIBLE_VAULT_IDENTITY_LIST"] = f"dev@gone, prod@{project.folder / 'password'}"
    done = project.run("run", "web1", "pillar.get", "sentence", "unmask=True")
    assert done.code == 0 and "say open sesame, please" in done.out
    assert "the file of a vault's password, gone, is not there" in done.err
    project.variables["ANSIBLE_VAULT_IDENTITY_LIST"] = "dev@gone, prod@none"
    done = project.run("run", "web1", "test.ping")
    assert done.code == 1 and "the file of a vault's password, gone, is not there" in done.err


@pytest.mark.parametrize("make", [lambda path: None, os.mkfifo, Path.touch, Path.mkdir])
def test_a_file_of_a_password_that_is_none_is_an_error(tmp_path, make):
    make(tmp_path / "password")
    with pytest.raises(InventoryError, match="the file of a vault's password") as caught:
        vaultpassword.passwords({"ansible_vault_password_file": str(tmp_path / "password")}, {})
    assert caught.value.hint


def test_the_values_of_an_encrypted_inventory_are_hidden(project):
    project.write("hosts.ini", encrypted("[web]\nweb1 ansible_connection=local login=InnerS3cretLogin\n"))
    project.variables["ANSIBLE_VAULT_PASSWORD_FILE"] = str(project.folder / "password")
    done = project.run("run", "web1", "cmd.run", "echo InnerS3cretLogin")
    assert done.code == 0 and "InnerS3" not in done.out + done.err and "**********" in done.out


def test_the_image_of_a_large_inventory_hides_decrypted_values(project):
    hosts = "".join(f"w{n} ansible_connection=local\n" for n in range(2100))
    project.write("hosts.ini", f"[web]\n{hosts}")
    assert "left out: door" in project.run("target", "w7").err
    project.variables["ANSIBLE_VAULT_PASSWORD_FILE"] = str(project.folder / "password")
    for _ in range(2):
        done = project.json("apply", "w7", "t")
        assert (done.code, done.err) == (0, "") and "open sesame" not in done.out
    kept = [path.read_bytes() for path in project.cache.rglob("*") if path.is_file()]
    assert not any(b"open sesame" in data for data in kept)
