"""Every function that is declared as reading is called in a temporary root, and does not change the disk."""

from pathlib import Path

import pytest

from pushsalt.modules.effects import literals
from pushsalt.yamlio import load_yaml
from tests.beds import reads
from thin import runtime

pytestmark = pytest.mark.slow

CASES = Path(__file__).parents[1] / "cases" / "reads.yaml"
#: time limit of all calls, in seconds
PATIENCE = 540


def claims() -> tuple[list[tuple[str, list[str]]], dict[str, list[str]]]:
    """The functions of each file, and arguments with which some of them change something."""
    found, unless = [], {}
    for full in runtime.names("thin.modules"):
        words = literals(runtime.source(full), ours=True)
        names = [*words.get("__reads__", ()), *words.get("__reads_unless__", ())]
        if names:
            found.append((full, sorted(names)))
        for name, conditions in words.get("__reads_unless__", {}).items():
            unless[f"{full.rpartition('.')[2]}.{name}"] = list(conditions)
    return found, unless


@pytest.mark.slow
@pytest.mark.timeout(PATIENCE + 60)
@pytest.mark.skipif(bool(reads.missing()), reason=reads.missing())
def test_reading_changes_nothing():
    asked = load_yaml(CASES.read_text("utf-8"), str(CASES))
    claimed, unless = claims()
    functions = {f"{full.rpartition('.')[2]}.{name}" for full, names in claimed for name in names}
    told = reads.call({**asked, "modules": claimed, "unless": unless}, PATIENCE)
    left = {}
    for full, name, came, paths in told:
        cut = "too long" in came  # its temporary files are kept
        wrong = [path for path in paths if not (cut and path.startswith("/tmp/"))]
        left.update({f"{full}.{name}": wrong} if wrong else {})
    assert left == {}, "these change the disk: say __changes__, or mend them"
    ended = {full for full, name, _, _ in told if name is None}
    assert ended == {full for full, _ in claimed}, "a module was not done in time"
    came = [one for _, _, calls, _ in told for one in calls]
    assert len(came) > len(functions) and came.count("returned") > 500
    assert not set(asked["samples"]) - functions, "samples for what does not claim to read"
