"""Reactions that an interrupted run has left: they run in the next run that has both states, once, and say why."""

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
        found = engine.Engine(loaders, reactions=reactions).run(list(chunks))
        return {tag.split("_|-")[1]: ret for tag, ret in found.items()}

    @property
    def notes(self) -> bool:
        return (self.folder / due.NAME).exists()


@pytest.fixture
def target(tmp_path: Path, make_loaders: Callable[..., Any]) -> Target:
    return Target(tmp_path, make_loaders)


def config(target: Target) -> dict[str, Any]:
    return chunk("now", target.config, content="new")


def cut(target: Target) -> dict[str, Any]:
    return chunk("cut", "cut", until=str(target.go))


def service(target: Target, requisite: str) -> dict[str, Any]:
    fun = "fire" if requisite.startswith("onchanges") else "running"
    return chunk(fun, "web", **{requisite: [{"part": target.config}]})


@pytest.mark.parametrize("requisite", ["watch", "watch_any", "onchanges", "onchanges_any", "listen"])
def test_a_reaction_that_a_cut_run_lost_runs_next_time_once(target: Target, requisite: str) -> None:
    states = [config(target), cut(target), service(target, requisite)]
    with pytest.raises(KeyboardInterrupt):
        target.run(*states)
    assert target.notes
    target.go.touch()

    foreseen = target.run(*states, test=True)
    found = target.run(*states)
    again = target.run(*states)

    name = "listener_id web" if requisite == "listen" else "id web"
    assert found[name]["changes"]
    assert f"It was due: part: id {target.config} changed on " in found[name]["comment"]
    assert "It was due" in foreseen[name]["comment"]
    assert not target.notes
    assert not again.get(name, {}).get("changes")
    assert "It was due" not in str(again)


def test_a_run_that_ends_by_failhard_leaves_its_reactions(target: Target) -> None:
    broken = chunk("now", "broken", content="", fails=True)
    first = target.run(config(target), broken, service(target, "watch"), failhard=True)
    assert "id web" not in first
    found = target.run(config(target), service(target, "watch"))
    assert found["id web"]["changes"] == {"web": "restarted"}
    assert "It was due" in found["id web"]["comment"]


def test_a_run_that_has_only_one_of_the_two_states_leaves_it_due(target: Target) -> None:
    with pytest.raises(KeyboardInterrupt):
        target.run(config(target), cut(target), service(target, "watch"))
    target.go.touch()
    assert target.run(config(target))
    assert target.run(chunk("running", "web"))["id web"]["changes"] == {}
    assert target.notes
    assert target.run(config(target), service(target, "watch"))["id web"]["changes"]
    assert not target.notes


def test_a_reaction_whose_requisites_fail_stays_due(target: Target) -> None:
    with pytest.raises(KeyboardInterrupt):
        target.run(config(target), cut(target), service(target, "watch"))
    broken = chunk("now", "broken", content="", fails=True)
    blocked = dict(service(target, "watch"), require=[{"part": "broken"}])
    assert target.run(config(target), broken, blocked)["id web"]["result"] is False
    assert target.run(config(target), service(target, "watch"))["id web"]["changes"]


def test_what_failed_by_its_requisites_in_a_whole_run_is_not_due(target: Target) -> None:
    """As in Salt: the run was not interrupted, and reported that the reaction did not run."""
    broken = chunk("now", "broken", content="", fails=True)
    target.run(config(target), broken, dict(service(target, "watch"), require=[{"part": "broken"}]))
    assert not target.notes
    assert target.run(config(target), service(target, "watch"))["id web"]["changes"] == {}


def test_a_run_without_trouble_leaves_no_file_and_an_unchanged_one_writes_none(target: Target) -> None:
    states = [config(target), service(target, "watch"), service(target, "listen")]
    target.run(*states)
    assert not target.notes
    before = sorted(path.name for path in target.folder.iterdir())
    target.run(*states)
    assert sorted(path.name for path in target.folder.iterdir()) == before


def test_a_reaction_that_reacts_by_itself_is_settled(target: Target) -> None:
    """The reaction is triggered by the change of the second run."""
    with pytest.raises(KeyboardInterrupt):
        target.run(config(target), cut(target), service(target, "watch"))
    target.go.touch()
    found = target.run(dict(config(target), content="newer"), service(target, "watch"))
    assert found["id web"]["changes"] == {"web": "restarted"}
    assert "It was due" not in found["id web"]["comment"]
    assert not target.notes


def test_notes_name_no_state(target: Target) -> None:
    with pytest.raises(KeyboardInterrupt):
        target.run(config(target), cut(target), service(target, "watch"))
    text = (target.folder / due.NAME).read_text()
    assert "conf" not in text and "web" not in text
    assert (target.folder / due.NAME).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("damage", ["", "\n", "garbage", "a\n+ b\n+ c d e\n- x\n", "\udcff\n+ a b 1"])
def test_a_damaged_file_is_as_good_as_none(target: Target, damage: str) -> None:
    (target.folder / due.NAME).write_text(damage, errors="surrogateescape")
    assert target.run(config(target), service(target, "watch"))["id web"]["changes"] == {"web": "restarted"}
    assert target.run(config(target), service(target, "watch"))["id web"]["changes"] == {}


def test_a_run_continues_where_nothing_can_be_written(target: Target) -> None:
    (target.folder / due.NAME).mkdir()
    assert target.run(config(target), service(target, "watch"))["id web"]["changes"] == {"web": "restarted"}
