"""``state.graph``: the graph of requisites equals Salt's."""

from __future__ import annotations

import json

import pytest

from pushsalt.api import Client, Selection, Settings

SLS = {
    "g": """two:
  test.nop:
    - name: other
    - require: [test: one]
one:
  test.nop:
    - watch: [id: three]
three:
  test.nop:
    - prereq: [test: four]
four:
  test.nop:
    - require: [test: one]
    - onchanges_any: [{test: one}, sls: g2]
listening:
  test.nop:
    - listen: [test: one]
    - require_in: [test: two]
include: [g2]
""",
    "g2": """cmd:
  cmd.run:
    - names: [a, b]
    - watch: [test: "o*"]
""",
}
#: The output of `salt-call --local state.graph g` of Salt 3008.3 with these files.
SALT = r"""digraph G {
  "test_|-two_|-other_|-nop" [label="test.nop\ntwo\n(other)"];
  "test_|-one_|-one_|-nop" [label="test.nop\none"];
  "test_|-three_|-three_|-nop" [label="test.nop\nthree"];
  "test_|-four_|-four_|-nop" [label="test.nop\nfour"];
  "test_|-listening_|-listening_|-nop" [label="test.nop\nlistening"];
  "cmd_|-cmd_|-a_|-run" [label="cmd.run\ncmd\n(a)"];
  "cmd_|-cmd_|-b_|-run" [label="cmd.run\ncmd\n(b)"];
  "test_|-four_|-four_|-nop_|-__prereq_test__" [label="test.nop\nfour"];
  "test_|-two_|-other_|-nop" -> "cmd_|-cmd_|-a_|-run" [label="watch"];
  "test_|-two_|-other_|-nop" -> "cmd_|-cmd_|-b_|-run" [label="watch"];
  "test_|-one_|-one_|-nop" -> "test_|-two_|-other_|-nop" [label="require"];
  "test_|-one_|-one_|-nop" -> "test_|-four_|-four_|-nop_|-__prereq_test__" [label="require"];
  "test_|-one_|-one_|-nop" -> "test_|-four_|-four_|-nop_|-__prereq_test__" [label="onchanges_any"];
  "test_|-one_|-one_|-nop" -> "test_|-four_|-four_|-nop" [label="require"];
  "test_|-one_|-one_|-nop" -> "test_|-four_|-four_|-nop" [label="onchanges_any"];
  "test_|-one_|-one_|-nop" -> "cmd_|-cmd_|-a_|-run" [label="watch"];
  "test_|-one_|-one_|-nop" -> "cmd_|-cmd_|-b_|-run" [label="watch"];
  "test_|-three_|-three_|-nop" -> "test_|-one_|-one_|-nop" [label="watch"];
  "test_|-three_|-three_|-nop" -> "test_|-four_|-four_|-nop" [label="require"];
  "cmd_|-cmd_|-a_|-run" -> "test_|-four_|-four_|-nop_|-__prereq_test__" [label="onchanges_any"];
  "cmd_|-cmd_|-a_|-run" -> "test_|-four_|-four_|-nop" [label="onchanges_any"];
  "cmd_|-cmd_|-b_|-run" -> "test_|-four_|-four_|-nop_|-__prereq_test__" [label="onchanges_any"];
  "cmd_|-cmd_|-b_|-run" -> "test_|-four_|-four_|-nop" [label="onchanges_any"];
  "test_|-four_|-four_|-nop_|-__prereq_test__" -> "test_|-three_|-three_|-nop" [label="prereq"];
}"""


@pytest.fixture
def client(tmp_path):
    (tmp_path / "salt").mkdir()
    for name, text in SLS.items():
        (tmp_path / "salt" / f"{name}.sls").write_text(text)
    (tmp_path / "salt" / "top.sls").write_text("base: {'*': [g]}\n")
    path = tmp_path / "pushsalt.yaml"
    path.write_text(json.dumps({"cache_dir": str(tmp_path / "cache"), "file_roots": {"base": ["salt"]}}))
    inventory = tmp_path / "inventory.yaml"
    inventory.write_text(json.dumps({"hosts": {"web1": {"transport": "offline"}}}))
    return Client(Settings(config=path, inventories=[inventory]))


@pytest.mark.parametrize("fun, args", [("state.graph", ["g"]), ("state.graph_highstate", [])])
def test_the_graph_equals_salts(client, fun, args):
    assert client.run(Selection("web1"), fun, args)["web1"].ret == SALT


def test_errors_are_returned_in_place_of_the_graph(client, tmp_path):
    (tmp_path / "salt" / "g2.sls").write_text("a: [b\n")
    [text] = client.run(Selection("web1"), "state.graph", ["g"])["web1"].ret
    assert "g2" in text
