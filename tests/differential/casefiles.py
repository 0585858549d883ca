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
        for one in self.volatile:
            pattern, instead = (one, BLANK) if isinstance(one, str) else one
            text = re.sub(pattern, instead, text)
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
        case(one, shared, f"{path.name}, case {number}", Case)
        for number, one in enumerate(data.pop("cases", None) or [], 1)
    ]
    different_titles(cases, path)
    others = []
    for one in data.pop("not_comparable", None) or []:
        check_keys(one, NotComparable, f"{path.name}, not_comparable")
        others.append(NotComparable(**one))
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
    twice = {title for title in titles if titles.count(title) > 1}
    if twice:
        raise ValueError(f"{path.name}: several cases have the title {', '.join(sorted(twice))}")


def check_keys(data: Any, kind: type, where: str) -> None:
    """Raises ValueError when a mapping has keys that are not fields of the dataclass."""
    names = {one.name for one in fields(kind)} - {"path", "digest"}
    if not isinstance(data, dict):
        raise ValueError(f"{where}: a mapping is wanted here, not {data!r}")
    unknown = sorted(set(data) - names)
    if unknown:
        raise ValueError(f"{where}: {', '.join(map(str, unknown))}: not known; known are {', '.join(sorted(names))}")


def case(data: Any, shared: dict[str, list[Any]], where: str, kind: type[C]) -> C:
    """Make a case of this kind from a mapping. Raises ValueError for an error in it."""
    check_keys(data, kind, where)
    given = {key: value for key, value in data.items() if value is not None}
    if bool(given.get("sls")) == bool(given.get("call")):
        raise ValueError(f"{where}: either `sls` or `call`")
    for name in ("covers", "title"):
        if not given.get(name):
            raise ValueError(f"{where}: `{name}` is missing")
    if given.get("call"):
        calls = given["call"] if isinstance(given["call"], list) else [given["call"]]
        for one in calls:
            check_keys(one, Call, f"{where}, call")
        given["call"] = [Call(**one) for one in calls]
        given.setdefault("runs", ["first"])
    runs = tuple(given.get("runs") or RUNS)
    if set(runs) - set(RUNS):
        raise ValueError(f"{where}: runs are {', '.join(RUNS)}, not {runs}")
    given["runs"] = tuple(run for run in runs if run != "drift" or given.get("drift"))
    for name, values in shared.items():
        given[name] = [*values, *(given.get(name) or [])]
    given["title"] = str(given["title"])
    text = json.dumps({key: data[key] for key in sorted(data) if key not in ("covers", "ci", "differs")}, default=str)
    return kind(**given, digest=hashlib.sha256(text.encode()).hexdigest()[:12])
