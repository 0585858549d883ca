"""Plan files: written, read, and refused after any change."""

from __future__ import annotations

import json
import os
import random
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pushsalt.errors import UsageError
from pushsalt.planning import agefile, planfile, planshape
from pushsalt.planning.planfile import PlanFile

#: made by age-keygen for this test only
RECIPIENT = "age1c7pne0ullxvjyhzyz073hn6sfrqptcszux5rhs5zqueh5wte8fkscj2llt"
IDENTITY = "AGE-SECRET-KEY-1FLHEKR93GQLLE2KTCJUSUAANW89MRTML7JJ045Z7AR75PA6KNLMQJ5ECDG"
OTHER = "AGE-SECRET-KEY-1AJNCZ3Z9GSVHN44GXP044ZZA8EQ8M5EXYZT8PTXZ592HTSJ5M4VS37S2N9"
OTHER_RECIPIENT = "age130auajztunav3lxal7pzz57r8kc9znf9xkc33qq9mv9ware824nsr4zzfl"
#: b"kept", encrypted by the program age for RECIPIENT
BY_AGE = bytes.fromhex(
    "6167652d656e6372797074696f6e2e6f72672f76310a2d3e205832353531392077307144476f6d326659516e5a61442f7746"
    "2b715557715a644b6966316931634369567a492f41617230300a524f6d727661497a426f49796956736b38432b6f35775144"
    "4d484c675149485139524f7a445578506c43410a2d3e202e35392d67726561736520243169206545376c4d747d5c2031452d"
    "517652765e0a654b37564f49357731744839467a4b39413055457337453264365459776f326c44784832716b4e325a6b6342"
    "2b5256516656366668784563422b51384b45450a2d2d2d20443541576e74356647494332354c71594f6b4d4a75304b70682b"
    "696b67484251554b65762f5164333051550aa6d66ca8f0adecd3ef1dbc22134044ff55dfce6e9d48eacf2f2cc7e8e19c7edf"
    "27864b0a"
)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    return tmp_path / "home"


def a_plan() -> PlanFile:
    chunk = {"state": "test", "fun": "nop", "name": "x" * 300, "__id__": "x"}
    state = {"tag": "test_|-x_|-x_|-nop", "mark": "none", "because": [], "changes": {}, "diff": None, "comment": ""}
    counts = {"none": 1, "will": 0, "may": 0, "unknown": 0}
    target = {"data": {"states": [state], "counts": counts}, "run": {"chunks": [chunk]}, "files": {"salt://a": None}}
    target |= {"place": "", "trees": {}, "templates": {}, "pillar": {}, "disabled": {}, "custom": ""}
    made = {"created": 1700000000.0, "runtime": "", "revision": "", "lock": "", "words": [], "by": "1", "key": b"k"}
    made["options"] = {"pillar": None, "saltenv": None, "pillarenv": None}
    return PlanFile(made, {"web1": target}, {}, {"00": b"\0\xff" * 90_000}, ["hush"])


def test_a_plan_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    for recipients, identities in (([], []), ([RECIPIENT], [IDENTITY]), ([OTHER_RECIPIENT, RECIPIENT], [IDENTITY])):
        path = tmp_path / "a.plan"
        planfile.write(path, a_plan(), recipients)
        assert planfile.read(path, partial(list, identities)) == a_plan()
        assert path.stat().st_mode & 0o777 == 0o600
        assert b"hush" not in path.read_bytes()
        assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".a")] == []


@pytest.mark.parametrize("recipients", [[], [RECIPIENT]])
def test_an_altered_byte_or_a_cut(tmp_path: Path, recipients: list[str]) -> None:
    path = tmp_path / "a.plan"
    plan = a_plan()
    plan.blobs = {"00": b"x" * 2000}
    planfile.write(path, plan, recipients)
    data = path.read_bytes()
    rng = random.Random(1)
    places = {*range(0, 400, 3), *(rng.randrange(len(data)) for _ in range(60)), len(data) - 1}
    for at in sorted(place for place in places if place < len(data)):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        with pytest.raises(UsageError, match="plan") as caught:
            planfile.read(path, lambda: [IDENTITY])
        assert caught.value.hint
        path.write_bytes(data[:at])
        with pytest.raises(UsageError, match="plan"):
            planfile.read(path, lambda: [IDENTITY])
    path.write_bytes(data + b"x")
    with pytest.raises(UsageError, match="altered"):
        planfile.read(path, lambda: [IDENTITY])


def test_another_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.plan"
    planfile.write(path, a_plan(), [RECIPIENT])
    with pytest.raises(UsageError, match="sealed to another key") as caught:
        planfile.read(path, lambda: [OTHER])
    assert "age_identity" in caught.value.hint
    planfile.write(path, a_plan())
    monkeypatch.setenv("HOME", str(tmp_path / "elsewhere"))
    with pytest.raises(UsageError, match="sealed to another key") as caught:
        planfile.read(path, list)
    assert "--recipient" in caught.value.hint


def test_a_newer_version(tmp_path: Path) -> None:
    path = tmp_path / "a.plan"
    planfile.write(path, a_plan())
    first, head, rest = path.read_bytes().split(b"\n", 2)
    path.write_bytes(b"\n".join((first, json.dumps({**json.loads(head), "version": 2}).encode(), rest)))
    with pytest.raises(UsageError, match="format 2"):
        planfile.read(path, list)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """(container, key) of each value within a nested value."""
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from _places(value[key])


def _content() -> dict[str, Any]:
    plan = a_plan()
    return {name: getattr(plan, name) for name in ("made", "targets", "failed", "blobs", "secrets")}


#: Keys that accept any value.
FREE = {"changes", "name", "__id__", "salt://a", "none", "will", "may", "unknown", "pillar", "saltenv", "pillarenv"}
KEYS = [key for _, key in _places(_content())]


@pytest.mark.parametrize("number", range(len(KEYS)), ids=[f"{n}-{key}" for n, key in enumerate(KEYS)])
def test_content_of_another_shape(number: int) -> None:
    """Anybody who knows a recipient can encrypt any content for it: the content is a valid plan, or refused."""
    planshape.check(_content())
    for wrong in (None, 7, "text", [], {}):
        content = _content()
        container, key = list(_places(content))[number]
        like = (int, float) if isinstance(container[key], float) else type(container[key])
        if key in FREE and (key != "pillar" or container is content["made"]["options"]):
            continue
        if isinstance(wrong, like) or (key == "diff" and wrong == "text"):
            continue
        container[key] = wrong
        with pytest.raises((ValueError, KeyError, TypeError)):
            planshape.check(content)
    content = _content()
    container, key = list(_places(content))[number]
    if isinstance(container, dict) and key not in ("web1", "00", "salt://a"):
        del container[key]
        with pytest.raises((ValueError, KeyError)):
            planshape.check(content)


def test_another_shape_is_refused_with_words(tmp_path: Path) -> None:
    plan = a_plan()
    del plan.made["runtime"]
    planfile.write(tmp_path / "a.plan", plan, [RECIPIENT])
    with pytest.raises(UsageError, match="it was altered") as caught:
        planfile.read(tmp_path / "a.plan", lambda: [IDENTITY])
    assert caught.value.hint


def test_invalid_plan_files(tmp_path: Path) -> None:
    path = tmp_path / "a.plan"
    for data in (b"", b"something", b"pushsalt-plan\n", b"pushsalt-plan\n{}\nx", b"pushsalt-plan\n[]\n"):
        path.write_bytes(data)
        with pytest.raises(UsageError, match="plan"):
            planfile.read(path, list)
    with pytest.raises(UsageError, match="cannot be read"):
        planfile.read(tmp_path / "none.plan", list)
    with pytest.raises(UsageError, match="cannot be written"):
        planfile.write(tmp_path / "no" / "a.plan", a_plan())


def test_a_pipe_is_no_plan(tmp_path: Path) -> None:
    path = tmp_path / "a.plan"
    os.mkfifo(path)
    waker = threading.Timer(10, lambda: os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK)))
    waker.start()
    with pytest.raises(UsageError, match="it is a named pipe"):
        planfile.read(path, list)
    waker.cancel()


def test_what_the_program_age_makes() -> None:
    assert agefile.decrypt(BY_AGE, [OTHER, IDENTITY]) == b"kept"
    with pytest.raises(agefile.Unreadable, match="another key"):
        agefile.decrypt(BY_AGE, [OTHER, "AGE-SECRET-KEY-1NONE"])


@pytest.mark.parametrize("size", [0, 1, 65535, 65536, 65537, 200_000])
def test_sizes(size: int) -> None:
    data = random.Random(size).randbytes(size)
    sealed = agefile.encrypt(data, [RECIPIENT])
    assert agefile.decrypt(sealed, [IDENTITY]) == data
    for cut in {1, 16, 17, min(len(sealed), 65536 + 16)}:
        with pytest.raises(agefile.Unreadable):
            agefile.decrypt(sealed[: len(sealed) - cut], [IDENTITY])


@pytest.mark.parametrize("text", ["", "age1", RECIPIENT[:-1] + "q", RECIPIENT.upper(), "ssh-ed25519 AAAA", IDENTITY])
def test_no_recipients(text: str) -> None:
    with pytest.raises(UsageError, match="no recipient"):
        agefile.recipient_key(text)
