"""The endpoints, with paths and shapes of Salt. Salt: ``salt/netapi/rest_cherrypy/app.py``.

``Web`` has a handler for each path. ``guarded`` makes an endpoint of it, which checks the client's address and the
origin of a browser's request, and converts exceptions to answers.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from starlette.responses import Response, StreamingResponse

from pushsalt.errors import FunctionError, PushsaltError
from pushsalt.jobs.jid import DIGITS
from pushsalt.run.jobstart import Account
from pushsalt.serve import bodies, feed, hooks, lowdata
from pushsalt.serve.answers import HEADERS, Refused, answer, denied, refusal, wants_page
from pushsalt.serve.service import EVENTS, LIST_JOB, LIST_JOBS, Login, Service
from pushsalt.serve.settings import CLIENTS

if TYPE_CHECKING:
    from starlette.requests import Request

    from pushsalt.journal.store import Event

log = logging.getLogger(__name__)

COOKIE: Final = "session_id"
#: Maximum lifetime in seconds of a token that a login may request.
_YEAR: Final = 366 * 86400
_NO_KEYS: Final = "targets are reached by SSH and have no keys of Salt"
_FOREIGN_ORIGIN: Final = "Invalid request origin: pages of other sites cannot use a login"

Handler = Callable[["Request"], Awaitable[Response]]


class Web:
    """The endpoints of one service."""

    def __init__(self, service: Service) -> None:
        self.service = service

    def guarded(self, handler: Handler) -> Handler:
        """The endpoint of a handler: exceptions become answers; details of unexpected errors are only logged."""

        async def endpoint(request: Request) -> Response:
            self.service.counts.requests += 1
            try:
                self._check_origin(request)
                return await handler(request)
            except Refused as exc:
                self.service.counts.refused += 1
                return refusal(request, exc)
            except PushsaltError as exc:
                return refusal(request, Refused(400, self.service.client.redactor().text(str(exc))))
            except Exception as exc:
                log.error("%s: %s: %s", request.url.path, type(exc).__name__, exc, exc_info=exc)
                return refusal(request, Refused(500, "An unexpected error occurred"))

        return endpoint

    # authentication ---------------------------------------------------------------------------------------------------

    def login_of(self, request: Request) -> Login | None:
        """The login of a request, by ``X-Auth-Token`` or the cookie."""
        token = request.headers.get("x-auth-token") or request.cookies.get(COOKIE)
        return self.service.login(token)

    def account(self, request: Request) -> Account:
        """The account of a request. Raises Refused without a valid token."""
        login = self.login_of(request)
        if login is None:
            raise Refused(401, "No permission -- see authorization schemes", {"WWW-Authenticate": "Session"})
        return login.account

    def _check_origin(self, request: Request) -> None:
        addresses = self.service.settings.addresses
        if addresses and address_of(request) not in addresses:
            raise Refused(403, "Bad IP")
        origin = request.headers.get("origin")
        if origin and request.method not in ("GET", "HEAD") and urlsplit(origin).netloc != request.headers.get("host"):
            raise Refused(403, _FOREIGN_ORIGIN)

    async def _body(self, request: Request) -> Any:
        return bodies.parsed(request, await bodies.read(request, self.service.settings.body))

    # / and /run ------------------------------------------------------------------------------------------------------

    async def welcome(self, request: Request) -> Response:
        """``GET /`` for programs."""
        return answer(request, {"return": "Welcome", "clients": list(self.service.settings.clients)})

    async def low(self, request: Request) -> Response:
        """``POST /``: lowstate with the token of the request."""
        account = self.account(request)
        entries = bodies.lowstate(await self._body(request))

        async def who(entry: Mapping[str, Any]) -> Account:
            return account

        return answer(request, {"return": await lowdata.run(self.service, entries, who)})

    async def run(self, request: Request) -> Response:
        """``POST /run``: lowstate whose entries have a token, or a name and a password."""
        entries = bodies.lowstate(await self._body(request))
        accounts: dict[tuple[str, ...], Account] = {}

        async def who(entry: Mapping[str, Any]) -> Account:
            if "token" in entry:
                login = self.service.login(entry["token"] if isinstance(entry["token"], str) else None)
                if login is None:
                    raise Refused(401, "Invalid token")
                return login.account
            key = tuple(str(entry.get(name)) for name in ("eauth", "username", "password"))
            if key not in accounts:
                accounts[key] = await self.service.authenticate(dict(entry), address_of(request))
            return accounts[key]

        return answer(request, {"return": await lowdata.run(self.service, entries, who)})

    # /login, /logout, /token -----------------------------------------------------------------------------------------

    async def ask_login(self, request: Request) -> Response:
        """``GET /login``."""
        headers = {"WWW-Authenticate": "Session"}
        return answer(request, {"status": 200, "return": "Please log in"}, headers=headers)

    async def log_in(self, request: Request) -> Response:
        """``POST /login``: a token in a header, a cookie and the body."""
        creds = self._creds(await self._body(request))
        text, row = await self._token(request, creds)
        cookie = f"{COOKIE}={text}; Path=/; HttpOnly; SameSite=Strict; Max-Age={int(row['expire'] - row['start'])}"
        secure = "; Secure" if self.service.settings.certificate else ""
        headers = {"X-Auth-Token": text, "Set-Cookie": cookie + secure}
        if wants_page(request):
            return Response("", 303, {**HEADERS, **headers, "Location": "/"})
        return answer(request, {"return": [row]}, headers=headers)

    async def token(self, request: Request) -> Response:
        """``POST /token``: a token for ``/run``, without a cookie."""
        rows = []
        for creds in bodies.lowstate(await self._body(request)):
            if not {"username", "password", "eauth"} <= creds.keys():
                raise Refused(400, 'Require "username", "password", and "eauth" params')
            _, row = await self._token(request, creds)
            rows.append({**row, "name": row["user"]})
        return answer(request, rows)

    async def log_out(self, request: Request) -> Response:
        """``POST /logout``."""
        login = self.login_of(request)
        if login is None:
            self.account(request)
        else:
            self.service.tokens.remove(login.token)
        headers = {"Set-Cookie": f"{COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"}
        if wants_page(request):
            return Response("", 303, {**HEADERS, **headers, "Location": "/"})
        return answer(request, {"return": "Your token has been cleared"}, headers=headers)

    @staticmethod
    def _creds(data: Any) -> dict[str, Any]:
        entries = bodies.lowstate(data)
        return entries[0] if entries else {}

    async def _token(self, request: Request, creds: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        account = await self.service.authenticate(creds, address_of(request))
        seconds = self._seconds(account, creds.get("token_expire"))
        text, token = self.service.tokens.make(account.name, account.eauth, seconds)
        self.service.counts.logins += 1
        perms = self.service.accounts.shown(account.eauth, account.name) or self.service.permissions(account)
        row = {"token": text, "expire": token.expire, "start": token.start, "user": account.name}
        return text, {**row, "eauth": account.eauth, "perms": perms or {}}

    def _seconds(self, account: Account, wanted: Any) -> float:
        """Lifetime in seconds of a new token. Salt: ``token_expire_user_override``: true, or users by eauth module."""
        allowed = self.service.client.project.config.opts["token_expire_user_override"]
        if isinstance(allowed, dict):
            allowed = account.name in (allowed.get(account.eauth) or ())
        if allowed and isinstance(wanted, int | float) and not isinstance(wanted, bool) and wanted > 0:
            return min(float(wanted), _YEAR)
        return float(self.service.settings.expire)

    # /minions, /jobs, /keys ------------------------------------------------------------------------------------------

    async def minions(self, request: Request) -> Response:
        """``GET /minions[/ID]``: the grains of targets."""
        account = self.account(request)
        entry = {"client": "local", "tgt": request.path_params.get("id") or "*", "fun": "grains.items"}

        async def who(entry: Mapping[str, Any]) -> Account:
            return account

        return answer(request, {"return": await lowdata.run(self.service, [entry], who)})

    async def begin(self, request: Request) -> Response:
        """``POST /minions``: starts jobs."""
        account = self.account(request)
        entries = bodies.lowstate(await self._body(request))

        async def who(entry: Mapping[str, Any]) -> Account:
            return account

        jobs = await lowdata.run(self.service, entries, who, "local_async")
        links = [{"href": f"/jobs/{job['jid']}"} for job in jobs if job]
        return answer(request, {"return": jobs, "_links": {"jobs": links}}, 202)

    async def jobs(self, request: Request) -> Response:
        """``GET /jobs``: all jobs, or those of the account."""
        account = self.account(request)
        jobs = await self._runner(account, LIST_JOBS)
        if not self.service.may_run(account, LIST_JOBS):
            jobs = {jid: job for jid, job in jobs.items() if self.service.owns(account, jid)}
        return answer(request, {"return": [jobs]})

    async def job(self, request: Request) -> Response:
        """``GET /jobs/JID``: a job of the account, or with permission another one."""
        account, jid = self.account(request), str(request.path_params["jid"])
        self.permit_job(account, jid)
        info = await self._runner(account, LIST_JOB, jid)
        returns = {id: ret.get("return") for id, ret in info["Result"].items()}
        return answer(request, {"info": [info], "return": [returns]})

    def permit_job(self, account: Account, jid: str) -> None:
        """Raises Refused if the account may not see the job. The refusal does not tell whether the job exists."""
        if not (jid.isascii() and jid.isdigit() and len(jid) == DIGITS):
            raise Refused(400, "a JID has twenty digits")
        if not self.service.owns(account, jid) and not self.service.may_run(account, LIST_JOB, [jid], {"jid": jid}):
            raise denied()

    async def _runner(self, account: Account, fun: str, *args: str) -> Any:
        """The return of a runner function of ``jobs``; the call is not in the journal."""
        import asyncio

        from pushsalt.orchestrate.runnercalls import Run, function

        client = self.service.client.within()
        runner = function(client, fun)
        if runner is None or not runner.__module__.startswith("pushsalt."):
            hint = "call it with `client: runner`"
            raise FunctionError("exception", f"{fun} is replaced by a runner of the project", hint, "KeyError")
        run = Run(client, self.service.running.options, asyncio.get_running_loop())
        return client.redactor().data(await asyncio.to_thread(runner, run, *args))

    async def keys(self, request: Request) -> Response:
        """``GET /keys``: empty lists, since targets have no keys."""
        if not self.service.may_run(self.account(request), "key.list_all", form="wheel"):
            raise denied()
        states = ("local", "minions", "minions_pre", "minions_denied", "minions_rejected")
        return answer(request, {"return": {name: [] for name in states}, "comment": _NO_KEYS})

    async def no_keys(self, request: Request) -> Response:
        """``POST /keys``."""
        self.account(request)
        raise Refused(400, _NO_KEYS)

    # /events, /hook, /stats ------------------------------------------------------------------------------------------

    async def events(self, request: Request) -> Response:
        """``GET /events``: a stream of the events that the account may see."""
        if request.url.query:
            raise Refused(400, "The /events endpoint takes no query parameters: send X-Auth-Token, or the cookie")
        account = self.account(request)
        token = request.headers.get("x-auth-token") or request.cookies.get(COOKIE)
        number = self.service.feed.begin(feed.last_seen(request.headers.get("last-event-id")))
        checked = [time.monotonic()]

        def is_valid() -> bool:
            if time.monotonic() - checked[0] < 1.0:
                return True
            checked[0] = time.monotonic()
            return self.service.login(token) is not None

        stream = self.service.feed.stream(number, lambda event: self.may_see(account, event), is_valid)
        headers = {**HEADERS, "Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
        return StreamingResponse(stream, 200, headers, "text/event-stream")

    def may_see(self, account: Account, event: Event) -> bool:
        """Whether an account may see an event: all with permission for ``state.event``, else those of its jobs."""
        if self.service.may_run(account, EVENTS):
            return True
        jid = feed.jid_of(event)
        return bool(jid) and self.service.owns(account, jid)

    async def hook(self, request: Request) -> Response:
        """``POST /hook/…``: writes an event, if the body is signed or the request has a valid token."""
        body = await bodies.read(request, self.service.settings.body)
        path = str(request.path_params.get("path", ""))
        if not hooks.is_signed(self.service.settings.secrets, path, request.headers, body):
            self.account(request)
        data = bodies.parsed(request, body)
        await hooks.write(self.service.journal, self.service.client.redactor(), path, request.headers, body, data)
        self.service.counts.hooks += 1
        return answer(request, {"success": True})

    async def stats(self, request: Request) -> Response:
        """``GET /stats``: figures since the start."""
        self.account(request)
        figures = {**vars(self.service.counts), "uptime": time.time() - self.service.counts.since}
        figures.update(running=self.service.running.count, event_streams=self.service.feed.count)
        return answer(request, {"pushsalt serve": figures})


def address_of(request: Request) -> str:
    """The address of the client."""
    return request.client.host if request.client else ""


__all__ = ["CLIENTS", "COOKIE", "Web", "address_of"]
