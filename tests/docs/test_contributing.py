"""CONTRIBUTING.md, tests/README.md and the glossary name existing commands, files, folders, beds and markers."""

import re
from pathlib import Path

import pytest

from pushsalt import __version__, plugins

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("CONTRIBUTING.md", "tests/README.md", "docs/glossary.md")
#: kind of plug-in -> heading of its recipe
RECIPES = {
    "renderers": "### A renderer",
    "matchers": "### A matcher",
    "outputters": "### An outputter",
    "transport": "### A transport",
    "roster": "### A roster",
    "ext_pillar": "### A pillar source",
    "tops": "### A pillar source",
    "fileserver": "### A file server backend",
    "sdb": "### A driver of sdb",
    "returners": "### A returner",
    "functions": "### A function of the controller",
}
#: kinds without a recipe: docs/extending.md has their contract, tests/plugins their test; they are rarely needed
WITHOUT_RECIPE = {"serializers", "sources", "runners"}


def project():
    return (ROOT / "pyproject.toml").read_text("utf-8")


def words(cell):
    """The code words of a cell."""
    return re.findall(r"`([^`]+)`", cell)


def targets():
    """The names of the Makefile's rules."""
    return set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text("utf-8"), re.M))


def test_make_rules_are_there(page):
    for name in PAGES:
        used = set(re.findall(r"(?:`(?:[^`\n]* )?|^    )make ([a-z][\w-]*)", page(name).text, re.M))
        assert used <= targets(), name
    assert {"fast", "lint", "test", "docs", "site"} <= targets()
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text("utf-8"), re.M)
    assert phony and set(phony.group(1).split()) == targets()


def test_lint_stands_once():
    """The commands of `make lint` are only in one script, which .ci/run calls."""
    tools = ("ruff", "mypy", "vermin")
    lint = (ROOT / "scripts" / "lint.sh").read_text("utf-8")
    assert all(f".venv/bin/{tool}" in lint for tool in tools)
    run = (ROOT / ".ci" / "run").read_text("utf-8")
    assert "scripts/lint.sh" in run and not any(f"bin/{tool}" in run for tool in tools)


@pytest.mark.parametrize("name", PAGES)
def test_files_are_there(page, name):
    text = page(name).text
    folder = (ROOT / name).parent
    places = "pushsalt|thin|tests|docs|scripts|formulas|benchmarks"
    found = {word for word in words(text) if re.fullmatch(rf"(?:{places})/[\w./-]+", word)}
    invented = {"thin/modules/banner_issue.py", "thin/modules/banner_motd.py", "thin/states/banner.py"}
    missing = [word for word in found - invented if not any((top / word).exists() for top in (ROOT, folder))]
    if name == "tests/README.md":
        rows = [word for row in page(name).rows("## Recordings, and how each is made again") for word in words(row[0])]
        missing += [word for word in rows if "/" in word and not list(folder.glob(word))]
    assert len(found) > 8 and not missing


def test_examples_are_the_files_that_are_tested(page):
    blocks = re.findall(r"^```(?:python|yaml)\n# (tests/\S+)\n(.*?)^```$", page("CONTRIBUTING.md").text, re.M | re.S)
    differ = [name for name, text in blocks if (ROOT / name).read_text("utf-8") != text]
    assert len(blocks) > 12 and not differ


def test_each_kind_has_a_recipe_and_an_example(page):
    assert RECIPES.keys() | WITHOUT_RECIPE == plugins.KINDS.keys()
    for kind, heading in RECIPES.items():
        folder = f"_{plugins.KINDS[kind].salt}"
        assert list((ROOT / "tests/examples/salt" / folder).glob("*.py")), kind
        recipe = page("CONTRIBUTING.md").text.split(f"\n{heading}\n")[1].split("\n### ")[0]
        assert f"tests/examples/salt/{folder}/" in recipe, heading


def test_markers(page):
    section = re.search(r"^markers = \[\n(.*?)^\]", project(), re.M | re.S)
    declared = set(re.findall(r'^    "(\w+):', section.group(1), re.M))
    assert {words(row[0])[0] for row in page("tests/README.md").rows("## Markers")} == declared
    section = page("CONTRIBUTING.md").section("## Running tests")
    assert not [marker for marker in declared if f"`{marker}`" not in section]


def test_folders_of_tests(page):
    rows = [word for row in page("tests/README.md").rows("## Folders") for word in words(row[0])]
    there = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir() and path.name[0] not in "._"}
    assert len(rows) == len(set(rows)) and set(rows) == there


def test_beds(page):
    rows = {word for row in page("tests/README.md").rows("## Beds") for word in words(row[0])}
    assert rows == {path.name for path in (ROOT / "tests" / "beds").glob("*.py")} - {"__init__.py"}


def test_fast_leaves_out_folders_that_are_there():
    apart = re.search(r'^APART="(.*?)"', (ROOT / "scripts" / "fast.sh").read_text("utf-8"), re.M | re.S)
    assert apart and not [name for name in apart.group(1).split() if not (ROOT / "tests" / name).exists()]


def test_version_is_the_same_in_both_places():
    assert re.search(r'^version = "(.*)"$', project(), re.M).group(1) == __version__


def test_glossary_has_each_word_once(page):
    text = page("docs/glossary.md").text
    found = re.findall(r"\*\*(.+?)\*\*", text)
    assert len(found) > 60 and len(found) == len(set(found))


#: pages that scripts make, besides docs/modules
GENERATED = {"docs/formulas-compared.md", "docs/most-used-states.md"}
PLACES = ("docs/*.md", "docs/adr/*.md", "formulas/*/README.md", "tests/**/README.md")
WRITTEN = {path.relative_to(ROOT).as_posix() for place in PLACES for path in ROOT.glob(place)}


@pytest.mark.parametrize("name", sorted({"CHANGELOG.md", *PAGES, *WRITTEN} - GENERATED))
def test_lines_are_short(page, name):
    prose = re.sub(r"^```.*?^```$", "", page(name).text, flags=re.M | re.S)
    assert not [line for line in prose.splitlines() if len(line) > 120 and not line.startswith(("|", "    "))]
