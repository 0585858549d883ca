"""Findings of a check: joins equal ones of several systems, and applies ``ignore`` comments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pushsalt import regular
from pushsalt.check.rules import BY_NAME, LEVELS, RULES, Level, codes
from pushsalt.errors import UsageError

#: ``# pushsalt: ignore[PS301, PS303]``, in a YAML or Jinja comment; without codes it means all.
_IGNORE: Final = re.compile(r"pushsalt:\s*ignore(?P<file>-file)?(?:\[(?P<codes>[\w\s,*-]+)\])?")
_HEAD: Final = 20


@dataclass(frozen=True)
class Finding:
    """One violation of a rule at one position.

    ``line`` and ``column`` count from 1, 0 is unknown. ``at``: the systems and SLS for which it was found, empty for
    checks of source texts. ``detail``: excerpt and callers, for people. ``elsewhere``: it was found only for systems
    that the formula does not declare as supported.
    """

    code: str
    message: str
    path: str
    line: int = 0
    column: int = 0
    hint: str = ""
    detail: str = ""
    level: Level = "error"
    at: tuple[tuple[str, str], ...] = ()
    elsewhere: bool = False

    @property
    def systems(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(system for system, _ in self.at))

    @property
    def sls(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(sls for _, sls in self.at if sls))

    @property
    def place(self) -> str:
        return ":".join([self.path, *(str(number) for number in (self.line, self.column) if number)])

    def as_data(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "name": RULES[self.code].name,
            "level": self.level,
            "message": self.message,
            "path": self.path,
            "line": self.line or None,
            "column": self.column or None,
            "hint": self.hint,
            "systems": list(self.systems),
            "sls": list(self.sls),
            "at": [list(pair) for pair in self.at],
        }


def finding(name: str, message: str, path: str, line: int | None = 0, column: int | None = 0, **more: Any) -> Finding:
    """A finding of the rule of this name, with the rule's level."""
    rule = BY_NAME[name]
    return Finding(rule.code, message, path, line or 0, column or 0, **{"level": rule.level, **more})


def joined(findings: Iterable[Finding]) -> list[Finding]:
    """The findings without duplicates, each with all systems and SLS for which it was found, sorted by place."""
    together: dict[tuple[str, str, str, int], Finding] = {}
    for each in findings:
        key = (each.code, each.message, each.path, each.line)
        earlier = together.get(key)
        if earlier is None:
            together[key] = each
            continue
        level = min(earlier.level, each.level, key=LEVELS.index)
        at, elsewhere = tuple(dict.fromkeys((*earlier.at, *each.at))), earlier.elsewhere and each.elsewhere
        together[key] = replace(earlier, at=at, level=level, elsewhere=elsewhere)
    return sorted(together.values(), key=lambda each: (each.path, each.line, each.column, each.code, each.message))


def with_columns(findings: Iterable[Finding]) -> list[Finding]:
    """The findings with columns: an unknown column is set to that of the first character of the line."""
    texts: dict[str, list[str]] = {}
    placed = []
    for each in findings:
        if each.line and not each.column:
            if each.path not in texts:
                try:
                    texts[each.path] = regular.read_text(each.path, "replace").splitlines()
                except OSError:
                    texts[each.path] = []
            lines = texts[each.path]
            line = lines[each.line - 1] if each.line <= len(lines) else ""
            each = replace(each, column=len(line) - len(line.lstrip()) + 1 if line.strip() else 1)
        placed.append(each)
    return placed


class Ignores:
    """The ``# pushsalt: ignore[...]`` comments of source files. One applies to its line, to the line below if it is the
    only text of its line, or to the file.
    """

    def __init__(self) -> None:
        self._files: dict[str, tuple[dict[int, frozenset[str]], frozenset[str]]] = {}

    def has(self, finding: Finding) -> bool:
        if finding.path not in self._files:
            self._files[finding.path] = _ignored(finding.path)
        lines, everywhere = self._files[finding.path]
        return finding.code in everywhere or finding.code in lines.get(finding.line, ())


def _ignored(path: str) -> tuple[dict[int, frozenset[str]], frozenset[str]]:
    lines: dict[int, frozenset[str]] = {}
    everywhere: frozenset[str] = frozenset()
    try:
        text = regular.read_text(path, "replace")
    except OSError:
        return lines, everywhere
    if "pushsalt:" not in text:
        return lines, everywhere
    for number, line in enumerate(text.splitlines(), 1):
        for match in _IGNORE.finditer(line):
            try:
                meant = codes(match["codes"].split(",")) if match["codes"] else frozenset(RULES)
            except UsageError:
                continue
            if match["file"]:
                everywhere |= meant if number <= _HEAD else frozenset()
            else:
                lines[number] = lines.get(number, frozenset()) | meant
                if line.strip().startswith(("#", "{#", "//", ";")):  # a comment line: it applies to the next line
                    lines[number + 1] = lines.get(number + 1, frozenset()) | meant
    return lines, everywhere


def levelled(findings: Sequence[Finding], levels: Mapping[str, Any]) -> list[Finding]:
    """The findings with the configured levels of codes; those with ``off`` (YAML's false) are removed."""
    chosen = {pattern: "off" if level is False else level for pattern, level in levels.items()}
    wanted = {code: level for pattern, level in chosen.items() for code in codes([pattern])}
    kept = []
    for each in findings:
        level = wanted.get(each.code, each.level)
        if level == "off":
            continue
        if level not in LEVELS:
            raise UsageError(f"{level!r} is not a level of a rule", f"one of {', '.join(LEVELS)}, off")
        if each.elsewhere:
            said_so = "a note: the formula's FORMULA does not name such systems"
            each = replace(each, hint=f"{each.hint}; {said_so}" if each.hint else said_so)
        kept.append(replace(each, level="info" if each.elsewhere else level))
    return kept
