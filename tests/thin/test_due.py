"""Reactions that an interrupted run did not run: the next run with both states runs them once, and reports why."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from thin import due, engine

FILE = {
    "thin.states.part": """
def now(name, content, fails=False):
    import pathlib
    file = pathlib.Path(name)
    if fails:
        return {"name": name, "result": False, "changes": {}, "comment": "refused"}
    if file.exists() and file.read_text() == content:
        return {"name": name, "result": True, "changes": {}, "comment": "as it is"}
    if __opts__["test"]:
        return {"name": name, "result": None, "changes": {"new": content}, "comment": "would be written"}
    file.write_text(content)
    return {"name": name, "result": True, "changes": {"new": content}, "comment": "written"}
def running(name, **kwargs):
    return {"name": name, "result": True, "changes": {}, "comment": "runs"}
def mod_watch(name, **kwargs):
    return {"name": name, "result": True, "changes": {name: "restarted"}, "comment": "restarted"}
def fire(name):
    return {"name": name, "result": True, "changes": {"fired": True}, "comment": "fired"}
def cut(name, until):
    import os
    if not os.path.exists(until):
        raise KeyboardInterrupt
    return {"name": name, "result": True, "changes": {}, "comment": "went on"}
""",
}


def chunk(fun: str, name: str, **kwargs: Any) -> dict[str, Any]:
    base = {"state": "part", "fun": fun, "name": name, "__id__": f"id {name}", "__sls__": "s", "__env__": "base"}
    return {**base, "order": 10000, **kwargs}


class Target:
    """A target with a private folder, for consecutive runs."""

    def __init__(self, folder: Path, make_loaders: Callable[..., Any]) -> None:
        self.folder, self.make_loaders = folder, make_loaders
        self.config, self.go = str(folder / "conf"), folder / "go"

    def run(self, *chunks: dict[str, Any], test: bool = False, **opts: Any) -> dict[str, dict[str, Any]]:
        loaders = self.make_loaders(FILE, opts={"test": test, **opts})
        reactions = due.Reactions(due.Due(str(self.folder)))
        returns = engine.Engine(loaders, reactions=reactions).run(list(chunks))
        return {tag.split("_|-")[1]: ret for tag, ret in returns.items()}

    @property
    def notes(self) -> bool:
        return (self.folder / due.NAME).exists()


@pytest.fixture
def target(tmp_path: Path, make_loaders: Callable[..., Any]) -> Target:
    return Target(tmp_path, make_loaders)


def config(target: Target) -> dict[str, Any]:
    return chunk("now", target.config, content="new")


def interruption(target: Target) -> dict[str, Any]:
    return chunk("cut", "cut", until=str(target.go))


def service(target: Target, requisite: str) -> dict[str, Any]:
    fun = "fire" if requisite.startswith("onchanges") else "running"
    return chunk(fun, "web", **{requisite: [{"part": target.config}]})


@pytest.mark.parametrize("requisite", ["watch", "watch_any", "onchanges", "onchanges_any", "listen"])
def test_a_reaction_of_an_interrupted_run_runs_once_in_the_next_run(target: Target, requisite: str) -> None:
    states = [config(target), interruption(target), service(target, requisite)]
    with pytest.raises(KeyboardInterrupt):
        target.run(*states)
    assert target.notes
    target.go.touch()

    dry_run = target.run(*states, test=True)
    returns = target.run(*states)
    third = target.run(*states)

    name = "listener_id web" if requisite == "listen" else "id web"
    assert returns[name]["changes"]
    assert f"It was due: part: id {target.config} changed on " in returns[name]["comment"]
    assert "It was due" in dry_run[name]["comment"]
    assert not target.notes
    assert not third.get(name, {}).get("changes")
    assert "It was due" not in str(third)


def test_a_run_after_failhard_runs_the_reactions(target: Target) -> None:
    broken = chunk("now", "broken", content="", fails=True)
    first = target.run(config(target), broken, service(target, "watch"), failhard=True)
    assert "id web" not in first
    returns = target.run(config(target), service(target, "watch"))
    assert returns["id web"]["changes"] == {"web": "restarted"}
    assert "It was due" in returns["id web"]["comment"]


def test_a_reaction_stays_due_until_a_run_has_both_states(target: Target) -> None:
    with pytest.raises(KeyboardInterrupt):
        target.run(config(target), interruption(target), service(target, "watch"))
    target.go.touch()
    assert target.run(config(target))
    assert target.run(chunk("running", "web"))["id web"]["changes"] == {}
    assert target.notes
    assert target.run(config(target), service(target, "watch"))["id web"]["changes"]
    assert not target.notes


def test_a_reaction_whose_requisites_fail_stays_due(target: Target) -> None:
    with pytest.raises(KeyboardInterrupt):
        target.run(config(target), interruption(target), service(target, "watch"))
    broken = chunk("now", "broken", content="", fails=True)
    blocked = dict(service(target, "watch"), require=[{"part": "broken"}])
    assert target.run(config(target), broken, blocked)["id web"]["result"] is False
    assert target.run(config(target), service(target, "watch"))["id web"]["changes"]


def test_a_reaction_with_failed_requisites_in_a_complete_run_is_not_due(target: Target) -> None:
    """As in Salt: the run was not interrupted, and reported that the reaction did not run."""
    broken = chunk("now", "broken", content="", fails=True)
    target.run(config(target), broken, dict(service(target, "watch"), require=[{"part": "broken"}]))
    assert not target.notes
    assert target.run(config(target), service(target, "watch"))["id web"]["changes"] == {}


def test_a_complete_run_leaves_no_file(target: Target) -> None:
    states = [config(target), service(target, "watch"), service(target, "listen")]
    target.run(*states)
    assert not target.notes
    before = sorted(path.name for path in target.folder.iterdir())
    target.run(*states)
    assert sorted(path.name for path in target.folder.iterdir()) == before


def test_a_reaction_that_is_triggered_again_is_no_longer_due(target: Target) -> None:
    """The change of the second run triggers it."""
    with pytest.raises(KeyboardInterrupt):
        target.run(config(target), interruption(target), service(target, "watch"))
    target.go.touch()
    returns = target.run(dict(config(target), content="newer"), service(target, "watch"))
    assert returns["id web"]["changes"] == {"web": "restarted"}
    assert "It was due" not in returns["id web"]["comment"]
    assert not target.notes


def test_notes_contain_no_names_of_states(target: Target) -> None:
    with pytest.raises(KeyboardInterrupt):
        target.run(config(target), interruption(target), service(target, "watch"))
    text = (target.folder / due.NAME).read_text()
    assert "conf" not in text and "web" not in text
    assert (target.folder / due.NAME).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("damage", ["", "\n", "garbage", "a\n+ b\n+ c d e\n- x\n", "\udcff\n+ a b 1"])
def test_a_damaged_file_is_ignored(target: Target, damage: str) -> None:
    (target.folder / due.NAME).write_text(damage, errors="surrogateescape")
    assert target.run(config(target), service(target, "watch"))["id web"]["changes"] == {"web": "restarted"}
    assert target.run(config(target), service(target, "watch"))["id web"]["changes"] == {}


def test_a_run_continues_if_notes_cannot_be_written(target: Target) -> None:
    (target.folder / due.NAME).mkdir()
    assert target.run(config(target), service(target, "watch"))["id web"]["changes"] == {"web": "restarted"}
