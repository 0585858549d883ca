"""The command line in this process, with a scripted client: ``invoke(*words)`` gives exit code, stdout, stderr."""

import importlib.util
import json
import logging
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from pushsalt import api

_spec = importlib.util.spec_from_file_location("fake_client", Path(__file__).parent / "fake_client.py")
fake_client = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(fake_client)


class Result(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def calls():
    """The calls that the client received, in order."""
    fake_client.calls.clear()
    return fake_client.calls


@pytest.fixture
def fleet(monkeypatch):
    """Sets the scripted targets: ``{id: [delay, shape, return, exit code]}``."""
    return lambda targets: monkeypatch.setenv("FAKE_FLEET", json.dumps(targets))


@pytest.fixture
def invoke(monkeypatch, capfd, calls):
    from pushsalt.cli.__main__ import main

    root = logging.getLogger()
    kept = root.handlers[:], root.level
    for name in ("PUSHSALT_INVENTORY", "PUSHSALT_CONFIG", "PUSHSALT_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(api, "Client", fake_client.FakeClient)

    def run(*arguments):
        root.handlers[:] = [handler for handler in root.handlers if type(handler).__module__ != "pushsalt.log"]
        capfd.readouterr()
        with pytest.raises(SystemExit) as exited:
            main(list(arguments))
        sys.stdout.flush()
        out, err = capfd.readouterr()
        return Result(exited.value.code, out, err)

    yield run
    root.handlers[:], root.level = kept


@pytest.fixture
def state():
    return fake_client.state
