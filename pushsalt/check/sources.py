"""Checks the source text of templates, without rendering."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import jinja2
from jinja2 import nodes

from pushsalt import regular
from pushsalt.check.findings import Finding, finding
from pushsalt.modules.effects import CHANGES, RUNS, shipped

_COMMENT: Final = re.compile(r"^\s*#(?!!)(?!jinja2:)(?P<text>.*)$")
_JINJA: Final = re.compile(r"\{\{|\{%")
_JINJA_COMMENT: Final = re.compile(r"\{#.*?#\}", re.DOTALL)
_RAW: Final = re.compile(r"\{%-?\s*raw\s*-?%\}.*?\{%-?\s*endraw\s*-?%\}", re.DOTALL)
#: Programs that change a machine, always or with certain arguments.
_CHANGING: Final = re.compile(
    r"""(?:^|[;&|]\s*|\bsudo\s+)(?:rm|mv|cp|mkdir|rmdir|touch|chmod|chown|ln|install|dd|tee|truncate|useradd|userdel
    |usermod|groupadd|groupdel|mkfs\S*|mount|umount|kill|pkill|reboot|shutdown|sed\s+(?:-\w+\s+)*-i|crontab\s+-r
    |(?:apt|apt-get|yum|dnf|zypper|apk|pip3?|npm|gem|pacman|pkg)\s+(?:-\S+\s+)*(?:install|remove|update|upgrade|add|del|-S\w*)
    |systemctl\s+(?:start|stop|restart|reload|enable|disable|mask|unmask|daemon-reload)
    |service\s+\S+\s+(?:start|stop|restart|reload)|git\s+(?:clone|pull|checkout|reset|commit|push))\b
    |(?<![0-9&>])>{1,2}\s*(?!/dev/null|&)[\w/~$]""",
    re.VERBOSE,
)


def check_source(path: str, environment: jinja2.Environment) -> Iterator[Finding]:
    """The findings in the source of a template file."""
    try:
        text = regular.read_bytes(path).decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return  # rendering reports it
    engine = _engine(text)
    if path.endswith(".sls") and engine in ("jinja", ""):
        yield from _comments(path, text)
    if engine and engine != "jinja":
        return
    try:
        tree = environment.parse(text, filename=path)
    except jinja2.TemplateSyntaxError as exc:
        yield finding("jinja-syntax", f"Jinja syntax error: {exc.message}", path, exc.lineno)
        return
    except RecursionError:
        return
    yield from _Reader(path, text).read(tree)


def _engine(text: str) -> str:
    """The template engine that a shebang names, empty without one."""
    first = text.split("\n", 1)[0]
    return first[2:].split("|")[0].strip().split(" ")[0] if first.startswith("#!") else ""


def _comments(path: str, text: str) -> Iterator[Finding]:
    """Jinja in YAML comments, which is executed."""
    blank = _JINJA_COMMENT.sub(_blanked, _RAW.sub(_blanked, text))
    for number, line in enumerate(blank.splitlines(), 1):
        comment = _COMMENT.match(line)
        if comment is None:
            continue
        jinja = _JINJA.search(comment["text"])
        if jinja is not None:
            message = "Jinja in a YAML comment is executed"
            column = comment.start("text") + jinja.start() + 1
            yield finding("jinja-in-comment", message, path, number, column, hint="enclose it in {# … #}")


def _blanked(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


class _Reader:
    """Finds the calls and look-ups of one template. Columns are searched in the text of the line."""

    def __init__(self, path: str, text: str) -> None:
        self._path = path
        self._lines = text.splitlines()
        self._seen: set[tuple[str, int, str]] = set()

    def read(self, tree: nodes.Template) -> Iterator[Finding]:
        yield from self._node(tree, guarded=frozenset())

    def _node(self, node: nodes.Node, guarded: frozenset[str]) -> Iterator[Finding]:
        """``guarded``: pillar keys whose existence is tested around this node, or that have a default."""
        match node:
            case nodes.If() | nodes.CondExpr():
                tested = guarded | _asked_for(node.test)
                yield from self._node(node.test, tested)
                for child in node.iter_child_nodes(exclude=("test",)):
                    yield from self._node(child, tested)
                return
            case nodes.Filter(name="default" | "d", node=inner) | nodes.Test(name="defined" | "undefined", node=inner):
                if inner is not None and (key := _pillar_key(inner)):
                    guarded = guarded | {key}
            case nodes.And(left=left) | nodes.Or(left=left):
                guarded = guarded | _asked_for(left)
            case nodes.Call():
                yield from self._call(node)
            case nodes.Getitem() | nodes.Getattr():
                key = _pillar_key(node)
                if key and key not in guarded and key.split(":")[0] not in guarded:
                    text = f"the pillar key '{key}' is read without a default"
                    first = key.split(":")[0]
                    hint = f"salt['pillar.get']('{key}', DEFAULT), or test for it first: {{% if '{first}' in pillar %}}"
                    yield from self._say("pillar-without-default", text, node.lineno, "pillar", hint)
                    return
                if key:
                    return
        for child in node.iter_child_nodes():
            yield from self._node(child, guarded)

    def _call(self, node: nodes.Call) -> Iterator[Finding]:
        name = _function(node.node)
        if name is None:
            return
        first = node.args[0] if node.args else None
        command = first.value if isinstance(first, nodes.Const) and isinstance(first.value, str) else ""
        effect = shipped(name)
        kind = effect.kind if effect else ""
        if kind == CHANGES or (kind == RUNS and _CHANGING.search(command)):
            text = f"{name} changes the machine while it is rendered" + (f": {command}" if command else "")
            hint = "make it a state, and add requisites to states that need it"
            yield from self._say("changes-in-jinja", text, node.lineno, name, hint)
        elif kind == RUNS:
            text = f"{name} runs a command while it is rendered" + (f": {command}" if command else "")
            yield from self._say("commands-in-jinja", text, node.lineno, name, "")

    def _say(self, rule: str, text: str, line: int, token: str, hint: str) -> Iterator[Finding]:
        if (rule, line, text) in self._seen:
            return
        self._seen.add((rule, line, text))
        yield finding(rule, text, self._path, line, self._column(line, token), hint=hint)

    def _column(self, line: int, token: str) -> int:
        written = self._lines[line - 1] if 0 < line <= len(self._lines) else ""
        return written.find(token) + 1


def _function(node: nodes.Node) -> str | None:
    """``module.function`` of ``salt['module.function']`` and ``salt.module.function``."""
    match node:
        case nodes.Getitem(node=nodes.Name(name="salt"), arg=nodes.Const(value=str(name))):
            return name
        case nodes.Getattr(node=nodes.Getattr(node=nodes.Name(name="salt"), attr=module), attr=function):
            return f"{module}.{function}"
    return None


#: Methods of dicts, which are not keys.
_METHODS: Final = frozenset({"get", "items", "keys", "values", "update", "setdefault", "pop", "copy"})


def _pillar_key(node: nodes.Node) -> str:
    """``a:b`` for ``pillar['a']['b']`` and ``pillar.a.b``; empty for other nodes."""
    parts: list[str] = []
    while True:
        match node:
            case nodes.Getitem(arg=nodes.Const(value=str(key))):
                parts.insert(0, key)
            case nodes.Getattr(attr=key):
                if key in _METHODS:
                    return ""
                parts.insert(0, key)
            case nodes.Name(name="pillar"):
                return ":".join(parts)
            case _:
                return ""
        node = node.node


def _asked_for(test: nodes.Node) -> frozenset[str]:
    """Pillar keys whose existence a condition tests: ``'a' in pillar``, ``is defined``, ``pillar.get``."""
    names: set[str] = set()
    for compare in [test, *test.find_all(nodes.Compare)] if not isinstance(test, nodes.Compare) else [test]:
        if isinstance(compare, nodes.Compare) and isinstance(compare.expr, nodes.Const):
            for operand in compare.ops:
                inside = operand.expr
                within = _pillar_key(inside)
                if operand.op in ("in", "notin") and (within or _is_pillar(inside)):
                    names.add(f"{within}:{compare.expr.value}" if within else str(compare.expr.value))
    for each in [test, *test.find_all(nodes.Test)]:
        if isinstance(each, nodes.Test) and each.name in ("defined", "undefined") and (key := _pillar_key(each.node)):
            names.add(key)
    for call in [test, *test.find_all(nodes.Call)]:
        if isinstance(call, nodes.Call) and call.args and isinstance(call.args[0], nodes.Const):
            target: Any = call.node
            method = isinstance(target, nodes.Getattr) and target.attr == "get" and _is_pillar(target.node)
            if method or _function(target) in ("pillar.get", "pillar.keys"):
                names.add(str(call.args[0].value))
    return frozenset(names)


def _is_pillar(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Name) and node.name == "pillar"
