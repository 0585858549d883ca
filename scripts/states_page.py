"""Makes docs/most-used-states.md: the most used states with every argument and an example.

    python scripts/states_page.py            writes the page (make docs)

Which they are: the first lines of tests/differential/most-used-states.txt. Arguments come from the signatures and
docstrings, of the functions too that get what a state passes on (scripts/states_page.yaml); the examples are
tests/docs/states/STATE.sls, which a test runs.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
import sys
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

import module_docs  # noqa: E402

PAGE = ROOT / "docs" / "most-used-states.md"
EXAMPLES = ROOT / "tests" / "docs" / "states"
LIST = ROOT / "tests" / "differential" / "most-used-states.txt"
SAID = ROOT / "scripts" / "states_page.yaml"
COUNT = 21

HEAD = """# The most used states

Made by `make docs`. Those that formulas use most, in that order, each with every argument and an example that the
tests run. All other states: [modules](modules/index.md). New to SLS: [the primer](sls.md).

Every state takes `names`, requisites (`require`, `watch`, `onchanges` …), guards (`unless`, `onlyif`, `creates`),
`retry`, `order`, `failhard`, `parallel`, `fire_event` and `reload_modules` besides: [the primer](sls.md#requisites),
[states.md](states.md). Where there is no default, what is not given is not looked at.
"""

#: arguments that users do not set
_INNER = frozenset({"name", "repo", "args", "kwargs", "cmd"})


def states() -> list[str]:
    return LIST.read_text("utf-8").split()[:COUNT]


def page() -> str:
    names = states()
    lines = [HEAD, " · ".join(f"[`{one}`](#{one.replace('.', '')})" for one in names), ""]
    for one in names:
        lines += section(one)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines).rstrip() + "\n")


def section(name: str) -> list[str]:
    module, function = _find("states", name)
    prose = _prose(function.doc)
    lines = [f"## {name}", "", *module_docs.markdown("\n".join(prose)), ""]
    lines += ["```yaml", (EXAMPLES / f"{name}.sls").read_text("utf-8").rstrip(), "```", ""]
    lines += ["| argument | default | |", "|---|---|---|"]
    for argument, (default, text) in arguments(name).items():
        shown = f"`{argument}`" if not argument.startswith("*") else argument
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in (shown, default, text)) + " |")
    file = ROOT / "docs" / "modules" / "states" / f"{module.name}.md"
    assert file.exists(), file
    return [*lines, "", f"More: [{module.name}](modules/states/{module.name}.md).", ""]


def arguments(name: str) -> dict[str, tuple[str, str]]:
    """argument -> (default, meaning) of all arguments of the state and of functions to which it passes them."""
    recorded = _recorded()
    extra = {**recorded["modules"].get(name.partition(".")[0], {}), **recorded["more"].get(name, {})}
    module, function = _find("states", name)
    terms = _terms(function.doc)
    meanings: dict[str, tuple[str, str]] = {}
    for argument, default in _defaults(function.args).items():
        default = "the ID" if argument == "name" else default
        meanings[argument] = (
            default,
            extra.get(argument) or terms.get(argument) or _shared(module, function.name, argument),
        )
    for argument, text in {**terms, **extra}.items():
        if not argument.startswith("*"):
            meanings.setdefault(argument, ("", extra.get(argument) or text))
    if name in recorded["passed_on"]:
        for argument, text in _passed_on(recorded["passed_on"][name]).items():
            meanings.setdefault(argument, ("", extra.get(argument) or text))
    meanings.update({argument: ("", text) for argument, text in extra.items() if argument.startswith("*")})
    empty = [argument for argument, (_, text) in meanings.items() if not text]
    assert not empty, f"{name}: nothing says what these mean: {', '.join(empty)} (scripts/states_page.yaml)"
    return meanings


@functools.cache
def _recorded() -> dict[str, Any]:
    return yaml.safe_load(SAID.read_text("utf-8"))


def _find(kind: str, name: str) -> tuple[module_docs.Module, module_docs.Function]:
    module, _, function = name.partition(".")
    documented = next(one for one in module_docs.modules() if (one.kind, one.name) == (kind, module))
    return documented, documented.functions[function]


def _defaults(args: ast.arguments) -> dict[str, str]:
    """argument -> its default as Markdown; `None` is "not given"."""
    plain = [*args.posonlyargs, *args.args]
    values = [None] * (len(plain) - len(args.defaults)) + list(args.defaults)
    pairs = [*zip(plain, values, strict=True), *zip(args.kwonlyargs, args.kw_defaults, strict=True)]
    return {arg.arg: _default(value) for arg, value in pairs}


def _default(value: ast.expr | None) -> str:
    if value is None:
        return "required"
    if not isinstance(value, ast.Constant):
        return "" if not ast.unparse(value).strip("()[]{}") else f"`{ast.unparse(value)}`"
    if value.value is None or value.value == "":
        return ""
    return f"`{str(value.value).lower() if isinstance(value.value, bool) else value.value}`"


def _terms(doc: str) -> dict[str, str]:
    """The descriptions of arguments in a docstring."""
    terms: dict[str, str] = {}
    for line in module_docs.markdown(doc):
        match = re.match(r"- ((?:`[\w.-]+`(?:, )?)+)(?: \(.*?\))?: (.+)", line)
        if match:
            text = match.group(2)[0].upper() + match.group(2)[1:]
            terms.update(dict.fromkeys(re.findall(r"`([\w.-]+)`", match.group(1)), text.rstrip(".") + "."))
    return terms


def _prose(doc: str) -> list[str]:
    """The docstring without the arguments and examples."""
    lines = inspect.cleandoc(doc).splitlines()
    kept: list[str] = []
    at = 0
    while at < len(lines):
        block, after = module_docs._indented(lines, at + 1)
        if block and (lines[at].startswith(".. ") or module_docs._TERM.fullmatch(lines[at])):
            at = after
            continue
        kept.append(lines[at])
        at += 1
    first = kept[0].rstrip(".") + "." if len(kept) == 1 or not kept[1].strip() else kept[0]
    return [first, *kept[1:]]


def _shared(module: module_docs.Module, function: str, argument: str) -> str:
    return module_docs.meaning(module, function, argument, module_docs.shared()) or ""


def _passed_on(name: str) -> dict[str, str]:
    """The arguments of an execution function's files, with the files if not all have them."""
    virtual, _, function = name.partition(".")
    module = next(one for one in module_docs.modules() if (one.kind, one.name) == ("modules", virtual))
    texts: dict[str, str] = {}
    files: dict[str, list[str]] = {}
    having = 0
    for path in module.docs:
        for own, node in module_docs._public(ast.parse((ROOT / path).read_text("utf-8"))):
            if own != function:
                continue
            having += 1
            terms = _terms(ast.get_docstring(node) or "")
            for argument in {**_defaults(node.args), **terms}:
                if argument not in _INNER:
                    text = terms.get(argument) or _shared(module, function, argument)
                    texts[argument] = texts.get(argument) or text
                    files.setdefault(argument, []).append(Path(path).stem)
    for argument, text in texts.items():
        if text and len(files[argument]) < having:
            texts[argument] = f"{text} ({', '.join(f'`{file}`' for file in files[argument])})"
    return texts


def main() -> int:
    PAGE.write_text(page(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
