"""``pushsalt worker``: runs jobs on the targets of a site for controllers elsewhere, in the foreground."""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from pushsalt.cli.answer import write
from pushsalt.cli.app import Actions, Command
from pushsalt.cli.opt import Opt, positive
from pushsalt.cli.options import GLOBAL, LIMITS, OUTPUT, Given, takes
from pushsalt.cli.stdio import TERMINAL
from pushsalt.cli.twosignals import heed
from pushsalt.cli.workerinit import register
from pushsalt.errors import EXIT_OK, UsageError

if TYPE_CHECKING:
    from pushsalt.api import Client
    from pushsalt.config import Config

EXAMPLES = """
pushsalt worker --site berlin --workers tls://nats.example.org:4222
pushsalt worker --site berlin --unit > /etc/systemd/system/pushsalt-worker.service
pushsalt worker status
pushsalt worker follow --once                     what other controllers have learnt
"""
SHOWN = (
    Opt(
        "site", ("--site",), "The site whose targets it takes (default: that of the keys, or default).", metavar="NAME"
    ),
    Opt("keys", ("--keys",), "Folder with the keys of the site (default: worker-NAME).", metavar="DIR"),
    Opt("unit", ("--unit",), "Print a unit file for systemd that runs this command.", "flag"),
    *(opt for opt in LIMITS if opt.name == "concurrency"),
)

app = typer.Typer(
    cls=Actions, rich_markup_mode=None, add_completion=False, invoke_without_command=True, epilog=EXAMPLES
)


@app.callback()
@takes(SHOWN, GLOBAL)
def worker(given: Given, ctx: typer.Context) -> int:
    """Run jobs on the targets of a site, for controllers.

    Controllers hand out jobs at a NATS server (docs/workers.md). A worker takes work until a signal stops it, and then
    ends what it has in hand; a second signal ends it immediately.
    """
    if ctx.invoked_subcommand is not None:
        ctx.obj = given
        return EXIT_OK
    if given.unit:
        from pushsalt.cli.unitfile import unit_file

        words = [
            word for opt in SHOWN[:2] if given.values.get(opt.name) for word in (opt.flags[0], given.values[opt.name])
        ]
        TERMINAL.get().stdout.write(unit_file("worker", given, *map(shlex.quote, words)))
        return EXIT_OK
    return asyncio.run(_work(given))


async def _work(given: Given) -> int:
    from pushsalt.cli.client import configured_log
    from pushsalt.job import DEFAULT_CONCURRENCY
    from pushsalt.workers import keys, names
    from pushsalt.workers.connection import need_extra
    from pushsalt.workers.service import Worker

    configured_log(given, TERMINAL.get())
    need_extra()
    folder = Path(given.keys) if given.keys else keys.worker_folder(given.site or names.DEFAULT_SITE)
    loaded = keys.load_worker(folder) if folder is not None else None
    site = names.check_site(given.site or (loaded.site if loaded is not None else names.DEFAULT_SITE))
    if loaded is not None and loaded.site != site:
        raise UsageError(f"{folder} has the keys of the site {loaded.site}, not of {site}", "name its folder by --keys")
    config = _config(given)
    url = str(given.workers or (loaded.url if loaded is not None else None) or config.opts["workers"] or "")
    if not url:
        raise UsageError("worker needs the URL of a NATS server", "--workers URL, or `workers:` in the configuration")
    width = positive("--concurrency", given.concurrency) or DEFAULT_CONCURRENCY
    one = Worker(site, url, config.cache_dir / "worker" / site, folder=folder, width=width)
    stopped = asyncio.Event()
    heed(stopped)
    out = TERMINAL.get().stdout
    await one.run(stopped, lambda: out.write(f"worker {one.id} of the site {site} is ready\n"))
    return EXIT_OK


def _config(given: Given) -> Config:
    from pushsalt.config import CliOverrides, load_config

    settings = given.settings()
    return load_config(settings.config, cli=CliOverrides(cache_dir=settings.cache_dir))


@app.command("status", cls=Command)
@takes(tuple(opt for opt in OUTPUT if opt.name == "out"), GLOBAL)
def status(given: Given) -> int:
    """Show the workers of each site and waiting shards.

    For each worker: its version, since when it runs, and how many targets it has in hand.
    """
    data = asyncio.run(_status(given))
    lines = []
    for site, entry in data["sites"].items():
        lines.append(f"{site}: {len(entry['workers'])} workers, {entry['waiting']} shards wait")
        lines += [
            f"    {each['id']}  {each['version']}  since {each['since']}  {each['busy']} targets"
            for each in entry["workers"]
        ]
    write(given, data, lines or ["no site is known at this server yet"])
    return EXIT_OK


@app.command("follow", cls=Command)
@takes((Opt("once", ("--once",), "End when all that is stored is taken.", "flag"),), GLOBAL)
def follow(given: Given) -> int:
    """Take what other controllers' jobs have learnt: grains, pillar, mine, resources, returns.

    They are put into the caches and the record of jobs of this controller, until a signal stops it.
    """
    return asyncio.run(_follow(given))


async def _follow(given: Given) -> int:
    from pushsalt.cli.client import Watcher, open_client
    from pushsalt.workers.following import Follower

    out = TERMINAL.get().stdout
    client, _ = open_client(given, TERMINAL.get(), Watcher())
    follower = Follower(client.project, _url(client), lambda text: out.write(f"{text}\n"))
    stopped = asyncio.Event()
    heed(stopped)
    await follower.run(stopped, once=bool(given.once))
    return EXIT_OK


def _url(client: Client) -> str:
    """The URL of the NATS server. Raises UsageError without one."""
    url = str(client.project.config.opts["workers"] or "")
    if not url:
        raise UsageError("there is no NATS server", "--workers URL, or `workers:` in the configuration")
    return url


async def _status(given: Given) -> dict[str, Any]:
    from pushsalt.cli.client import Watcher, open_client
    from pushsalt.workers import connection, parties, state

    client, _ = open_client(given, TERMINAL.get(), Watcher())
    server = await connection.connect(_url(client), parties.keys_folder(client.project))
    try:
        return {"sites": await state.sites(server)}
    finally:
        await server.close()


register(app)
