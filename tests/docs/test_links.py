"""Every page is named in the index of the docs, and every link within the repository has a target."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    *sorted(ROOT.glob("*.md")),
    ROOT / "tests" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "benchmarks").glob("*.md")),
]


def prose(path):
    """The text without code."""
    text = re.sub(r"^```.*?^```$", "", path.read_text("utf-8"), flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`", lambda found: found.group().strip("`").replace("](", "] ("), text)


def anchors(path):
    """The anchors that GitHub generates for headings."""
    heads = re.findall(r"^#+ (.+)$", prose(path), re.M)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", head).lower() for head in heads]
    return {re.sub(r"[^\w\- ]", "", head).replace(" ", "-") for head in plain}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(path):
    wrong = []
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(path)):
        if "://" in link:
            continue
        file, _, anchor = link.partition("#")
        to = (path.parent / file).resolve() if file else path
        if not to.exists() or (anchor and to.suffix == ".md" and anchor not in anchors(to)):
            wrong.append(link)
    assert not wrong


def test_every_page_is_in_the_index():
    text = (ROOT / "docs" / "index.md").read_text("utf-8")
    pages = [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "adr").glob("*.md")]
    names = {path.relative_to(ROOT / "docs").as_posix() for path in pages} - {"README.md", "index.md"}
    assert not [name for name in sorted(names) if f"({name})" not in text]


def test_the_readme_leads_to_the_index():
    assert re.search(r"\(docs/(index|README)\.md\)", (ROOT / "README.md").read_text("utf-8"))


def test_every_page_is_on_the_site():
    """mkdocs.yml lists each page, except modules and decisions, which scripts/site_pages.py adds."""
    nav = (ROOT / "mkdocs.yml").read_text("utf-8").split("\nnav:\n")[1]
    names = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert not [name for name in sorted(names) if not re.search(rf"^ +- {re.escape(name)}$", nav, re.M)]
