"""Plan files on the command line: made by ``plan -o``, run by ``apply FILE.plan``."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pushsalt import __version__
from pushsalt.ages import age_text
from pushsalt.errors import UsageError
from pushsalt.planning import agefile, planfile
from pushsalt.planning.planfile import PlanFile

if TYPE_CHECKING:
    from pushsalt.api import Client, JobOptions
    from pushsalt.cli.options import Given
    from pushsalt.config import Config
    from pushsalt.model import TargetReturn
    from pushsalt.run.recording import Recorder

log = logging.getLogger(__name__)


class Making:
    """A plan file that is being made. Raises UsageError for an invalid name or recipient."""

    def __init__(self, path: str, recipients: Sequence[str], words: list[str], key: bytes) -> None:
        from pushsalt.run.recording import Recorder

        if not path.endswith(".plan"):
            raise UsageError(f"-o {path}: the name of a plan file ends in .plan", hint=f"-o {path}.plan")
        for recipient in recipients:
            agefile.recipient_key(recipient)
        self.path, self.recipients = Path(path), list(recipients)
        self.recorder: Recorder = Recorder()
        self._words, self._key = words, key
        self._done: list[tuple[Client, JobOptions]] = []

    async def stream(
        self, client: Client, options: JobOptions, returns: AsyncIterator[TargetReturn]
    ) -> AsyncIterator[TargetReturn]:
        """Pass on the returns; those of targets that could not be planned are added to the plan."""
        async for result in returns:
            if result.id not in self.recorder.plan.targets:
                self.recorder.plan.failed[result.id] = result.ret
            yield result
        self._done.append((client, options))

    def finish(self) -> None:
        """Write the file, if all targets have returned. Raises UsageError."""
        if not self._done:
            log.warning("%s was not written: the command was stopped", self.path)
            return
        ((client, options),) = self._done
        project, plan = client.project, self.recorder.plan
        plan.made = {
            "created": time.time(),
            "runtime": project.runtime.sha,
            **_state(project.config),
            "words": self._words,
            "by": __version__,
            "key": self._key,
            "options": {name: getattr(options, name) for name in ("pillar", "saltenv", "pillarenv")},
        }
        plan.secrets = client.redactor().secrets()
        planfile.write(self.path, plan, self.recipients)


def opened(client: Client, path: str) -> PlanFile:
    """The plan in a file. Its secrets are added to the redactor. Raises UsageError."""
    plan = planfile.read(Path(path), lambda: _identities(client))
    client.redactor().add_secrets(*plan.secrets)
    return plan


def _identities(client: Client) -> list[str]:
    """The secret keys in the files of ``age_identity``."""
    from pushsalt import regular

    given = client.project.private.get("age_identity") or ()
    files = [given] if isinstance(given, str) else list(map(str, given))
    if not files:
        hint = "set age_identity: /path/to/keys.txt in the configuration"
        raise UsageError("the plan is sealed to an age recipient, and no age identity is configured", hint=hint)
    identities: list[str] = []
    for file in files:
        try:
            rows = [row.strip() for row in regular.read_text(file).splitlines()]
        except (OSError, ValueError) as exc:
            raise UsageError(
                f"the age identity {file} cannot be read: {exc}", hint="see the option age_identity"
            ) from None
        identities += [row for row in rows if row.startswith("AGE-SECRET-KEY-")]
    return identities


def _state(config: Config) -> dict[str, Any]:
    """``revision`` of the project and ``lock``, the digest of the lock file, both empty if there is none; ``dirty``."""
    from pushsalt.run.projectstate import lock_digest, revision_of

    revision = revision_of(config.path.parent if config.path else Path.cwd()) or {}
    return {"revision": revision.get("revision", ""), "dirty": bool(revision.get("dirty")), "lock": lock_digest(config)}


def check(client: Client, plan: PlanFile, max_age: float | None) -> None:
    """Raise UsageError for a plan that must not be run: of another runtime, or too old. Warns of another revision."""
    if plan.made["runtime"] != client.project.runtime.sha:
        raise UsageError(
            f"the plan was made by another pushsalt ({plan.made['by']}), whose states may have other effects",
            hint="make a new plan, or run it with the pushsalt that made it",
        )
    if max_age is not None and plan.age > max_age:
        raise UsageError(f"the plan is {age_text(plan.age)} old, more than --max-age", hint="make a new plan")
    now = _state(client.project.config)
    for name, what in (("revision", "the project's revision"), ("lock", "pushsalt.lock")):
        if plan.made[name] != now[name]:
            log.warning("%s has changed since the plan was made; the plan is applied unchanged", what)
    for id in plan.failed:
        log.warning("%s could not be planned, and is left out", id)


def seconds(text: str | None) -> float | None:
    """``90``, ``90s``, ``30m``, ``2h``, ``7d``. Raises UsageError."""
    if text is None:
        return None
    match = re.fullmatch(r"\s*(\d{1,9})\s*([smhd]?)\s*", text)
    if not match:
        raise UsageError(f"--max-age: {text!r} is not a duration", hint="for example --max-age 2h, 30m or 7d")
    return float(int(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}[match[2]])


def apply(given: Given, path: str, sls: Sequence[str]) -> int:
    """``pushsalt apply FILE.plan``. Raises UsageError for options that the plan sets."""
    from pushsalt.cli.job import run_job
    from pushsalt.cli.stdio import TERMINAL

    conflicts: list[tuple[Any, str]] = [
        (list(sls), "SLS names"),
        (given.test, "--test"),
        (given.pillar_data, "--pillar"),
    ]
    conflicts += [(given.saltenv, "--saltenv"), (given.pillarenv, "--pillarenv"), (given.matcher_flags(), "a matcher")]
    conflicts += [(given.exclude, "--exclude"), (given.limit, "--limit")]
    for value, words in conflicts:
        if value:
            raise UsageError(
                f"{words} cannot be used with a plan: {path} sets this", hint="make a new plan with this option"
            )
    max_age = seconds(given.max_age)

    def stream(client: Client, _: Any, options: JobOptions) -> AsyncIterator[TargetReturn]:
        plan = opened(client, path)
        check(client, plan, max_age)
        return client.stream_planned(plan, options, bool(given.accept_drift))

    return run_job(given, TERMINAL.get(), "*", stream)
