"""Runs lowstate, after the permission of every entry was checked. Salt: ``LowDataAdapter.exec_lowstate``."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from pushsalt.errors import CommandError
from pushsalt.jobs.model import retcode_of
from pushsalt.serve.answers import Refused
from pushsalt.serve.calls import call_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from pushsalt.model import TargetReturn
    from pushsalt.run.jobstart import Account
    from pushsalt.serve.calls import Call
    from pushsalt.serve.service import Service

    WhoIs = Callable[[Mapping[str, Any]], Awaitable[Account]]


async def run(service: Service, entries: Sequence[Mapping[str, Any]], who: WhoIs, client: str = "") -> list[Any]:
    """The returns of the entries. ``who`` returns the account of an entry; ``client`` overrides theirs.

    Raises Refused.
    """
    calls = []
    for entry in entries:
        account = await who(entry)
        call = call_of({**entry, "client": client} if client else entry, service.settings.clients)
        calls.append((call, service.permit(account, call), account))
    returns: list[Any] = []
    for call, ids, account in calls:
        service.counts.jobs += 1
        try:
            returns += await _run(service, call, ids, account)
        except CommandError as exc:
            raise Refused(400, service.client.redactor().text(str(exc))) from None
    return returns


async def _run(service: Service, call: Call, ids: list[str], account: Account) -> list[Any]:
    if call.is_runner:
        return [await _runner(service, call, account)]
    begun = await service.running.local(call, ids, account)
    if begun is None:
        return [] if call.client == "local_batch" else [{}]
    if call.client == "local_async":
        return [{"jid": begun.jid, "minions": begun.ids}]
    returns = await asyncio.shield(begun.task)
    shown = {id: _full(result, begun.jid) if call.full else result.ret for id, result in returns.items()}
    return [{id: one} for id, one in shown.items()] if call.client == "local_batch" else [shown]


def _full(result: TargetReturn, jid: str) -> dict[str, Any]:
    """A return with ``full_return``. Salt: ``get_iter_returns``."""
    full = {"ret": result.ret, "retcode": retcode_of(result), "jid": jid}
    return {**full, "out": "highstate"} if result.shape == "states" else full


async def _runner(service: Service, call: Call, account: Account) -> Any:
    jid, task = service.running.runner(call, account)
    tag = f"salt/run/{jid}"
    if call.client == "runner_async":
        return {"tag": tag, "jid": jid}
    seconds = call.timeout or service.settings.runner
    try:
        result = await asyncio.wait_for(asyncio.shield(task), seconds)
    except asyncio.TimeoutError:
        raise Refused(504, f"RunnerClient job '{jid}' timed out") from None
    if not call.full:
        return result["return"]
    args = service.client.redactor().data([*call.args, *([call.kwargs] if call.kwargs else [])])
    stamp = datetime.now(timezone.utc).isoformat(timespec="microseconds")
    more = {"fun": f"runner.{call.fun}", "jid": jid, "user": account.name, "fun_args": args, "_stamp": stamp}
    return {"tag": f"{tag}/ret", "data": {**more, **result}}
