"""Reads the files that describe comparisons of public formulas (``formulas/README.md``), and their checkouts."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from tests.differential.casefiles import Case, CaseFile, case, check_keys, different_titles, read

FOLDER = Path(__file__).with_name("formulas")
LOCK = FOLDER / "lock.json"
REPOSITORY = "https://github.com/saltstack-formulas/{}-formula"
WEB = FOLDER.with_name("formula_web.sh")
#: files of a formula that no state needs
NO_STATES = (".git", ".github", ".travis", "docs", "bin", "dev", "test")


@dataclass(frozen=True)
class Accepted:
    """A difference that is accepted: ``of`` is searched in its text (``tests/differential/formulas/README.md``)."""

    of: str
    why: str


@dataclass(frozen=True)
class FormulaCase(Case):
    """One way to apply a formula; the additional fields are the keys of the file."""

    apply: list[str] = field(default_factory=list)
    pillars: list[str] = field(default_factory=list)
    roots: list[str] = field(default_factory=list)
    beside: list[str] = field(default_factory=list)
    accepted: list[Accepted] = field(default_factory=list)


@dataclass(frozen=True)
class FormulaFile(CaseFile):
    """The comparisons of one formula."""

    left_out: dict[str, str] = field(default_factory=dict)
    accepted: list[Accepted] = field(default_factory=list)
    web: list[str] = field(default_factory=list)
    cases: list[FormulaCase] = field(default_factory=list)  # type: ignore[assignment]

    @property
    def name(self) -> str:
        return f"formula-{self.formula}"

    @property
    def formula(self) -> str:
        return self.path.stem


def load(path: Path) -> FormulaFile:
    """Load the file of one formula. Raises ValueError for an error in it."""
    data = read(path)
    check_keys(data, FormulaFile, path.name)
    if path.stem not in locked():
        raise ValueError(f"{path.name}: {LOCK.name} names no commit of {path.stem}")
    shared = {name: data.get(name) or [] for name in ("ignore", "volatile")}
    about = {**{name: data[name] for name in data if name != "cases"}, "commit": locked()[path.stem]}
    cases = [
        _case(path, entry, shared, f"{path.name}, case {number}", about)
        for number, entry in enumerate(data.pop("cases", None) or [], 1)
    ]
    different_titles(cases, path)
    data["accepted"] = _accepted(data, path.name)
    if data.get("web"):
        data["setup"] = f"hosts='{' '.join(data['web'])}'\n{WEB.read_text(encoding='utf-8')}\n{data.get('setup', '')}"
    return FormulaFile(path, cases=cases, **{key: value for key, value in data.items() if value})


def _case(path: Path, data: Any, shared: dict[str, list[Any]], where: str, about: dict[str, Any]) -> FormulaCase:
    check_keys(data, FormulaCase, where)
    for name in ("apply", "title"):
        if not data.get(name):
            raise ValueError(f"{where}: `{name}` is missing")
    more = {
        "covers": [path.stem],
        "sls": yaml.safe_dump({"include": data["apply"]}),
        "runs": ["test", "first", "second"],
        "accepted": _accepted(data, where),
    }
    text = json.dumps([data, about], sort_keys=True, default=str)
    result = case({**data, **more}, shared, where, FormulaCase)
    return replace(result, digest=hashlib.sha256(text.encode()).hexdigest()[:12])


def _accepted(data: dict[str, Any], where: str) -> list[Accepted]:
    accepted = []
    for entry in data.get("accepted") or []:
        check_keys(entry, Accepted, f"{where}, accepted")
        if not entry.get("of") or not entry.get("why"):
            raise ValueError(f"{where}, accepted: both `of` and `why` are wanted")
        accepted.append(Accepted(**entry))
    return accepted


def load_all() -> list[FormulaFile]:
    """The files of all formulas."""
    return [load(path) for path in sorted(FOLDER.glob("*.yaml"))]


def locked() -> dict[str, str]:
    """The commit at which each formula is compared."""
    commits: dict[str, str] = json.loads(LOCK.read_text(encoding="utf-8"))
    return commits


class Checkouts:
    """The files of each formula at its commit: from a folder of checkouts or bare repositories, or cloned.

    In ``clones`` a formula is `NAME-formula` or `OWNER+NAME-formula`, with its git directory there or in `repo` below.
    """

    def __init__(self, clones: Path | None) -> None:
        self._clones = clones
        self._folder = Path(tempfile.mkdtemp(prefix="pushsalt-formulas-"))

    def close(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def of(self, formula: str) -> Path:
        """The folder with the files of this formula."""
        folder = self._folder / formula
        if not folder.exists():
            commit = locked()[formula]
            git = self._git_dir(formula) if self._clones else self._clone(formula)
            archive = _git(git, "archive", "--format=tar", commit)
            folder.mkdir()
            subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
        return folder

    def _git_dir(self, formula: str) -> Path:
        assert self._clones is not None
        for folder in [self._clones / f"{formula}-formula", *sorted(self._clones.glob(f"*+{formula}-formula"))]:
            for git in _git_dirs(folder):
                return git
        raise ValueError(
            f"no repository of {formula}-formula in {self._clones}: looked for {formula}-formula and "
            f"*+{formula}-formula, each with `.git` or `repo` below, or bare"
        )

    def _clone(self, formula: str) -> Path:
        git = self._folder / f"{formula}.git"
        url = REPOSITORY.format(formula)
        done = subprocess.run(
            ["timeout", "600", "git", "clone", "--quiet", "--bare", url, git],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "GIT_TERMINAL_PROMPT": "0"},
        )
        if done.returncode:
            raise ValueError(f"cannot clone {url} (FORMULAS=DIR names a folder of clones): {done.stdout.strip()}")
        return git


def _git_dirs(folder: Path) -> Iterator[Path]:
    for git in (folder / ".git", folder, folder / "repo/.git", folder / "repo"):
        if (git / "HEAD").is_file() and (git / "objects").is_dir():
            yield git


def _git(git: Path, *arguments: str) -> bytes:
    done = subprocess.run(["git", f"--git-dir={git}", *arguments], stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode:
        raise ValueError(f"git {' '.join(arguments)} in {git}: {done.stderr.decode('utf-8', 'replace').strip()}")
    return done.stdout


def create_roots(case: FormulaCase, formula: str, checkouts: Checkouts, states: Path, pillar: Path) -> None:
    """Create the file root and the pillar root of a case."""
    for folder in (states, pillar):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    ignored = shutil.ignore_patterns(*NO_STATES)
    for name in [*case.beside, formula]:
        top = checkouts.of(name)
        shutil.copytree(
            top,
            states,
            dirs_exist_ok=True,
            ignore=lambda at, pillar_names, top=top: ignored(at, pillar_names) if Path(at) == top else set(),
        )
    for root in case.roots:
        shutil.copytree(checkouts.of(formula) / root, states, dirs_exist_ok=True)
    pillar_names = []
    for number, path in enumerate(case.pillars):
        pillar_names.append(f"pillar{number}")
        shutil.copy(checkouts.of(formula) / path, pillar / f"{pillar_names[-1]}.sls")
    (pillar / "top.sls").write_text(json.dumps({"base": {"*": pillar_names}} if pillar_names else {}), encoding="utf-8")
