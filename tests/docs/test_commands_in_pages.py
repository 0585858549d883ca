"""Every command line of pushsalt in a page uses existing commands and options."""

import functools
import itertools
import re
import shlex
from pathlib import Path

import pytest

from pushsalt.cli.app import COMMANDS, command
from pushsalt.cli.options import GLOBAL, JOB, MATCHERS, STATES

ROOT = Path(__file__).resolve().parents[2]
#: words.md has command lines of other programs, and its own test
OURS = [path for path in sorted((ROOT / "docs").glob("*.md")) if path.name != "words.md"]
PAGES = [ROOT / "README.md", *OURS, *sorted((ROOT / "docs" / "modules").rglob("*.md"))]
SAID = re.compile(r"^(?: {4}|\t| *- run: | *- | {10})?\$? ?(pushsalt [^\n]*)$", re.M)


def lines(path):
    """The command lines of blocks, without comments, and those in backquotes."""
    text = path.read_text("utf-8")
    blocks = re.findall(r"^```\w*\n(.*?)^```$", text, re.M | re.S) + re.findall(r"^(?: {4}\S.*\n)+", text, re.M)
    found = [line for block in blocks for line in SAID.findall(block)]
    found += [code.replace(r"\|", "|") for code in re.findall(r"`(pushsalt [^`\n]*)`", text)]
    return [re.split(r"\s{3,}", line)[0].rstrip(" \\") for line in found]


def flags_of(params):
    """``{flag: whether it takes a value}``"""
    return {
        flag: not (param.is_flag or param.count)
        for param in params
        if param.param_type_name == "option"
        for flag in param.opts
    }


TOP = {flag: opt.kind in ("value", "list") for opt in (*GLOBAL, *JOB, *STATES) for flag in opt.flags}
#: commands after which a TARGET may stand before the subcommand
TARGET = {flag for opt in MATCHERS for flag in opt.flags}
TOP |= dict.fromkeys((*TARGET, "--version", "--help", "-h", "--install-completion"), False)


@functools.cache
def top_command(name):
    return command().get_command(None, name)


def wrong(line):
    """The errors of a command line."""
    try:
        words = shlex.split(line, comments=True)[1:]
    except ValueError as exc:
        return str(exc)
    words = list(itertools.takewhile(lambda word: word not in ("|", "||", "&&", ">", ">>"), words))
    flags, one, plain, word = dict(TOP), None, 0, ""
    while words:
        before, word = word, words.pop(0)
        if word == "--" or (one is not None and one.name == "run" and plain == 2):
            return ""
        if word.startswith("-") and len(word) > 1:
            name, has_value, _ = word.partition("=")
            joined = re.fullmatch(r"-\w{2,}", name) and all(f"-{letter}" in flags for letter in name[1:])
            if name not in flags and not joined:
                return f"no option {name}"
            if flags.get(name) and not has_value and words:
                words.pop(0)
        elif one is None:
            if word not in COMMANDS and before in TARGET:
                plain += 1
                continue
            if word not in COMMANDS:
                return "" if re.fullmatch(r"[A-Z.…\[]+.*", word) else f"no command {word}"
            one = top_command(word)
            flags |= flags_of(one.params)
        elif plain == 0 and getattr(one, "commands", None):
            below = one.get_command(None, word)
            if below is None:
                return "" if re.match(r"[A-Z….\[]", word) else f"no command {one.name} {word}"
            one = below
            flags |= flags_of(one.params)
            plain = -100
        else:
            plain += 1
    return ""


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_command_lines(path):
    found = {line: wrong(line) for line in lines(path)}
    assert not {line: why for line, why in found.items() if why}


def test_wrong_ones_are_found():
    assert len([line for path in PAGES for line in lines(path)]) > 300
    assert wrong("pushsalt aply '*'") and wrong("pushsalt apply '*' --tset") and wrong("pushsalt cache lst")
    assert not wrong("pushsalt -vv run web1 test.arg -x --yes")
