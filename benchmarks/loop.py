"""A lower bound for SSH by asyncssh: log in on all targets, run one command, print its output.

    python loop.py FLEET.json WIDTH COMMAND

The key and the known hosts are loaded once and shared; ssh_config and the agent are not used: connections are measured,
not files.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import asyncssh


async def main(fleet: dict[str, Any], width: int, command: str) -> None:
    key = asyncssh.read_private_key(fleet["key"])
    known_hosts = asyncssh.read_known_hosts(fleet["known_hosts"])
    free = asyncio.Semaphore(width)

    async def run_on_host(host: str, port: int, user: str) -> None:
        async with (
            free,
            asyncssh.connect(
                host, port, username=user, client_keys=[key], known_hosts=known_hosts, config=None, agent_path=None
            ) as connection,
        ):
            done = await connection.run(command, check=True)
            print(str(done.stdout).strip())

    await asyncio.gather(*(run_on_host(target["host"], target["port"], target["user"]) for target in fleet["hosts"]))


if __name__ == "__main__":
    asyncio.run(main(json.loads(Path(sys.argv[1]).read_text()), int(sys.argv[2]), sys.argv[3]))
