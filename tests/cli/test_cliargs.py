"""Arguments of ``run``, compared with a table of how Salt 3008 parses the same arguments."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pushsalt.cliargs import parse_args, parse_value

CASES = json.loads((Path(__file__).parent / "cases" / "arguments.json").read_text())


@pytest.mark.parametrize("word, want", CASES, ids=[repr(word) for word, _ in CASES])
def test_one_word_as_salt_reads_it(word, want):
    assert repr(parse_args([word])) == want


def test_positions_keywords_and_the_last_one_wins():
    assert parse_args(["a", "k=1", "2", "k=2", "x=[1, {a: b}]"]) == (["a", 2], {"k": 2, "x": [1, {"a": "b"}]})


@pytest.mark.parametrize(
    "word, want",
    [
        ('"a # b"', "a # b"),
        ("'it''s #1'", "it's #1"),
        (r'"#\r\n"', "#\r\n"),
        ("'a' # 'b'", "'a' # 'b'"),
        (r'"a\" # "b"', r'"a\" # "b"'),
        ("a # b", "a # b"),
    ],
)
def test_quotes_make_a_text_of_anything(word, want):
    assert parse_value(word) == want


@given(st.text())
def test_any_text_is_some_value(text):
    parse_value(text)
    parse_args([text])


@given(st.integers(-(10**9), 10**9))
def test_numbers_stay_numbers(number):
    assert parse_value(str(number)) == number
