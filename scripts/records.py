"""Reads records of comparisons with Salt, for the pages that are generated from them."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def read(path: Path) -> dict[str, Any]:
    """A record; an empty one if the file is missing."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}  # type: ignore[no-any-return]


def write(path: Path, record: dict[str, Any]) -> None:
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def outcomes(record: dict[str, Any], folder: Path, keys: Iterable[str]) -> dict[tuple[Any, ...], dict[str, Any]]:
    """key values -> case: those of a record, replaced by the outcomes in a folder."""
    new = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    names = tuple(keys)
    return {tuple(case[name] for name in names): case for case in [*record.get("cases", []), *new]}


def dates(cases: Iterable[dict[str, Any]]) -> str:
    """The days of the first and the last comparison, as text for a page."""
    days = sorted({case["date"] for case in cases if "date" in case})
    return " to ".join(sorted({days[0], days[-1]})) if days else "never"


def main(doc: str | None, take_up: Callable[[Path], None], target: Path, page: Callable[[], str]) -> int:
    """The command line of a script that writes the page ``target``."""
    parser = argparse.ArgumentParser(description=(doc or "").split("\n", 1)[0])
    parser.add_argument("--record", type=Path, metavar="DIR", help="take up the outcomes in this folder first")
    options = parser.parse_args()
    if options.record:
        take_up(options.record)
    target.write_text(page(), encoding="utf-8")
    print(target.relative_to(ROOT))
    return 0
