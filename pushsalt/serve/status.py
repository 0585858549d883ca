"""The pages for browsers: the login, the status page, and the page of a job, which is its report.

Each page is one file, which also works without its script. The script of the status page shows new events, and loads
the page again when a job or drift has changed. All foreign text is escaped.
"""

from __future__ import annotations

import asyncio
import html
import json
import sqlite3
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import Response

from pushsalt.display.safe import escape
from pushsalt.errors import CommandError
from pushsalt.reports.html import OUTCOMES, about, item_of
from pushsalt.reports.page import Item, Page, source_hash, style
from pushsalt.serve.answers import HEADERS, Refused, wants_page
from pushsalt.serve.service import EVENTS, LIST_JOBS
from pushsalt.workers.jobevents import drifted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from starlette.requests import Request

    from pushsalt.jobs.jobs import KeptJob
    from pushsalt.run.jobstart import Account
    from pushsalt.serve.web import Web

#: Number of jobs and of events on the status page, and of jobs that are searched for those of one account.
_SHOWN: Final = 50
_SEARCHED: Final = 500
#: Maximum characters of a value.
_VALUE_LENGTH: Final = 300
_FOLDER: Final = Path(__file__).parent
_POLICY: Final = "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; img-src data:"
_STATES: Final = {"running": "changed", "done": "passed", "interrupted": "failed", "lost": "failed"}


class Pages:
    """The pages of one service."""

    def __init__(self, web: Web) -> None:
        self._web = web
        self._service = web.service

    async def login(self, request: Request) -> Response:
        """``GET /login`` of a browser."""
        return self._login_page("")

    async def log_in(self, request: Request) -> Response:
        """``POST /login``; a browser gets the login page again, with the error."""
        try:
            return await self._web.log_in(request)
        except Refused as exc:
            if not wants_page(request):
                raise
            return self._login_page(exc.text, exc.status, exc.headers)

    async def status(self, request: Request) -> Response:
        """``GET /`` of a browser."""
        login = self._web.login_of(request)
        if login is None:
            return self._login_page("", 401)
        try:
            body = await asyncio.to_thread(self._status, login.account)
        except (CommandError, OSError, sqlite3.Error) as exc:
            raise Refused(503, str(exc)) from None
        return _page("pushsalt", body, live=True)

    async def job(self, request: Request) -> Response:
        """``GET /jobs/JID`` of a browser: its report."""
        login = self._web.login_of(request)
        if login is None:
            return self._login_page("", 401)
        jid = str(request.path_params["jid"])
        self._web.permit_job(login.account, jid)
        text = await asyncio.to_thread(self._report, jid)
        policy = f"{Page.policy()}; base-uri 'none'; frame-ancestors 'none'"
        return Response(text, 200, {**HEADERS, "Content-Security-Policy": policy}, "text/html")

    def _report(self, jid: str) -> str:
        jobs = self._service.client.jobs
        job = jobs.get(jid)
        items = [item_of(result, job.fun) for result in jobs.returns(job).values()]
        returned = {item.id for item in items}
        missing = ("not begun", "no return yet") if job.state == "running" else ("no answer", "no return")
        items += [Item(id, *missing, []) for id in job.ids if id not in returned]
        head = [*about(job.jid, job.tgt, job.start, job.end, job.exit_code), ("User", job.user), ("State", job.state)]
        return "".join(Page(" ".join(["pushsalt", job.fun, *map(str, job.arg)]), head, OUTCOMES, items).pieces())

    def _login_page(self, trouble: str, status: int = 200, headers: dict[str, str] | None = None) -> Response:
        options = "".join(f"<option>{_safe(name)}</option>" for name in self._service.accounts.modules)
        alert = f"<p class='failed' role='alert'><span class='word'>{_safe(trouble)}</span></p>" if trouble else ""
        body = (
            f"<header><h1>pushsalt</h1></header>{alert}<main><form class='login' method='post' action='/login'>"
            "<label>User name<input name='username' autocomplete='username' required autofocus></label>"
            "<label>Password<input name='password' type='password' autocomplete='current-password' required></label>"
            f"<label>Accounts of<select name='eauth'>{options}</select></label>"
            "<button type='submit'>Log in</button></form></main>"
        )
        return _page("pushsalt: log in", body, status, headers)

    # the status page -------------------------------------------------------------------------------------------------

    def _status(self, account: Account) -> str:
        jobs = self._jobs(account)
        running = [job for job in jobs if job.state == "running"]
        sees_all = self._service.may_run(account, EVENTS)
        head = [
            ("Project", str(self._service.client.project.config.project or "none")),
            ("Account", f"{account.name} ({account.eauth})"),
            ("Serving since", _time(self._service.counts.since)),
        ]
        rows = "".join(f"<dt>{_safe(name)}</dt><dd>{_safe(text)}</dd>" for name, text in head)
        return (
            f"<header><h1>pushsalt</h1><dl>{rows}</dl><form class='logout' method='post' action='/logout'>"
            "<button type='submit'>Log out</button><span id='state' class='sub' role='status'></span></form></header>"
            f"<main>{_section('live', 'Running', _live(running))}"
            f"{_section('drift', 'Drift', self._drift() if sees_all else _NOT_SHOWN)}"
            f"{_section('jobs', 'Jobs', _jobs_table(jobs))}"
            f"{_section('events', 'Events', self._events(account))}</main>"
        )

    def _jobs(self, account: Account) -> list[KeptJob]:
        """The newest jobs that the account may see."""
        jobs = self._service.client.jobs
        if self._service.may_run(account, LIST_JOBS):
            return jobs.list(limit=_SHOWN)
        return [job for job in jobs.list(limit=_SEARCHED) if self._service.owns(account, job.jid)][:_SHOWN]

    def _drift(self) -> str:
        rows = [
            [_safe(each.id), str(len(each.tags)), _safe(", ".join(" ".join(_parts(tag)) for tag in each.tags))]
            for each in drifted(self._service.journal)
        ]
        return _table(("Target", "States", "Which"), rows, "No target had drifted when `pushsalt watch` last looked.")

    def _events(self, account: Account) -> str:
        journal = self._service.journal
        number = _SHOWN if self._service.may_run(account, EVENTS) else 4 * _SHOWN
        newest = journal.after(max(0, journal.last() - number), number)
        visible = [event for event in newest if self._web.may_see(account, event)][-_SHOWN:]
        rows = [
            [_time(event.stamp), _safe(event.tag), f"<code>{_safe(json.dumps(event.data, ensure_ascii=False))}</code>"]
            for event in reversed(visible)
        ]
        return _table(("Time", "Tag", "Data"), rows, "No events yet.")


_NOT_SHOWN: Final = "<p class='sub'>Not shown: the account has no permission for all events (@runner).</p>"


def _live(running: Iterable[KeptJob]) -> str:
    rows = []
    for job in running:
        bar = f"<progress max='{max(1, job.targets)}' value='{job.returned}'></progress>"
        bar = f"{bar} {job.returned} of {job.targets}"
        rows.append([_link(job.jid), _safe(_call(job)), _safe(job.tgt), _safe(job.user), _time(job.start), bar])
    return _table(("Job", "Function", "Targets", "User", "Began", "Returned"), rows, "Nothing is running.")


def _jobs_table(jobs: Iterable[KeptJob]) -> str:
    rows = []
    for job in jobs:
        state = f"<span class='{_STATES.get(job.state, 'unknown')}'><span class='word'>{_safe(job.state)}</span></span>"
        bad = job.failed + job.unanswered
        failed = f"<span class='failed'><span class='word'>{bad}</span></span>" if bad else "0"
        rows.append(
            [
                *(_link(job.jid), _safe(_call(job)), _safe(job.tgt), _safe(job.user), _time(job.start)),
                *(state, str(job.targets), failed),
            ]
        )
    names = ("Job", "Function", "Targets", "User", "Began", "State", "Number", "Failed")
    return _table(names, rows, "No jobs are kept.")


def _call(job: KeptJob) -> str:
    words = [job.fun, *map(str, job.arg), *(f"{key}={value}" for key, value in job.kwarg.items())]
    return " ".join(words)


def _parts(tag: str) -> list[str]:
    """Function and id of a state by its tag."""
    module, _, rest = tag.partition("_|-")
    id, _, rest = rest.partition("_|-")
    return [f"{module}.{rest.rpartition('_|-')[2]}", id] if rest else [tag]


def _section(id: str, title: str, body: str) -> str:
    return f"<section id='{id}' aria-labelledby='h-{id}'><h2 id='h-{id}'>{title}</h2>{body}</section>"


def _table(names: Sequence[str], rows: Sequence[Sequence[str]], empty: str) -> str:
    """A table; its cells are HTML."""
    if not rows:
        return f"<p class='sub'>{_safe(empty)}</p>"
    head = "".join(f"<th scope='col'>{name}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<div class='wide' tabindex='0'><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"


def _link(jid: str) -> str:
    return f"<a href='/jobs/{_safe(jid)}'>{_safe(jid)}</a>"


def _time(stamp: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(stamp))


def _safe(text: Any) -> str:
    """Foreign text as HTML, of limited length."""
    text = str(text)
    text = text if len(text) <= _VALUE_LENGTH else f"{text[:_VALUE_LENGTH]}…"
    return html.escape(escape(text), quote=True)


@cache
def _parts_of_pages() -> tuple[str, str]:
    """The style sheet and the script."""
    return style() + (_FOLDER / "status.css").read_text("utf-8"), (_FOLDER / "status.js").read_text("utf-8")


def _page(
    title: str, body: str, status: int = 200, headers: dict[str, str] | None = None, *, live: bool = False
) -> Response:
    """A whole page; ``live``: with the script."""
    sheet, script = _parts_of_pages()
    policy = f"{_POLICY}; style-src '{source_hash(sheet)}'"
    again = foot = ""
    if live:
        policy += f"; script-src '{source_hash(script)}'; connect-src 'self'"
        again = "<noscript><meta http-equiv='refresh' content='15'></noscript>"
        foot = f"<script>{script}</script>"
    text = (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        f"<meta name='viewport' content='width=device-width,initial-scale=1'><title>{_safe(title)}</title>"
        f"<link rel='icon' href='data:,'>{again}<style>{sheet}</style></head>\n<body>{body}\n{foot}</body></html>\n"
    )
    return Response(text, status, {**HEADERS, "Content-Security-Policy": policy, **(headers or {})}, "text/html")
