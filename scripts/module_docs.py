"""Makes docs/modules: a page for each module, from docstrings and signatures; nothing is imported or executed.

    python scripts/module_docs.py            writes the pages (make docs)
    python scripts/module_docs.py --missing  names the arguments that nobody describes

What an argument means stands in the function's docstring, in the module's, or, where many functions mean the same by
it, in scripts/module_arguments.yaml: for all modules, for one, or for one function.
"""

from __future__ import annotations

import argparse
import ast
import functools
import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs" / "modules"
SHARED = ROOT / "scripts" / "module_arguments.yaml"
TITLES = {"modules": "Execution modules", "states": "State modules"}
#: Hooks of the loader and of the engine: no user calls them by name.
HOOKS = frozenset({"mod_aggregate", "mod_beacon", "mod_init", "mod_run_check", "mod_run_check_cmd", "mod_watch"})
_SIGNATURE = 100


@dataclass
class Function:
    """A public function. ``files`` are those that define it; the docstring of the first one is used."""

    name: str
    args: ast.arguments
    doc: str
    files: list[str] = field(default_factory=list)

    @property
    def arguments(self) -> list[str]:
        """Names of the arguments, without ``*args`` and ``**kwargs``."""
        return [arg.arg for arg in (*self.args.posonlyargs, *self.args.args, *self.args.kwonlyargs)]


@dataclass
class Module:
    """A module by its virtual name, with the files that may provide it."""

    kind: str
    name: str
    docs: dict[str, str] = field(default_factory=dict)  # file -> docstring
    functions: dict[str, Function] = field(default_factory=dict)

    def add(self, file: str, tree: ast.Module, skip: int = 0) -> None:
        """Add the functions of one file; ``skip``: leading arguments that callers do not pass."""
        self.docs[file] = ast.get_docstring(tree) or ""
        for name, node in _public(tree):
            args = node.args
            if skip:
                args.args = args.args[skip:]
                args.defaults = args.defaults[-len(args.args) :] if args.args else []
            found = Function(name, args, ast.get_docstring(node) or "", [file])
            former = self.functions.get(name)
            if former is None or len(former.doc) < len(found.doc):
                found.files += former.files if former else []
                self.functions[name] = found
            else:
                former.files.append(file)


@functools.cache
def modules() -> list[Module]:
    """All modules, in the order of their pages."""
    sys.path.insert(0, str(ROOT))
    from thin.folder import Folder

    files_here = Folder(str(ROOT))
    found: dict[tuple[str, str], Module] = {}
    for kind in TITLES:
        for virtual, files in files_here.virtual_index(kind).items():
            module = found.setdefault((kind, virtual), Module(kind, virtual))
            for file in files:
                path = f"thin/{kind}/{file}.py"
                module.add(path, ast.parse((ROOT / path).read_text("utf-8")))
    for path in sorted((ROOT / "pushsalt" / "functions").glob("*.py")):
        if path.stem != "__init__":
            module = found.setdefault(("modules", path.stem), Module("modules", path.stem))
            module.add(path.relative_to(ROOT).as_posix(), ast.parse(path.read_text("utf-8")), skip=1)
    return [module for _, module in sorted(found.items()) if module.functions]


def _public(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Names and functions that callers see; an alias is the same function under another name."""
    nodes = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    renamed: dict[str, str] = {}
    shown: list[str] | None = None
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name == "__func_alias__":
                renamed = ast.literal_eval(node.value)
            elif name == "__load__":
                shown = ast.literal_eval(node.value)
            elif isinstance(node.value, ast.Name) and node.value.id in nodes:
                nodes[name] = nodes[node.value.id]
    for name, node in nodes.items():
        if not name.startswith("_") and name not in HOOKS and (shown is None or name in shown):
            yield renamed.get(name, name), node


# --- meanings of arguments


@functools.cache
def shared() -> dict[str, str]:
    """The meaning of arguments, by name, by ``module.name``, or by ``module.function.name``."""
    loaded = yaml.safe_load(SHARED.read_text("utf-8"))
    found: dict[str, str] = dict(loaded["all"])
    for module, names in loaded["modules"].items():
        found.update({f"{module}.{name}": text for name, text in names.items()})
    return found


def unnamed(module: Module, function: Function) -> list[str]:
    """Arguments that neither the function's docstring nor the module's describes."""
    text = "\n".join([function.doc, *module.docs.values()])
    return [name for name in function.arguments if not re.search(rf"\b{re.escape(name)}\b", text)]


def meaning(module: Module, function: str, name: str, meanings: Mapping[str, str]) -> str | None:
    """The most specific meaning of an argument of ``function``, a name without its module."""
    keys = (f"{module.name}.{function}.{name}", f"{module.name}.{name}", name)
    return next((meanings[key] for key in keys if key in meanings), None)


def missing() -> Iterator[str]:
    """``module.function: argument`` of all undescribed arguments."""
    meanings = shared()
    for module in modules():
        for function in module.functions.values():
            for name in unnamed(module, function):
                if meaning(module, function.name, name, meanings) is None:
                    yield f"{module.kind}: {module.name}.{function.name}: {name}"


# --- pages


def pages() -> dict[Path, str]:
    """path -> text of all pages."""
    meanings, found = shared(), modules()
    made = {PAGES / module.kind / f"{module.name}.md": page(module, meanings) for module in found}
    made[PAGES / "index.md"] = index(found)
    return made


def index(documented: list[Module]) -> str:
    about = [
        "Made by `make docs` from docstrings, signatures and `scripts/module_arguments.yaml`.",
        "`pushsalt run TARGET sys.doc` (`sys.state_doc` for state modules) shows the docstrings.",
    ]
    lines = ["# Modules", "", *about, ""]
    for kind, title in TITLES.items():
        lines += [f"## {title}", "", "| module | |", "|---|---|"]
        for module in documented:
            if module.kind == kind:
                lines.append(f"| [{module.name}]({kind}/{module.name}.md) | {_cell(_headline(module))} |")
        lines.append("")
    return "\n".join(lines)


def _headline(module: Module) -> str:
    files = [file for function in module.functions.values() for file in function.files]
    named = f"thin/{module.kind}/{module.name}.py"

    def functions(file: str) -> int:
        """The number of its functions, including those of its parts (``useradd_about.py`` belongs to
        ``useradd.py``).
        """
        part = file.removesuffix(".py") + "_"
        return sum(one == file or one.startswith(part) for one in files)

    said = sorted((file != named, -functions(file), doc) for file, doc in module.docs.items() if doc)
    first = said[0][-1].split("\n\n")[0] if said else ""
    return _inline(re.sub(r"\s*Salt[^:.]*: ?[`\w/.,* ]+$", "", " ".join(first.split())))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def page(module: Module, meanings: Mapping[str, str]) -> str:
    of = "state" if module.kind == "states" else "execution"
    lines = [f"# {module.name}", "", f"The {of} module `{module.name}`. [All modules](../index.md)", ""]
    if len(module.docs) == 1:
        lines += [*markdown(*module.docs.values()), ""]
    else:
        lines += ["| file | |", "|---|---|"]
        for file, doc in module.docs.items():
            lines.append(f"| `{file}` | {_cell(_inline(' '.join(doc.split(chr(10) + chr(10))[0].split())))} |")
        lines.append("")
    for name in sorted(module.functions):
        lines += [*_function(module, module.functions[name], meanings), ""]
    text = "\n".join(line.rstrip() for line in lines).rstrip() + "\n"
    return re.sub(r"\n{3,}", "\n\n", text)


def _function(module: Module, function: Function, meanings: Mapping[str, str]) -> list[str]:
    full = f"{module.name}.{function.name}"
    lines = [f"## {full}", "", "```python", *_signature(full, function.args), "```", "", *markdown(function.doc)]
    more = [(name, meaning(module, function.name, name, meanings)) for name in unnamed(module, function)]
    described = [(name, text) for name, text in more if text and text != meanings["name"]]
    if described:
        lines += ["", *(f"- `{name}`: {text}" for name, text in described)]
    files = [file.rpartition("/")[2].removesuffix(".py") for file in function.files]
    if len(module.docs) > 1 and len(files) < len(module.docs):
        lines += ["", f"In {', '.join(f'`{file}`' for file in sorted(files))}."]
    return lines


def _signature(full: str, args: ast.arguments) -> list[str]:
    text = f"{full}({ast.unparse(args)})"
    if len(text) <= _SIGNATURE:
        return [text]
    rows, row = [f"{full}("], "   "
    for part in _split(ast.unparse(args)):
        if len(row) + len(part) + 2 > _SIGNATURE:
            rows.append(row)
            row = "   "
        row += f" {part},"
    return [*rows, row.rstrip(","), ")"]


def _split(text: str) -> Iterator[str]:
    """The arguments of a signature's text; commas within brackets and quotes do not separate."""
    depth, quote, start = 0, "", 0
    for at, char in enumerate(text):
        if quote:
            quote = "" if char == quote and text[at - 1] != "\\" else quote
        elif char in "'\"":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == "," and not depth:
            yield text[start:at].strip()
            start = at + 1
    if text[start:].strip():
        yield text[start:].strip()


# --- docstrings as Markdown

_TERM = re.compile(r"[`*]*\w[\w`*.-]*(?:, [`*]*\w[\w`*.-]*)*(?: : .+)?")


def markdown(doc: str) -> list[str]:
    """The lines of a docstring, which is written in a little of reStructuredText."""
    lines, made, at = inspect.cleandoc(doc).splitlines(), [], 0
    while at < len(lines):
        line = lines[at]
        block, after = _indented(lines, at + 1)
        directive = re.fullmatch(r"\s*\.\. (?:code-block|code):: ?(\w*)", line)
        if directive and block:
            made += [f"```{directive.group(1)}", *block, "```"]
            at = after
        elif line.endswith("::") and not line.startswith(".. ") and block:
            made += [_inline(line[:-1]), "", "```", *block, "```"]
            at = after
        elif block and at + 1 < len(lines) and lines[at + 1].strip() and _TERM.fullmatch(line):
            term, _, kind = line.partition(" : ")
            terms = ", ".join(f"`{word.strip('`*')}`" for word in term.split(", "))
            made.append(f"- {terms}{f' ({kind})' if kind else ''}: {_inline(' '.join(' '.join(block).split()))}")
            at = after
        elif line.startswith(".. version"):
            made.append(f"*{line[3:].replace('::', '').replace('version', '').strip()}*")
            at += 1
        else:
            made.append(_inline(line) if not line.startswith("    ") else line)
            at += 1
    return made


def _indented(lines: list[str], at: int) -> tuple[list[str], int]:
    """The indented block that begins here, without blank lines before it, and where it ends."""
    start = at
    while start < len(lines) and not lines[start].strip():
        start += 1
    end = start
    while end < len(lines) and (not lines[end].strip() or lines[end].startswith("  ")):
        end += 1
    block = lines[start:end]
    while block and not block[-1].strip():
        block.pop()
        end -= 1
    return inspect.cleandoc("\n" + "\n".join(block)).splitlines() if block else [], end


_ESCAPED = {"*": "\\*", "__": "\\_\\_", "<": "&lt;"}


def _inline(text: str) -> str:
    """One line: double backquotes become single ones, other markup is escaped."""
    parts = re.split(r"(``.+?``|`[^`]+`)", text)
    for at, part in enumerate(parts):
        if part.startswith("``") and len(part) > 4:
            parts[at] = f"`{part[2:-2]}`"
        elif not part.startswith("`"):
            parts[at] = re.sub(r"(?<!^)\*|__|<", lambda found: _ESCAPED[found.group()], part)
    return "".join(parts)


def write() -> None:
    made = pages()
    for path in PAGES.glob("*/*.md"):
        if path not in made:
            path.unlink()
    for path, text in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--missing", action="store_true", help="name the arguments that nobody describes")
    if parser.parse_args().missing:
        found = list(missing())
        print("\n".join(found))
        return 1 if found else 0
    write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
