"""Options that have their default are not sent: the runtime on the target has the defaults."""

from __future__ import annotations

import pytest

from pushsalt.bundle import pack
from pushsalt.config import TargetOptions, load_config
from pushsalt.model import Target
from pushsalt.options import TARGET_DEFAULTS
from pushsalt.session.start import Start
from thin import wire


@pytest.fixture(scope="module")
def defaults():
    """The defaults in the runtime that is sent."""
    space: dict = {}
    exec(pack._index({}, set()), space)
    return space["DEFAULTS"]


def _received(opts, defaults):
    """The options as the worker has them (``thin.worker.Worker.on_init``)."""
    message = wire.unpack(wire.pack(Start(opts).init("web1", None)))
    return {**defaults, **message["opts"]} if message["defaults"] else message["opts"]


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"test": True, "id": "web1", "own": [1]},
        {"state_max_parallel": 7, "file_roots": {"base": ["/srv"]}},
        dict.fromkeys(TARGET_DEFAULTS),
        {name: 0 for name, value in TARGET_DEFAULTS.items() if value is False},
        {name: True for name, value in TARGET_DEFAULTS.items() if value == 1},
    ],
)
def test_the_target_has_all_options(defaults, changed):
    opts = {**TARGET_DEFAULTS, **changed}
    received = _received(opts, defaults)
    assert received == wire.unpack(wire.pack(opts))
    assert {name: type(value) for name, value in received.items()} == {
        name: type(value) for name, value in wire.unpack(wire.pack(opts)).items()
    }


def test_only_options_with_other_values_are_sent():
    sent = Start({**TARGET_DEFAULTS, "own": 1}).init("web1", None)
    assert sent["opts"] == {"own": 1}


def test_without_the_defaults_all_are_sent():
    assert Start({"id": "web1"}).init("web1", None)["defaults"] is False


def test_options_of_targets_do_not_share_what_belongs_to_one(tmp_path):
    (tmp_path / "pushsalt.yaml").write_text("{}")
    options = TargetOptions(load_config(cwd=tmp_path, environ={"HOME": str(tmp_path)}))
    one = options.of(Target("one", minion_opts={"a": 1}), None, None, None)
    two = options.of(Target("two"), True, "dev", None)
    assert (one["id"], one["a"], one["test"], one["saltenv"]) == ("one", 1, False, None)
    assert (two["id"], "a" in two, two["test"], two["saltenv"]) == ("two", False, True, "dev")
