import pytest
from hypothesis import given
from hypothesis import strategies as st

from pushsalt.yamldump import dump_yaml
from pushsalt.yamlio import load_yaml
from thin.grains.static import parse

READABLE = [
    "role: web\n",
    "# comment\nroles:\n  - web\n  - db # one more\nrack: 4\n",
    "roles:\n- web\n- db\nother: 1\n",
    "a:\n  b:\n    c: [1, two, true, ~, 'x, y']\n  d: {e: 1, f: [2]}\n",
    "list:\n  - name: one\n    size: 1\n  - name: two\n  -\n    name: three\n",
    "quoted: 'a: b # c'\nother: \"x y\"\nempty:\nnothing: ''\n",
    "---\nfloat: 1.5\nnegative: -3\nversion: 1.2.3\nurl: http://example.org/a#b\n...\n",
    "'quoted key': 1\nkey with space: 2\n5: five\n",
    "nested:\n  - - a\n    - b\n  - c\n",
    "empty: []\nnone: {}\n",
    "",
]


@pytest.mark.parametrize("text", READABLE)
def test_a_text_is_parsed_as_by_yaml(text):
    assert parse(text) == (load_yaml(text) or {})


@pytest.mark.parametrize(
    "text",
    [
        "a: &x 1\nb: *x\n",
        "a: |\n  text\n",
        "a: !!str 1\n",
        "- a\n",
        "a: 1\na: 2\n",
        "a: 010\n",
        "a: [1\n",
        "a: b: c\n",
        "a:\n\tb: 1\n",
        "a: 1\n   b: 2\n",
        "just text\n",
        "a: 'it''s'\n",
        "a: 0x10\n",
        "a: " + "[" * 50 + "\n",
    ],
)
def test_errors_have_the_line(text):
    with pytest.raises(ValueError, match=r"line \d+"):
        parse(text)


names = st.from_regex(r"[a-z][a-z0-9_.]{0,8}", fullmatch=True)
scalars = st.one_of(
    names, st.integers(-99, 99), st.booleans(), st.none(), st.sampled_from(["1.2.3", "a b", "10.0.0.1"])
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=3)),
    max_leaves=8,
)


@given(st.dictionaries(names, values, max_size=4), st.sampled_from([None, False]))
def test_dumped_data_is_parsed_as_by_yaml_or_refused(data, style):
    text = dump_yaml(data, default_flow_style=style)
    try:
        parsed = parse(text)
    except ValueError:
        return
    assert parsed == data


@given(st.text(alphabet="ab:-[]{}, #'\"\n1~|&", max_size=40))
def test_any_text_is_parsed_as_by_yaml_or_refused(text):
    from pushsalt.errors import RenderError

    try:
        parsed = parse(text)
    except ValueError:
        return
    try:
        assert parsed == (load_yaml(text) or {})
    except RenderError:
        pass  # the parser may accept more than YAML does
