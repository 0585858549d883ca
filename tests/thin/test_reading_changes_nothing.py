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


def reading_functions() -> tuple[list[tuple[str, list[str]]], dict[str, list[str]]]:
    """The functions of each file, and arguments with which some of them change something."""
    functions, unless = [], {}
    for full in runtime.names("thin.modules"):
        declarations = literals(runtime.source(full), ours=True)
        names = [*declarations.get("__reads__", ()), *declarations.get("__reads_unless__", ())]
        if names:
            functions.append((full, sorted(names)))
        for name, conditions in declarations.get("__reads_unless__", {}).items():
            unless[f"{full.rpartition('.')[2]}.{name}"] = list(conditions)
    return functions, unless


@pytest.mark.slow
@pytest.mark.timeout(PATIENCE + 60)
@pytest.mark.skipif(bool(reads.missing()), reason=reads.missing())
def test_functions_declared_as_reading_change_nothing():
    cases = load_yaml(CASES.read_text("utf-8"), str(CASES))
    declared, unless = reading_functions()
    functions = {f"{full.rpartition('.')[2]}.{name}" for full, names in declared for name in names}
    reports = reads.call({**cases, "modules": declared, "unless": unless}, PATIENCE)
    changed = {}
    for full, name, outcomes, paths in reports:
        timed_out = "too long" in outcomes  # its temporary files remain
        changed_paths = [path for path in paths if not (timed_out and path.startswith("/tmp/"))]
        changed.update({f"{full}.{name}": changed_paths} if changed_paths else {})
    assert changed == {}, "these change the disk: declare __changes__, or correct them"
    completed = {full for full, name, _, _ in reports if name is None}
    assert completed == {full for full, _ in declared}, "a module exceeded the time limit"
    all_outcomes = [outcome for _, _, outcomes, _ in reports for outcome in outcomes]
    assert len(all_outcomes) > len(functions) and all_outcomes.count("returned") > 500
    assert not set(cases["samples"]) - functions, "samples for functions that are not declared as reading"
