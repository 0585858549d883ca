"""The answers to a target's questions by name, and what a target cannot make the controller do."""

from __future__ import annotations

import asyncio
import struct

import pytest

from pushsalt.api import Client, JobOptions, Selection, Settings
from pushsalt.minion.minion import Minion
from pushsalt.modules import controller
from pushsalt.run.answers import Answers
from thin import wire

INVENTORY = """
hosts:
  web1: {transport: local, grains: {os: Debian, ipv4: [192.0.2.4]}, pillar: {tier: front}}
"""


@pytest.fixture
def ask(tmp_path):
    """(function, args, kwargs, chunk of the run) -> the answer. Calls to the target fail the test."""
    (tmp_path / "salt/_serializers").mkdir(parents=True)
    (tmp_path / "salt/_serializers/own.py").write_text("def serialize(obj, **options):\n    return 'own code ran'\n")
    (tmp_path / "salt/_serializers/json.py").write_text("def serialize(obj, **options):\n    return 'own code ran'\n")
    (tmp_path / "salt/a.sls").write_text("a: b\n")
    (tmp_path / "inventory.yaml").write_text(INVENTORY)
    (tmp_path / "pushsalt.yaml").write_text(
        "file_roots: {base: [salt]}\npillar_roots: {base: [pillar]}\nnodegroups: {front: 'I@tier:front'}\n"
    )
    project = Client(Settings(config=tmp_path / "pushsalt.yaml", cache_dir=tmp_path / "cache")).project

    def remote(*args):
        raise AssertionError(f"the target was called: {args}")

    minion = Minion(project, project.inventory.targets["web1"], JobOptions(), {"os": "Debian"}, remote)

    async def own():
        return minion

    async def in_thread(function):
        return await asyncio.get_running_loop().run_in_executor(None, function)

    def ask(fun, args=(), kwargs=None, chunk=None):
        answers = Answers(own, in_thread)
        answers.chunks = {"tag": chunk} if chunk else {}
        return asyncio.run(answers({"k": "ask", "n": 1, "fun": fun, "args": list(args), "kwargs": kwargs or {}}))

    return ask


@pytest.mark.parametrize(
    "fun, args, kwargs, ret",
    [
        ("slsutil.serialize", ["yaml", {"a": [1]}], {"default_flow_style": False}, "a:\n- 1"),
        ("slsutil.serialize", ["json", {"a": "é"}], {"indent": 1, "separators": [",", ":"]}, '{\n "a":"é"\n}'),
        ("slsutil.deserialize", ["json", '{"a": 1}'], {}, {"a": 1}),
        ("match.nodegroup", ["front"], {}, True),
        ("match.nodegroup", ["nosuch"], {}, False),
        ("match.ipcidr", ["192.0.2.0/24"], {}, False),  # as it calls itself, not as the inventory does
        ("cp.list_states", [], {}, ["a"]),
        ("cp.get_file_str", ["salt://a.sls"], {}, "a: b\n"),
        ("saltutil.sync_serializers", [], {}, ["serializers.json", "serializers.own"]),
    ],
)
def test_answered(ask, fun, args, kwargs, ret):
    assert ask(fun, args, kwargs) == {"ret": ret}


@pytest.mark.parametrize(
    "fun, args, kwargs, words",
    [
        ("slsutil.serialize", ["own", {}], {}, "Serializer 'own' not found"),
        ("slsutil.serialize", ["../own", {}], {}, "not found"),
        ("slsutil.serialize", ["json", [1]], {"indent": 10**9}, "the option 'indent' cannot be"),
        ("slsutil.serialize", ["json", [1]], {"indent": " " * 100}, "the option 'indent' cannot be"),
        ("slsutil.serialize", ["json", [1]], {"cls": {"a": 1}}, "the option 'cls' cannot be"),
        ("slsutil.serialize", ["yaml", ["x"] * 2_000_001], {}, "levels of them: too much"),
        ("slsutil.deserialize", ["yaml", "x" * 4_000_001], {}, "levels of them: too much"),
        ("slsutil.renderer", [], {"string": "{{ 1 }}"}, "'slsutil.renderer' is not available"),
        ("slsutil.serializer_named", ["own"], {}, "is not available"),
        ("match.compound", ["E@(a+)+$"], {}, "'match.compound' is not available"),
        ("match.filter_by", [{"E@(a+)+$": 1}], {}, "is not available"),
        ("pillar.items", [], {}, "is not available"),
        ("state.sls", ["a"], {}, "is not available"),
        ("cp.get_file_str", ["/etc/passwd"], {}, "needs the target"),
        ("mine.get", ["*", "x"], {}, "is not available"),
        ("os.system", ["true"], {}, "is not available"),
    ],
)
def test_refused(ask, fun, args, kwargs, words):
    assert words in ask(fun, args, kwargs)["error"]


def test_nesting_is_bounded(ask):
    deep: list[object] = []
    for _ in range(60):
        deep = [deep]
    assert "levels of them: too much" in ask("slsutil.serialize", ["json", deep])["error"]


def nested_plist(levels: int) -> bytes:
    """A binary property list in which each list contains the next one twice: 2 ** levels texts."""
    objects = [bytes([0xA2, level + 1, level + 1]) for level in range(levels)] + [b"\x51x"]
    data, places = b"bplist00", []
    for item in objects:
        places.append(len(data))
        data += item
    return data + struct.pack(f">{len(places)}H", *places) + struct.pack(">6xBBQQQ", 2, 1, len(objects), 0, len(data))


def test_small_values_that_expand_to_much_data_are_refused(ask):
    assert ask("slsutil.deserialize", ["plist", nested_plist(2)]) == {"ret": [["x", "x"], ["x", "x"]]}
    assert "levels of them: too much" in ask("slsutil.deserialize", ["plist", nested_plist(40)])["error"]


def test_the_target_gets_the_error_kind(ask):
    assert ask("slsutil.deserialize", ["json", "{"])["exception"] == "JSONDecodeError"


def test_an_own_serializer_is_used_where_a_state_of_the_run_names_it(ask):
    chunk = {"state": "file", "fun": "serialize", "serializer": "own", "name": "/x"}
    assert ask("slsutil.serialize", ["own", {}], chunk=chunk) == {"ret": "own code ran"}
    assert ask("slsutil.serialize", ["json", {}], chunk=chunk) == {"ret": "{}"}


def test_an_answer_that_is_too_large_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(wire, "FRAME_LIMIT", 300_000)  # of the controller only
    (tmp_path / "salt/_modules").mkdir(parents=True)
    (tmp_path / "salt/_modules/asks.py").write_text(
        "from thin import link\n\n\n"
        "def it(size):\n"
        "    return len(link.ask('slsutil.deserialize', ['json', '\"' + 'x' * size + '\"']))\n"
    )
    (tmp_path / "pushsalt.yaml").write_text("file_roots: {base: [salt]}\npillar_roots: {base: [pillar]}\n")
    (tmp_path / "inventory.yaml").write_text("hosts: {it: {transport: local}}\n")
    client = Client(Settings(config=tmp_path / "pushsalt.yaml", cache_dir=tmp_path / "cache"))
    error = client.run(Selection("it"), "asks.it", [400_000])["it"].ret["error"]
    assert "the answer cannot be sent" in error["message"] and "over the limit of 300000" in error["message"]
    assert client.run(Selection("it"), "asks.it", [4])["it"].ret == 4


def test_the_functions_that_targets_may_ask_for_are_exactly_these():
    askable = {name for name in controller.names() if controller.has_trait(name, controller.FOR_TARGETS)}
    rest = {name for name in askable if not name.startswith(("cp.", "saltutil.sync_"))}
    assert rest == {
        "match.ipcidr",
        "match.nodegroup",
        "mine.delete",
        "mine.flush",
        "slsutil.deserialize",
        "slsutil.serialize",
    }
