"""Compiles a tree for one system, each SLS by itself, and reports the problems."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pushsalt import regular
from pushsalt.check.chunks import findings
from pushsalt.check.findings import Finding, finding
from pushsalt.check.rules import BY_NAME
from pushsalt.check.standin import StandIn
from pushsalt.compile.source import Problem
from pushsalt.errors import PushsaltError, RenderError, StateError
from pushsalt.job import JobOptions
from pushsalt.minion.minion import Minion
from pushsalt.model import Target

if TYPE_CHECKING:
    from pushsalt.check.subjects import Subject
    from pushsalt.run.project import Project

log = logging.getLogger(__name__)

_MISSING_FUNCTION: Final = re.compile(r"'salt' has no (?:function|module) '")
#: Pattern in the text of a render error -> rule; the first match decides.
_WORDS: Final = (
    (_MISSING_FUNCTION, "unknown-function"),
    (re.compile(r"no such file in the file server to import or include"), "missing-import"),
    (re.compile(r"found conflicting ID"), "duplicate-key"),
    (re.compile(r"Jinja syntax error: (?!.*(?:load|json|yaml))"), "jinja-syntax"),
    (re.compile(r"Jinja |Problem running salt function"), "jinja-failed"),
    (re.compile(r"while (parsing|scanning)|expected|found |mapping values|could not determine|YAML"), "yaml"),
)
_PLACE: Final = re.compile(r"^  (?:in|from) (?P<path>.+?):(?P<line>\d+)(?::(?P<column>\d+))?", re.MULTILINE)
#: Codes of findings that may be caused by a wrong made-up answer.
_DOUBTFUL: Final = "PS1", "PS2"
#: Findings of an SLS that may disappear when it is applied together with others.
_REFERRING: Final = frozenset({BY_NAME["dangling-requisite"].code, BY_NAME["unknown-id"].code})


@dataclass
class System:
    """One system: its name and grains, and the pillar for all SLS."""

    name: str
    grains: dict[str, Any]
    pillar: dict[str, Any]


def check_tree(project: Project, subject: Subject, system: System) -> Iterator[Finding]:
    """The findings of each SLS of a tree on a system."""
    alone = {sls: _compiled(project, subject, system, [sls]) for sls in subject.sls}
    for sls, compiled in alone.items():
        for each in compiled.findings:
            if each.code in _REFERRING and _is_found(each, sls, alone, project, subject, system):
                hint = f"apply it together with {_above(sls, alone) or 'the SLS that declares it'}, or include that SLS"
                each = replace(each, code=BY_NAME["not-alone"].code, level="warning", hint=hint)
            yield replace(each, at=((system.name, sls),))
    if subject.has_top:
        yield from (replace(each, at=((system.name, ""),)) for each in _top(project, system))


@dataclass
class _Compiled:
    """The problems of a compilation of some SLS, and the files of these SLS."""

    findings: list[Finding]
    paths: frozenset[str]

    def has(self, wanted: Finding) -> bool:
        return any(
            (finding.path, finding.line, finding.message) == (wanted.path, wanted.line, wanted.message)
            for finding in self.findings
        )


def _is_found(
    finding: Finding, sls: str, alone: Mapping[str, _Compiled], project: Project, subject: Subject, system: System
) -> bool:
    """Whether the references of an SLS exist when another SLS includes it, or together with its parent SLS."""
    if any(finding.path in other.paths and not other.has(finding) for name, other in alone.items() if name != sls):
        return True
    above = _above(sls, alone)
    return bool(above) and not _compiled(project, subject, system, [above, sls]).has(finding)


def _above(sls: str, compiled: Mapping[str, _Compiled]) -> str:
    """The nearest existing parent of an SLS: ``a`` for ``a.b.c``."""
    while "." in sls:
        sls = sls.rpartition(".")[0]
        if sls in compiled:
            return sls
    return ""


def _minion(project: Project, system: System) -> tuple[Minion, StandIn]:
    stand_in = StandIn(system.grains)
    id = str(system.grains.get("id") or system.name)
    target = Target(id, transport="offline", grains=system.grains)
    return Minion(project, target, JobOptions(pillar=system.pillar), system.grains, stand_in), stand_in


def _compiled(project: Project, subject: Subject, system: System, sls: list[str]) -> _Compiled:
    minion, stand_in = _minion(project, system)
    problems: list[Finding] = []
    paths: frozenset[str] = frozenset()
    try:
        minion.check_pillar()
        result = minion.plain_compiler.sls(sls)
        paths = result.sources.paths
        for problem in (*result.problems, *result.left_out, *result.cautions):
            problems.extend(_of_problem(problem, subject))
        problems.extend(findings(result, minion, subject, system.pillar))
    except StateError as exc:
        problems.extend(_of_pillar(exc, subject))
    except PushsaltError as exc:
        where = exc.where
        path = str(where.path) if where else subject.root
        problems.append(finding("render", exc.message, path, where.line if where else 0, hint=exc.hint))
    if stand_in.asked:
        problems = [_doubted(each, stand_in.asked) for each in problems]
    return _Compiled(problems, paths)


def _top(project: Project, system: System) -> Iterator[Finding]:
    """Check the top file for this system, and that the SLS in it exist."""
    minion, _ = _minion(project, system)
    try:
        minion.check_pillar()
        result = minion.plain_compiler.show_top()
    except StateError:
        return  # reported for each SLS
    root = project.config.project or Path()
    for problem in (*result.problems, *result.left_out):
        yield from _plain(problem, str(root / "top.sls"))
    for saltenv, names in result.matches.items():
        for name in names:
            if minion.files.sls_path(name, saltenv) is None and "*" not in name:
                from pushsalt.compile.source import named_in_tops

                places = named_in_tops(result.tops, saltenv, name)
                path, line = (places[0].path, places[0].line) if places else ("top.sls", 0)
                text = f"the top file names the SLS '{name}', which is not in saltenv '{saltenv}'"
                yield finding("unknown-sls", text, path, line)


def _doubted(finding: Finding, calls: Iterable[str]) -> Finding:
    """The finding with a lower level, if a made-up answer may be its cause."""
    if not finding.code.startswith(_DOUBTFUL) or finding.code in ("PS101", "PS106"):
        return finding
    names = ", ".join(dict.fromkeys(calls))
    hint = f"it was rendered with made-up answers to {names}: test it on a target with `pushsalt apply --test`"
    return replace(finding, code="PS190", level="info", hint=hint)


def _of_problem(problem: Problem, subject: Subject) -> Iterator[Finding]:
    if problem.rule == "render":
        yield _of_rendering(problem, subject)
    else:
        yield from _plain(problem, _sls_file(problem, subject))


def _plain(problem: Problem, elsewhere: str) -> Iterator[Finding]:
    """The finding of a compiler problem, at its first position."""
    place = problem.where[0] if problem.where else None
    yield finding(
        problem.rule,
        _one_line(problem.words or problem.text),
        place.path if place else elsewhere,
        place.line if place else 0,
        place.column if place else 0,
        hint=problem.hint,
        detail=problem.explain(),
        **({"level": "warning"} if problem.level == "warning" else {}),
    )


def _of_rendering(problem: Problem, subject: Subject) -> Finding:
    """The finding of a render problem: the error text determines the rule; the position is in the innermost file."""
    head = problem.text.split("\n", 1)[0]
    message = re.sub(r"^Rendering (?:SLS '[^']*'|\S+) failed: ", "", head)
    rule = next((name for pattern, name in _WORDS if pattern.search(message)), "render")
    inner = _PLACE.search(problem.text)
    where = problem.where[0] if problem.where else None
    if inner is not None:
        path, line, column = inner["path"], int(inner["line"]), int(inner["column"] or 0)
    else:
        path, line, column = (where.path, where.line or 0, where.column or 0) if where else (subject.root, 0, 0)
    message = re.sub(r"; line \d+$", "", message)
    return finding(rule, message, path, line, column, hint=problem.hint, detail=problem.text)


def _of_pillar(exc: StateError, subject: Subject) -> Iterator[Finding]:
    for text in exc.errors[1:] if len(exc.errors) > 1 else exc.errors:
        explained = str(getattr(text, "explanation", text))
        inner = _PLACE.search(explained)
        path = inner["path"] if inner else subject.example or subject.root
        yield finding("pillar", _one_line(str(text)), path, int(inner["line"]) if inner else 0, detail=explained)


def _sls_file(problem: Problem, subject: Subject) -> str:
    return subject.sources[0] if len(subject.sources) == 1 else subject.root


def _one_line(text: str) -> str:
    return " ".join(text.split())


def example_pillar(subject: Subject, project: Project, grains: Mapping[str, Any]) -> dict[str, Any]:
    """The data of pillar.example, rendered as a pillar SLS. Raises RenderError."""
    if not subject.example:
        return {}
    from pushsalt.render import RenderContext, compile_template
    from pushsalt.trust import Trusted
    from pushsalt.yamlio import load_yaml

    text = regular.read_text(subject.example, "replace")
    if "{{" in text or "{%" in text:
        context = RenderContext("", project.config.opts, grains, {}, {}, project.files)
        data = compile_template(
            Trusted(text, subject.example),
            path=subject.example,
            sls="pillar",
            saltenv="base",
            context=context,
            default_renderer="jinja|yaml",
        )
    else:
        data = load_yaml(text, subject.example)
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise RenderError(f"{subject.example}: it is not a mapping of pillar keys")
    return data
