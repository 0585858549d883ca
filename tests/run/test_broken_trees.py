"""Trees with errors: every error of a target is reported, with the files and lines to edit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pushsalt.api import Client, Selection, Settings
from pushsalt.yamlio import load_yaml
from tests.beds.project import Project

pytestmark = pytest.mark.slow

CASES = load_yaml((Path(__file__).parent / "cases" / "broken_trees.yaml").read_text("utf-8"))


def errors_of(folder: Path, files: dict[str, str], sls: list[str]) -> list[str]:
    """The errors of an offline target for a tree, as JSON; with explanations for people."""
    for name, text in files.items():
        path = folder / (name if name.startswith("pillar/") else f"salt/{name}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    config = {"file_roots": {"base": ["salt"]}, "pillar_roots": {"base": ["pillar"]}}
    (folder / "pushsalt.yaml").write_text(json.dumps(config))
    (folder / "inventory.yaml").write_text(json.dumps({"hosts": {"it": {"transport": "offline"}}}))
    settings = Settings([folder / "inventory.yaml"], folder / "pushsalt.yaml", cache_dir=folder / "cache")
    [result] = Client(settings).apply(Selection("it"), sls).values()
    assert result.shape == "errors" and result.exit_code == 2, result.ret
    assert all(isinstance(text, str) for text in result.ret)
    return list(result.ret)


@pytest.mark.parametrize("name", CASES)
def test_errors(tmp_path: Path, name: str) -> None:
    case = CASES[name]
    if case.get("needs"):
        pytest.importorskip(case["needs"])
    returned = errors_of(tmp_path, case["files"], case.get("sls", ["main"]))
    texts = [getattr(text, "explanation", text) for text in returned]
    said = "\n\n".join(texts)
    for plain, text, want in zip(returned, texts, case["errors"], strict=False):
        for place in want.get("at", ())[:1]:
            own = "sls" in plain.lower() and place.partition(":")[0].removesuffix(".sls").replace("/", ".") in plain
            own = own or plain.startswith("No matching sls found for ")
            assert own or place_of(tmp_path, place) in plain, plain
        assert want["says"] in text, said
        assert "Traceback" not in text
        where = [place_of(tmp_path, place) for place in want.get("at", ())]
        found = [
            text.find(place if number or want.get("any_order") else f"in {place}") for number, place in enumerate(where)
        ]
        assert all(position >= 0 for position in found), text
        assert want.get("any_order") or found == sorted(found), text
        for place in (where if want.get("all") else where[:1]) if want.get("lines", True) else ():
            assert line_of(place) in text, text
        assert want.get("then", "") in text, said
        assert want.get("hint", "") in text.rpartition("hint: ")[2], text
    assert len(texts) == len(case["errors"]), said


def place_of(folder: Path, place: str) -> str:
    return str(folder / (place if place.startswith("pillar/") else f"salt/{place}"))


def line_of(place: str) -> str:
    """A line of a file in an error: marked, with its number."""
    path, _, number = place.rpartition(":")
    if not number.isdigit():
        return ""
    return f"{number} | {Path(path).read_text('utf-8').splitlines()[int(number) - 1]}".rstrip()


def test_a_target_that_is_never_connected_to_has_its_id_among_its_grains(tmp_path):
    made = Project(tmp_path, {"a": {"transport": "offline", "grains": {"os": "Debian"}}})
    made.write("salt/a.sls", "{{ grains.id }} of {{ grains.os }}:\n  test.nop: []\n")
    assert made.json("run", "a", "state.show_low_sls", "a").data["a"][0]["__id__"] == "a of Debian"
    assert made.json("grains", "a").data["a"] == {"id": "a", "os": "Debian"}
