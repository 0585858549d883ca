"""Any data from an SLS or a top file: problems that name the file, never an exception."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pushsalt.compile import StateCompiler

pytestmark = pytest.mark.slow

LANGUAGE = (
    "a b test nop test.nop a.b sls id base dev .x .. * ?[ __sls__ __id__ names name order require "
    "require_in watch prereq prereq_in use use_in onfail_any listen first state fun aggregate match subfilter "
    "include extend exclude"
)
WORDS = st.sampled_from(["", " x", *LANGUAGE.split()])
SCALARS = st.one_of(WORDS, st.none(), st.booleans(), st.integers(-3, 3), st.just(1.5))
DATA = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.one_of(WORDS, SCALARS), inner, max_size=3)),
    max_leaves=15,
)
ARG = st.dictionaries(WORDS, st.one_of(SCALARS, st.lists(st.one_of(WORDS, DATA), max_size=3)), min_size=1, max_size=2)
BODY = st.dictionaries(
    st.sampled_from(["test", "test.nop", "pkg.x", "pkg"]), st.lists(st.one_of(WORDS, ARG), max_size=4)
)
SLS = st.one_of(
    DATA, st.dictionaries(WORDS, st.one_of(BODY, DATA, st.dictionaries(WORDS, BODY, max_size=2)), max_size=4)
)


@settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(a=SLS, b=SLS, top=DATA)
def test_no_exception(memory_tree, a, b, top):
    tree = memory_tree(
        {"base": {"a.sls": a, "b/init.sls": b, "top.sls": {"base": {"*": ["a", top]}}}, "dev": {"top.sls": top}}
    )
    compiler = StateCompiler(tree, {"state_aggregate": True}, matcher=lambda *_: True)
    for result in (
        compiler.sls(["a", "b"]),
        compiler.show_low_sls(["a", "b"]),
        compiler.highstate(),
        compiler.template(a, "t"),
    ):
        assert all(isinstance(text, str) and text for text in result.errors)
        assert not (result.errors and result.low)
    assert tree.files == tree.pristine


@pytest.mark.parametrize("value", [None, [], [1], {}, {"a": 1}, 5, "x"])
@pytest.mark.parametrize(
    "key",
    ["name", "names", "order", "require", "fun", "state", "__id__", "__sls__", "__env__", "__sls_included_from__"],
)
def test_arguments_with_the_compilers_own_names(memory_tree, key, value):
    bodies = [
        {"test.nop": [{key: value}]},
        {"test.nop": [{"x": 1, key: value}]},
        {"test.nop": [{"names": [{"n": [{key: value}]}]}]},
    ]
    for body in bodies:
        result = StateCompiler(memory_tree({"base": {"a.sls": {"a": body}}}), {}, matcher=lambda *_: True).sls(["a"])
        for chunk in result.low:
            assert (chunk["state"], chunk["fun"]) == ("test", "nop")
            expected = {key: value} if value == "x" else {}  # Salt treats text differently
            assert (chunk["__id__"], chunk["__sls__"]) == (expected.get("__id__", "a"), expected.get("__sls__", "a"))
