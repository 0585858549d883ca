"""Parallel states, and states that wait for them. Results with `no_log` and malformed returns are not compared: they
differ from Salt's by design.
"""

from __future__ import annotations

import pytest

from tests.differential.both import Both, difference
from tests.differential.trees import Tree

BODY = {
    "changed": {"probe.said": [{"changes": {"a": 1}}, {"parallel": True}]},
    "failed": {"test.fail_without_changes": [{"parallel": True}]},
    "skipped": {"test.succeed_with_changes": [{"parallel": True}, {"unless": "true"}]},
    "raises": {"probe.raises": [{"parallel": True}]},
    "checked": {"test.succeed_with_changes": [{"parallel": True}, {"check_cmd": "false"}]},
    "slot": {"probe.said": [{"parallel": True}, {"comment": "__slot__:salt:test.echo(x)"}]},
    "watches": {"test.nop": [{"watch": [{"probe": "changed"}]}]},
    "requires": {"test.nop": [{"require": [{"test": "failed"}]}]},
    "onfail": {"test.nop": [{"onfail": [{"probe": "raises"}]}]},
    "listens": {"test.nop": [{"listen": [{"probe": "changed"}]}]},
    "before": {"test.nop": [{"prereq": [{"test": "after"}]}]},
    "after": {"test.succeed_with_changes": [{"parallel": True}]},
    "onchanges": {"test.nop": [{"onchanges": [{"test": "after"}]}]},
}


@pytest.mark.parametrize("limit", [0, 2])
@pytest.mark.parametrize("test", [False, True])
def test_parallel_states(both: Both, test: bool, limit: int) -> None:
    opts = {"state_max_parallel": limit} if limit else {}
    differences = difference(*both.run(Tree({"a.sls": BODY}, ["a"], test, opts)))
    assert not differences, differences
