"""Every page is named in the index of the docs, and every link within the repository leads somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "benchmarks").glob("*.md"))]


def prose(path):
    """The text without what stands as code."""
    text = re.sub(r"^```.*?^```$", "", path.read_text("utf-8"), flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`", lambda found: found.group().strip("`").replace("](", "] ("), text)


def anchors(path):
    """The anchors that GitHub makes of headings."""
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


@pytest.mark.parametrize("index", ["docs/README.md", "README.md"])
def test_every_page_is_in_the_index(index):
    text = (ROOT / index).read_text("utf-8")
    folder = "" if index.startswith("docs/") else "docs/"
    missing = [path.name for path in (ROOT / "docs").glob("*.md") if path.name != "README.md"
               and f"({folder}{path.name}" not in text]  # fmt: skip
    assert not missing
