"""A project with an SSH CA whose passphrases a program answers, with agents and PKCS#11 tokens for it."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.beds.processes import listens, wait_until
from tests.beds.project import Done, Project
from tests.beds.sshd import keygen

PASSPHRASE = "open sesame: 4711"
SOFTHSM = "/usr/lib/softhsm/libsofthsm2.so"


class CaProject(Project):
    """``ca(...)`` runs ``pushsalt ca``; ``more`` is added to the environment of every command."""

    def __init__(self, folder: Path, hosts: Any = None, **config: Any) -> None:
        super().__init__(folder, hosts, **config)
        self.root = self.folder / "ca"
        self.asked = folder / "asked"
        self.more = self.askpass(PASSPHRASE)

    def askpass(self, word: str) -> dict[str, str]:
        program = self.home / "askpass"
        secret = self.home / "passphrase"
        secret.write_text(word + "\n")
        program.write_text(f"#!/bin/sh\necho \"$1\" >> '{self.asked}'\ncat '{secret}'\n")
        program.chmod(0o700)
        return {"SSH_ASKPASS": str(program), "SSH_ASKPASS_REQUIRE": "force"}

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, **self.more}

    def ca(self, *arguments: str, timeout: float = 60) -> Done:
        return self.run("ca", *arguments, timeout=timeout)

    def good(self, *arguments: str) -> Any:
        """Run ``pushsalt ca``, assert that it succeeded, and return its JSON output."""
        done = self.ca(arguments[0], "--out", "json", *arguments[1:])
        assert done.code == 0, done.err
        return Data(done.out)

    def key(self, name: str, kind: str = "ed25519") -> Path:
        """Make a key pair of a user; returns the private file."""
        path = self.folder / name
        keygen(path, kind)
        return path

    def fingerprint(self) -> str:
        return str(self.good("show")["root"]["fingerprint"])


def Data(text: str) -> Any:
    import json

    return json.loads(text)


@contextlib.contextmanager
def agent(socket: Path, *keys: Path) -> Iterator[str]:
    """An agent that holds these keys."""
    process = subprocess.Popen(["ssh-agent", "-D", "-a", str(socket)], stdout=subprocess.DEVNULL)
    try:
        wait_until(lambda: listens(socket))
        for key in keys:
            add(str(socket), str(key))
        yield str(socket)
    finally:
        process.terminate()
        process.wait(5)


def add(socket: str, *arguments: str) -> None:
    env = {"SSH_AUTH_SOCK": socket, "PATH": "/usr/bin:/bin"}
    subprocess.run(["ssh-add", "-q", *arguments], env=env, check=True, capture_output=True)


def no_token() -> str:
    """The reason why this machine cannot make a PKCS#11 token, or an empty text."""
    if not Path(SOFTHSM).exists() or shutil.which("pkcs11-tool") is None or shutil.which("softhsm2-util") is None:
        return "SoftHSM (softhsm2) and OpenSC's pkcs11-tool are not installed"
    return ""


def token(folder: Path, pin: str, *labels: str) -> dict[str, str]:
    """Make a software token with keys of these names; returns the environment that finds it. ``NAME.pub`` are in the
    folder.
    """
    (folder / "tokens").mkdir()
    (folder / "softhsm2.conf").write_text(f"directories.tokendir = {folder / 'tokens'}\nlog.level = ERROR\n")
    env = {"SOFTHSM2_CONF": str(folder / "softhsm2.conf"), "PATH": "/usr/bin:/bin"}
    tool = ["pkcs11-tool", "--module", SOFTHSM, "--login", "--pin", pin]

    def call(*argv: str) -> str:
        return subprocess.run(argv, env=env, check=True, capture_output=True, text=True).stdout

    call("softhsm2-util", "--init-token", "--free", "--label", "ca", "--pin", pin, "--so-pin", pin)
    former: set[str] = set()
    for number, label in enumerate(labels, 1):
        call(*tool, "--keypairgen", "--key-type", "EC:prime256v1", "--label", label, "--id", f"{number:02d}")
        lines = {" ".join(line.split()[:2]) for line in call("ssh-keygen", "-D", SOFTHSM).splitlines()}
        [line] = lines - former
        former = lines
        (folder / f"{label}.pub").write_text(f"{line} {label}\n")
    return {"SOFTHSM2_CONF": env["SOFTHSM2_CONF"]}
