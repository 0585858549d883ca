"""README.md and docs/cli.md list exactly the commands, options, formats and exit codes of the program.

A failing test prints the missing rows, ready to insert, and the superfluous ones.
"""

import json
import os
import re
import shlex

import pytest

from pushsalt import errors
from pushsalt.cli.app import COMMANDS, command
from pushsalt.log import LEVELS
from pushsalt.outputters import CHOICES
from pushsalt.redact import SECRET_KEYS

CLI = "docs/cli.md"
#: group of options in help -> heading of its table in docs/cli.md
SINGLE = "Options of single commands"
GROUPS = {
    "Global options": "Global options",
    "Matcher of TARGET (default: a glob for ids)": "Selecting targets",
    "States and functions": "States and functions",
    "Output": "Output of commands",
    "Execution": "Execution",
    "Rollout": "Rollout",
}
TABLES = (*GROUPS.values(), SINGLE)


def commands():
    """``{words: Click command}`` of all commands except groups."""
    top = command()
    found = {}
    for name in COMMANDS:
        one = top.get_command(None, name)
        below = getattr(one, "commands", {})
        found.update({f"{name} {word}": one.get_command(None, word) for word in below} or {name: one})
    return found


def options():
    """``{(heading, flags): (help, [command])}``; global options, which all commands have, name none."""
    found = {}
    for words, one in commands().items():
        for param in one.params:
            if param.param_type_name == "option" and not param.hidden and "--help" not in param.opts:
                heading = GROUPS.get(param.rich_help_panel, SINGLE)
                flags = ", ".join(f"`{flag}`" for flag in param.opts[:-1])
                last = f"`{param.opts[-1]}{f' {param.metavar}' if param.metavar else ''}`"
                _, names = found.setdefault((heading, f"{flags}, {last}" if flags else last), (param.help, []))
                names.append(words)
    return found


def where(heading, names):
    """The commands of an option as the table names them: ``ca`` for all of ``ca``."""
    if heading == "Global options":
        return ""
    every = list(commands())
    short = {}
    for name in names:
        first = name.split()[0]
        of_first = [one for one in every if one.split()[0] == first]
        short[first if set(of_first) <= set(names) else name] = None
    return ", ".join(f"`{name}`" for name in short)


def wanted():
    return {(h, f): (text, where(h, names)) for (h, f), (text, names) in options().items()}


def as_row(key, value):
    cells = [key[1], value[0], *([value[1]] if value[1] else [])]
    return f"{key[0]}: | {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def test_the_tables_of_options(page):
    there = {}
    for heading in TABLES:
        for row in page(CLI).rows(f"### {heading}"):
            there[heading, row[0]] = row[2] if len(row) > 2 else ""
    rows = wanted()
    missing = [as_row(key, value) for key, value in rows.items() if there.get(key) != value[1]]
    assert not missing, "docs/cli.md lacks:\n" + "\n".join(missing)
    assert not there.keys() - rows.keys(), "no such options"


@pytest.mark.parametrize("name, heading", [("README.md", "## Commands"), (CLI, "## Commands")])
def test_the_tables_of_commands(page, name, heading):
    there = []
    for row in page(name).rows(heading):
        found = re.match(r"`(?:pushsalt )?(\w+)", row[0])
        if found:
            there.append(found.group(1))
    assert sorted(there) == sorted(COMMANDS), "one row for each command"


@pytest.mark.parametrize("name", ["README.md", CLI])
def test_every_command_of_a_command_is_named(page, name):
    rows = {
        re.match(r"`(?:pushsalt )?([\w-]+)", row[0]).group(1): row[0]
        for row in page(name).rows("## Commands")
        if row[0].startswith("`")
    }
    for words in commands():
        name, _, action = words.partition(" ")
        if action:
            assert re.search(rf"\b{action}\b", rows[name]), f"{words} is not in the row of {name}"


def test_formats(page):
    there = [row[0].strip("`") for row in page(CLI).rows("## Output")]
    shipped = {path.stem for path in (page(CLI).path.parents[1] / "pushsalt" / "outputters").glob("[a-z]*.py")}
    assert set(there) == shipped == shipped | set(CHOICES)


@pytest.mark.parametrize("name, heading", [("README.md", "## Commands"), (CLI, "## Exit codes")])
def test_exit_codes(page, name, heading):
    there = {word for row in page(name).rows(heading) for word in re.findall(r"^[\d, ]+$", row[0])}
    codes = {int(code) for cell in there for code in cell.split(",")}
    assert codes == {value for name, value in vars(errors).items() if name.startswith("EXIT_")}


def test_levels_of_the_log(page):
    line = re.search(r"from\s+the\s+level\s+of\s+`-l`(.*?)\.\s", page(CLI).text, re.S).group(1)
    assert [word for word in re.findall(r"`(\w+)`", line) if word != "log_level"] == list(LEVELS)


def test_secret_keys(page):
    text = re.search(r"replaces\s+the\s+default\s+list:(.*?)\.\n\n", page(CLI).text, re.S).group(1)
    assert re.findall(r"`([^`]+)`", text) == list(SECRET_KEYS)


def test_variables_of_the_environment(page):
    root = page("README.md").path.parent
    source = "\n".join(path.read_text("utf-8") for path in (root / "pushsalt").rglob("*.py"))
    used = set(re.findall(r"environ(?:\.get\(|\[)\"(PUSHSALT_\w+)\"|_env_paths\(\"(PUSHSALT_\w+)\"", source))
    names = {name for pair in used for name in pair if name}
    assert names
    rows = {row[0].strip("`") for row in page(CLI).rows("## Environment")}
    assert names <= rows, "docs/cli.md, Environment"
    assert all(name in source for name in rows if name.startswith("PUSHSALT_")), os.pathsep.join(rows)


def test_words_of_a_function(page, project):
    """The examples of options and arguments: which belong to pushsalt, and how the others are parsed."""
    lines = re.findall(r"^ {4}(pushsalt run web1 test\.arg .*?) {3,}#", page(CLI).section("## Options"), re.M)
    project.write("inventory.yaml", "hosts:\n  web1: {transport: local}\n")
    ours, passed_on = lines
    assert json.loads(project.run(*shlex.split(ours)[1:]).stdout)["web1"]["args"] == []
    words = shlex.split(passed_on.replace(" test.arg", " --out json test.arg"))[1:]
    assert json.loads(project.run(*words).stdout)["web1"]["args"] == ["-x", "--out", "json"]
    given = ("2024-01-01", "1_000", "a==b", "x: y", "a #b", "[1, 2]", "0644", "'0644'")
    told = json.loads(project.run("run", "--out", "json", "web1", "test.arg", *given).stdout)["web1"]["args"]
    assert told == ["2024-01-01", "1_000", "a==b", "x: y", "a #b", [1, 2], 644, "0644"]


def test_a_dry_run_refuses_commands(project):
    done = project.run("run", "localhost", "cmd.run", "true", "--test")
    assert (done.returncode, done.stdout) == (1, "") and "dry run" in done.stderr
