"""Any data from a pillar SLS or top file: errors, never an exception."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.slow

WORDS = st.sampled_from(
    ["a", "b", "include", "key", "defaults", "x:y", "base", "dev", "*", ".b", "..", "", "match", "order"]
)
SCALARS = st.one_of(WORDS, st.none(), st.booleans(), st.integers(-3, 3))
DATA = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.one_of(WORDS, SCALARS), inner, max_size=3)),
    max_leaves=15,
)
INCLUDE = st.lists(st.one_of(WORDS, st.dictionaries(WORDS, DATA, max_size=2), DATA), max_size=3)
SLS = st.one_of(DATA, st.fixed_dictionaries({"include": st.one_of(INCLUDE, DATA), "a": DATA}))
OPTS = st.fixed_dictionaries(
    {},
    optional={
        "pillar_source_merging_strategy": st.sampled_from(
            ["smart", "recurse", "overwrite", "aggregate", "none", "list"]
        ),
        "pillar_merge_lists": st.booleans(),
        "pillar_includes_override_sls": st.booleans(),
        "ext_pillar": DATA,
        "decrypt_pillar": DATA,
        "env_order": st.lists(WORDS, max_size=2),
    },
)


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(a=SLS, b=SLS, top=DATA, opts=OPTS)
def test_no_exception(compiled, a, b, top, opts):
    files = {
        "base": {"a.sls": a, "b/init.sls": b, "top.sls": {"base": {"*": ["a", "b"], "web1": top}}},
        "dev": {"top.sls": top},
    }
    result = compiled(
        files, opts, ext_pillars=lambda name: lambda *args, **kwargs: {"args": args}, decrypt=lambda *_: 1
    )
    assert isinstance(result.pillar, dict)
    assert all(isinstance(text, str) and text for text in result.errors)
