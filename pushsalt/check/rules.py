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
    Rule("PS101", "jinja-syntax", "error", "A template is not valid Jinja: an unclosed tag, an unknown filter."),
    Rule("PS102", "jinja-failed", "error", "Rendering a template fails, for example because a variable is undefined."),
    Rule("PS103", "yaml", "error", "The output of a template is not valid YAML."),
    Rule("PS104", "duplicate-key", "error", "A YAML mapping has a key twice: two declarations with one ID."),
    Rule("PS105", "render", "error", "A file cannot be rendered: not UTF-8, an unknown renderer, invalid Python."),
    Rule("PS106", "missing-import", "error", "A template imports or includes a file that does not exist."),
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
        "Rendering depends on a machine's answer; with a plausible made-up answer, the SLS does not compile.",
    ),
    Rule("PS201", "malformed", "error", "High data does not have the shape of states."),
    Rule("PS202", "unknown-sls", "error", "An include, or the top file, names an SLS that does not exist."),
    Rule("PS203", "conflicting-id", "error", "Two SLS of one run declare the same ID."),
    Rule("PS204", "unknown-id", "error", "`extend` names an ID that does not exist."),
    Rule("PS205", "unknown-state", "error", "A state function does not exist."),
    Rule("PS206", "unknown-argument", "error", "A state function does not take this argument."),
    Rule("PS207", "missing-argument", "error", "A required argument of a state function is missing."),
    Rule("PS208", "dangling-requisite", "error", "A requisite names a state that does not exist."),
    Rule("PS209", "malformed-requisite", "error", "A requisite is malformed."),
    Rule("PS210", "cycle", "error", "Requisites form a cycle."),
    Rule("PS211", "misspelt-requisite", "error", "An argument resembles the name of a requisite, and has no effect."),
    Rule(
        "PS212", "not-alone", "warning", "An SLS compiles only together with others, since it refers to their states."
    ),
    Rule(
        "PS213",
        "misspelt-argument",
        "error",
        "An argument resembles one of the function or of every state; a warning if it is harmless.",
    ),
    Rule("PS214", "unused-argument", "warning", "An argument is unknown, and has no effect."),
    Rule(
        "PS301",
        "jinja-in-comment",
        "warning",
        "Jinja in a YAML comment is executed. Enclose it in {# #}, or remove it.",
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
        "Pillar is read without a default: rendering fails if the key is not set. Use pillar.get with a default.",
    ),
    Rule(
        "PS304",
        "mode",
        "warning",
        "A file mode is not octal: YAML and Python read the number 0644 as 420. Write it in quotes.",
    ),
    Rule("PS305", "missing-file", "error", "A salt:// file of this tree does not exist."),
    Rule("PS306", "unread-pillar", "warning", "No file of the formula reads a key of pillar.example."),
    Rule(
        "PS307",
        "missing-outside-file",
        "warning",
        "A salt:// file with a computed name, a name from pillar, or of another tree, does not exist.",
    ),
    Rule("PS308", "template", "warning", "Rendering the template of a managed file fails."),
    Rule("PS309", "commands-in-jinja", "info", "Rendering runs a command on the machine, in a dry run too."),
    Rule(
        "PS310",
        "unguarded-command",
        "info",
        "A command runs every time: it has no unless, onlyif, creates, onchanges or a similar condition.",
    ),
    Rule("PS311", "unknown-function", "error", "A template calls an execution function that does not exist."),
)

RULES: Final = {rule.code: rule for rule in _ALL}
BY_NAME: Final = {rule.name: rule for rule in _ALL}


def codes(patterns: Iterable[str]) -> frozenset[str]:
    """The codes that match patterns (PS3*, PS301, jinja-in-comment). Raises UsageError for one without matches."""
    names: set[str] = set()
    for pattern in patterns:
        text = pattern.strip()
        named = {
            rule.code for rule in _ALL if fnmatch.fnmatchcase(rule.code, text.upper()) or rule.name == text.lower()
        }
        if not named:
            near = nearest(text, [*RULES, *BY_NAME])
            hint = "`pushsalt check --rules` lists them"
            raise UsageError(f"unknown rule {text!r}", f"did you mean {near[0]}? {hint}" if near else hint)
        names |= named
    return frozenset(names)
