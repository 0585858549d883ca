"""All rules of ``pushsalt check``: code, name, level and meaning.

docs/check.md has the same list, which a test verifies. The meaning of a code never changes.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from pushsalt.errors import UsageError
from pushsalt.nearest import nearest

Level = Literal["error", "warning", "info"]
LEVELS: Final[tuple[Level, ...]] = ("error", "warning", "info")


@dataclass(frozen=True)
class Rule:
    """``name`` is the compiler's name for the rule; ``text`` describes the problem and what to do."""

    code: str
    name: str
    level: Level
    text: str


_ALL: Final = (
    Rule("PS101", "jinja-syntax", "error", "A template is no Jinja: a tag that is not closed, an unknown filter."),
    Rule("PS102", "jinja-failed", "error", "A template fails when it is rendered: something is undefined."),
    Rule("PS103", "yaml", "error", "What the template rendered to is no YAML."),
    Rule("PS104", "duplicate-key", "error", "A YAML mapping has a key twice: two declarations with one ID."),
    Rule("PS105", "render", "error", "A file cannot be rendered: no UTF-8, an unknown renderer, wrong Python."),
    Rule("PS106", "missing-import", "error", "A template imports or includes a file that is not there."),
    Rule("PS107", "pillar", "error", "The pillar of the tree, or pillar.example, cannot be compiled."),
    Rule(
        "PS108",
        "renderer-not-allowed",
        "warning",
        "A file of a git remote asks for a renderer that the remote may not use: its `renderers` do not name it.",
    ),
    Rule(
        "PS190",
        "needs-target",
        "info",
        "Rendering depends on what a machine answers; with a likely answer that was made up, it does not compile.",
    ),
    Rule("PS201", "malformed", "error", "High data that has not the shape of states."),
    Rule("PS202", "unknown-sls", "error", "An include, or the top file, names an SLS that is not there."),
    Rule("PS203", "conflicting-id", "error", "Two SLS that come together declare one ID."),
    Rule("PS204", "unknown-id", "error", "`extend` names an ID that is not there."),
    Rule("PS205", "unknown-state", "error", "No such state function."),
    Rule("PS206", "unknown-argument", "error", "A state function does not take this argument."),
    Rule("PS207", "missing-argument", "error", "A state function needs an argument that is not given."),
    Rule("PS208", "dangling-requisite", "error", "A requisite names a state that is not there."),
    Rule("PS209", "malformed-requisite", "error", "A requisite that is not formed as one."),
    Rule("PS210", "cycle", "error", "Requisites that lead back to where they began."),
    Rule("PS211", "misspelt-requisite", "error", "An argument that is nearly a requisite's name, and does nothing."),
    Rule("PS212", "not-alone", "warning", "An SLS that compiles only with others, to whose states it refers."),
    Rule(
        "PS213",
        "misspelt-argument",
        "error",
        "An argument that is nearly one that the function, or every state, knows; a warning where it does no harm.",
    ),
    Rule("PS214", "unused-argument", "warning", "An argument that nothing knows, and that does nothing."),
    Rule(
        "PS301",
        "jinja-in-comment",
        "warning",
        "Jinja in a YAML comment: it runs all the same. Write {# #} around it, or take it out.",
    ),
    Rule(
        "PS302",
        "changes-in-jinja",
        "warning",
        "Rendering changes the machine, in a dry run and in `state.show_sls` too. Make it a state.",
    ),
    Rule(
        "PS303",
        "pillar-without-default",
        "warning",
        "Pillar is read without a default: rendering fails where the key is not set. Use pillar.get with a default.",
    ),
    Rule(
        "PS304",
        "mode",
        "warning",
        "A file mode that lost its zero or is no octal number: 0644 written as a number of Python or YAML is 420.",
    ),
    Rule("PS305", "missing-file", "error", "A salt:// file of this tree is not there."),
    Rule("PS306", "unread-pillar", "warning", "A key of pillar.example that no file of the formula reads."),
    Rule(
        "PS307",
        "missing-outside-file",
        "warning",
        "A salt:// file whose name is computed or comes from pillar, or of another tree, is not there.",
    ),
    Rule("PS308", "template", "warning", "The template of a managed file fails when it is rendered."),
    Rule("PS309", "commands-in-jinja", "info", "Rendering runs a command on the machine, in a dry run too."),
    Rule(
        "PS310",
        "unguarded-command",
        "info",
        "A command that runs every time: it has no unless, onlyif, creates, onchanges or the like.",
    ),
    Rule("PS311", "unknown-function", "error", "A template calls an execution function that does not exist."),
)

RULES: Final = {rule.code: rule for rule in _ALL}
BY_NAME: Final = {rule.name: rule for rule in _ALL}


def codes(patterns: Iterable[str]) -> frozenset[str]:
    """The codes that match patterns (PS3*, PS301, jinja-in-comment). Raises UsageError for one without matches."""
    found: set[str] = set()
    for pattern in patterns:
        text = pattern.strip()
        named = {
            rule.code for rule in _ALL if fnmatch.fnmatchcase(rule.code, text.upper()) or rule.name == text.lower()
        }
        if not named:
            near = nearest(text, [*RULES, *BY_NAME])
            hint = "`pushsalt check --rules` lists them"
            raise UsageError(f"there is no rule {text!r}", f"did you mean {near[0]}? {hint}" if near else hint)
        found |= named
    return frozenset(found)
