"""Options of salt, salt-ssh and Ansible: the table has each of them, the program follows it, and the page equals it."""

import importlib.util
import json
import os
import re
from pathlib import Path

import pytest

from pushsalt.api import Selection, Settings
from pushsalt.cli.app import COMMANDS, command
from pushsalt.cli.detach import DETACH
from pushsalt.cli.options import GLOBAL, JOB, MATCHERS, RAW, RERUN, RETURNS, STATES
from pushsalt.cli.reports import REPORTS
from pushsalt.cli.rollouts import ROLLOUT
from pushsalt.cli.words import ANSWERED, IDLE, OTHER, ROWS, TAKEN, own

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
#: What `--help` of the real tools lists: {tool: {"flags": words, "values": words that take one}}.
THEIRS = json.loads((Path(__file__).parent / "cases" / "options_of_others.json").read_text())
OURS = {
    flag: opt
    for group in (GLOBAL, MATCHERS, STATES, RAW, RETURNS, RERUN, DETACH, JOB, ROLLOUT, REPORTS)
    for opt in group
    for flag in opt.flags
}
VALUES = {
    "--batch": "2",
    "--return": "sqlite3",
    "--batch-wait": "0",
    "--batch-safe-limit": "3",
    "--batch-safe-size": "2",
    "--subset": "2",
    "--concurrency": "3",
    "--timeout": "5",
    "--out": "json",
    "--state-verbose": "true",
    "--state-output": "terse",
    "--log-level": "error",
    "--log-file-level": "error",
    "--delimiter": "|",
}
OF_EVERY_COMMAND = ("--help", "--version")


def rows(verb):
    return [(word, row) for row in ROWS if row.verb == verb for word in row.words.split()]


def without_times(result):
    return result.code, re.sub(r"\d+(\.\d+)? m?s\b", "TIME", result.out), re.sub(r"\d+ ms\b", "TIME", result.err)


def ids(cases):
    return [f"{word}-{row.tools.partition(',')[0]}" for word, row in cases]


@pytest.mark.parametrize("tool", THEIRS)
def test_every_option_of_theirs_has_one_row(tool):
    theirs = sorted(" ".join(THEIRS[tool].values()).split())
    assert sorted(word for row in ROWS if tool in row.tools.split(", ") for word in row.words.split()) == theirs


def test_a_word_that_is_taken_takes_a_value_as_theirs_does():
    for tool, words in THEIRS.items():
        for row in ROWS:
            if row.verb in (TAKEN, IDLE) and tool in row.tools.split(", "):
                has_value = row.verb == TAKEN and row.text not in OF_EVERY_COMMAND and OURS[row.text].has_value
                assert set(row.words.split()) <= set(words["values" if has_value else "flags"].split()), row


def test_no_word_is_two_things():
    taken = dict(rows(TAKEN))
    for word, row in rows(TAKEN):
        assert taken[word].text == row.text
    for word, row in rows(ANSWERED):
        assert word not in OURS and word not in taken, row
    for word, row in rows(IDLE):
        assert word not in taken, row
    for word, row in rows(OTHER):
        assert word in OURS or word in taken, row
    for flag in {row.text for _, row in rows(TAKEN)} - {*OF_EVERY_COMMAND}:
        assert OURS[flag].flags[-1] == flag, "help shows the flags up to this one"


@pytest.mark.parametrize("word, row", rows(TAKEN), ids=ids(rows(TAKEN)))
def test_a_word_that_is_taken_is_ours(invoke, calls, tmp_path, monkeypatch, word, row):
    monkeypatch.setattr("pushsalt.cli.asking._ask", lambda prompt, *more: prompt)  # there is no one to type

    def asked(*arguments):
        calls.clear()
        return without_times(invoke(*arguments)), list(calls)

    if row.text in OF_EVERY_COMMAND:
        assert invoke(word) == invoke(row.text)
        return
    value = [VALUES.get(row.text, str(tmp_path / "x"))] if OURS[row.text].has_value else []
    more = ["--log-file", str(tmp_path / "log")] if row.text == "--log-file-level" else []
    want = asked("run", row.text, *value, *more, "web1", "test.ping")
    assert want[0][0] == 0, want[0]
    assert asked("run", word, *value, *more, "web1", "test.ping") == want
    assert asked(word, *value, *more, "run", "web1", "test.ping") == want
    if word.startswith("--"):
        assert asked("run", "web1", "test.ping", word, *value, *more) == want
        assert not value or asked("run", "web1", f"{word}={value[0]}", *more, "test.ping") == want


@pytest.mark.parametrize("word, row", rows(IDLE), ids=ids(rows(IDLE)))
def test_a_word_that_needs_nothing_changes_nothing(invoke, calls, word, row):
    want = without_times(invoke("apply", "web1", "a")), list(calls)
    for words in (("apply", word, "web1", "a"), (word, "apply", "web1", "a"), ("apply", "web1", "a", word)):
        calls.clear()
        assert (without_times(invoke(*words)), calls) == want


@pytest.mark.parametrize("word, row", rows(ANSWERED), ids=ids(rows(ANSWERED)))
def test_a_word_that_is_answered(invoke, calls, word, row):
    for words in (("run", word, "web1", "test.ping"), (word, "run", "web1", "test.ping"), ("apply", "web1", word)):
        result = invoke(*words)
        assert (result.code, result.out, calls) == (1, "", [])
        assert result.err.startswith(f"error: {word} is an option of ")
        assert row.text in result.err.partition("\nhint: ")[2]


@pytest.mark.parametrize(
    "words, says",
    [
        (["apply", "web1", "--limit", "web"], "--limit selects the first N targets; limit the targets with TARGET"),
        (["-l", "web", "run", "web1", "test.ping"], "-l is the log level; limit the targets with TARGET"),
        (["run", "--timeout", "web", "web1", "test.ping"], "--timeout limits the job on a target; `timeout` in the"),
    ],
)
def test_a_value_that_another_tool_means_is_answered(invoke, calls, words, says):
    result = invoke(*words)
    assert (result.code, result.out, calls) == (1, "", [])
    assert says in result.err.partition("\nhint: ")[2]


@pytest.mark.parametrize(
    "words, said, hint",
    [
        (["-b", "run", "x"], "'run' was read as the value of -b", "to become root: --sudo"),
        (["-vb", "run", "web1", "test.ping"], "'run' was read as the value of -b", "to become root: --sudo"),
        (["-c", "apply", "web1"], "'apply' was read as the value of -c", "the transport of a host is `transport`"),
        (["-i", "run", "web1", "test.ping"], "'run' was read as the value of -i", "-i names an inventory"),
        (["--out", "run", "web1", "test.ping"], "'run' was read as the value of --out", "write a value after --out"),
    ],
)
def test_a_command_that_an_option_took_as_its_value(invoke, calls, words, said, hint):
    result = invoke(*words)
    assert (result.code, result.out, calls) == (1, "", [])
    text, _, more = result.err.partition("\nhint: ")
    assert text == f"error: there is no command: {said}" and hint in more


def test_the_variables_that_an_answer_names_are_read():
    named = {word for row in ROWS for word in re.findall(r"[A-Z]{2,}(?:_[A-Z]+)+", row.text)}
    sources = [path for path in (ROOT / "pushsalt").rglob("*.py") if path.name != "words.py"]
    read = {word for path in sources for word in re.findall(r'"([A-Z_]+)"', path.read_text("utf-8"))}
    assert named and named <= read


def test_what_an_answer_names_is_there():
    theirs = {word for row in ROWS for word in row.words.split()}
    there = {*OURS, *OF_EVERY_COMMAND, "--indent", "--explain"}
    for row in ROWS:
        if row.verb != TAKEN:
            said = {word.strip("`,;:").rstrip(")") for word in row.text.split() if word.startswith("--")}
            assert said <= there | {word for word, _ in rows(TAKEN)}, row
            for name in [word for at, word in enumerate(row.text.split()) if row.text.split()[at - 1] == "pushsalt"]:
                assert name in COMMANDS or name in ("...", "--version"), row
    assert "--subset" in theirs


@pytest.mark.parametrize(
    "words, expr, tgt_type",
    [
        (["-G", "run", "os:Debian", "test.ping"], "os:Debian", "grain"),
        (["-G", "os:Debian", "run", "test.ping"], "os:Debian", "grain"),
        (["-G", "os:Debian", "--batch", "2", "run", "test.ping"], "os:Debian", "grain"),
        (["--batch=2", "-vG", "os:Debian", "run", "test.ping"], "os:Debian", "grain"),
        (["-C", "web* and not web2", "--out", "json", "apply", "a"], "web* and not web2", "compound"),
        (["--out", "-G", "-L", "web1", "run", "test.ping", "--out", "json"], "web1", "list"),
        (["--config", "x", "-N", "run", "web", "test.ping"], "web", "nodegroup"),
    ],
)
def test_targets_before_the_command(invoke, calls, words, expr, tgt_type):
    result = invoke(*words)
    assert result.code == 0, result.err
    assert ("target", Selection(expr, tgt_type)) in calls


def test_a_value_is_no_option(invoke):
    assert "there is no outputter '-G'" in invoke("--out", "-G", "run", "web1", "test.ping").err


@pytest.mark.parametrize(
    "words, hint",
    [
        (["-G", "os:Debian", "test.ping"], "write: pushsalt run -G os:Debian test.ping"),
        (["--out", "json", "web*", "cmd.run", "df -h"], "write: pushsalt run --out json 'web*' cmd.run 'df -h'"),
        (["web*", "state.apply", "a", "-x"], "write: pushsalt run 'web*' state.apply a -x"),
        (["web*"], "there are: apply"),
    ],
)
def test_a_call_without_a_command_is_answered_with_ours(invoke, words, hint):
    result = invoke(*words)
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("error: there is no command ")
    assert hint in result.err


@pytest.mark.parametrize("words", ["--batch 2 init", "--out json --test init", "-G check", "--user x cache list"])
def test_an_option_that_the_command_has_not_is_an_error_before_it_too(invoke, words):
    result = invoke(*words.split())
    assert result.code == 1
    assert "error: there is no option -" in result.err


def test_global_options_before_the_command_of_a_command(invoke, calls):
    assert invoke("inventory", "-i", "x", "list").err == invoke("inventory", "list", "-i", "x").err


def _commands(found, path=()):
    yield path, found
    for name in found.list_commands(None) if hasattr(found, "list_commands") else ():
        if name != "demo":
            yield from _commands(found.get_command(None, name), (*path, name))


def test_no_command_has_an_option_twice_and_help_shows_ours_alone(invoke):
    seen = {path: found for path, found in _commands(command()) if path}
    assert ("apply",) in seen and ("inventory", "list") in seen
    for path, found in seen.items():
        flags = [flag for param in found.params if param.param_type_name == "option" for flag in param.opts]
        assert len(flags) == len(set(flags)), path
    shown = invoke("apply", "--help").out
    for word in ("--forks", "--become", "--check", "--static", "--roster-file", "--state_output"):
        assert word not in shown
    assert own(["-i", "--inventory", "--roster-file"]) == ["-i", "--inventory"]
    assert own(["--explain"]) == ["--explain"]


def test_the_page_equals_the_output_of_the_script():
    spec = importlib.util.spec_from_file_location("words_docs", ROOT / "scripts" / "words_docs.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    assert made.PAGE.read_text("utf-8") == made.page(), "run `make docs` and commit docs/words.md"


def test_how_to_log_in_reaches_the_client(invoke, calls):
    assert invoke("run", "-u", "ops", "--private-key", "k", "--become", "web1", "test.ping").code == 0
    assert calls[0] == ("settings", Settings(options={"ssh_user": "ops", "ssh_priv": "k", "ssh_sudo": True}))


def test_how_to_log_in_is_said_again(invoke, fleet):
    fleet({"web1": [0, "value", 1, 0], "web2": [0, "value", 1, 2]})
    said = invoke("run", "web*", "test.ping", "--forks", "3", "--user", "ops", "--sudo", "--static")
    assert "--concurrency 3 --user ops --sudo" in said.out + said.err
    assert "--static" not in said.out + said.err


@pytest.mark.parametrize("text", ["a: {b: [1, x]}\n", '{"a": {"b": [1, "x"]}}', "a:\r\n  b: [1, x]\r\n"])
def test_pillar_of_a_file(invoke, calls, tmp_path, monkeypatch, text):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.yaml").write_bytes(text.encode())
    assert invoke("run", "web1", "test.ping", "--pillar", "@p.yaml").code == 0
    assert next(call for call in calls if call[0] == "run")[-1].pillar == {"a": {"b": [1, "x"]}}


def test_pillar_of_stdin(invoke, calls, tmp_path, monkeypatch):
    (tmp_path / "p").write_text("a: 1\n")
    with (tmp_path / "p").open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        assert invoke("apply", "web1", "a", "--pillar", "@-").code == 0
    assert next(call for call in calls if call[0] == "apply")[-1].pillar == {"a": 1}
    monkeypatch.setattr("sys.stdin", None)
    assert "--pillar @- cannot be read: stdin is closed" in invoke("apply", "web1", "a", "--pillar", "@-").err


@pytest.mark.parametrize(
    "content, says",
    [
        (None, "cannot be read: No such file or directory"),
        (b"- a", "takes a mapping, not list"),
        (b"", "takes a mapping, not NoneType"),
        (b"x: 1\na: {hunter2hunter2", "is neither YAML nor JSON (line 2)"),
        (b"a: \xff", "the text is not UTF-8"),
        ("folder", "cannot be read: it is a folder"),
        ("pipe", "cannot be read: it is a named pipe"),
    ],
)
def test_pillar_of_a_file_that_is_none(invoke, tmp_path, content, says):
    path = tmp_path / "p"
    match content:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case bytes():
            path.write_bytes(content)
    result = invoke("apply", "web1", "a", "--pillar", f"@{path}")
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith(f"error: --pillar @{path}") and says in result.err
    assert "hunter2" not in result.err
