"""Metadata of a formula: FORMULA, VERSION, its SLS, and the pillar keys that it reads."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pushsalt.yamlio import YamlError, load_yaml

if TYPE_CHECKING:
    from pushsalt.files.found import Listing
    from pushsalt.formula.sources import Source

#: ``pillar.get('a:b')``, ``pillar['a']``, ``config.get("a")``, ``pillar.a``
_READS = (
    re.compile(r"""(?:pillar|config)\.get['"\]\s]*\]?\s*\(\s*['"]([\w.:@/-]+)['"]"""),
    re.compile(r"""\bpillar\[['"]([\w.:-]+)['"]\]"""),
    re.compile(r"""\bpillar\.(?!get\b|items\b|keys\b|raw\b)(\w+)"""),
)
_OWN_KEY = re.compile(r"""(?:pillar|config)\.get['"\]\s]*\]?\s*\(\s*(?:tplroot|topdir)\b|["']C@["']?|\bC@""")
_COMMENTS = re.compile(r"\{#[\s\S]*?#\}|^[ \t]*#(?!!).*$", re.MULTILINE)
_INCLUDE = re.compile(r"^\s+-\s+([\w.-]+)\s*$", re.MULTILINE)
_NOT_STATES = ("test/", "tests/", "docs/", ".", "bin/", "_")


@dataclass(frozen=True)
class Formula:
    """One formula. ``states``: SLS name -> the first comment line, or "". ``pillar``: key -> files that read it."""

    name: str
    version: str
    place: str
    revision: str
    metadata: dict[str, Any] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)
    pillar: dict[str, list[str]] = field(default_factory=dict)
    dependencies: list[str] = field(default_factory=list)
    pillar_example: str = ""

    def as_data(self, *, whole: bool = True) -> dict[str, Any]:
        listed = {
            "name": self.name,
            "version": self.version,
            "place": self.place,
            "revision": self.revision,
            "metadata": self.metadata,
        }
        inside = {"states": sorted(self.states), "pillar": self.pillar, "dependencies": self.dependencies}
        return {**listed, **inside} if whole else listed


def describe(source: Source, *, whole: bool = True) -> Formula:
    """Read the metadata of a formula; without ``whole`` only the fields for lists of formulas. Raises GitError."""
    metadata = _metadata(source.text("FORMULA"))
    name = str(metadata.get("name") or source.name.removesuffix("-formula"))
    version = _version(source, metadata)
    if not whole:
        return Formula(name, version, source.place, source.revision, metadata)
    listing = source.listing()
    states: dict[str, str] = {}
    pillar: dict[str, list[str]] = {}
    included: set[str] = set()
    for path in _template_paths(listing):
        text = source.text(path)
        if path.endswith(".sls") and path != "top.sls":  # the top file is not an SLS of states
            sls = path.removesuffix(".sls").removesuffix("/init").replace("/", ".")
            comment = _comment(text)
            states[sls] = comment if comment.lower() not in (sls, sls.split(".")[-1]) else ""
            included |= set(_includes(text))
        code = _COMMENTS.sub("", text)
        for pattern in _READS:
            for key in pattern.findall(code):
                pillar.setdefault(key, [])
                if path not in pillar[key]:
                    pillar[key].append(path)
        own_files = pillar.get(path.split("/")[0], [])
        if _OWN_KEY.search(code) and path not in own_files:  # the formula's own name, in any spelling
            pillar[path.split("/")[0]] = [*own_files, path]
    own = {sls.split(".")[0] for sls in states}
    listed = metadata.get("dependencies") or metadata.get("requires") or []
    dependencies = [str(item) for item in listed] if isinstance(listed, list) else re.split(r"[,\s]+", str(listed))
    dependencies += sorted({sls.split(".")[0] for sls in included} - own)
    return Formula(
        name,
        version,
        source.place,
        source.revision,
        metadata,
        dict(sorted(states.items())),
        dict(sorted(pillar.items())),
        list(dict.fromkeys(filter(None, dependencies))),
        source.text("pillar.example"),
    )


def _metadata(text: str) -> dict[str, Any]:
    try:
        data = load_yaml(text, "FORMULA") if text else {}
    except YamlError:
        return {}
    return {str(key): value for key, value in data.items()} if isinstance(data, dict) else {}


def _version(source: Source, metadata: dict[str, Any]) -> str:
    """The version: the tag at the commit, else that in FORMULA, which releases update, else that in VERSION."""
    version = source.tag or str(metadata.get("version") or "") or source.text("VERSION").strip().split("\n")[0]
    return version.removeprefix("v") if re.match(r"v[0-9]", version) else version


def _template_paths(listing: Listing) -> Iterable[str]:
    for path in listing.files:
        if not path.startswith(_NOT_STATES) and path.endswith((".sls", ".jinja", ".j2", ".tmpl", ".yaml", ".py")):
            yield path


def _comment(text: str) -> str:
    for line in text.splitlines():
        line = line.strip()
        words = line.strip("#- ").strip()
        if line.startswith("#") and words and not re.search(r"^#!|-\*-|\bvim:|\bcoding[:=]", line):
            return words
        if line and not line.startswith(("#", "{")):
            break
    return ""


def _includes(text: str) -> list[str]:
    match = re.search(r"^include:\s*\n((?:\s+-.*\n?|\s*\n|\s*[{#].*\n?)+)", text, re.MULTILINE)
    return [name for name in _INCLUDE.findall(match[1]) if not name.startswith(".")] if match else []
