"""An SSH server made with asyncssh, for machines without sshd. It accepts one key, and runs commands as the current
user with one home folder.

    python -m pushsalt.demo.stand_in PORT HOST_KEY AUTHORIZED_KEYS HOME

It listens on loopback only. Sessions run ``/bin/sh -c COMMAND``, without terminals, file transfer and forwarding.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys

import asyncssh

#: Environment variables of the server that a session gets, as with sshd.
_PASSED = ("PATH", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL")


async def _session(process: asyncssh.SSHServerProcess[bytes], home: str) -> None:
    argv = ["/bin/sh", "-c", process.command] if process.command else ["/bin/sh"]
    passed = {name: os.environ[name] for name in _PASSED if name in os.environ}
    pipe = asyncio.subprocess.PIPE
    child = await asyncio.create_subprocess_exec(
        *argv, stdin=pipe, stdout=pipe, stderr=pipe, env={**passed, "HOME": home}, cwd=home, start_new_session=True
    )
    await process.redirect(child.stdin, child.stdout, child.stderr)
    status = await child.wait()
    process.exit(status if status >= 0 else 128 - status)


async def serve(port: int, host_key: str, authorized_keys: str, home: str) -> None:
    """Serve until the process is killed."""

    async def session(process: asyncssh.SSHServerProcess[bytes]) -> None:
        with contextlib.suppress(asyncssh.Error, OSError):
            await _session(process, home)

    server = await asyncssh.listen(
        "127.0.0.1",
        port,
        server_host_keys=[host_key],
        authorized_client_keys=authorized_keys,
        process_factory=session,
        encoding=None,
        allow_scp=False,
        agent_forwarding=False,
        x11_forwarding=False,
    )
    await server.wait_closed()


def main() -> None:
    port, host_key, authorized_keys, home = sys.argv[1:]
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    try:
        asyncio.run(serve(int(port), host_key, authorized_keys, home))
    except OSError as exc:
        sys.exit(f"{exc.strerror or exc}")


if __name__ == "__main__":
    main()
