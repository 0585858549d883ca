"""Arguments become calls of the API; returns become text and an exit code."""

import json
from pathlib import Path

import pytest
import yaml

from pushsalt.api import Selection, Settings
from pushsalt.cli.app import COMMANDS
from pushsalt.cli.job import _again
from pushsalt.cli.options import MATCHERS, Given
from pushsalt.cli.slsnames import sls_names
from pushsalt.cli.wordorder import end_options
from pushsalt.targeting import Name


def job(calls):
    return next(call for call in calls if call[0] in ("apply", "run", "grains", "clean"))


@pytest.mark.parametrize(
    "words, sls",
    [([], []), (["a"], ["a"]), (["a,b", "c"], ["a", "b", "c"]), (["a", "--test", "b.c"], ["a", "b.c"])],
)
def test_apply_names_its_sls(invoke, calls, words, sls):
    assert invoke("apply", "web*", *words).code == 0
    assert job(calls)[1] == sls
    assert next(call for call in calls if call[0] == "target")[1] == Selection("web*")


@pytest.mark.parametrize("word, says", [("test=True", "--test"), ("pillar={a: 1}", "--pillar"), ("x=1", "state.apply")])
def test_apply_takes_no_keywords(invoke, word, says):
    result = invoke("apply", "*", "a", word)
    assert result.code == 1
    assert says in result.err


def test_every_job_option_reaches_the_client(invoke, calls):
    words = ["--test", "--saltenv", "dev", "--pillarenv", "prod", "--batch", "25%", "--concurrency", "7"]
    words += ["--timeout", "1.5", "--wait-lock", "30", "--accept-new-host-keys", "-vv", "-l", "debug", "--pillar"]
    assert invoke("apply", "*", *words, '{"a": [1, 0644]}').code == 0
    options = job(calls)[-1]
    assert (options.test, options.saltenv, options.pillarenv, options.batch) == (True, "dev", "prod", "25%")
    assert (options.concurrency, options.timeout, options.wait_lock) == (7, 1.5, 30.0)
    assert (options.accept_new_host_keys, options.verbose, options.log_level) == (True, 2, "debug")
    assert options.pillar == {"a": [1, 644]}


def test_the_line_that_runs_it_again_means_those_that_are_meant():
    """The bare id of a resource may equal that of an inventory id or of another resource."""
    words, plain = ["run", "test.ping"], str
    line = _again(Given(), words, [Name("d1", "dummy:d1"), "web1"], plain)
    assert line == "pushsalt run -L dummy:d1,web1 test.ping"
    piped = _again(Given({"pillar_data": "@-"}), ["apply", "web"], ["web1"], plain)
    assert piped == "the same command with -L web1"  # stdin has been read


def test_defaults(invoke, calls):
    assert invoke("run", "*", "test.ping").code == 0
    options = job(calls)[-1]
    assert (options.test, options.pillar, options.batch, options.concurrency) == (False, None, None, None)
    assert (options.timeout, options.wait_lock, options.log_level, options.verbose) == (None, 0.0, "warning", 0)


@pytest.mark.parametrize(
    "words",
    [
        "-i a -i b -c conf --file-root f --pillar-root p --cache-dir d target *",
        "target * -i a -i b -c conf --file-root f --pillar-root p --cache-dir d",
        "-i a -c other target -i b --config=conf * --file-root=f --pillar-root=p --cache-dir=d",
    ],
)
def test_global_options_before_and_after_the_command(invoke, calls, words):
    assert invoke(*words.split()).code == 0
    expected = Settings([Path("a"), Path("b")], Path("conf"), [Path("f")], [Path("p")], Path("d"))
    assert calls[0] == ("settings", expected)


def test_environment(invoke, calls, monkeypatch, tmp_path):
    odd = tmp_path / "with:colon"
    odd.touch()
    for value, paths in (("a:b", [Path("a"), Path("b")]), (str(odd), [odd]), ("", [])):
        calls.clear()
        monkeypatch.setenv("PUSHSALT_INVENTORY", value)
        monkeypatch.setenv("PUSHSALT_CONFIG", "c")
        monkeypatch.setenv("PUSHSALT_CACHE", "d")
        assert invoke("target", "*").code == 0
        assert calls[0][1] == Settings(paths, Path("c"), [], [], Path("d"))
    invoke("-i", "x", "--cache-dir", "y", "target", "*")
    assert (calls[-2][1].inventories, calls[-2][1].cache_dir) == ([Path("x")], Path("y"))


@pytest.mark.parametrize("opt", MATCHERS, ids=lambda opt: opt.name)
def test_matcher_flags(invoke, calls, opt):
    for flag in opt.flags:
        calls.clear()
        assert invoke("run", flag, "a;b", "test.ping").code == 0
        assert ("target", Selection("a;b", opt.name, ":")) in calls
    calls.clear()
    assert invoke("target", "x|y", opt.flags[0], "--delimiter", "|").code == 0
    assert ("target", Selection("x|y", opt.name, "|")) in calls


@pytest.mark.parametrize(
    "words, args, kwargs",
    [
        (["1", "k=v", "-x", "--tset", "--", "--out=json"], [1, "-x", "--tset", "--out=json"], {"k": "v"}),
        (["1", "-l", "--test", "-x"], [1, "-l", "-x"], {}),
        (["--", "-x", "a"], ["-x", "a"], {}),
        (["-x", "--", "--help"], ["-x", "--help"], {}),
        (["ls -l", "shell=/bin/sh", "a==b"], ["ls -l", "a==b"], {"shell": "/bin/sh"}),
        ([""], [""], {}),
    ],
)
def test_words_after_the_function_are_its_arguments(invoke, calls, words, args, kwargs):
    for options in ("--out json web*", "web* --out=json", "--out json -vl info web*"):
        calls.clear()
        assert invoke("run", *options.split(), "test.arg", *words).code == 0
        assert job(calls)[:4] == ("run", "test.arg", args, kwargs)


@pytest.mark.parametrize(
    "words, want",
    [
        ("T f.n -x", "T -- f.n -x"),
        ("T -- f.n -x", "T -- f.n -x"),
        ("-- T f.n -x", "-- T f.n -x"),
        ("T f.n -- -x", "T -- f.n -x"),
        ("--out json T f.n", "--out json T -- f.n"),
        ("--out=json T f.n", "--out=json T -- f.n"),
        ("-vl info T f.n", "-vl info T -- f.n"),
        ("-linfo T f.n", "-linfo T -- f.n"),
        ("T", "T"),
        ("", ""),
        ("T --out", "T --out"),
        ("T f.n a --out json -x --other", "T --out json -- f.n a -x --other"),
        ("T f.n --out=json --test a", "T --out=json --test -- f.n a"),
        ("T f.n --test -- --out json", "T --test -- f.n --out json"),
    ],
)
def test_where_options_end(words, want):
    assert end_options(words.split(), {"--out": True, "-l": True, "-x": False, "--test": False}) == want.split()


@pytest.mark.parametrize(
    "words, message, hint",
    [
        (["aply"], "there is no command 'aply'", "apply"),
        (["apply", "*", "--tset"], "there is no option --tset of pushsalt apply", "--test"),
        (["--inventry", "x", "apply", "*"], "there is no option --inventry", "--inventory"),
        (["--bacth", "3", "apply", "*"], "there is no option --bacth", "did you mean --batch or"),
        (["--batch", "3", "inventory", "list"], "there is no option --batch of pushsalt inventory list", "--help"),
        (["apply", "*", ""], "an SLS name is empty", "highstate"),
        (["run", "*", "cmd.run", "reboot", "--test"], "--test: cmd.run runs its argument", "states have a dry run"),
        (["run", "--test", "*", "user.delete", "x"], "--test: user.delete changes the system", "omit --test"),
        (["apply", "*", "--nope"], "there is no option --nope of pushsalt apply", "--help"),
        (["target", "a", "b c"], "too many arguments: b c", "quote arguments with wildcards"),
        (["apply"], "TARGET is missing", "usage: pushsalt apply"),
        (["run", "*"], "MODULE.FUNCTION is missing", "usage: pushsalt run"),
        (["run", "*", "ping"], "'ping' is not a function", "test.ping"),
        (["run", "web1", "df", "/srv"], "'df' is not a function", "pushsalt run web1 cmd.run 'df /srv'"),
        (["run", "-C", "G@os:Debian", "df"], "'df' is not a function", "run -C G@os:Debian cmd.run df"),
        (["apply", "*", "--out"], "option --out: requires an argument", "--help"),
        (["apply", "*", "--out", "jsno"], "--out: there is no outputter 'jsno'", "json"),
        (["apply", "*", "-l", "wrning"], "there is no log level 'wrning'", "warning"),
        (["apply", "*", "-E", "-L"], "-E and -L contradict", "-C"),
        (["apply", "*", "--batch", "0"], "--batch", "25%"),
        (["apply", "*", "--batch", "101%"], "--batch", "25%"),
        (["apply", "*", "--concurrency", "x"], "--concurrency: 'x' is not a whole number", ""),
        (["apply", "*", "--timeout", "0"], "--timeout: '0' is not a number of seconds above 0", ""),
        (["apply", "*", "--timeout", "nan"], "--timeout", ""),
        (["apply", "*", "--wait-lock", "-1"], "--wait-lock", ""),
        (["apply", "*", "--pillar", "[1]"], "--pillar takes a mapping, not list", ""),
        (["apply", "*", "--pillar", "{a: hunter2hunter2"], "--pillar is neither YAML nor JSON", ""),
        (["apply", "none"], "no target matches 'none'", "web1, web2"),
        (["target", "none"], "no target matches 'none'", "web1, web2"),
        (["chek"], "there is no command 'chek'", "check"),
        (["cache", "lst"], "there is no command 'lst' of cache", "did you mean list?"),
    ],
)
def test_wrong_commands_exit_1_and_name_the_nearest(invoke, words, message, hint):
    result = invoke(*words)
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith(f"error: {message}")
    assert hint in result.err
    assert "hunter2" not in result.err
    assert "Traceback" not in result.err


@pytest.mark.parametrize("words", [[], ["inventory"], ["resource"]])
def test_no_words_show_help_on_stderr(invoke, words):
    result = invoke(*words)
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("Usage: pushsalt")
    assert "Commands:" in result.err


@pytest.mark.parametrize("words", [["--version"], ["--version", "-v"]])
def test_version(invoke, words):
    from pushsalt import __version__

    assert invoke(*words) == (0, f"pushsalt {__version__}\n", "")


def test_help_lists_all_commands(invoke):
    result = invoke("--help")
    assert (result.code, result.err) == (0, "")
    for name in ("apply", "run", "target", "check", "grains", "init", "clean"):
        assert f"\n  {name} " in result.out
    assert "Examples:" in result.out


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "demo"])
def test_help_of_each_command(invoke, name):
    result = invoke(name, "--help")
    assert (result.code, result.err) == (0, "")
    assert invoke(name, "-h") == result
    assert result.out.startswith(f"Usage: pushsalt {name} ")
    examples = result.out.partition("Examples:")[2]
    assert f"pushsalt {name}" in examples
    assert all(len(line) <= 100 for line in result.out.splitlines())


def test_json_is_one_object_and_nothing_else(invoke, fleet):
    fleet({"b": [0, "value", {"x": [1, None, "é"]}, 0], "a": [0, "value", "\x9b[31m", 0]})
    result = invoke("run", "--out", "json", "*", "test.arg")
    assert json.loads(result.out) == {"b": {"x": [1, None, "é"]}, "a": "\x9b[31m"}
    assert "\x9b" not in result.out
    assert result.err == ""


def test_ndjson_and_yaml(invoke):
    lines = invoke("run", "--out", "ndjson", "*", "test.ping").out.splitlines()
    assert [json.loads(line) for line in lines] == [{"web1": True}, {"web2": True}]
    assert yaml.safe_load(invoke("run", "--out", "yaml", "*", "test.ping").out) == {"web1": True, "web2": True}


@pytest.mark.parametrize(
    "out, want",
    [
        ("rich", "web1\nweb2\n"),
        ("json", '["web1", "web2"]\n'),
        ("ndjson", '"web1"\n"web2"\n'),
        ("quiet", ""),
        ("yaml", "- web1\n- web2\n"),
    ],
)
def test_target(invoke, out, want):
    assert invoke("target", "*", "--out", out) == (0, want, "")


@pytest.mark.parametrize("codes, code", [([0, 0], 0), ([0, 2], 2), ([3, 2], 3), ([2, 0, 3], 3)])
def test_exit_code_is_the_highest(invoke, fleet, codes, code):
    fleet({f"t{number}": [0, "value", False, each] for number, each in enumerate(codes)})
    assert invoke("run", "*", "test.false", "--out", "json").code == code
    assert invoke("grains", "*").code == code
    assert invoke("clean", "*").code == code


def test_quiet_says_failures_on_stderr_only(invoke, fleet, state):
    failed = state("pkg_|-a_|-a_|-installed", 0, False, {}, "no such package\nmore")
    error = {"error": {"kind": "auth_failed", "message": "x: no key was taken", "hint": "h"}}
    broken = [0, "errors", ["bad.sls:3: no"], 2]
    fleet({"a": [0, "states", failed, 2], "b": [0, "error", error, 3], "c": broken, "d": [0, "value", 1, 0]})
    result = invoke("apply", "*", "--out", "quiet")
    assert (result.code, result.out) == (3, "")
    assert result.err.splitlines() == [
        "error: a: pkg.installed a: no such package",
        "error: b: auth_failed: x: no key was taken",
        "error: c: bad.sls:3: no",
    ]


def test_warnings_are_log_lines_of_salts_shape(invoke, monkeypatch):
    monkeypatch.setenv("FAKE_WARNING", "odd \x1b[31m thing")
    assert invoke("run", "*", "test.ping").err == "[WARNING ] web1: odd \\x1b[31m thing\n"
    assert invoke("run", "-l", "error", "*", "test.ping").err == ""
    monkeypatch.setenv("FAKE_LOG_LEVEL", "quiet")
    assert invoke("run", "*", "test.ping").err == ""
    assert "[WARNING ]" in invoke("-l", "warning", "run", "*", "test.ping").err


def test_what_a_target_warns_of_is_said(invoke, fleet, monkeypatch):
    monkeypatch.setenv("FAKE_TARGET_WARNING", "1")
    fleet({"a": [0, "value", 1, 0]})
    assert invoke("run", "a", "test.ping").err == "[WARNING ] a: the disk is nearly full\n"


def test_a_defect_shows_no_traceback_but_in_the_debug_log(invoke, monkeypatch):
    monkeypatch.setenv("FAKE_DEFECT", "it broke")
    result = invoke("run", "*", "test.ping")
    assert result.code == 1
    assert "error: RuntimeError: it broke" in result.err
    assert "Traceback" not in result.err
    assert "Traceback" in invoke("-l", "debug", "run", "*", "test.ping").err


def test_secrets_do_not_show_unless_asked_for(invoke, fleet, monkeypatch):
    monkeypatch.setenv("FAKE_SECRET", "canary-4711")
    monkeypatch.setenv("FAKE_WARNING", "saw canary-4711")
    fleet({"a": [0, "value", {"key": "is canary-4711!"}, 0]})
    for out in ("rich", "json", "yaml", "ndjson", "quiet"):
        result = invoke("run", "--out", out, "*", "pillar.get", "x")
        assert "canary" not in result.out + result.err, out
    result = invoke("run", "--out", "json", "*", "pillar.get", "x", "unmask=True")
    assert json.loads(result.out) == {"a": {"key": "is canary-4711!"}}
    assert "canary" not in result.err
    assert "canary" not in invoke("run", "--out", "json", "*", "pillar.get", "x", "unmask=False").out


def test_our_long_options_count_after_the_function_too(invoke, fleet):
    fleet({"a": [0, "value", True, 0]})
    assert invoke("run", "a", "test.ping", "--out", "json").out == '{\n"a": true\n}\n'


def test_sls_names():
    assert sls_names(["a,,b", "c."]) == ["a", "b", "c."]
