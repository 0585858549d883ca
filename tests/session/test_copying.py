"""A target's list of its files is foreign: nothing in it leads outside of a copy's destination."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest

from pushsalt.api import Client, Reporter, Selection, Settings
from pushsalt.cli.cp import split
from pushsalt.errors import TargetError
from pushsalt.model import Target
from pushsalt.session.copying import MOST_ENTRIES, Copy, LocalSources, problem, send
from pushsalt.session.fetching import Fetch, _stays_inside, folder_of

TOP = ["", "d", None, 0o755, 0, 0]


def file(name: str, size: int = 1, **kwargs: Any) -> list[Any]:
    return [name, "f", kwargs.get("what"), kwargs.get("mode", 0o644), size, 0]


class Hostile:
    """A session whose target answers with the given list of files."""

    def __init__(self, entries: list[Any], answers: Mapping[str, Any] | None = None) -> None:
        self.target = Target("web1")
        self._entries, self._answers = entries, answers or {}

    async def copy(self, what: str, wanted: int = 0, **fields: Any) -> Any:
        if what in self._answers:
            return self._answers[what]
        if what == "look":
            return {"top": "/srv", "kind": "d", "count": len(self._entries)}
        if what == "more":
            return self._entries[fields["begin"] :]
        if what == "digests":
            return ["0" * 64] * len(fields["names"])
        return [b"x" * piece[2] if piece[2] > 2 else b"x" for piece in fields["pieces"]]


async def fetched(tmp_path: Path, entries: list[Any], answers: Mapping[str, Any] | None = None) -> dict[str, Any]:
    copy = Copy("/srv/", str(tmp_path / "to"), to_target=False)
    session = cast("Any", Hostile(entries, answers))
    return await Fetch(session, copy, False, lambda words: None).run()


@pytest.mark.parametrize(
    "name", ["../x", "a/../../x", "/etc/x", "a//x", "a/./x", "..", ".", "sub/", "x\0", "a/..", "\0"]
)
async def test_names_outside_of_the_destination(tmp_path: Path, name: str) -> None:
    with pytest.raises(TargetError) as caught:
        await fetched(tmp_path, [TOP, ["a", "d", None, 0o755, 0, 0], file(name)])
    assert caught.value.kind == "protocol_error"
    assert not list(tmp_path.iterdir()), "nothing was written"


@pytest.mark.parametrize(
    "entry",
    [None, "x", ["x"], ["x", "f", None, 0o644, -1, 0], ["x", "f", None, "0644", 1, 0], [b"x", "f", None, 1, 1, 1]],
)
async def test_invalid_entries(tmp_path: Path, entry: Any) -> None:
    with pytest.raises(TargetError, match="has an invalid entry"):
        await fetched(tmp_path, [TOP, entry])


async def test_duplicate_names_and_links_in_place_of_folders(tmp_path: Path) -> None:
    """A link, and a file of the same list whose path goes through it."""
    with pytest.raises(TargetError, match="has the name"):
        await fetched(tmp_path, [TOP, ["a", "l", "..", 0o777, 0, 0], ["a", "d", None, 0o755, 0, 0]])
    ret = await fetched(tmp_path, [TOP, ["sub", "d", None, 0o755, 0, 0], ["a", "l", "sub", 0o777, 0, 0], file("a/x")])
    assert not list((tmp_path / "to/sub").iterdir()) and ret["same"] == 0
    (tmp_path / "to/sub").rmdir()
    (tmp_path / "to/sub").symlink_to(tmp_path)
    ret = await fetched(tmp_path, [TOP, ["sub", "d", None, 0o755, 0, 0], file("sub/x")])
    assert not (tmp_path / "x").exists() and str(tmp_path / "to/sub/x") in ret["failed"]


async def test_lists_above_the_limits(tmp_path: Path) -> None:
    for size, count in ((2**60, 2), (1, MOST_ENTRIES + 1)):
        answers = {"look": {"top": "/srv", "kind": "d", "count": count}}
        with pytest.raises(TargetError) as caught:
            await fetched(tmp_path, [TOP, file("x", size)], answers)
        assert caught.value.kind == "excess" and not list(tmp_path.iterdir())


async def test_an_endless_list(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="too early"):
        await fetched(tmp_path, [TOP], {"look": {"top": "/srv", "kind": "d", "count": 9}})


async def test_bytes_that_were_not_requested(tmp_path: Path) -> None:
    answers: dict[str, Any] = {"read": [b"longer than was said"]}
    ret = await fetched(tmp_path, [TOP, file("x")], answers)
    assert list(ret["failed"]) == [str(tmp_path / "to/x")] and not (tmp_path / "to/x").exists()
    ret = await fetched(tmp_path, [TOP, file("x", 3 * 2**20)], answers)
    assert not list((tmp_path / "to").iterdir()), "no part of it stays"
    with pytest.raises(TargetError, match="other files"):
        await fetched(tmp_path, [TOP, file("x")], {"read": []})


@pytest.mark.parametrize(
    "answers",
    [
        {"look": None},
        {"look": {"top": "/srv"}},
        {"look": {"top": 1, "kind": "d", "count": 2}},
        {"look": {"top": "/srv", "kind": [], "count": 2}},
        {"digests": None},
        {"digests": []},
        {"digests": 1},
    ],
)
async def test_invalid_answers(tmp_path: Path, answers: dict[str, Any]) -> None:
    (tmp_path / "to").mkdir()
    (tmp_path / "to/x").write_text("x")
    with pytest.raises(TargetError) as caught:
        await fetched(tmp_path, [TOP, file("x")], answers)
    assert caught.value.kind == "protocol_error"


@pytest.mark.parametrize(
    "answer",
    [None, [], {"changed": {}}, {"changed": "x", "failed": {}, "same": 0}, {"changed": {}, "failed": {}, "same": "1"}],
)
async def test_answers_to_sent_files(tmp_path: Path, answer: Any) -> None:
    (tmp_path / "x").write_text("x")
    copy = Copy(str(tmp_path / "x"), "y", to_target=True)
    session = cast("Any", Hostile([], {"top": "/srv/y", "put": answer}))
    with pytest.raises(TargetError) as caught:
        await send(session, copy, LocalSources(copy), False, lambda words: None)
    assert caught.value.kind == "protocol_error"


async def test_unreadable_folders_of_the_target(tmp_path: Path) -> None:
    closed = ["closed", "e", "Permission\x1b[2J denied", 0o700, 0, 0]
    ret = await fetched(tmp_path, [TOP, closed, file("closed/x"), ["odd", "e", None, 0, 0, 0], file("y")])
    assert ret["failed"] == {
        str(tmp_path / "to/closed"): "cannot be read there: Permission [2J denied",
        str(tmp_path / "to/odd"): "it changed while it was copied",
    }
    assert [path.name for path in (tmp_path / "to").iterdir()] == ["y"]


async def test_a_copy_whose_digest_never_matches_ends(tmp_path: Path) -> None:
    ret = await fetched(tmp_path, [TOP, file("x", 3 * 2**20)])
    assert ret["failed"] == {str(tmp_path / "to/x"): "it changes while it is copied"}
    assert not list((tmp_path / "to").iterdir())


def test_progress_is_reported(tmp_path: Path) -> None:
    class Seen(Reporter):
        phases: ClassVar[list[str]] = []

        def target_phase(self, id: str, phase: str) -> None:
            self.phases.append(phase)

    (tmp_path / "large").write_bytes(bytes(3 * 2**20))
    (tmp_path / "inventory.yaml").write_text("hosts: {here: {transport: local}}")
    client = Client(Settings(inventories=[tmp_path / "inventory.yaml"], cache_dir=tmp_path / "cache"), Seen())
    result = client.copy(Selection("here"), Copy(f"{tmp_path}/large", f"{tmp_path}/copy", to_target=False))["here"]
    assert result.ret["changed"] == {f"{tmp_path}/copy": "new"} and "copy" in result.phases
    assert f"copy 0 of 1, 2 of 3 MiB of {tmp_path}/large" in Seen.phases


@pytest.mark.parametrize(
    ("name", "target", "inside"),
    [
        ("a", "b", True),
        ("a/b", "../c", True),
        ("a/b", "../../c", False),
        ("a", "../a", False),
        ("a", "/etc", False),
        ("a", "b/../c", False),
        ("a", "", False),
        ("a/b", "./.././c", True),
        ("a", "b\n", False),
        ("a", "..", False),
    ],
)
def test_links(name: str, target: str, inside: bool) -> None:
    assert _stays_inside(name, target) is inside


@pytest.mark.parametrize(
    ("id", "folder"),
    [("web1", "to/web1/"), ("..", "to/%2E%2E/"), (".", "to/%2E/"), ("a/../b", "to/a%2F..%2Fb/"), ("a\nb", "to/a%0Ab/")],
)
def test_folders_of_ids(id: str, folder: str) -> None:
    """The manager of a resource chooses its id."""
    assert folder_of(Copy("x", "to", to_target=False), id, many=True).target == folder
    assert folder_of(Copy("x", "to/{id}.txt", to_target=False), id, many=False).target == folder[:-1] + ".txt"
    assert folder_of(Copy("x", "to", to_target=False), id, many=False).target == "to"


def test_a_deep_tree(tmp_path: Path) -> None:
    top = tmp_path / "deep"
    deep = str(top) + "/a" * 1200
    try:
        subprocess.run(["mkdir", "-p", deep, f"{top}/b"], check=True)
        Path(top, "b", "f").touch()
        entries = LocalSources(Copy(str(top), "x", to_target=True)).entries
    finally:
        subprocess.run(["rm", "-rf", str(top)], check=True)
    names = [entry[0] for entry in entries]
    assert len(names) == len(set(names)) == 1203 and "/".join("a" * 1200) in names
    for at, name in enumerate(names[1:], 1):
        assert name.rpartition("/")[0] in names[:at], "parents come first"


def test_no_id_means_a_home() -> None:
    for target, path in (("{id}/x", "./~root/x"), ("{id}", "./~root"), ("~/{id}", "~/~root"), ("a{id}", "a~root")):
        assert folder_of(Copy("x", target, to_target=False), "~root", many=False).target == path


@pytest.mark.parametrize(
    ("source", "target", "to_target", "said"),
    [
        ("", "etc", True, "SRC is empty"),
        ("/etc", "", False, "DST is empty"),
        ("", "etc", False, ""),
        ("~no-such-user/x", "etc", True, "SRC: ~no-such-user is no home"),
        ("~no-such-user/x", "etc", False, ""),
        ("x", "~no-such-user", False, "DST: ~no-such-user is no home"),
        ("x", "", True, ""),
    ],
)
def test_local_paths(source: str, target: str, to_target: bool, said: str) -> None:
    """An empty path, perhaps from an empty variable of a shell, does not mean the working folder."""
    found = problem(Copy(source, target, to_target))
    assert found.startswith(said) and bool(found) is bool(said)


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("web1:/etc", ("web1", "/etc")),
        ("web*:", ("web*", "")),
        ("web1:a/b", ("web1", "a/b")),
        ("a", None),
        ("./a:b", None),
        ("/a:/b", None),
        ("~/a:b", None),
        ("a/b:c", None),
        ("os:Debian:/etc", ("os:Debian", "/etc")),
        ("10.0.0.0/8:/etc", ("10.0.0.0/8", "/etc")),
        ("G@os:Debian:a", ("G@os:Debian", "a")),
        (":/x", None),
        ("web1:~/x", ("web1", "~/x")),
        ("web1:/a:/b", ("web1", "/a:/b")),
        ("..", None),
    ],
)
def test_arguments_that_name_a_target(word: str, found: tuple[str, str] | None) -> None:
    assert split(word) == found
