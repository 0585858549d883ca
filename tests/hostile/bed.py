"""A project with hostile and valid targets, planted secrets in every possible place, and checks after a run."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncssh

from pushsalt.errors import KINDS
from tests.beds.project import Done, Project
from tests.hostile.peer import Peers, Script

MARKER = "executed-by-the-controller"
#: KiB that a run may use above one without hostile targets.
MEMORY_LIMIT = 150 * 1024


@dataclass
class Run:
    """One command: its output, and its peak memory (KiB)."""

    done: Done
    memory: int
    seconds: float


def _most_memory(pid: int) -> int:
    """The peak memory of a process, KiB (that of wait4 includes its parent's)."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")), 0)


class Bed:
    """``well`` and ``db1`` are valid targets on this machine; the secrets of ``db1`` must reach no other target."""

    def __init__(self, folder: Path, peers: Peers) -> None:
        self.folder, self.peers = folder, peers
        self.project = Project(folder)
        self.words = {
            name: f"canary-{name}-{secrets.token_hex(8)}"
            for name in ("pillar", "by_grain", "by_id", "passwd", "sudo", "file")
        }
        self.key = folder / "key"
        self.key.write_bytes(asyncssh.generate_private_key("ssh-ed25519").export_private_key())
        self.key.chmod(0o600)
        self.words["key"] = self.key.read_text().splitlines()[3]
        word = self.words
        top = {
            "db1": ["by_id"],
            "role:db": [{"match": "grain"}, "by_grain"],
            "G@id:db1": [{"match": "compound"}, "pillar"],
        }
        self.project.files(
            {
                "pillar/top.sls": json.dumps({"base": top}),
                **{
                    f"pillar/{name}.sls": json.dumps({f"{name}_password": word[name]}) for name in ("by_id", "by_grain")
                },
                "pillar/pillar.sls": json.dumps({"db_password": word["pillar"]}),
                "salt/it.sls": "it:\n  test.nop:\n    - name: {{ grains.id }} {{ grains.get('fqdn') }}\n",
                "salt/tree/a": "a",
                "secret": word["file"],
            }
        )
        (self.project.home / ".ssh" / "known_hosts").write_text(peers.known_hosts())
        self._quiet: int | None = None

    def inventory(self, scripts: Mapping[str, Script]) -> None:
        honest = {"transport": "local", "grains": {"role": "web"}}
        login = {"passwd": self.words["passwd"], "sudo_password": self.words["sudo"]}
        db1 = {"transport": "local", "grains": {"role": "db"}, "thin_dir": str(self.folder / "thin")}  # its own lock
        hosts: dict[str, Any] = {"well": honest, "db1": {**db1, **login}}
        for id, script in scripts.items():
            hosts[id] = {**self.peers.host(id, self.key, script), "grains": {"role": "web"}}
        self.project.write("inventory.yaml", json.dumps({"hosts": hosts}))

    def run(self, *arguments: str, timeout: float = 100, mutant: str = "") -> Run:
        """Run the command. ``mutant``: Python that is run in its process first, to inject a fault."""
        argv = self.project.argv(*arguments)
        if mutant:
            begin = f"import sys\n{mutant}\nimport runpy\nrunpy.run_module('pushsalt', run_name='__main__')"
            argv = [sys.executable, "-c", begin, *arguments]
        out, err = self.folder / "out", self.folder / "err"
        began = time.monotonic()
        with out.open("wb") as stdout, err.open("wb") as stderr:
            process = subprocess.Popen(
                argv,
                cwd=self.project.folder,
                env=self.project.environment,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
            memory = 0
            while True:
                pid, status = os.waitpid(process.pid, os.WNOHANG)
                if pid:
                    break
                memory = max(memory, _most_memory(process.pid))
                if time.monotonic() - began > timeout:
                    process.kill()
                    os.waitpid(process.pid, 0)
                    raise AssertionError(f"not done after {timeout} s: {err.read_bytes()[-2000:]!r}")
                time.sleep(0.005)
        process.returncode = os.waitstatus_to_exitcode(status)
        done = Done(process.returncode, out.read_text("utf-8"), err.read_text("utf-8"))
        return Run(done, memory, time.monotonic() - began)

    def quiet(self) -> int:
        """The peak memory of a run without hostile targets, KiB."""
        if self._quiet is None:
            self.inventory({})
            self._quiet = self.run("apply", "*", "it").memory
        return self._quiet

    # --- looking

    def everything(self) -> set[str]:
        """All paths below the bed's folder, except the cache."""
        return {
            str(path.relative_to(self.folder))
            for path in self.folder.rglob("*")
            if self.project.cache not in path.parents and path.name not in ("out", "err")
        }

    def leaks(self, texts: Iterable[str | bytes]) -> set[str]:
        found = set()
        for text in texts:
            data = text.encode() if isinstance(text, str) else bytes(text)
            found |= {name for name, word in self.words.items() if word.encode() in data}
        return found

    def check(self, run: Run, ids: Iterable[str], *, memory: bool = True) -> None:
        """Check the invariants after any exchange with hostile targets. ``--out json``."""
        done = run.done
        assert "Traceback" not in done.out + done.err, done.err
        assert done.code in (0, 2, 3), (done.code, done.err)
        for id in ids:
            assert id in done.data, (id, done.out[:500])
            ret = done.data[id]
            if isinstance(ret, dict) and set(ret) == {"error"} and isinstance(ret["error"], dict):
                kind = ret["error"].get("kind")
                assert kind in KINDS and kind != "internal", ret
        assert not self.leaks([done.out, done.err]), (self.leaks([done.out]), self.leaks([done.err]))
        assert not self.leaks(heard.data for heard in self.peers.heard.values()), "a hostile target was told a secret"
        cached = (path.read_bytes() for path in self.project.cache.rglob("*") if path.is_file())
        assert not self.leaks(cached), "a secret is in the cache"
        assert not list(self.folder.rglob(MARKER)), "something of a target's choice was run"
        if memory:
            assert run.memory - self.quiet() < MEMORY_LIMIT, f"{run.memory - self.quiet()} KiB more than a quiet run"
