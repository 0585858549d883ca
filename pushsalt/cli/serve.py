"""``pushsalt serve``: Salt's REST API and a status page, in the foreground, for systemd or a container."""

from __future__ import annotations

import asyncio

import typer

from pushsalt.cli.app import Command
from pushsalt.cli.opt import Opt
from pushsalt.cli.options import GLOBAL, SERVICE, Given, takes
from pushsalt.cli.stdio import TERMINAL
from pushsalt.cli.twosignals import heed
from pushsalt.errors import EXIT_OK, CommandError

app = typer.Typer(rich_markup_mode=None, add_completion=False)

EXAMPLES = """
pushsalt serve                        on 127.0.0.1:8000
pushsalt serve --listen 0.0.0.0:8443  with ssl_crt and ssl_key of rest_cherrypy
pushsalt serve --unit > /etc/systemd/system/pushsalt-serve.service
"""
SHOWN = (
    Opt("listen", ("--listen",), "Address: HOST:PORT, or :PORT for this machine alone.", metavar="ADDRESS"),
    Opt("unit", ("--unit",), "Print a unit file for systemd that runs this command.", "flag"),
)


@app.command(cls=Command, epilog=EXAMPLES)
@takes(SHOWN, SERVICE, GLOBAL)
def serve(given: Given) -> int:
    """Serve Salt's REST API, for accounts of the configuration, and a status page."""
    if given.unit:
        from pushsalt.cli.unitfile import unit_file

        TERMINAL.get().stdout.write(unit_file("serve", given, *(["--listen", given.listen] if given.listen else [])))
        return EXIT_OK
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as exc:
        raise CommandError(f"serve needs starlette and uvicorn: {exc}", "pip install 'pushsalt[serve]'") from None
    return asyncio.run(_serve(given))


async def _serve(given: Given) -> int:
    from pushsalt.cli.client import Watcher, open_client
    from pushsalt.log import DEFAULT_LEVEL
    from pushsalt.serve import accounts, server, settings
    from pushsalt.serve.service import Service
    from pushsalt.serve.tokens import Tokens
    from pushsalt.workers.jobevents import open_journal

    given.job(DEFAULT_LEVEL)  # report invalid options before any file is read
    client, level = open_client(given, TERMINAL.get(), Watcher())
    config = client.project.config
    users, wanted = accounts.load(config), settings.load(config, given.listen)
    secrets = (str(config.opts["sharedsecret"] or ""), *wanted.secrets.values())
    client.redactor().add_secrets(*filter(None, secrets))
    tokens = Tokens(config.cache_dir)
    service = Service(client, given.job(level), wanted, users, tokens, open_journal(client.project))
    stopped = asyncio.Event()
    heed(stopped)
    await server.serve(service, stopped, lambda url: TERMINAL.get().stdout.write(f"serving at {url}\n"))
    return EXIT_OK
