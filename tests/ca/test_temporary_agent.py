"""The temporary agent of `ca`: it is used when it answers, not when its socket exists."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from pushsalt.ca import holder


def test_an_agent_whose_socket_exists_may_not_answer_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    late = tmp_path / "bin" / "ssh-agent"
    late.parent.mkdir()
    late.write_text(
        "#!/usr/bin/env python3\n"
        "import socket, sys, time\n"
        "made = socket.socket(socket.AF_UNIX)\n"
        "made.bind(sys.argv[sys.argv.index('-a') + 1])\n"
        "time.sleep(0.3)\n"
        "made.listen()\n"
        "time.sleep(60)\n"
    )
    late.chmod(0o755)
    monkeypatch.setenv("PATH", f"{late.parent}:/usr/bin:/bin")
    with holder._agent("") as path, socket.socket(socket.AF_UNIX) as client:
        client.connect(path)
