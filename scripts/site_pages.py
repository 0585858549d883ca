"""A hook of mkdocs (see mkdocs.yml): adds pages of the repository from outside of docs/, and the lists in the
navigation.

Pages of docs/ link to files by their paths in the repository, as people read them there. On the site, links to pages of
the site lead to these, and links to source files become plain text.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
#: file of the repository -> path on the site
OUTSIDE = {
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "README.md": "about.md",
    "tests/README.md": "tests.md",
    "benchmarks/README.md": "benchmarks/index.md",
    "benchmarks/RESULTS.md": "benchmarks/RESULTS.md",
    "benchmarks/INDEX.md": "benchmarks/INDEX.md",
    "benchmarks/INDEX_LOAD.md": "benchmarks/INDEX_LOAD.md",
}
BACKSLASH_BAR = "\\|"
#: a code block, a link, or inline code, whichever begins first; groups are the link's text and target
_TOKEN = re.compile(r"^```.*?^```$|(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)|`[^`\n]+`", re.M | re.S)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Fill in the parts of the navigation that are lists of files."""
    docs = Path(config.docs_dir)
    lists: Mapping[str, list[Any]] = {
        "Decisions": [path.relative_to(docs).as_posix() for path in sorted((docs / "adr").glob("*.md"))],
        "Benchmarks": sorted(place for place in OUTSIDE.values() if place.startswith("benchmarks/")),
        "Modules": [
            "modules/index.md",
            *(
                {title: _names(docs, f"modules/{kind}")}
                for kind, title in (("states", "State modules"), ("modules", "Execution modules"))
            ),
        ],
    }

    def filled(entries: list[Any]) -> list[Any]:
        found = []
        for entry in entries:
            if isinstance(entry, dict):
                ((title, below),) = entry.items()
                entry = {title: lists[title] if not below else filled(below)}
            found.append(entry)
        return found

    config.nav = [*filled(config.nav or []), {"About": "about.md"}]
    return config


def _names(docs: Path, folder: str) -> list[str]:
    return [path.relative_to(docs).as_posix() for path in sorted((docs / folder).glob("*.md"))]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages from outside of docs/."""
    for source, place in OUTSIDE.items():
        files.append(File.generated(config, place, content=(ROOT / source).read_text("utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Convert links with repository paths to links of the site, and ``\\|`` in code of tables to what GitHub shows."""
    place = page.file.src_uri
    source = next((name for name, at in OUTSIDE.items() if at == place), f"docs/{place}")

    def link(match: re.Match[str]) -> str:
        text, target = match.groups()
        if target is None:
            code = match.group()
            if BACKSLASH_BAR not in code or code.startswith("```"):
                return code
            return f"<code>{escape(code[1:-1], quote=False).replace(BACKSLASH_BAR, '&#124;')}</code>"
        path, _, anchor = target.partition("#")
        if not path or "://" in target or target.startswith("mailto:"):
            return match.group()
        full = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        if full == "docs/README.md":
            full = "docs/index.md"
        if full in OUTSIDE:
            to = OUTSIDE[full]
        elif full.startswith("docs/") and full.endswith(".md"):
            to = full.removeprefix("docs/")
        elif (ROOT / full).exists():  # source, which is not on the site
            return text
        else:
            return match.group()  # mkdocs reports it as a broken link
        relative = posixpath.relpath(to, posixpath.dirname(place) or ".")
        return f"[{text}]({relative}{'#' + anchor if anchor else ''})"

    return _TOKEN.sub(link, markdown)
