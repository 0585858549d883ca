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


def list_state(run: Run, subset: Any = None, show_ip: bool = False) -> Any:
    """The ids that answer, of ``subset`` if there is one; with ``show_ip`` id -> address of the inventory."""
    ids = _of(up(run), subset)
    return _addresses(run, ids) if show_ip else ids


def list_not_state(run: Run, subset: Any = None, show_ip: bool = False) -> list[str]:
    """The ids that do not answer, of ``subset`` if there is one."""
    return _of(down(run), subset)


#: Salt tells these apart by what its master has seen of minions; a target answers or does not.
present = joined = allowed = alived = reaped = list_state
not_present = not_joined = not_allowed = not_alived = not_reaped = list_not_state


def _of(ids: list[str], subset: Any) -> list[str]:
    wanted = subset.split(",") if isinstance(subset, str) else subset
    return ids if wanted is None else [id for id in ids if id in wanted]


def _addresses(run: Run, ids: list[str]) -> dict[str, str]:
    project = run.client.project
    keys = project.find(",".join(ids), "list") if ids else []
    targets = [project.inventory.targets[key] for key in keys]
    return {target.id: "127.0.0.1" if target.transport == "local" else target.host or target.id for target in targets}


def versions(run: Run, **kwargs: Any) -> dict[str, Any]:
    """The version of Salt's interface: of the controller (``Master``), and of targets, which run the same one.

    ``Minion offline``: the ids that do not answer.
    """
    from thin.grains.process import SALT_VERSION

    returns = sorted(_returns(run, "*", "glob", "test.version").items())
    down = {id: False for id, result in returns if result.exit_code == EXIT_NO_ANSWER}
    up = {id: str(result.ret) for id, result in returns if id not in down}
    found = {"Master": SALT_VERSION, "Minion offline": down, "Up to date": up}
    return {name: value for name, value in found.items() if value}


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
