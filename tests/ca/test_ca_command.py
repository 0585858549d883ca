"""`pushsalt ca` with the real ssh-keygen: who may sign what, for how long, and what is recorded."""

from __future__ import annotations

import json
import os
import pty
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from pushsalt.ca.wire import parse_certificate
from tests.beds import certificates, sshd
from tests.beds.certificates import PASSPHRASE, SOFTHSM, CaProject, agent, token
from tests.beds.sshd import keygen

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(sshd.missing()), reason=sshd.missing() or "-")]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a CA that has the environment prod; copied for each test."""
    folder = tmp_path_factory.mktemp("made")
    project = CaProject(folder)
    project.good("init", "prod", "--role", "web", "--role", "db")
    for path in (project.root / "keys").iterdir():  # as before, with a passphrase whose check takes less time
        if path.suffix != ".pub":
            words = ["-P", PASSPHRASE, "-N", PASSPHRASE, "-a", "1", "-f", str(path)]
            subprocess.run(["ssh-keygen", "-q", "-p", *words], check=True)
    return project


@pytest.fixture
def project(made, tmp_path):
    found = CaProject(tmp_path)
    shutil.copytree(made.root, found.root)
    return found


def certificate(path):
    return parse_certificate(Path(path).read_text())


def modes(root):
    return {path: stat.S_IMODE(path.lstat().st_mode) for path in root.rglob("*")}


def test_what_init_makes_is_private_encrypted_and_verified(project):
    data = project.good("show")
    assert data["problems"] == [] and data["manifest"]["verified"] and data["manifest"]["serial"] == 2
    env = data["environments"]["prod"]
    assert (env["user_max"], env["host_max"], env["roles"]) == (86400, 90 * 86400, ["web", "db"])
    keys = [data["root"], *env["user_authorities"], *env["host_authorities"]]
    assert len({key["fingerprint"] for key in keys}) == 3
    assert all(mode == (0o700 if path.is_dir() else 0o600) for path, mode in modes(project.root).items())
    for path in (project.root / "keys").iterdir():
        if path.suffix != ".pub":
            assert subprocess.run(["ssh-keygen", "-y", "-P", "", "-f", str(path)], capture_output=True).returncode
            assert PASSPHRASE.encode() not in path.read_bytes()
    lines = (project.root / "log.jsonl").read_text().splitlines()
    assert [json.loads(line)["action"] for line in lines[:2]] == ["root", "manifest"]


def test_a_user_certificate(project):
    key = project.key("alice")
    done = project.good("sign-user", "--env", "prod", "--role", "web", "--id", "alice@example.com", f"{key}.pub")
    found = certificate(f"{key}-cert.pub")
    assert found.principals == ("prod-web",) and found.extensions == ("permit-pty",) and not found.host
    assert found.key_id == "prod/user/alice@example.com/web" == done["key_id"]
    assert found.valid_before - found.valid_after == 8 * 3600 + 300
    assert (
        found.authority.fingerprint
        == project.good("show")["environments"]["prod"]["user_authorities"][0]["fingerprint"]
    )
    shown = project.good("show", f"{key}-cert.pub")
    assert (shown["state"], shown["serial"], shown["for"]) == ("valid", done["serial"], "user")
    told = subprocess.run(["ssh-keygen", "-L", "-f", f"{key}-cert.pub"], capture_output=True, text=True).stdout
    assert f"Serial: {done['serial']}" in told and "prod-web" in told
    last = json.loads((project.root / "log.jsonl").read_text().splitlines()[-1])
    assert last["serial"] == done["serial"] and last["public_key"] == found.key.line and "@" in last["by"]


def test_options_of_a_user_certificate(project):
    key = project.key("bob")
    words = ["--role", "web", "--role", "db", "--id", "bob", "--valid", "1h", "--permit", "port-forwarding", "--no-pty"]
    words += ["--source-address", "10.0.0.0/8", "--force-command", "/usr/bin/true 'a b'", "--output", str(key) + ".crt"]
    project.good("sign-user", "--env", "prod", *words, f"{key}.pub")
    found = certificate(f"{key}.crt")
    assert found.principals == ("prod-web", "prod-db") and found.extensions == ("permit-port-forwarding",)
    assert found.critical == {"source-address": "10.0.0.0/8", "force-command": "/usr/bin/true 'a b'"}
    assert found.valid_before - found.valid_after == 3900


@pytest.mark.parametrize(
    "words, said",
    [
        (["--role", "web", "--valid", "25h"], "longer than a user of prod may have: 1d"),
        (["--role", "admin"], "prod has no role admin"),
        ([], "which role?"),
        (["--role", "web", "--valid", "0s"], "not a duration"),
        (["--role", "web", "--valid", "tomorrow"], "not a duration"),
        (["--role", "../web"], "not a valid name of a role"),
        (["--role", "web", "--id", "a b"], "not a valid name of an owner"),
        (["--role", "web", "--id", "-O clear"], "not a valid name of an owner"),
        (["--role", "web", "--permit", "everything"], "there is no 'everything'"),
        (["--role", "web", "--source-address", "here"], "--source-address"),
        (["--role", "web", "--env", "dev"], "there is no environment 'dev'"),
        (["--role", "web", "--env", "a-b"], "not a valid name of an environment"),
    ],
)
def test_refused_user_certificates(project, words, said):
    key = project.key("alice")
    done = project.ca("sign-user", "--env", "prod", "--id", "alice", *words, f"{key}.pub")
    assert done.code == 1 and said in done.err and "hint: " in done.err
    assert not Path(f"{key}-cert.pub").exists()
    assert "sign-user" not in (project.root / "log.jsonl").read_text()


def test_invalid_keys_are_not_signed(project):
    key = project.key("alice")
    both = project.write("both.pub", Path(f"{key}.pub").read_text() * 2)
    options = project.write("options.pub", 'command="x" ' + Path(f"{key}.pub").read_text())
    project.good("sign-user", "--env", "prod", "--role", "web", "--id", "a", f"{key}.pub")
    for path in (key, both, options, f"{key}-cert.pub", project.root / "keys/prod_user.pub", project.home / "none.pub"):
        done = project.ca(
            "sign-user", "--env", "prod", "--role", "web", "--id", "a", "--output", "/dev/full", str(path)
        )
        assert done.code == 1 and "hint: " in done.err, path


def test_a_key_without_a_passphrase_never_signs(project, tmp_path):
    keygen(tmp_path / "open")
    done = project.ca("init", "dev", "--user-ca", str(tmp_path / "open"))
    assert done.code == 1 and "has no passphrase" in done.err
    # nor a key whose passphrase was removed later
    argv = ["ssh-keygen", "-q", "-p", "-P", PASSPHRASE, "-N", "", "-f", str(project.root / "keys/prod_user")]
    subprocess.run(argv, check=True)
    key = project.key("alice")
    done = project.ca("sign-user", "--env", "prod", "--role", "web", "--id", "alice", f"{key}.pub")
    assert done.code == 1 and "has no passphrase" in done.err and not Path(f"{key}-cert.pub").exists()


def test_an_empty_passphrase_makes_no_authority(tmp_path):
    project = CaProject(tmp_path)
    project.more = project.askpass("")
    done = project.ca("init")
    assert done.code == 1 and "has no passphrase" in done.err
    assert not [path for path in project.root.rglob("*") if path.is_file() and b"PRIVATE KEY" in path.read_bytes()]


def test_passphrases_are_asked_for_on_the_terminal(tmp_path):
    """Without a program that answers: the terminal prompts, and never shows them."""
    project = CaProject(tmp_path)
    project.more = {}
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(project.folder)
        os.execve(sys.executable, project.argv("ca", "init"), project.environment)
    said, asked = b"", 0
    while True:
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # Linux: the other end is closed
            break
        said += piece
        if not piece:
            break
        while said.count(b"passphrase") + said.count(b"again:") > asked and said.rstrip().endswith(b":"):
            os.write(terminal, PASSPHRASE.encode() + b"\n")
            asked = said.count(b"passphrase") + said.count(b"again:")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, said
    os.close(terminal)
    assert asked and PASSPHRASE.encode() not in said and b"root SHA256:" in said
    project.more = project.askpass(PASSPHRASE)
    assert project.good("show")["problems"] == []


def test_no_terminal_and_no_program_for_passphrases(project):
    project.more = {}
    key = project.key("alice")
    done = project.ca("sign-user", "--env", "prod", "--role", "web", "--id", "alice", f"{key}.pub")
    assert done.code == 1 and "cannot be asked for" in done.err and "SSH_ASKPASS" in done.err


def test_a_wrong_passphrase(project):
    project.more = project.askpass("sesame: 4712")
    key = project.key("alice")
    done = project.ca("sign-user", "--env", "prod", "--role", "web", "--id", "alice", f"{key}.pub")
    assert done.code == 1 and "nothing was signed" in done.err and "4712" not in done.err


def test_no_passphrase_in_arguments_environment_or_on_disk(project, tmp_path):
    """A wrapper of ssh-keygen records its arguments, environment and input, and calls the real one."""
    shim = tmp_path / "bin"
    shim.mkdir()
    notes = tmp_path / "notes"
    for name in ("ssh-keygen", "ssh-add", "ssh-agent"):
        program = shim / name
        real = shutil.which(name)
        program.write_text(f'#!/bin/sh\n{{ echo "$0 $*"; env; }} >> {notes}\nexec {real} "$@"\n')
        program.chmod(0o755)
    project.more["PATH"] = f"{shim}:{os.environ['PATH']}"
    key = project.key("alice")
    project.good("sign-user", "--env", "prod", "--role", "web", "--id", "alice", f"{key}.pub")
    project.good("sign-host", "--env", "prod", "--name", "web1", f"{key}.pub")
    seen = notes.read_text()
    assert "-I prod/user/alice/web" in seen and "ssh-add" in seen and PASSPHRASE not in seen
    assert all(PASSPHRASE.encode() not in path.read_bytes() for path in project.root.rglob("*") if path.is_file())


def test_serial_numbers_are_given_out_once(project):
    key = project.key("alice")
    words = ["sign-user", "--env", "prod", "--role", "web", "--id", "alice"]
    running = [project.start("ca", *words, "--output", str(project.home / f"{n}"), f"{key}.pub") for n in range(4)]
    for process in running:
        assert project.finish(process).code == 0
    serials = [certificate(project.home / f"{n}").serial for n in range(4)]
    logged = [entry["serial"] for entry in project.good("show", "prod") if "serial" in entry]
    assert len(set(serials)) == 4 and sorted(serials) == sorted(logged) and max(serials) < 2**53


def test_a_truncated_log_is_continued(project):
    log = project.root / "log.jsonl"
    before = log.read_bytes()
    log.write_bytes(before + b'{"action": "sign-us')
    key = project.key("alice")
    project.good("sign-user", "--env", "prod", "--role", "web", "--id", "alice", f"{key}.pub")
    assert log.read_bytes().startswith(before + b'{"action": "sign-us\n{')
    shown = project.ca("show", "--out", "json")
    assert shown.code == 2 and any("damaged" in problem for problem in json.loads(shown.out)["problems"])


# --- hosts


def test_host_certificates_are_kept_for_their_machine_and_renewed(project):
    key = project.key("host")
    done = project.good("sign-host", "--env", "prod", "--name", "Web1.Example.com", "--name", "192.0.2.7", f"{key}.pub")
    found = certificate(done[0]["file"])
    assert found.host and found.principals == ("web1.example.com", "192.0.2.7") and not found.extensions
    assert done[0]["file"] == str(project.root / "envs/prod/hosts/Web1.Example.com/ed25519-cert.pub")
    assert project.good("sign-host", "--env", "prod", "--renew") == []
    again = project.good("sign-host", "--env", "prod", "--renew", "--within", "91d", "--valid", "60d")
    new = certificate(done[0]["file"])
    assert [one["principals"] for one in again] == [list(found.principals)]
    assert new.serial > found.serial and new.key == found.key and new.valid_before < found.valid_before


def test_a_host_that_gets_no_certificate_does_not_keep_others_from_theirs(project):
    for name in ("web1", "web2", "web3"):
        project.good("sign-host", "--env", "prod", "--name", name, f"{project.key(name)}.pub")
    project.good("revoke", str(project.folder / "web2.pub"))
    done = project.ca("sign-host", "--out", "json", "--env", "prod", "--renew", "--within", "91d")
    assert done.code == 2 and "web2: the key SHA256:" in done.err and "is revoked in prod" in done.err
    assert [one["id"] for one in json.loads(done.out)] == ["web1", "web3"]


@pytest.mark.parametrize("id", ["../../../oops", ".ssh", "a/b", "x\ny", "ä"])
def test_an_id_does_not_lead_out_of_the_folder(project, id):
    key = project.key("host")
    done = project.good("sign-host", "--env", "prod", "--id", id, "--name", "web1", f"{key}.pub")
    place = Path(done[0]["file"])
    assert place.resolve().parent.parent == project.root.resolve() / "envs/prod/hosts"
    assert not place.parent.name.startswith(".") and certificate(place).key_id.isprintable()


@pytest.mark.parametrize(
    "words, said",
    [
        (["--name", "web1", "--valid", "91d"], "longer than a host of prod"),
        (["--name", "*.example.com"], "neither a host name"),
        (["--name", "a,b"], "neither a host name"),
        (["--name", ""], "neither a host name"),
        ([], "the keys have no names"),
    ],
)
def test_refused_host_certificates(project, words, said):
    key = project.key("host")
    done = project.ca("sign-host", "--env", "prod", *words, f"{key}.pub")
    assert done.code == 1 and said in done.err


def test_hosts_outside_of_the_environments_patterns(project):
    project.good("init", "prod", "--hosts", "*.prod.example.com")
    key = project.key("host")
    done = project.ca("sign-host", "--env", "prod", "--name", "web1.dev.example.com", f"{key}.pub")
    assert done.code == 1 and "not a host of prod" in done.err
    project.good("sign-host", "--env", "prod", "--name", "web1.prod.example.com", f"{key}.pub")
    lines = project.good("show", "--known-hosts")
    assert lines[0].startswith("@cert-authority *.prod.example.com,[*.prod.example.com]:* ssh-ed25519 ")


# --- revoking


def test_revoking_by_serial_key_id_and_file(project):
    krl = project.root / "envs/prod/revoked.krl"
    paths = []
    for name in ("a", "b", "c", "d"):
        key = project.key(name)
        project.good("sign-user", "--env", "prod", "--role", "web", "--id", name, f"{key}.pub")
        paths.append(Path(f"{key}-cert.pub"))

    def revoked():
        words = ["ssh-keygen", "-Q", "-f", str(krl)]
        return [subprocess.run([*words, str(path)], capture_output=True).returncode for path in paths]

    assert revoked() == [0, 0, 0, 0]
    project.good("revoke", str(certificate(paths[0]).serial))
    assert revoked() == [1, 0, 0, 0]
    assert [project.good("show", str(path))["state"] for path in paths[:2]] == ["revoked", "valid"]
    project.good("revoke", "prod/user/b/web", "--reason", "left")
    assert revoked() == [1, 1, 0, 0]
    project.good("revoke", str(paths[2]))
    assert revoked() == [1, 1, 1, 0]
    assert project.good("show")["environments"]["prod"]["krl_version"] > 3
    assert [entry.get("reason") for entry in project.good("show", "prod") if entry["action"] == "revoke"][1] == "left"
    assert len(project.good("show", str(krl))["revoked"]) >= 3
    for name, words in (("b", ["--id", "b"]), ("c", ["--id", "someone-else"])):  # the id and the key
        done = project.ca("sign-user", "--env", "prod", "--role", "web", *words, str(project.folder / f"{name}.pub"))
        assert done.code == 1 and "is revoked in prod" in done.err
    project.good("sign-user", "--env", "prod", "--role", "web", "--id", "a", str(project.folder / "a.pub"))


def test_unknown_certificates_are_revoked_only_with_an_environment(project):
    for word in ("4711", "prod/user/nobody/web"):
        done = project.ca("revoke", word)
        assert done.code == 1 and "--env" in done.err
        project.good("revoke", "--env", "prod", word)
    assert project.ca("revoke", "--env", "prod", "two#words").code == 1


def test_revoking_a_host_revokes_its_key_for_clients(project):
    key = project.key("host")
    done = project.good("sign-host", "--env", "prod", "--name", "web1", f"{key}.pub")
    project.good("revoke", str(done[0]["serial"]))
    line = " ".join(Path(f"{key}.pub").read_text().split()[:2])
    assert f"@revoked * {line}" in project.good("show", "--known-hosts")
    assert f"@revoked * {line}\n" in (project.root / "known_hosts").read_text()
    again = project.ca("sign-host", "--env", "prod", "--name", "web1", f"{key}.pub")
    assert again.code == 1 and "is revoked" in again.err


def test_a_list_that_is_gone_is_not_made_anew_once_something_was_revoked(project):
    krl = project.root / "envs/prod/revoked.krl"
    key = project.key("alice")
    project.good("revoke", f"{key}.pub")
    krl.unlink()
    done = project.ca("sign-user", "--env", "prod", "--role", "web", "--id", "a", f"{key}.pub")
    assert done.code == 1 and "is missing, though certificates were revoked" in done.err
    assert not krl.exists() and project.ca("show").code == 2


def test_a_damaged_list_is_reported_and_nothing_is_signed(project):
    krl = project.root / "envs/prod/revoked.krl"
    krl.write_bytes(krl.read_bytes()[:20])
    key = project.key("alice")
    assert "not a revocation list" in project.ca("show").err + project.ca("show").out
    assert project.ca("show").code == 2
    done = project.ca("sign-user", "--env", "prod", "--role", "web", "--id", "a", f"{key}.pub")
    assert done.code == 1 and not Path(f"{key}-cert.pub").exists()


# --- the manifest


def test_a_manifest_that_was_changed_is_not_used(project, tmp_path):
    manifest = project.root / "manifest.json"
    data = json.loads(manifest.read_text())
    data["environments"]["prod"]["user_max"] = 10**9
    manifest.write_text(json.dumps(data))
    key = project.key("alice")
    for words in (["sign-user", "--env", "prod", "--role", "web", "--id", "a", f"{key}.pub"], ["revoke", f"{key}.pub"]):
        done = project.ca(*words)
        assert done.code == 1 and "does not have a signature of the root" in done.err
    assert project.ca("show").code == 2


def test_another_key_or_another_purpose_does_not_count_as_the_root(project, tmp_path):
    manifest = project.root / "manifest.json"
    keygen(tmp_path / "mallory")
    for key, namespace in ((tmp_path / "mallory", "manifest.ca@pushsalt"), (project.root / "keys/root", "file")):
        words = ["ssh-keygen", "-q", "-Y", "sign", "-f", str(key), "-n", namespace, str(manifest)]
        Path(f"{manifest}.sig").unlink()
        subprocess.run(words, check=True, env={**os.environ, **project.more}, stdin=subprocess.DEVNULL)
        assert "does not have a signature" in project.ca("sign-host", "--env", "prod", "--renew").err


def test_a_restored_older_manifest(project):
    kept = {name: (project.root / name).read_bytes() for name in ("manifest.json", "manifest.json.sig")}
    project.good("init", "--renew")
    for name, data in kept.items():
        (project.root / name).write_bytes(data)
    done = project.ca("sign-host", "--env", "prod", "--renew")
    assert done.code == 1 and "it is an old copy" in done.err


def test_the_root_that_the_configuration_names(project):
    for pin, code in ((project.fingerprint(), 0), ("SHA256:" + "A" * 43, 1)):
        project.write("pushsalt.yaml", json.dumps({"ext_pillar": [{"ssh_ca": {"dir": "ca", "root": pin}}]}))
        done = project.ca("show")
        assert done.code == code and ("but the configuration requires" in done.err) == bool(code)


def test_an_offline_root(project, tmp_path):
    """The root's private key is on another machine; only the manifest is transferred."""
    offline = CaProject(tmp_path / "offline")
    shutil.copytree(project.root, offline.root)
    (project.root / "keys/root").unlink()
    done = project.ca("init", "dev")
    assert done.code == 1 and "--unsigned" in done.err
    project.good("init", "dev", "--unsigned", "--max-user", "1h")
    assert "dev" not in project.good("show")["environments"] and project.good("show")["waiting"]["environments"]
    shutil.copy(project.root / "manifest.json.next", offline.root)
    waiting = offline.good("show", str(offline.root / "manifest.json.next"))
    assert waiting["verified"] is False and waiting["environments"]["dev"]["user_max"] == 3600
    offline.good("init", "--sign")
    for name in ("manifest.json", "manifest.json.sig"):
        shutil.copy(offline.root / name, project.root / name)
    assert project.good("show", str(project.root / "manifest.json"))["verified"] and "waiting" not in project.good(
        "show"
    )
    assert "without --hosts" in project.good("show")["warnings"][0]
    key = project.key("alice")
    project.good("sign-user", "--env", "dev", "--role", "web", "--id", "a", f"{key}.pub")
    found = certificate(f"{key}-cert.pub")
    assert found.principals == ("dev-web",) and found.valid_before - found.valid_after == 3900


def test_rotation_and_retirement(project):
    before = project.good("show")["environments"]["prod"]["user_authorities"][0]
    project.good("init", "prod", "--rotate")
    after = project.good("show")["environments"]["prod"]
    assert [key["fingerprint"] for key in after["user_authorities"]][1] == before["fingerprint"]
    assert after["roles"] == ["web", "db"]
    key = project.key("alice")
    project.good("sign-user", "--env", "prod", "--role", "web", "--id", "a", f"{key}.pub")
    assert certificate(f"{key}-cert.pub").authority.fingerprint == after["user_authorities"][0]["fingerprint"]
    project.good("init", "--retire", before["fingerprint"])
    assert len(project.good("show")["environments"]["prod"]["user_authorities"]) == 1
    assert project.ca("init", "--retire", after["user_authorities"][0]["fingerprint"]).code == 1


# --- agents and tokens


def test_keys_of_an_agent(tmp_path):
    project = CaProject(tmp_path)
    for name in ("root", "user", "host"):
        keygen(tmp_path / name)
    with agent(tmp_path / "agent", *(tmp_path / name for name in ("root", "user", "host"))) as socket:
        for name in ("root", "user", "host"):
            (tmp_path / name).unlink()
        project.more = {"SSH_AUTH_SOCK": socket}
        pubs = {name: str(tmp_path / f"{name}.pub") for name in ("root", "user", "host")}
        project.good("init", "prod", "--root", pubs["root"], "--user-ca", pubs["user"], "--host-ca", pubs["host"])
        key = project.key("alice")
        project.good("sign-user", "--env", "prod", "--role", "web", "--id", "alice", f"{key}.pub")
        project.good("sign-host", "--env", "prod", "--name", "web1", f"{key}.pub")
        assert certificate(f"{key}-cert.pub").authority.line == " ".join(
            (tmp_path / "user.pub").read_text().split()[:2]
        )
    done = project.ca("sign-user", "--env", "prod", "--role", "web", "--id", "alice", f"{key}.pub")
    assert done.code == 1 and "the agent does not have" in done.err
    assert not [path for path in project.root.rglob("*") if path.is_file() and b"PRIVATE KEY" in path.read_bytes()]


@pytest.mark.skipif(bool(certificates.no_token()), reason=certificates.no_token() or "-")
def test_keys_of_a_pkcs11_module(tmp_path):
    project = CaProject(tmp_path)
    env = token(tmp_path, "123456", "root", "user", "host")
    project.more = {**project.askpass("123456"), **env}
    words = ["--root", str(tmp_path / "root.pub"), "--user-ca", str(tmp_path / "user.pub")]
    project.good("init", "prod", "--pkcs11", SOFTHSM, *words, "--host-ca", str(tmp_path / "host.pub"))
    key = project.key("alice")
    project.good("sign-user", "--env", "prod", "--role", "web", "--id", "alice", f"{key}.pub")
    project.good("sign-host", "--env", "prod", "--name", "web1", f"{key}.pub")
    assert certificate(f"{key}-cert.pub").authority.kind == "ecdsa-sha2-nistp256"
    assert project.good("show")["problems"] == []
