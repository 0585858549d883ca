"""match.* for a command line and for templates, answered on the controller."""

import pytest

from pushsalt.api import Client, JobOptions, Selection, Settings

pytestmark = pytest.mark.slow

INVENTORY = """
hosts:
  web1: {transport: offline, grains: {os: Debian, ipv4: [192.0.2.4], roles: [web]}, pillar: {tier: {name: front}}}
"""


@pytest.fixture
def call(tmp_path):
    tree = tmp_path / "inventory.yaml"
    tree.write_text(INVENTORY)
    client = Client(Settings(inventories=[str(tree)], cache_dir=str(tmp_path / "cache")))

    def run(function, *args, **kwargs):
        return client.run(Selection("web1"), function, list(args), kwargs, options=JobOptions())["web1"].ret

    return run


@pytest.mark.parametrize(
    "function, args, value",
    [
        ("compound", ["web* and G@os:Debian and I@tier:name:front"], True),
        ("compound", ["G@os:RedHat or db*"], False),
        ("compound", ["db1 and G@os:Debian", "db1"], True),
        ("compound", ["( web1"], False),
        ("compound", ["T@offline and T@offline:web1 and M@web1 and not T@ssh"], True),
        ("glob", ["w*1"], True),
        ("list", ["web1,db1"], True),
        ("pcre", ["web[0-9]"], True),
        ("grain", ["roles:w*"], True),
        ("grain_pcre", ["os:(Deb|Red).*"], True),
        ("pillar", ["tier:name:f*"], True),
        ("pillar_pcre", ["tier:name:front|back"], True),
        ("pillar_exact", ["tier:name:f*"], False),
        ("ipcidr", ["192.0.2.0/24"], True),
        ("ipcidr", ["192.0.3.0/24"], False),
        ("ipcidr", ["junk"], False),
        ("data", ["a:b"], False),
        ("filter_by", [{"db*": 1, "web*": {"a": [1]}}], {"a": [1]}),
        ("filter_by", [{"db*": 1, "default": 2}], 2),
        ("filter_by", [{"os:Debian": 1}, "grain"], 1),
        ("filter_by", [{"web*": {"a": 1}}, "compound", None, {"b": 2}], {"a": 1, "b": 2}),
        ("filter_by", [{"db*": 1}, "glob", "db9"], 1),
        ("search_by", [{"x": ["G@os:Debian", "web1"], "y": ["db*"]}], ["x", "x"]),
        ("search_by", [{"y": ["db*"]}], None),
        ("ifelse", ["db*", 1, "web*", 2, 3], 2),
        ("ifelse", [False, 1, 3], 3),
        ("ifelse", [True, 1, 3], 1),
        ("ifelse", [3], 3),
    ],
)
def test_match(call, function, args, value):
    assert call("match." + function, *args) == value


def test_wrong_arguments_are_said(call):
    ret = call("match.ifelse", "a", "b")
    assert "odd number" in str(ret)
