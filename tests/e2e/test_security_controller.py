"""A hostile target cannot harm the controller: its data is not run, not shown unescaped, and not waited for forever."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.beds import hostile
from tests.beds.project import Done, Project

pytestmark = pytest.mark.slow

NASTY = "\x1b]0;owned\x07\x1b[2J\x9b31m[bold red]x[/bold red] {{ 7 * 7 }} \u202egnp.exe\r\x00\x7f \udcff"


Frames = list[Any]
#: the first messages of the controller: init and the call, number 1
BEGIN = ["WAIT", "WAIT"]


class Fleet(Project):
    """A project whose targets send the given frames, except for ``well``, a valid one."""

    def __init__(self, folder: Path, frames: dict[str, Frames]) -> None:
        hosts: dict[str, Any] = {"well": {"transport": "local"}}
        for id, messages in frames.items():
            directory = folder / "evil" / id
            directory.mkdir(parents=True)
            (directory / "frames").write_text(json.dumps(messages))
            python = directory / "python"
            python.write_text(
                f'#!/bin/sh\nexec "{sys.executable}" "{hostile.__file__}" "{directory}/frames" "$5" "$6"\n'
            )
            python.chmod(0o755)
            hosts[id] = {"transport": "local", "python": str(python)}
        super().__init__(folder, hosts)
        self.evil = folder / "evil"

    def received(self, id: str) -> str:
        """The messages of the controller to a target."""
        return (self.evil / id / "frames.heard").read_text()


def message(**fields: Any) -> list[str]:
    return ["M", repr(fields)]


def answer(expression: str) -> list[str]:
    return ["M", f"{{'k': 'ret', 're': 1, 'ret': {expression}}}"]


@pytest.fixture(scope="module")
def hostile_fleet(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    text = NASTY.encode("utf-8", "surrogateescape")
    decoded = NASTY.encode("utf-8", "replace").decode()
    return Fleet(
        tmp_path_factory.mktemp("returned"),
        {
            "value": [*BEGIN, answer(f"{{{text!r}: [{text!r}], 'x': raw('ff00'), 1: nan, 2.5: inf, None: -inf}}")],
            "error": [*BEGIN, message(k="exc", re=1, type=decoded, message=decoded, tb=decoded, known=True)],
            "unknown": [*BEGIN, message(k="exc", re=1, type=decoded, message=decoded, known=False, nearest=[decoded])],
            "logs": [*BEGIN, message(k="log", level="error", text=decoded), ["S", repr(text)], answer("True")],
        },
    )


@pytest.mark.parametrize("out", ["rich", "json", "ndjson", "yaml"])
def test_returned_texts_are_escaped(hostile_fleet: Fleet, out: str) -> None:
    done = hostile_fleet.run("-l", "debug", "run", "--out", out, "*", "test.ping")
    assert done.code == 2
    for text in (done.out, done.err):
        assert not any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in text.replace("\n", "")), repr(text)
    assert "{{ 7 * 7 }}" in done.out and "[bold red]" in done.out
    if out == "rich":
        assert "\u202e" not in done.out + done.err
    if out == "json":
        assert done.data["well"] is True
        assert done.error("error")["kind"] == "exception" and done.error("unknown")["kind"] == "unknown_function"


def test_a_target_that_does_not_end_is_not_waited_for(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, {"stays": [*BEGIN, answer("'done'"), "STAY"]})
    done = fleet.json("run", "*", "test.ping", timeout=40)
    assert done.data == {"well": True, "stays": "done"} and not done.err


#: id -> frames, kind
INVALID_FRAMES: dict[str, tuple[Frames, str]] = {
    "empty": ([["M", "b''"]], "protocol_error"),
    "no-msgpack": ([["M", "raw('c1')"]], "protocol_error"),
    "huge-map": ([["M", "raw('dfffffffff')"]], "protocol_error"),
    "deep": ([["M", "deep(5000)"]], "excess"),
    "a-list": ([["M", "[1, 2]"]], "protocol_error"),
    "kind-is-a-list": ([["M", "{'k': ['list']}"]], "protocol_error"),
    "kind-is-a-map": ([["M", "{'k': {}, 're': {}}"]], "protocol_error"),
    "digests": ([["M", "{'k': 'need', 'digests': 7}"]], "protocol_error"),
    "no-tag": ([["M", "{'k': 'start'}"]], "protocol_error"),
    "tag-is-a-map": ([["M", "{'k': 'state', 'tag': {}, 'ret': 7}"]], "protocol_error"),
    "no-ret": ([["M", "{'k': 'log', 'level': {}, 'text': 7}"], ["M", "{'k': 'state', 'tag': 'x'}"]], "protocol_error"),
    "number-is-a-map": ([["M", "{'k': 'ret', 're': {}}"], ["M", "{'k': 'start'}"]], "protocol_error"),
    "noise": ([["raw", "b'x' * 3000000"]], "protocol_error"),
    "questions": ([["M", "{'k': 'file', 'url': 'salt://x', 'n': 1}"]] * 500, "protocol_error"),
    "no-such-kind": ([["E", "b'kind=no_such_kind\\nmessage=%1b[31mx'"]], "bootstrap_failed"),
    "no-kind": ([["E", "b''"]], "bootstrap_failed"),
    "kind-of-ours": ([["E", "b'kind=internal'"]], "bootstrap_failed"),
    "unheard-of": (
        [["Z", "b'what'"], ["M", "{'k': 'unheard-of'}"], ["M", "{'k': 'ret', 're': 99}"], ["E", "b'kind=locked'"]],
        "locked",
    ),
}


@pytest.fixture(scope="module")
def invalid_run(tmp_path_factory: pytest.TempPathFactory) -> Done:
    fleet = Fleet(tmp_path_factory.mktemp("nonsense"), {id: frames for id, (frames, _) in INVALID_FRAMES.items()})
    return fleet.json("run", "*", "test.ping", "--concurrency", "6", "--timeout", "8")


@pytest.mark.parametrize("id", INVALID_FRAMES)
def test_invalid_frames_are_errors(invalid_run: Done, id: str) -> None:
    error = invalid_run.error(id)
    assert error["kind"] == INVALID_FRAMES[id][1], error
    assert error["message"].isprintable() and error["message"].startswith(f"{id}: ")
    assert invalid_run.code == 3 and invalid_run.data["well"] is True


MARKER = "executed-by-the-controller"
CODE = f"import os\ndef run():\n    open(os.path.expanduser('~/{MARKER}'), 'w').close()\n    return 'done'\n"
#: requests of a target that try to run its code on the controller
ATTACKS: dict[str, dict[str, Any]] = {
    "py": {"k": "template", "text": CODE, "engine": "py"},
    "pipe": {"k": "template", "text": CODE, "engine": "jinja|py"},
    "renderer": {"k": "template", "text": "{{ salt['slsutil.renderer'](string=CODE, default_renderer='py') }}"},
    "shebang": {"k": "template", "text": "{{ salt['slsutil.renderer'](string='#!py\\n' ~ CODE) }}"},
    "state": {"k": "template", "text": "{{ salt['state.template_str']('#!py\\n' ~ CODE) }}"},
    "derived": {"k": "template", "text": "{{ salt['state.template_str']('#!py\\n' ~ CODE, test=True) }}"},
    "override": {"k": "template", "text": "{{ salt['state.template_str']('#!py\\n' ~ CODE, pillar={'a': 1}) }}"},
    "file": {"k": "template", "url": "salt://a.py", "engine": "py"},
    "tag": {"k": "template", "url": "salt://a.py", "engine": "py", "tag": "file_|-x_|-x_|-managed"},
    "ask-renderer": {"k": "ask", "fun": "slsutil.renderer", "kwargs": {"string": CODE, "default_renderer": "py"}},
    "ask-file": {"k": "ask", "fun": "slsutil.renderer", "kwargs": {"path": "salt://a.py", "default_renderer": "py"}},
    "ask-text": {"k": "ask", "fun": "state.template_str", "args": ["#!py\n" + CODE]},
    "ask-sls": {"k": "ask", "fun": "state.show_sls", "args": ["a"]},
    "ask-system": {"k": "ask", "fun": "os.system", "args": [f"touch ~/{MARKER}"]},
    "ask-dunder": {"k": "ask", "fun": "cp.__init__", "args": []},
}
URLS = (
    "salt://../secret",
    "salt://a/../../secret",
    "salt:///etc/hostname",
    "salt://link",
    "salt://fifo",
    "/etc/hostname",
    "file:///etc/hostname",
    "salt://a\0b",
    "salt://../../../../../../../etc/hostname",
    "salt://|../secret",
    ["x"],
    {},
    7,
    None,
)
PATHS = ("file", "tree", "template")
for attack in ATTACKS.values():
    if str(attack.get("text", "")).startswith("{{"):
        attack["text"] = attack["text"].replace("CODE", repr(CODE))


@pytest.fixture(scope="module")
def requests_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Fleet, Done]:
    """A run in which targets send all requests. After the first one the controller asks for grains."""
    grains = message(k="ret", re=2, ret={"id": "well"})

    def conversation(questions: list[dict[str, Any]]) -> Frames:
        first, *others = [message(n=number, **question) for number, question in enumerate(questions, 1)]
        later = [step for question in others for step in (question, "WAIT")]
        return [*BEGIN, first, "WAIT", grains, "WAIT", *later, answer("'well'")]

    frames = {id: conversation([question]) for id, question in ATTACKS.items()}
    for kind in PATHS:
        frames[kind] = conversation([{"k": kind, "url": url, "saltenv": "../..", "text": None} for url in URLS])
    fleet = Fleet(tmp_path_factory.mktemp("asked"), frames)
    fleet.files({"salt/a.py": CODE, "salt/a.sls": "#!py\n" + CODE, "secret": "the-secret"})
    salt = fleet.folder / "salt"
    (salt / "link").symlink_to("/etc/hostname")
    os.mkfifo(salt / "fifo")
    return fleet, fleet.json("run", "*", "test.ping", "--concurrency", "4", "--timeout", "40")


def test_code_of_a_target_is_not_run_on_the_controller(requests_run: tuple[Fleet, Done]) -> None:
    fleet, done = requests_run
    assert done.data == {"well": True, **dict.fromkeys((*ATTACKS, *PATHS), "well")}
    assert not (fleet.home / MARKER).exists()
    for id in ATTACKS:
        assert "'answer'" in fleet.received(id)


@pytest.mark.parametrize("kind", PATHS)
def test_only_files_of_the_roots_are_sent(requests_run: tuple[Fleet, Done], kind: str) -> None:
    fleet, _ = requests_run
    if kind == "template":  # without a URL it is a text, and no request is made
        assert "'text': b''" in fleet.received(kind)
    answers = [line for line in fleet.received(kind).splitlines() if "'k': 'answer'" in line]
    assert len(answers) == len(URLS)
    for url, line in zip(URLS, answers, strict=True):
        assert url is None or "'missing': True" in line or "'error': " in line, (url, line)


def test_grains_cannot_become_a_path_or_another_id(tmp_path: Path) -> None:
    grains = message(k="ret", re=1, ret={"id": "../../well", "os": "../../../x", "nested": {1: [None]}})
    fleet = Fleet(tmp_path, {"evil": [*BEGIN, grains]})
    fleet.write("salt/it.sls", "it:\n  test.nop:\n    - name: {{ grains['id'] }} {{ opts['id'] }}\n")
    done = fleet.json("run", "evil", "state.show_low_sls", "it", "--timeout", "50")
    assert done.data["evil"][0]["name"].endswith("evil")
    assert not [path for path in fleet.cache.rglob("*") if "well" in path.name or path.name == "x"]


@pytest.mark.parametrize("out", ["json", "rich"])
def test_invalid_state_returns_do_not_end_the_command(tmp_path: Path, out: str) -> None:
    grains = message(k="ret", re=1, ret={"id": "evil"})
    state = message(k="state", tag="other_|-x", ret={"result": "maybe", "changes": 7, "comment": [1]})
    end = message(k="ret", re=2, ret={"states": 1})
    fleet = Fleet(tmp_path, {"evil": [*BEGIN, grains, "WAIT", state, end]})
    fleet.write("salt/it.sls", "it:\n  test.nop: []\n")
    done = fleet.run("apply", "--out", out, "*", "it", "--timeout", "50")
    assert "well" in done.out
