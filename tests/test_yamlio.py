"""YAML is parsed as in Salt, the same with libyaml and without."""

from __future__ import annotations

import math
from collections import OrderedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pushsalt import yamlio
from pushsalt.model import Secret
from pushsalt.yamldump import dump_yaml
from pushsalt.yamlio import YamlError, load_yaml, load_yaml_with_lines


@pytest.fixture(params=[True, False], ids=["libyaml", "pure"])
def load(request):
    if request.param and not yamlio.HAS_LIBYAML:
        pytest.skip("PyYAML was built without libyaml")
    return lambda text: load_yaml(text, "f.sls", libyaml=request.param)


@pytest.mark.parametrize(
    "text, want",
    [
        ("", None),
        ("# nothing\n", None),
        ("--- a\n...\n", "a"),
        ("[0644, 0, 00, 017, 1_000, 0_1, 0x1F, 0b11, -017, +012, 1:30]", [644, 0, 0, 17, 1000, 1, 31, 3, -15, 10, 90]),
        ("[09, 0o17, 1e3, 1.2.3, 1-2, -]", ["09", "0o17", "1e3", "1.2.3", "1-2", "-"]),
        ("[.5, 1.0e+3, -.inf, 1_0.5, 1:30.5]", [0.5, 1000.0, -math.inf, 10.5, 90.5]),
        ("[2020-01-01, 2020-01-01 10:00:00]", ["2020-01-01", "2020-01-01 10:00:00"]),
        ("[yes, No, on, OFF, true, y, n]", [True, False, True, False, True, "y", "n"]),
        ("[null, ~, Null, '', 'null']", [None, None, None, "", "null"]),
        ("!!int '012'", 12),
        ("!!timestamp 2001-01-01", "2001-01-01"),
        ("[!!str 12, ! 12, !!float 3, !!bool yes, !!null '']", ["12", 12, 3.0, True, None]),
        ("!!binary aGVsbG8", b"hello"),
        ("!!python/unicode x", "x"),
        ("!!set {x, y}", {"x", "y"}),
        ("!!omap [a: 1, b: 2]", [("a", 1), ("b", 2)]),
        ("{2: a, 1.5: b, true: c, null: d, '1': e}", {2: "a", 1.5: "b", True: "c", None: "d", "1": "e"}),
        ("{=: 1}", {"=": 1}),
        ("a: &x {b: 1}\nc: *x\n", {"a": {"b": 1}, "c": {"b": 1}}),
        ("a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  c: 3\n", {"a": {"b": 1, "c": 2}, "d": {"b": 1, "c": 3}}),
        ("a: &x {b: 1}\nb: &y {c: 2}\nd:\n  <<: [*x, *y]\n", {"a": {"b": 1}, "b": {"c": 2}, "d": {"c": 2, "b": 1}}),
        ("<<: {a: 1}\nb: 2\n", {"a": 1, "b": 2}),
        ("a: |\n  x\n   y\nb: >-\n  x\n  y\n", {"a": "x\n y\n", "b": "x y"}),
        ("ä: '☃'\n", {"ä": "☃"}),
    ],
)
def test_values(load, text, want):
    got = load(text)
    assert got == want
    assert repr(got) == repr(want)


@pytest.mark.parametrize(
    "text, line, words",
    [
        ("a: 1\nb: 2\na: 3\n", 3, r"found conflicting ID 'a' \(first used in line 1\)"),
        ("1: a\n1.0: b\n", 2, r"found conflicting ID '1\.0'"),
        ("a: &x {k: 1}\nb: &y {k: 2}\nc:\n  <<: [*x, *y]\n", 1, "found conflicting ID 'k'"),
        ("a: {{ b }}\n", 1, "unquoted double curly brace"),
        ("? [a]\n: 1\n", 1, "found unacceptable key"),
        ("a:\n\tb: 1\n", 2, "illegal tab character"),
        ("a: @x\n", 1, "character '@' cannot start a value here: quote it"),
        ("a: b: c\n", 1, "mapping values are not allowed"),
        ("a: [1, 2\nb: 3\n", 2, r"flow sequence.*\(it starts in line 1\)"),
        ("--- a\n--- b\n", 2, "single document"),
        ("\n!foo a\n", 2, "could not determine a constructor for the tag '!foo'"),
        ("!!python/object/apply:os.system [id]\n", 1, "could not determine a constructor"),
        ("!!python/name:os.system ''\n", 1, "could not determine a constructor"),
        ("a: *x\n", 1, "found undefined alias 'x'"),
        ("a: &x 1\nb: &x 2\n", 2, "found duplicate anchor 'x'"),
        ("a: &x [*x]\n", 1, "inside of the value"),
        ("a: 0_\n", 1, "is no int"),
        ("a: !!binary ä\n", 1, "is no binary"),
        ("a: 1\nb: \x00\n", 2, r"control character U\+0000"),
        ("a: !!omap [1]\n", 1, "one key each"),
        ("<<: 1\n", 1, "expected a mapping"),
        ("<<: [1]\n", 1, "expected a mapping"),
    ],
)
def test_refused_with_line_and_reason(load, text, line, words):
    with pytest.raises(YamlError, match=words) as caught:
        load(text)
    assert (caught.value.where.path, caught.value.where.line) == ("f.sls", line)
    [shown] = caught.value.errors
    assert shown.startswith(f"f.sls:{line}")


@pytest.mark.parametrize(
    "text, words",
    [
        ("[" * 100_000, "levels of nesting"),
        ("{a: " * 100_000, "levels of nesting"),
        ("- " * 100_000, "levels of nesting"),
        (
            "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
            + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)),
            "aliases expand to more than",
        ),
    ],
    ids=["lists", "mappings", "blocks", "laughs"],
)
def test_bombs(load, text, words):
    with pytest.raises(YamlError, match=words):
        load(text)


def test_size_is_bounded(monkeypatch):
    monkeypatch.setattr(yamlio, "MAX_CHARS", 10)
    with pytest.raises(YamlError, match="longer than 10 characters"):
        load_yaml("a: 01234567")


def test_lines_of_keys_and_items():
    data, lines = load_yaml_with_lines("\na:\n  - b\n  - c: 1\n    d: 2\nx: &q {y: 1}\nz:\n  <<: *q\n  k: 1\n")
    assert data == {"a": ["b", {"c": 1, "d": 2}], "x": {"y": 1}, "z": {"y": 1, "k": 1}}
    assert lines == {
        (): 2,
        ("a",): 2,
        ("a", 0): 3,
        ("a", 1): 4,
        ("a", 1, "c"): 4,
        ("a", 1, "d"): 5,
        ("x",): 6,
        ("x", "y"): 6,
        ("z",): 7,
        ("z", "y"): 6,
        ("z", "k"): 9,
    }


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]))
    | st.sampled_from(["0644", "yes", "2020-01-01", "<<", "=", "1:30", "~", "a: b", "- a", "#", "%", "\u2028"])
)
documents = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text("abc01", max_size=3), inner))


@given(documents)
def test_both_parsers_read_written_values_back(data):
    text = dump_yaml(data)
    assert load_yaml(text, libyaml=False) == data
    if yamlio.HAS_LIBYAML:
        assert load_yaml(text, libyaml=True) == data


@given(st.text("ab:-[]{}&*!'\"|>#\n 01,?<=", max_size=40))
def test_any_text_is_data_or_a_yaml_error(text):
    for libyaml in {True and yamlio.HAS_LIBYAML, False}:
        try:
            load_yaml(text, libyaml=libyaml)
        except YamlError as exc:
            assert exc.errors


@pytest.mark.parametrize(
    "data, want",
    [
        ({"b": 1, "a": [1, {"c": "ü"}]}, "a:\n- 1\n- {c: ü}\nb: 1\n"),
        (OrderedDict([("b", 1), ("a", 2)]), "{b: 1, a: 2}\n"),
        ({"t": (1, 2)}, "t: [1, 2]\n"),
        ({"o": object()}, "{o: NULL}\n"),
        ({"s": Secret("x")}, "{s: x}\n"),
        ({"m": "a\nb"}, "{m: 'a\n\n    b'}\n"),
        ({}, "{}\n"),
    ],
)
def test_dump(data, want):
    assert dump_yaml(data) == want


def test_dump_block_style():
    assert dump_yaml({"a": [1], "b": {}}, default_flow_style=False) == "a:\n- 1\nb: {}\n"
