"""``pushsalt worker init`` and ``worker revoke``: the keys of a site."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pushsalt.cli.answer import write
from pushsalt.cli.app import Command
from pushsalt.cli.opt import Opt
from pushsalt.cli.options import GLOBAL, OUTPUT, Given, takes

if TYPE_CHECKING:
    from pushsalt.config import Config

INIT_EXAMPLES = """
pushsalt worker init berlin                 in a project: worker-berlin, and workers/berlin.pub
pushsalt worker init berlin /etc/pushsalt/worker-berlin
pushsalt worker init berlin --renew         new keys; the former ones are revoked
"""
REVOKE_EXAMPLES = """
pushsalt worker revoke berlin               then let the server read its configuration again
"""
_RENEW = (Opt("renew", ("--renew",), "Make new keys for the site, and revoke the former ones.", "flag"),)


def register(app: typer.Typer) -> None:
    """Add the commands to those of ``pushsalt worker``."""
    app.command(cls=Command, epilog=INIT_EXAMPLES)(init)
    app.command(cls=Command, epilog=REVOKE_EXAMPLES)(revoke)


@takes(_RENEW, tuple(opt for opt in OUTPUT if opt.name == "out"), GLOBAL)
def init(
    given: Given,
    site: Annotated[str, typer.Argument(metavar="SITE", help="Name of the site.")],
    folder: Annotated[
        str | None, typer.Argument(metavar="[DIR]", help="Folder to make (default: worker-SITE).", show_default=False)
    ] = None,
) -> int:
    """Make the keys of a site and a server configuration.

    These are private keys and NATS credentials of the site's workers, and a configuration of a NATS server. In a
    project, its controllers learn the public keys of the site, and the server's configuration covers all its sites.
    """
    from pushsalt.workers import setup

    config = _config(given)
    url = str(config.opts.get("workers") or "") or None
    place = Path(folder) if folder else Path(f"worker-{site}")
    result = setup.init(site, place, config.project, url, renew=bool(given.renew))
    lines = [f"Made {result.folder}: private keys and credentials of the workers of {site}. Copy it to their machines."]
    if result.told is not None:
        lines.append(f"Made {result.told}: its public keys, for the controllers of this project. Commit it.")
    lines += [
        f"The NATS server: nats-server -c {result.server}",
        f"A worker: pushsalt worker --site {site} --keys {result.folder} --workers URL",
    ]
    if given.renew:
        lines.append("The former keys are revoked: restart the NATS server, and replace the folder on all machines.")
    data = {
        "site": site,
        "dir": str(result.folder),
        "public": str(result.told) if result.told is not None else None,
        "server": str(result.server),
    }
    write(given, data, lines)
    return 0


@takes(tuple(opt for opt in OUTPUT if opt.name == "out"), GLOBAL)
def revoke(given: Given, site: Annotated[str, typer.Argument(metavar="SITE", help="Name of the site.")]) -> int:
    """Revoke the keys of a site.

    It gets no more work, and its workers cannot log in to the NATS server.
    """
    from pushsalt.errors import UsageError
    from pushsalt.workers import setup

    project = _config(given).project
    if project is None:
        raise UsageError("there is no project here", hint="run it in the project whose site it is")
    count = setup.revoke(site, project)
    lines = [
        f"Revoked {count} {'user' if count == 1 else 'users'} of {site}, and removed its public keys.",
        f"Restart the NATS server with {project / 'workers' / 'nats.conf'}: until then it lets them log in",
    ]
    write(given, {"site": site, "revoked": count}, lines)
    return 0


def _config(given: Given) -> Config:
    from pushsalt.config import load_config

    return load_config(given.settings().config)
