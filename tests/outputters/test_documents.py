"""json, ndjson and yaml: the document is strict and harmless for any return."""

import json

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pushsalt.display.safe import UNSAFE, plain
from pushsalt.errors import UsageError
from pushsalt.outputters import CHOICES, load, pieces, streams

pytestmark = pytest.mark.slow

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner) | st.dictionaries(scalars.filter(lambda key: key == key), inner) | st.tuples(inner),
    max_leaves=20,
)
texts = st.text(st.characters(codec=None), max_size=20)  # lone surrogates too


def strict(text):
    def no_constant(name):
        raise AssertionError(name)

    def no_duplicates(pairs):
        assert len({key for key, _ in pairs}) == len(pairs)
        return dict(pairs)

    return json.loads(text, parse_constant=no_constant, object_pairs_hook=no_duplicates)


@given(st.dictionaries(texts, values, max_size=4), st.booleans())
def test_json_is_strict_and_cannot_steer_a_terminal(data, terminal):
    text = load("json").output(data, terminal=terminal)
    text.encode("utf-8")
    assert not UNSAFE.search(text)
    assert strict(text) == plain(data)


@given(st.dictionaries(texts, values, max_size=4))
def test_ndjson_has_a_line_for_each_target(data):
    lines = load("ndjson").output(data).split("\n")
    assert lines.pop() == ""
    assert [strict(line) for line in lines] == [{id: ret} for id, ret in plain(data).items()]


@given(st.dictionaries(texts, values, max_size=4))
def test_yaml_reads_back(data):
    text = load("yaml").output(data)
    assert not UNSAFE.search(text)
    assert yaml.safe_load(text) == plain(data)


@pytest.mark.parametrize(
    "value, want",
    [
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (b"a\xff\xc3\xa9", "a\ufffdé"),
        ("a\udcffb", "a\ufffdb"),
        ("\ud83d\ude00", "😀"),
        ((1, 2), [1, 2]),
        ({3, 1, 2}, [1, 2, 3]),
        ({1: "a", "1": "b"}, {"1 (int)": "a", "1": "b"}),
        ({None: 1, True: 2, 1.5: 3}, {"null": 1, "true": 2, "1.5": 3}),
        pytest.param(10**5000, hex(10**5000), id="huge"),
        (object, str(object)),
    ],
)
def test_plain(value, want):
    assert plain(value) == want


def test_nesting_has_an_end():
    value = []
    for _ in range(100_000):
        value = [value]
    assert "list" in load("json").output({"a": value})


def test_json_is_one_line_a_target_unless_a_person_looks():
    data = {"a": {"b": [1, 2]}, "c": 1}
    assert load("json").output(data) == '{\n"a": {"b": [1, 2]},\n"c": 1\n}\n'
    assert load("json").output(data, terminal=True).count("\n") == 9
    assert load("json").output({}) == "{}\n"


def test_quiet_is_quiet():
    assert load("quiet").output({"a": 1}) == ""


def test_every_choice_is_an_outputter_and_only_ndjson_streams():
    assert [name for name in CHOICES if streams(load(name))] == ["ndjson"]


def test_unknown_ones_name_the_nearest():
    with pytest.raises(UsageError) as caught:
        load("yml")
    assert "yaml" in caught.value.hint


def test_a_users_outputter_is_found_in_a_folder(tmp_path):
    (tmp_path / "shout.py").write_text("def output(data, **kw):\n    return str(data).upper()\n")
    assert load("shout", [tmp_path]).output({"a": "b"}) == "{'A': 'B'}"
    assert load("json", [tmp_path]).output({}) == "{}\n"


@pytest.fixture(params=[(1, 3), (5, 1)], ids=str)
def small_pieces(request, monkeypatch):
    """The pieces that are written are small."""
    for name in ("json", "ndjson", "yaml"):
        longest, most = request.param
        monkeypatch.setattr(load(name), "PIECE", longest)
        monkeypatch.setattr(load(name), "VALUES", most)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(texts, values, max_size=4), st.booleans())
@example({"": "00000\U000e0000", "\U000e0001": "00000\\\\udb40\\udc00"}, False)
def test_a_document_in_pieces_says_the_same(small_pieces, data, terminal):
    assert strict(load("json").output(data, terminal=terminal)) == plain(data)
    lines = load("ndjson").output(data).split("\n")[:-1]
    assert [strict(line) for line in lines] == [{id: ret} for id, ret in plain(data).items()]
    text = load("yaml").output(data)
    assert not UNSAFE.search(text)
    assert yaml.safe_load(text) == plain(data)


def test_a_large_return_is_indented_as_a_small_one(monkeypatch):
    data = {"a": {"x": ["long text", {}, []], "y": {"z": "long text", 1: None}}, "b": [[1], [[2]]]}
    whole = load("json").output(data, terminal=True)
    monkeypatch.setattr(load("json"), "PIECE", 4)
    assert load("json").output(data, terminal=True) == whole


@pytest.mark.parametrize("out", ["json", "ndjson", "yaml"])
def test_no_piece_is_as_large_as_a_large_text(out):
    data = {"a": "\x00" * 3_000_000, "b": [{"x": "\U0001f600" * 1_000_000}], "c": 1}
    sizes = [len(piece) for piece in pieces(load(out), data)]
    assert max(sizes) < 1_000_000 < sum(sizes)


class Broken:
    @staticmethod
    def output(data, **kw):
        raise RuntimeError("no")


def test_an_outputter_that_fails_costs_no_return(caplog):
    assert strict("".join(pieces(Broken, {"a": 1}))) == {"a": 1}
    assert "the outputter failed" in caplog.text
