"""Every outputter, with each of its options, accepts any return that a target may send."""

from __future__ import annotations

from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pushsalt.model import Target, TargetReturn
from pushsalt.outputters import CHOICES, load
from pushsalt.session.intake import Intake
from thin import wire

pytestmark = pytest.mark.slow

MODES = ("full", "terse", "mixed", "changes", "filter")
OUTPUTTERS = (*CHOICES, "nested", "highstate")
SHAPES = get_args(get_type_hints(TargetReturn)["shape"])
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "state_output": st.sampled_from([mode + id for mode in MODES for id in ("", "_id")]),
        "state_tabular": st.sampled_from([True, False, "{0:>5} {1} {6}", "{6:>5}", "{9}"]),
        "state_output_exclude": st.just("True,None"),
        "state_output_terse": st.just(["False"]),
        **{
            f"state_{name}": st.booleans()
            for name in ("verbose", "output_diff", "output_profile", "output_pct", "compress_ids")
        },
    },
)
scalars = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text() | st.binary()
wild = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(scalars, inner, max_size=3),
    max_leaves=8,
)
STATE = {
    "changes": wild | st.fixed_dictionaries({"compressed changes": wild}),
    "comment": wild,
    "name": wild,
    "warnings": wild,
    "__id__": wild,
    "__sls__": wild,
    "__run_num__": wild,
    "duration": wild,
    "start_time": wild,
    "data": wild,
    "__parallel__": wild,
}
odd_tags = st.text(max_size=3).map(lambda text: f"{text}_|-x")
tags = st.sampled_from(["cmd_|-b_|-c_|-d", "cmd_|-b_|-e_|-d", "_|-", "a_|-b"]) | odd_tags
states = st.dictionaries(tags, wild | st.fixed_dictionaries({"result": wild}, optional=STATE), min_size=1, max_size=3)


def taken(ret: Any) -> Any:
    """A value after the intake."""
    message = Intake(Target("a")).message(wire.pack({"k": "ret", "ret": ret, "retcode": 0}))
    assert message is not None
    return message["ret"]


def odd(**kwargs: Any) -> dict[str, Any]:
    return {"a_|-b_|-c_|-d": {"result": True, "changes": {}, "comment": "", "__run_num__": 0, **kwargs}}


@pytest.mark.parametrize("name", OUTPUTTERS)
@given(ret=wild | states, shape=st.sampled_from(SHAPES), opts=OPTIONS)
@example(ret=odd(warnings=None), shape="states", opts={})
@example(ret=odd(warnings=3), shape="states", opts={"state_output": "terse"})
@example(ret=odd(result=[1]), shape="states", opts={})
@example(ret=odd(result={}), shape="states", opts={"state_output": "terse"})
@example(ret=odd(changes={"compressed changes": 5}), shape="states", opts={})
def test_any_return_is_shown(name: str, ret: Any, shape: Any, opts: dict[str, Any]) -> None:
    data = {"web1": taken(ret), "web2": [taken(ret)]}
    returns = {id: TargetReturn(id, ret, shape, 3) for id, ret in data.items()}
    text = load(name).output(data, returns=returns, opts=opts, verbose=2, own=lambda id: {id: "id"}, color=True)
    assert text or name == "quiet"
