"""Renders reactor SLS, with ``tag`` and ``data`` as names in the template.

They are rendered in a render process, with the controller as the target: their templates have the same variables and
functions as the SLS of an orchestration. The data of an event is never rendered; templates only read it as a value.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pushsalt.errors import FunctionError, PushsaltError
from pushsalt.job import Job
from pushsalt.orchestrate.master import master_target
from pushsalt.orchestrate.running import call_on_master
from pushsalt.reactor.calls import Call, calls_of
from pushsalt.run.rendered import RenderedTarget
from pushsalt.run.runner import Runner

if TYPE_CHECKING:
    from pushsalt.job import JobOptions
    from pushsalt.journal.store import Event
    from pushsalt.orchestrate.jobs import Jobs

#: Seconds for rendering one SLS.
_TIME: Final = 60.0
#: Maximum size of a reactor SLS in bytes.
_LARGE: Final = 1 << 20


class Rendering:
    """Renders the reactor SLS of one project."""

    def __init__(self, client: Jobs, options: JobOptions) -> None:
        self._client = client
        self._options = options
        self._grains: dict[str, Any] | None = None

    async def calls(self, sls: str, event: Event) -> list[Call]:
        """The calls of an SLS (``salt://`` URL or path) for an event. Raises PushsaltError."""
        data = {**event.data, "_stamp": event.time}
        given = {"path": sls} if sls.startswith("salt://") else {"string": _read(sls)}
        if self._grains is None:
            self._grains = await self._controller_grains()
        runner = Runner(self._client.project, Job("call", "slsutil.renderer", options=self._options), 1)
        try:
            if "path" in given and not await runner.in_thread(lambda: self._exists(sls)):
                hint = "check the URL in `reactor` of the configuration"
                raise FunctionError("exception", f"{sls}: there is no such reactor SLS", hint, "SaltRenderError")
            runner.ready_to_render()
            rendered = RenderedTarget(
                self._client.project,
                master_target(),
                self._options,
                self._grains,
                calls=self._call,
                in_thread=runner.answer_in_thread,
                time_left=lambda: _TIME,
            )
            try:
                answer = await rendered.call(
                    "slsutil.renderer", [], {**given, "tag": event.tag, "data": data}, plan=False
                )
            finally:
                rendered.close()
        except PushsaltError as exc:
            exc.message = exc.message.replace(":string:", sls)
            raise
        finally:
            await runner.close()
        return calls_of(answer.value, sls)

    def _exists(self, url: str) -> bool:
        path, _, query = url.removeprefix("salt://").partition("?saltenv=")
        return self._client.project.files.find(path, query or "base") is not None

    async def _controller_grains(self) -> dict[str, Any]:
        grains = await self._call("grains.items", [], {})
        return grains if isinstance(grains, dict) else {}

    async def _call(self, fun: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """The value of an execution function that a template calls."""
        result = await call_on_master(self._client.within(), self._options, fun, args, kwargs)
        if result.shape == "error":
            error = result.ret["error"]
            raise FunctionError("exception", error["message"], error["hint"], error.get("exception", "SaltException"))
        return result.ret


def _read(path: str) -> str:
    try:
        with Path(path).open("rb") as file:
            data = file.read(_LARGE + 1)
    except OSError as exc:
        raise FunctionError(
            "exception", f"{path}: {exc.strerror or exc}", "check the file", "SaltRenderError"
        ) from None
    if len(data) > _LARGE:
        raise FunctionError("exception", f"{path}: it is too large for a reactor SLS", "check it", "SaltRenderError")
    return data.decode("utf-8", "replace")
