"""A stand-in for ``pushsalt.api.Client`` with a scripted fleet, and a command line on top of it.

``python fake_client.py apply '*' ...`` is the real command line with this client, for tests that need a process.
Behaviour comes from FAKE_FLEET, a JSON object ``{id: [delay seconds, shape, return, exit code]}``.
"""

import asyncio
import json
import os
from types import SimpleNamespace

from pushsalt import api
from pushsalt.errors import NoTargetError
from pushsalt.model import TargetReturn
from pushsalt.redact import Redactor

calls = []


def state(tag, number, result=True, changes=None, comment="", **kwargs):
    """One state return in Salt's shape."""
    _, id, name, _ = tag.split("_|-")
    return {
        tag: {
            "result": result,
            "changes": changes or {},
            "comment": comment,
            "name": name,
            "__id__": id,
            "__sls__": "web",
            "__run_num__": number,
            "start_time": "10:00:00.000000",
            "duration": 12.5,
            **kwargs,
        }
    }


def fleet():
    text = os.environ.get("FAKE_FLEET")
    return json.loads(text) if text else {"web1": [0, "value", True, 0], "web2": [0, "value", True, 0]}


class FakeClient:
    def __init__(self, settings, reporter):
        calls.append(("settings", settings))
        self.reporter = reporter
        self.observers = []
        self.stopped = asyncio.Event()
        self.secrets = Redactor()
        self.secrets.add(os.environ.get("FAKE_SECRET"))
        opts = {"log_level": os.environ.get("FAKE_LOG_LEVEL", "warning")}
        self.project = SimpleNamespace(config=SimpleNamespace(opts=opts, given={}), target=self._unknown)

    def _unknown(self, id):
        raise NoTargetError(id)

    def redactor(self):
        return self.secrets

    def target(self, selection):
        calls.append(("target", selection))
        ids = list(fleet())
        if selection.expr == "none":
            raise NoTargetError("no target matches 'none'", hint=f"the inventory has {', '.join(ids)}")
        return ids

    is_ending = False

    def stop(self, exit_code=130, gently=False):
        self.stopped.set()

    def stream_apply(self, selection, sls, options):
        return self._stream(selection, options, "apply", sls)

    def stream_run(self, selection, fun, args, kwargs, options):
        return self._stream(selection, options, "run", fun, args, kwargs)

    def stream_raw(self, selection, command, options):
        return self._stream(selection, options, "raw", command)

    def stream_grains(self, selection, options):
        return self._stream(selection, options, "grains")

    def stream_clean(self, selection, options):
        return self._stream(selection, options, "clean")

    async def _stream(self, selection, options, *call):
        calls.append((*call, options))
        ids = self.target(selection)
        self.reporter.run_started(ids, " ".join(map(str, call[:2])))
        if os.environ.get("FAKE_WARNING"):
            self.reporter.warning(ids[0], os.environ["FAKE_WARNING"])
        if os.environ.get("FAKE_DEFECT"):
            raise RuntimeError(os.environ["FAKE_DEFECT"])
        stubborn = os.environ.get("FAKE_STUBBORN")
        for id, (delay, shape, ret, code) in fleet().items():
            self.reporter.target_phase(id, "connect")
            for tag, value in ret.items() if shape == "states" else ():
                self.reporter.target_chunks(id, len(ret))
                self.reporter.chunk_started(id, tag)
                await asyncio.sleep(delay / len(ret))
                self.reporter.chunk_done(id, tag, value)
            if stubborn:
                await asyncio.sleep(delay)
            elif await self._stopped_within(delay):
                return  # the others have no return
            phases = {"connect": 0.05, "grains": 0.01, "render": 0.1, "send": 0.002, "run": delay}
            warnings = ["the disk is nearly full"] if os.environ.get("FAKE_TARGET_WARNING") else []
            result = TargetReturn(id, ret, shape, code, phases, 4, warnings)
            self.reporter.target_done(result)
            yield result

    async def _stopped_within(self, delay):
        try:
            await asyncio.wait_for(self.stopped.wait(), delay or 0.001)
        except asyncio.TimeoutError:
            return False
        return True


if __name__ == "__main__":
    from pushsalt.cli.__main__ import main

    api.Client = FakeClient
    main()
