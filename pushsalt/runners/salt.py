"""Execution functions, on the controller or on targets. Salt: ``salt/runners/salt.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pushsalt.errors import FunctionError
from pushsalt.orchestrate import rollouts

if TYPE_CHECKING:
    from pushsalt.orchestrate.runnercalls import Run


def cmd(run: Run, fun: str, *args: Any, **kwargs: Any) -> Any:
    """The return of an execution function that is called on the controller itself."""
    from pushsalt.orchestrate.running import call_on_master

    kwargs.pop("with_pillar", None)
    result = run.wait(call_on_master(run.client, run.options, fun, list(args), kwargs))
    if result.shape == "error":
        error = result.ret["error"]
        raise FunctionError(
            "exception", error["message"], error.get("hint", ""), error.get("exception", "SaltException")
        )
    return result.ret


def execute(
    run: Run,
    tgt: Any,
    fun: str,
    arg: Any = (),
    timeout: float | None = None,
    tgt_type: str = "glob",
    ret: str = "",
    jid: str = "",
    kwarg: dict[str, Any] | None = None,
    **kwargs: Any,
) -> dict[str, Any]:
    """id -> return of an execution function that is called on targets."""
    selection = rollouts.selection(tgt, tgt_type, kwargs.get("subset"))
    options = rollouts.options(run.options, kwargs)
    args = list(arg) if isinstance(arg, list | tuple) else [arg]
    returns = run.wait(run.client.run_async(selection, fun, args, dict(kwarg or {}), options))
    return {id: result.ret for id, result in returns.items()}
