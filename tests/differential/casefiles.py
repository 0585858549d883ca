"""Reads and checks case files (``cases/README.md`` describes their keys)."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

import yaml

CASES = Path(__file__).with_name("cases")
#: the lines in which cases differ by design: {file: {title: [lines]}}
DIFFERING = Path(__file__).with_name("differing.json")
RUNS = ("test", "first", "second", "drift")
BLANK = "<volatile>"


@dataclass(frozen=True)
class Call:
    """An execution function and its arguments."""

    fun: str
    args: list[Any] = field(default_factory=list)
    kwargs: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """One case; the fields are the keys of the case file."""

    covers: list[str]
    title: str
    sls: str = ""
    call: list[Call] = field(default_factory=list)
    pillar: dict[str, Any] = field(default_factory=dict)
    opts: dict[str, Any] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    setup: str = ""
    drift: str = ""
    look: str = ""
    cleanup: str = ""
    runs: tuple[str, ...] = RUNS
    ignore: list[str] = field(default_factory=list)
    volatile: list[str | list[str]] = field(default_factory=list)
    differs: str = ""
    refused: bool = False
    ci: bool = False
    #: a digest of the case: a changed case has another one
    digest: str = ""

    def blank(self, text: str) -> str:
        """The text without the patterns that the case declares volatile."""
        for entry in self.volatile:
            pattern, replacement = (entry, BLANK) if isinstance(entry, str) else entry
            text = re.sub(pattern, replacement, text)
        return text


C = TypeVar("C", bound=Case)


@dataclass(frozen=True)
class NotComparable:
    """Functions that no case compares, the reason, and a command that demonstrates it."""

    functions: list[str]
    why: str
    shows: str


@dataclass(frozen=True)
class CaseFile:
    """The content of one file."""

    path: Path
    packages: list[str] = field(default_factory=list)
    repository: list[str | dict[str, Any]] = field(default_factory=list)
    setup: str = ""
    files: dict[str, str] = field(default_factory=dict)
    pillar: dict[str, Any] = field(default_factory=dict)
    ignore: list[str] = field(default_factory=list)
    volatile: list[str | list[str]] = field(default_factory=list)
    cases: list[Case] = field(default_factory=list)
    not_comparable: list[NotComparable] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.path.stem


def load(path: Path) -> CaseFile:
    """Load a case file. Raises ValueError for an error in it."""
    data = read(path)
    check_keys(data, CaseFile, path.name)
    shared = {name: data.get(name) or [] for name in ("ignore", "volatile")}
    cases = [
        case(entry, shared, f"{path.name}, case {number}", Case)
        for number, entry in enumerate(data.pop("cases", None) or [], 1)
    ]
    different_titles(cases, path)
    others = []
    for entry in data.pop("not_comparable", None) or []:
        check_keys(entry, NotComparable, f"{path.name}, not_comparable")
        others.append(NotComparable(**entry))
    return CaseFile(path, cases=cases, not_comparable=others, **{key: value for key, value in data.items() if value})


def load_all() -> list[CaseFile]:
    """Every case file."""
    return [load(path) for path in sorted(CASES.glob("*.yaml"))]


def differing() -> dict[str, dict[str, list[str]]]:
    """The lines that cases with `differs` must show, by file and title."""
    return json.loads(DIFFERING.read_text(encoding="utf-8")) if DIFFERING.exists() else {}  # type: ignore[no-any-return]


def read(path: Path) -> Any:
    """Parse a YAML file. Raises ValueError that names the file."""
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except yaml.YAMLError as exc:
        raise ValueError(f"{path}: {exc}") from None


def different_titles(cases: Sequence[Case], path: Path) -> None:
    """Raises ValueError when two cases of a file have the same title."""
    titles = [case.title for case in cases]
    duplicates = {title for title in titles if titles.count(title) > 1}
    if duplicates:
        raise ValueError(f"{path.name}: several cases have the title {', '.join(sorted(duplicates))}")


def check_keys(data: Any, kind: type, where: str) -> None:
    """Raises ValueError when a mapping has keys that are not fields of the dataclass."""
    names = {item.name for item in fields(kind)} - {"path", "digest"}
    if not isinstance(data, dict):
        raise ValueError(f"{where}: a mapping is wanted here, not {data!r}")
    unknown = sorted(set(data) - names)
    if unknown:
        raise ValueError(f"{where}: {', '.join(map(str, unknown))}: not known; known are {', '.join(sorted(names))}")


def case(data: Any, shared: dict[str, list[Any]], where: str, kind: type[C]) -> C:
    """Make a case of this kind from a mapping. Raises ValueError for an error in it."""
    check_keys(data, kind, where)
    settings = {key: value for key, value in data.items() if value is not None}
    if bool(settings.get("sls")) == bool(settings.get("call")):
        raise ValueError(f"{where}: either `sls` or `call`")
    for name in ("covers", "title"):
        if not settings.get(name):
            raise ValueError(f"{where}: `{name}` is missing")
    if settings.get("call"):
        calls = settings["call"] if isinstance(settings["call"], list) else [settings["call"]]
        for call in calls:
            check_keys(call, Call, f"{where}, call")
        settings["call"] = [Call(**call) for call in calls]
        settings.setdefault("runs", ["first"])
    runs = tuple(settings.get("runs") or RUNS)
    if set(runs) - set(RUNS):
        raise ValueError(f"{where}: runs are {', '.join(RUNS)}, not {runs}")
    settings["runs"] = tuple(run for run in runs if run != "drift" or settings.get("drift"))
    for name, values in shared.items():
        settings[name] = [*values, *(settings.get(name) or [])]
    settings["title"] = str(settings["title"])
    text = json.dumps({key: data[key] for key in sorted(data) if key not in ("covers", "ci", "differs")}, default=str)
    return kind(**settings, digest=hashlib.sha256(text.encode()).hexdigest()[:12])
