"""Tables of the pages equal the program: error kinds, plug-ins, renderers, matchers, settings, rules, modules.

A failing test names the missing and the superfluous rows.
"""

import ast
import re
from pathlib import Path

import pytest

from pushsalt import plugins
from pushsalt.check.rules import RULES
from pushsalt.cli.options import MATCHERS
from pushsalt.errors import KINDS
from pushsalt.inventory.load import FIELDS
from thin import runtime

ROOT = Path(__file__).resolve().parents[2]
PAGE = "docs/states-compared.md"


def words(cell):
    """The code words of a cell."""
    return re.findall(r"`([^`]+)`", cell)


def first_cells(page, name, heading):
    return [word for row in page(name).rows(heading) for word in words(row[0])]


def test_error_kinds(page):
    rows = page("docs/errors.md").rows("# Error kinds")
    assert [words(row[0])[0] for row in rows] == list(KINDS)


def test_kinds_of_plug_ins(page):
    there = {words(row[0])[0]: row for row in page("docs/extending.md").rows("## Plug-ins of the controller")}
    assert there.keys() == plugins.KINDS.keys()
    for name, kind in plugins.KINDS.items():
        assert words(there[name][1]) == [f"_{kind.salt}"]
        assert words(there[name][2]) == [f"{kind.package.replace('.', '/')}/"]


def test_renderers(page):
    there = first_cells(page, "docs/rendering.md", "# Renderers and external pillars")
    assert set(plugins.names("renderers")) <= set(there)


def test_external_pillars(page):
    text = page("docs/rendering.md").text
    missing = [name for name in plugins.names("ext_pillar") if not re.search(rf"\b{name}\b", text)]
    assert not missing, "docs/rendering.md, External pillars"


def test_drivers_of_sdb(page):
    text = page("docs/secrets.md").text
    missing = [name for name in plugins.names("sdb") if f"**{name}**" not in text]
    assert not missing, "docs/secrets.md, drivers"


def test_matchers(page):
    rows = page("docs/targeting.md").rows("# Targets")
    letters = {word for row in rows for word in re.findall(r"\b([A-Z])@", row[1])}
    flags = {word for row in rows for word in re.findall(r"`(-[A-Z])`", row[0])}
    assert flags == {opt.flags[0] for opt in MATCHERS}
    files = (ROOT / "pushsalt" / "targeting" / "matchers").glob("[a-z]*.py")
    found = [re.search(r"^LETTER\b.*?\"(\w)\"", path.read_text(), re.M) for path in files]
    assert {one.group(1) for one in found if one} <= letters | {"N"}


def test_settings_of_a_host(page):
    there = first_cells(page, "docs/inventory.md", "## Native")
    assert sorted(there) == sorted(FIELDS)


def test_rules_of_check(page):
    rows = page("docs/check.md").rows("## Rules")
    assert [(row[0], *words(row[1])) for row in rows] == [(rule.code, rule.name) for rule in RULES.values()]


@pytest.mark.parametrize("kind, heading", [("modules", "## Execution modules"), ("states", "## State modules")])
def test_modules(page, kind, heading):
    there = {re.match(r"\[([\w.]+)\]", row[0]).group(1) for row in page("docs/modules/index.md").rows(heading)}
    assert there <= {path.stem for path in (ROOT / "docs" / "modules" / kind).glob("*.md")}
    index = set(runtime.virtual_index(kind))
    if kind == "modules":
        index |= {path.stem for path in (ROOT / "pushsalt" / "functions").glob("[a-z]*.py")}
    assert there <= index
    for name in sorted(index - there):  # modules without a public function
        assert not public(kind, name), f"docs/modules/index.md lacks {name}: make docs"


def public(kind, name):
    """The functions of a module's files that do not begin with an underscore."""
    found = []
    for file in runtime.virtual_index(kind)[name]:
        tree = ast.parse((ROOT / "thin" / kind / f"{file}.py").read_text())
        found += [node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name[0] != "_"]
    return found


def test_compared_states_are_the_shipped_ones(page, script):
    """Every state function has a row, also one that is newer than the last comparison: `not run`."""
    compared = script("states_compared")
    rows = {word for heading in ("## The most used", "## All others") for word in first_cells(page, PAGE, heading)}
    assert set(compared.shipped()) == set(compared._read()["shipped"]), "scripts/states_compared.py --record DIR"
    assert set(compared.shipped()) <= rows <= {*compared.shipped(), *compared.TOP.read_text().split()}


def test_types_of_resources(page):
    there = first_cells(page, "docs/resources.md", "## Declaring")
    assert sorted(there) == sorted(path.parent.name for path in (ROOT / "thin" / "resources").glob("*/__init__.py"))
