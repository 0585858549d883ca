"""docs/most-used-states.md is current and complete, and its examples have the described effect.

Examples of files and commands are applied twice, below a folder of the test; those that change the machine are a dry
run.
"""

import os
import tarfile
from pathlib import Path

import pytest

from pushsalt.modules.signatures import StateFunctions

pytestmark = pytest.mark.slow

REAL = ("file.", "cmd.", "archive.", "test.")
FIRST = (Path(__file__).parents[1] / "differential" / "most-used-states.txt").read_text().split()[:21]


@pytest.fixture(scope="module")
def made(script):
    return script("states_page")


def test_the_page_equals_the_output_of_the_script(made):
    assert made.PAGE.read_text("utf-8") == made.page(), "run `make docs` and commit docs/most-used-states.md"


def test_every_one_of_the_list_has_an_example(made):
    assert made.states() == FIRST
    assert sorted(path.stem for path in made.EXAMPLES.glob("*.sls")) == sorted(FIRST)


@pytest.mark.parametrize("name", FIRST)
def test_every_argument_is_there(page, name):
    rows = page("docs/most-used-states.md").rows(f"## {name}")
    spec = StateFunctions().spec(name)
    assert {argument for argument in spec.args if argument != "__env__"} <= {row[0].strip("`") for row in rows}


@pytest.mark.parametrize("name", FIRST)
def test_the_example_runs(made, project, name):
    if not name.startswith(REAL) and os.getuid() != 0:
        pytest.skip("looks at accounts, services and packages as root does")
    project.write("salt/example.sls", (made.EXAMPLES / f"{name}.sls").read_text("utf-8"))
    project.write("salt/message.jinja", "{{ greeting }}, {{ team }}!\n")
    (project.folder / "app").mkdir()
    (project.folder / "app" / "run").write_text("#!/bin/sh\n")
    (project.folder / "srv" / "app" / "old").mkdir(parents=True)
    with tarfile.open(project.folder / "salt" / "app.tar.gz", "w:gz") as archive:
        archive.add(project.folder / "app", "app")
    words = ("example",) if name.startswith(REAL) else ("example", "--test")
    first, second = project.apply(*words), project.apply(*words)
    wanted = name != "test.fail_without_changes"
    for one in first.values():
        assert one["result"] in ((wanted,) if name.startswith(REAL) else (True, None)), one
    if name.startswith(("file.", "archive.")):
        assert any(one["changes"] for one in first.values())
        assert not [one for one in second.values() if one["changes"]]
    done = {one["name"] for one in first.values() if not isinstance(one["name"], list)}
    assert done, first
