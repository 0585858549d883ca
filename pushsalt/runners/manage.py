"""Which targets answer. Salt: ``salt/runners/manage.py``; here each is connected to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pushsalt.errors import EXIT_NO_ANSWER
from pushsalt.job import Selection
from pushsalt.orchestrate import rollouts
from pushsalt.orchestrate.unsupported import refuse

if TYPE_CHECKING:
    from pushsalt.model import TargetReturn
    from pushsalt.orchestrate.runnercalls import Run


def _returns(run: Run, tgt: str, tgt_type: str, fun: str = "test.ping") -> dict[str, TargetReturn]:
    options = rollouts.options(run.options, {})
    returns: dict[str, TargetReturn] = run.wait(run.client.run_async(Selection(tgt, tgt_type), fun, [], {}, options))
    return returns


def status(
    run: Run, tgt: str = "*", tgt_type: str = "glob", timeout: Any = None, **kwargs: Any
) -> dict[str, list[str]]:
    """``up`` and ``down``: ids that answer, and those that do not."""
    returns = _returns(run, tgt, tgt_type)
    down = sorted(id for id, result in returns.items() if result.exit_code == EXIT_NO_ANSWER)
    return {"up": sorted(set(returns) - set(down)), "down": down}


def up(run: Run, tgt: str = "*", tgt_type: str = "glob", timeout: Any = None, **kwargs: Any) -> list[str]:
    """The ids that answer."""
    return status(run, tgt, tgt_type)["up"]


def down(run: Run, tgt: str = "*", tgt_type: str = "glob", timeout: Any = None, **kwargs: Any) -> list[str]:
    """The ids that do not answer."""
    return status(run, tgt, tgt_type)["down"]


def list_state(run: Run, subset: Any = None, show_ip: bool = False) -> list[str]:
    """The ids that answer, of ``subset`` if there is one."""
    return _of(up(run), subset)


def list_not_state(run: Run, subset: Any = None, show_ip: bool = False) -> list[str]:
    """The ids that do not answer, of ``subset`` if there is one."""
    return _of(down(run), subset)


#: Salt tells these apart by what its master has seen of minions; a target answers or does not.
present = joined = allowed = alived = reaped = list_state
not_present = not_joined = not_allowed = not_alived = not_reaped = list_not_state


def _of(ids: list[str], subset: Any) -> list[str]:
    wanted = subset.split(",") if isinstance(subset, str) else subset
    return ids if wanted is None else [id for id in ids if id in wanted]


def versions(run: Run, **kwargs: Any) -> dict[str, Any]:
    """The ids that answer, by the version of Salt's interface that they run (``grains['saltversion']``)."""
    returns = _returns(run, "*", "glob", "test.version")
    by_version: dict[str, Any] = {}
    for id, result in sorted(returns.items()):
        key = "Minion offline" if result.exit_code == EXIT_NO_ANSWER else str(result.ret)
        by_version.setdefault(key, []).append(id)
    return by_version


def key_regen(run: Run) -> None:
    """Fails: targets have no keys of Salt."""
    refuse("manage.key_regen", "targets are reached by SSH and have no keys of Salt", _KEYS)


def safe_accept(run: Run, target: Any, tgt_type: str = "glob") -> None:
    """Fails: targets have no keys of Salt."""
    refuse("manage.safe_accept", "targets are reached by SSH and have no keys of Salt", _KEYS)


def bootstrap(run: Run, *args: Any, **kwargs: Any) -> None:
    """Fails: targets need no minion."""
    refuse("manage.bootstrap", "targets need no minion", _HOSTS)


def bootstrap_psexec(run: Run, *args: Any, **kwargs: Any) -> None:
    """Fails: targets need no minion."""
    refuse("manage.bootstrap_psexec", "targets need no minion", _HOSTS)


_KEYS: Final = "`--accept-new-host-keys` adds the host keys of new targets to known_hosts"
_HOSTS: Final = "write them into the inventory; `bootstrap: true` there installs Python where it is missing"
