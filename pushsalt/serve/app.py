"""The ASGI application: paths and methods of the endpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from pushsalt.serve.answers import Refused, refusal, wants_page
from pushsalt.serve.status import Pages
from pushsalt.serve.web import Web

if TYPE_CHECKING:
    from starlette.requests import Request

    from pushsalt.serve.service import Service
    from pushsalt.serve.web import Handler

#: A method and a path.
Row = tuple[str, str]
#: Every path is routed for all methods; its endpoint refuses those that it does not support.
_METHODS: Final = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


def build(service: Service) -> Starlette:
    """The application of a service."""
    web = Web(service)
    pages = Pages(web)
    hook = f"/{service.settings.hook}"
    rows: dict[Row, Handler] = {
        ("GET", "/"): _either(pages.status, web.welcome),
        ("POST", "/"): web.low,
        ("POST", "/run"): web.run,
        ("GET", "/login"): _either(pages.login, web.ask_login),
        ("POST", "/login"): pages.log_in,
        ("POST", "/logout"): web.log_out,
        ("POST", "/token"): web.token,
        ("GET", "/minions"): web.minions,
        ("GET", "/minions/{id}"): web.minions,
        ("POST", "/minions"): web.begin,
        ("GET", "/jobs"): _either(pages.status, web.jobs),
        ("GET", "/jobs/{jid}"): _either(pages.job, web.job),
        ("GET", "/keys"): web.keys,
        ("GET", "/keys/{id}"): web.keys,
        ("POST", "/keys"): web.no_keys,
        ("GET", "/events"): web.events,
        ("GET", "/stats"): web.stats,
        ("POST", hook): web.hook,
        ("POST", hook + "/{path:path}"): web.hook,
    }
    paths: dict[str, dict[str, Handler]] = {}
    for (method, path), handler in rows.items():
        paths.setdefault(path, {})[method] = handler
    routes = [Route(path, web.guarded(_methods(handlers)), methods=_METHODS) for path, handlers in paths.items()]
    routes.append(Route("/{path:path}", web.guarded(_not_found), methods=_METHODS))
    return Starlette(routes=routes)


def _methods(handlers: dict[str, Handler]) -> Handler:
    """A handler that calls the one of the request's method."""

    async def handler(request: Request) -> Response:
        method = "GET" if request.method == "HEAD" and request.url.path != "/events" else request.method
        if method not in handlers:
            allowed = ", ".join(handlers)
            raise Refused(405, f"Specified method is invalid for this resource: {allowed}", {"Allow": allowed})
        return await handlers[method](request)

    return handler


def _either(page: Handler, program: Handler) -> Handler:
    """A handler that answers browsers with a page, and programs with data."""

    async def handler(request: Request) -> Response:
        return await (page if wants_page(request) else program)(request)

    return handler


async def _not_found(request: Request) -> Response:
    return refusal(request, Refused(404, "there is nothing here"))
