"""The state that all requests of one ``pushsalt serve`` share: accounts, tokens, permissions, running jobs."""

from __future__ import annotations

import asyncio
import hmac
import logging
import time
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from pushsalt.errors import CommandError, NoTargetError
from pushsalt.job import Selection
from pushsalt.run.jobstart import Account
from pushsalt.serve import permissions
from pushsalt.serve.answers import Refused, denied
from pushsalt.serve.attempts import Attempts
from pushsalt.serve.feed import Feed
from pushsalt.serve.running import Running

if TYPE_CHECKING:
    from pushsalt.api import Client
    from pushsalt.job import JobOptions
    from pushsalt.journal.interface import EventJournal
    from pushsalt.serve.accounts import Accounts
    from pushsalt.serve.calls import Call
    from pushsalt.serve.settings import ServeSettings
    from pushsalt.serve.tokens import Tokens

log = logging.getLogger(__name__)

#: Maximum number of concurrent comparisons of passwords: bcrypt is slow.
_COMPARISONS: Final = 2
#: Maximum characters of a token that is looked up.
_TOKEN_LENGTH: Final = 200
#: An account with permission for these runner functions may see the jobs and events of others.
LIST_JOBS: Final = "jobs.list_jobs"
LIST_JOB: Final = "jobs.list_job"
EVENTS: Final = "state.event"


@dataclass(frozen=True)
class Login:
    """A valid token: its account, and seconds since 1970."""

    account: Account
    token: str
    start: float
    expire: float


@dataclass
class Counts:
    """Figures since the start."""

    since: float = field(default_factory=time.time)
    requests: int = 0
    refused: int = 0
    logins: int = 0
    failed_logins: int = 0
    jobs: int = 0
    hooks: int = 0


class Service:
    """One project, its accounts, tokens and journal."""

    def __init__(
        self,
        client: Client,
        options: JobOptions,
        settings: ServeSettings,
        accounts: Accounts,
        tokens: Tokens,
        journal: EventJournal,
    ) -> None:
        self.client = client
        self.settings = settings
        self.accounts = accounts
        self.tokens = tokens
        self.journal = journal
        self.running = Running(client, options, settings.parallel)
        self.feed = Feed(journal, settings.parallel)
        self.attempts = Attempts()
        self.counts = Counts()
        self._comparing = asyncio.Semaphore(_COMPARISONS)

    # authentication ---------------------------------------------------------------------------------------------------

    async def authenticate(self, creds: dict[str, Any], address: str) -> Account:
        """The account of these credentials (``username``, ``password``, ``eauth``). Raises Refused."""
        name, password, eauth = (creds.get(key) for key in ("username", "password", "eauth"))
        wrong = Refused(401, "Could not authenticate using provided credentials")
        if not isinstance(name, str) or not isinstance(password, str) or not isinstance(eauth, str):
            raise wrong
        wait = self.attempts.wait(address, name)
        if wait:
            raise Refused(429, f"too many wrong passwords: try again in {wait} s", {"Retry-After": str(wait)})
        self.attempts.begins(address, name)
        if self.may_come_from(name, address):
            async with self._comparing:
                if await asyncio.to_thread(self.accounts.check, eauth, name, password):
                    self.attempts.succeeded(address, name)
                    return Account(name, eauth)
        self.counts.failed_logins += 1
        log.warning("failed login: account %.80r of %.20r, from %s", name, eauth, address)
        raise wrong

    def may_come_from(self, name: str, address: str) -> bool:
        """Whether the account may log in from an address. Salt: ``api_acl``."""
        acl = self.settings.acl
        allowed = acl.get(name, acl.get("*", ())) if acl else ("*",)
        return address in allowed or "*" in allowed

    def login(self, token: str | None) -> Login | None:
        """The login of a token; None if it is unknown, has expired, or its account no longer has permissions."""
        if not token or len(token) > _TOKEN_LENGTH:
            return None
        stored = self.tokens.get(token)
        if stored is None or not self.accounts.permissions(stored.eauth, stored.name):
            return None
        return Login(Account(stored.name, stored.eauth), token, stored.start, stored.expire)

    # permissions ------------------------------------------------------------------------------------------------------

    def permissions(self, account: Account) -> list[Any]:
        """The permissions of an account in the configuration."""
        return self.accounts.permissions(account.eauth, account.name)

    def may_run(self, account: Account, fun: str, args: Any = (), kwargs: Any = None, form: str = "runner") -> bool:
        """Whether the account may call a function of the controller."""
        return permissions.may_run(self.permissions(account), fun, args, kwargs or {}, form)

    def permit(self, account: Account, call: Call) -> list[str]:
        """The ids that a call selects; none for a runner function. Raises Refused if it is not permitted."""
        if call.selection is None:
            if not self.may_run(account, call.fun, call.args, call.kwargs):
                raise denied()
            return []
        ids = self.ids(call.selection)
        if not permissions.may_call(self.permissions(account), call.fun, call.args, call.kwargs, ids, self._matching):
            raise denied()
        return ids

    def ids(self, selection: Selection) -> list[str]:
        """The selected ids. Raises Refused for an invalid expression."""
        try:
            return self.client.target(selection)
        except NoTargetError:
            return []
        except CommandError as exc:
            raise Refused(400, exc.message) from None

    def owns(self, account: Account, jid: str) -> bool:
        """Whether the account has started a job."""
        owner = self.running.owner(jid)
        return (
            owner is not None
            and hmac.compare_digest(owner.name.encode(), account.name.encode())
            and (owner.eauth == account.eauth)
        )

    def _matching(self, expression: str) -> Collection[str]:
        """The ids that a compound expression of the permissions matches; none for an invalid one."""
        try:
            return self.client.target(Selection(expression, "compound"))
        except CommandError:
            return ()
