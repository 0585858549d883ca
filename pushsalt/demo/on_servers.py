"""The demo's targets as SSH servers on loopback: without root, without installation, with all files in one folder."""

from __future__ import annotations

import asyncio
import getpass
import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from pushsalt.demo import project
from pushsalt.demo.sshd import RUN_DIR, SshdBed, SshTarget, missing
from pushsalt.demo.tour import IDS, Scene, Tour
from pushsalt.errors import CommandError


def start(folder: Path, tour: Tour, stack: ExitStack) -> Scene:
    """Start servers below ``folder`` and write a project for them; returns the Scene. Raises CommandError."""
    servers, server = bed(folder, stack)
    user = getpass.getuser()
    defaults = {
        "host": "127.0.0.1",
        "user": user,
        "priv": str(servers.key),
        "agent": False,
        # without the user's ~/.ssh/config, which is for other machines
        "ssh_options": [f"UserKnownHostsFile={servers.known_hosts}", "ProxyJump=none"],
    }
    hosts = {
        id: {
            "port": servers.targets[id].port,
            "grains": {"role": id.rstrip("0123456789"), "folder": str(servers.homes / id)},
        }
        for id in IDS
    }
    project.write(tour.project, defaults, hosts, project.PILLAR_IN_FOLDER)
    return Scene(f"{server} on 127.0.0.1, as {user}, each with a separate home folder", "~/apache2")


def bed(folder: Path, stack: ExitStack, ids: Sequence[str] = IDS) -> tuple[SshdBed, str]:
    """Running servers, and their description: OpenSSH's, or the stand-in if that cannot be used."""
    own = "pushsalt's own SSH servers (there is no usable sshd)"
    for stand_in in (False, True):
        if not stand_in and (missing() or (os.geteuid() == 0 and not RUN_DIR.is_dir())):
            continue
        with ExitStack() as trial:
            place = folder / ("ssh" if not stand_in else "ssh-own")
            server = trial.enter_context(SshdBed(place, stand_in=stand_in, homes=folder))
            try:
                for id in ids:
                    server.add(id)
                server.wait(60.0 if stand_in else 15.0)
                usable = stand_in or asyncio.run(_usable(server, server.targets[ids[0]]))
            except (RuntimeError, OSError) as exc:
                if stand_in:
                    hint = "check that programs can listen on 127.0.0.1"
                    raise CommandError(f"no SSH server can be started: {exc}", hint) from None
                usable = False
            if usable:
                stack.push(trial.pop_all())
                return server, own if stand_in else "OpenSSH's sshd"
    raise AssertionError("the last server either was usable or raised")


async def _usable(servers: SshdBed, target: SshTarget) -> bool:
    """Whether this user can log in (not with a locked account, or nologin as shell), and HOME is the target's folder
    then.
    """
    import asyncssh

    connecting = asyncssh.connect(
        "127.0.0.1",
        target.port,
        username=getpass.getuser(),
        client_keys=[str(servers.key)],
        agent_path=None,
        known_hosts=str(servers.known_hosts),
        config=None,
        connect_timeout=10,
    )
    try:
        async with connecting as connection:
            done = await asyncio.wait_for(connection.run('printf %s "$HOME"'), 10)
            return str(done.stdout).endswith(str(target.home))
    except (OSError, asyncssh.Error, asyncio.TimeoutError):
        return False
