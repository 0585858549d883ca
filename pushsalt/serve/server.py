"""Runs the HTTP server until it is stopped; running requests and jobs then have some time to end."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import uvicorn

from pushsalt.errors import CommandError, ConfigError
from pushsalt.serve.accounts import refuse_open
from pushsalt.serve.app import build
from pushsalt.serve.protocol import HEAD_SIZE, Protocol

if TYPE_CHECKING:
    from pushsalt.serve.service import Service
    from pushsalt.serve.settings import ServeSettings

log = logging.getLogger(__name__)

#: Seconds after a stop until running jobs are stopped, then until running states are ended, then until the exit.
GRACE: Final = 10.0
#: Seconds between two checks whether git remotes are due.
_PREPARE: Final = 30.0
#: Number of threads; runner functions wait in them for other jobs.
_THREADS: Final = 64


class _Server(uvicorn.Server):
    """Leaves the handling of signals to the command."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve(service: Service, stop: asyncio.Event, say: Callable[[str], None]) -> None:
    """Serve until ``stop`` is set. ``say`` is called with the URL. Raises CommandError if it cannot listen."""
    settings = service.settings
    context = _context(settings)
    listening = _socket(settings)
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_THREADS, "pushsalt-serve"))
    service.client.project.pool.start()
    await service.client.project.prepare(stop)
    config = uvicorn.Config(
        build(service),
        http=Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=2 * settings.parallel,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=int(3 * GRACE),
        h11_max_incomplete_event_size=HEAD_SIZE,
    )
    config.load()
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # errors of clients are not reported
    if context is not None:
        config.ssl = context
    server = _Server(config)
    say(replace(settings, port=listening.getsockname()[1]).url)
    work = asyncio.create_task(server.serve(sockets=[listening]))
    preparing = asyncio.create_task(_prepare(service, stop))
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({work, stopping}, return_when=asyncio.FIRST_COMPLETED)
        service.feed.stop()
        server.should_exit = True
        await asyncio.gather(work, service.running.finish(GRACE))
    finally:
        for task in (preparing, stopping):
            task.cancel()
        listening.close()
        service.tokens.close()
        service.journal.close()


async def _prepare(service: Service, stop: asyncio.Event) -> None:
    """Fetch the git remotes that are due, so that jobs need not do it."""
    while not stop.is_set():
        await asyncio.sleep(_PREPARE)
        try:
            await service.client.project.prepare(stop)
        except CommandError as exc:
            log.warning("%s", exc)


def _socket(settings: ServeSettings) -> socket.socket:
    try:
        addresses = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = addresses[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(1024)  # from now on, clients can connect
    except OSError as exc:
        text = exc.strerror or str(exc)
        raise CommandError(f"{settings.url}: {text}", "name another address with --listen") from None
    return listening


def _context(settings: ServeSettings) -> ssl.SSLContext | None:
    """TLS 1.2 or newer with the certificate. Raises ConfigError for files that cannot be used."""
    if settings.certificate is None:
        return None
    crt, key, chain = settings.certificate
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    path = key
    try:
        refuse_open(key, secret=True)
        if chain is not None:
            path = chain
            context.load_verify_locations(chain)  # sent after the certificate
        path = crt
        context.load_cert_chain(crt, key, _no_passphrase)
    except (OSError, ValueError) as exc:  # ssl.SSLError is an OSError
        text = getattr(exc, "strerror", None) or str(exc)
        raise ConfigError(f"rest_cherrypy: {path}: {text}", "check ssl_crt, ssl_key and ssl_chain") from None
    return context


def _no_passphrase() -> str:
    raise ValueError("the key has a passphrase: remove it")
