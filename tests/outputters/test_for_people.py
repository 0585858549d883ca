"""Output for people: changes only, groups, failures last, nothing raw."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pushsalt.display.durations import seconds
from pushsalt.display.safe import UNSAFE, escape
from pushsalt.model import Explained, TargetReturn
from pushsalt.outputters import load, nested, rich

pytestmark = pytest.mark.slow


def state(tag, number, result=True, changes=None, comment="", **kwargs):
    _, id, name, _ = tag.split("_|-")
    base = {"result": result, "changes": changes or {}, "comment": comment, "name": name, "__id__": id}
    return {tag: {**base, "__sls__": "web", "__run_num__": number, "duration": 12.5, **kwargs}}


PKG = state("pkg_|-web_|-nginx_|-installed", 1, True, {"nginx": {"old": "", "new": "1.22"}}, "installed")
CONF = state("file_|-/etc/a_|-/etc/a_|-managed", 0, True, {"diff": "--- \n+++ \n@@ -1 +1 @@\n-x\n+y\n", "mode": "0644"})
SAME = state("test_|-s_|-s_|-nop", 2, True, {}, "Success!")
FAILED = state("service_|-web_|-web_|-running", 3, False, {}, "no such unit\nsee journal")
PENDING = state("pkg_|-p_|-p_|-installed", 4, None, {}, "p would be installed")


def show(**returns):
    return rich.output(returns)


def test_changes_only_in_the_order_of_the_run():
    assert show(web1={**PKG, **CONF, **SAME}) == (
        "web1  2 changed, 1 unchanged\n"
        "  changed  file.managed   /etc/a\n"
        "           @@ -1 +1 @@\n"
        "           -x\n"
        "           +y\n"
        "           mode: 0644\n"
        "  changed  pkg.installed  nginx  (web)\n"
        "           nginx: (none) -> 1.22\n"
        "\n"
        "1 target: 1 succeeded, 1 changed\n"
    )


@pytest.mark.parametrize(
    "changes, shown",
    [
        ({"/d": {"directory": "new"}}, ["directory: new"]),
        ({"newfile": "/d"}, ["new file"]),
        ({"cmd": "/d"}, [""]),
        ({"new": "/d", "mode": "0644"}, ["new: /d", "mode: 0644"]),
        ({"/d": {"old": "a", "new": "b"}}, ["/d: a -> b"]),
    ],
)
def test_the_name_is_not_repeated_in_the_changes(changes, shown):
    lines = show(a=state("file_|-/d_|-/d_|-x", 0, True, changes)).splitlines()
    assert [row.strip() for row in lines[2 : 2 + len(shown)]] == shown


def test_a_highstate_without_states_has_a_hint():
    key, said = "no_|-states_|-states_|-None", "No Top file or master_tops data matches found."
    comment = Explained(f"{said} Please see master log for details.", "write top.sls")
    ret = {"result": False, "comment": comment, "name": "No States", "changes": {}}
    assert show(web1={key: {**ret, "__run_num__": 0}}) == (
        f"web1  1 failed\n  failed  {said}\n  hint: write top.sls\n\n1 target: 0 succeeded, 1 failed\n"
    )


def test_failures_and_dry_runs_have_their_comment():
    text = show(web1={**FAILED, **PENDING})
    assert text == (
        "web1  1 failed, 1 would change\n"
        "  failed        service.running  web\n"
        "                no such unit\n"
        "                see journal\n"
        "  would change  pkg.installed    p\n"
        "                p would be installed\n"
        "\n"
        "1 target: 0 succeeded, 1 would change, 1 failed\n"
    )


def test_equal_results_are_shown_once_and_failures_last():
    returns = {f"web{number}": {**PKG, **SAME} for number in range(1, 9)}
    text = rich.output({"bad": FAILED, **returns, "same": SAME})
    titles = [line for line in text.splitlines() if line and not line.startswith(" ")]
    assert titles == [
        "web1, web2, web3, web4, web5 and 3 more  1 changed, 1 unchanged  (8 targets: same)",
        "same  1 unchanged",
        "bad  1 failed",
        "10 targets: 9 succeeded, 8 changed, 1 failed",
        "failed     bad",
    ]
    assert "web6, web7, web8" in rich.output(returns, verbose=1)


def test_errors_and_compile_errors():
    error = {"error": {"kind": "auth_failed", "message": "db1: no key", "hint": "add one"}}
    raised = {"error": {"kind": "exception", "message": "boom", "hint": "look", "exception": "CommandExecutionError"}}
    data = {"db1": error, "db2": raised, "db3": ["web.sls:3: no", "web.sls:9: no"]}
    returns = {id: rich.infer(id, ret) for id, ret in data.items()}
    returns["db3"] = TargetReturn("db3", data["db3"], "errors", 2)
    text = rich.output(data, returns=returns, elapsed=2.0)
    assert "db1  no answer: auth_failed\n  no key\n  hint: add one\n" in text
    assert "db2  failed: CommandExecutionError\n  boom\n  hint: look\n" in text
    assert "db3  cannot be rendered or compiled\n  web.sls:3: no\n  web.sls:9: no\n" in text
    assert "3 targets: 0 succeeded, 2 failed, 1 no answer  in 2.0 s" in text


def test_times_by_phase_and_round_trips():
    returns = {
        id: TargetReturn(id, SAME, "states", 0, {"connect": 0.1, "run": run}, trips)
        for id, run, trips in (("a", 1.0, 3), ("b", 2.0, 3), ("c", 200.0, 4))
    }
    data = {id: result.ret for id, result in returns.items()}
    text = rich.output(data, returns=returns, verbose=1)
    assert "         connect      run\nmedian    100 ms    2.0 s\nslowest   100 ms  3 m 20 s\n" in text
    assert "round trips  3 to 4 per target\n" in text
    assert "time   100 ms    1.0 s\n" in rich.output({"a": SAME}, returns=returns)


@pytest.mark.parametrize(
    "value, text",
    [
        (True, "a: True\n"),
        (None, "a: None\n"),
        ("one line\n", "a: one line\n"),
        ("two\nlines\n", "a:\n    two\n    lines\n"),
        ({}, "a: {}\n"),
        (
            {"k": 1, "l": [1, {"x": 1, "y": [2]}], "m": {"n": "1\n2"}},
            "a:\n    k: 1\n    l:\n        - 1\n        - x: 1\n          y:\n              - 2\n"
            "    m:\n        n:\n            1\n            2\n",
        ),
        ([[1, 2], []], "a:\n    - - 1\n      - 2\n    - []\n"),
        (b"\xff", "a: \\xff\n"),
    ],
)
def test_function_returns(value, text):
    assert show(a=value) == text


def test_equal_function_returns_share_a_line():
    assert show(a=True, b=True, c=False).splitlines()[:2] == ["a, b: True  (2 targets: same)", "c: False"]


def test_nested_stands_alone():
    assert nested.output({"a": {"b": 1}}) == "a:\n    b: 1\n"


def test_the_modes_of_state_output():
    data = {"a": {**state("test_|-s_|-s_|-nop", 0, True), **CONF, **FAILED}}
    usual = rich.output(data)
    assert "test.nop" not in usual and "no such unit" in usual
    assert "test.nop" in rich.output(data, state_output="full")
    terse = rich.output(data, state_output="terse")
    assert "test.nop" in terse and "no such unit" not in terse
    mixed = rich.output(data, state_output="mixed_id")
    assert "test.nop" in mixed and "no such unit" in mixed and "0644" not in mixed


CHANGED = {**PKG, **SAME, **FAILED, **PENDING}
#: the text below each state's line
BELOW = {"pkg.installed": "(none) -> 1.22", "service.running": "no such unit", "pending": "p would be installed"}


@pytest.mark.parametrize(
    "options, one_line, hidden",
    [
        ({"state_output": "changes"}, [], []),
        ({"state_output": "Changes_id"}, [], []),
        ({"state_output": "filter"}, [], []),
        ({"state_output": "filter", "terse": "True,None"}, ["pkg.installed", "pending"], []),
        ({"state_output": "filter_id", "exclude": ["None", False]}, [], ["service.running", "pending"]),
        ({"state_output": "filter", "exclude": "True"}, [], ["pkg.installed", "test.nop"]),
        ({"state_output": "filter", "terse": [True], "exclude": [True]}, ["pkg.installed"], []),
        ({"state_output": "changes", "exclude": "True"}, [], []),
    ],
)
def test_the_modes_changes_and_filter(options, one_line, hidden):
    """Unchanged states have one line, as in Salt."""
    opts = {f"state_output_{word}": options[word] for word in ("terse", "exclude") if word in options}
    text = rich.output({"a": CHANGED}, state_output=options["state_output"], opts=opts)
    lines = {" ".join(row.split()) for row in text.splitlines()}
    assert ("test.nop" in text) == ("test.nop" not in hidden)
    for function, below in BELOW.items():
        assert (below in text) == (function not in [*one_line, *hidden])
    assert ("would change pkg.installed p" in lines) == ("pending" not in hidden)
    assert ("failed service.running web" in lines) == ("service.running" not in hidden)
    assert ("changed pkg.installed nginx (web)" in lines) == ("pkg.installed" not in hidden)
    assert text.startswith("a  1 failed, 1 changed, 1 would change, 1 unchanged\n"), "those that are hidden count"


@pytest.mark.parametrize("mode", ["changes", "filter", "terse", "mixed"])
def test_a_warning_is_shown_in_each_mode(mode):
    data = {"a": state("test_|-s_|-s_|-nop", 0, warnings=["old word"])}
    assert "warning: old word" in rich.output(data, state_output=mode, opts={"state_output_terse": "True"})


def test_long_diffs_are_cut_unless_asked_for():
    diff = "--- \n+++ \n@@ -1 +1 @@\n" + "+line\n" * 500
    data = {"a": state("file_|-a_|-a_|-managed", 0, True, {"diff": diff})}
    assert "... 421 more lines (--full-diff shows them)" in rich.output(data)
    assert rich.output(data, verbose=1).count("+line") == rich.output(data, full_diff=True).count("+line") == 500


def test_verbose_shows_where_a_state_came_from_and_the_unchanged():
    assert "nginx  (web)  web\n" in rich.output({"a": PKG}, verbose=1)
    text = rich.output({"a": {**PKG, **SAME}}, verbose=2)
    assert "  unchanged  test.nop       s  web  12 ms\n" in text


def test_warnings_of_unchanged_states_show():
    assert "warning: old argument" in show(a=state("test_|-s_|-s_|-nop", 0, warnings=["old argument"]))


def test_output_of_commands_is_shown():
    changes = {"pid": 1, "retcode": 0, "stdout": "hello", "stderr": ""}
    text = show(a=state("cmd_|-x_|-echo_|-run", 0, True, changes))
    assert "stdout: hello" in text
    assert not any(word in text for word in ("pid", "retcode", "stderr"))


def test_colours_are_the_only_difference():
    data = {"a": {**PKG, **CONF, **FAILED}, "b": {"k": "v"}}
    import re

    colored = rich.output(data, color=True)
    assert "\x1b[32m+y\x1b[0m" in colored and "\x1b[31m-x\x1b[0m" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == rich.output(data)


wild = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None)) | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
keys = ("result", "changes", "comment", "name", "__id__", "__sls__", "__run_num__", "duration", "warnings")
states = st.dictionaries(st.text(max_size=9).map(lambda t: f"{t}_|-x"), st.dictionaries(st.sampled_from(keys), wild))


@pytest.mark.slow
@given(st.dictionaries(st.text(max_size=8), wild | states))
def test_any_return_is_shown_and_nothing_raw(data):
    for verbose in (0, 2):
        assert not UNSAFE.search(rich.output(data, verbose=verbose).replace("\n", ""))


@pytest.mark.parametrize("shape", ["states", "errors", "error", "value"])
@given(ret=wild)
def test_any_return_of_any_shape(shape, ret):
    result = TargetReturn("a", ret, shape, 3)
    assert rich.output({"a": ret}, returns={"a": result}, verbose=1)


@pytest.mark.parametrize(
    "text, want",
    [
        ("plain\ttext\näöü 日本 😀", "plain\ttext\näöü 日本 😀"),
        ("\x1b[31m\x07\x7f\x9b", "\\x1b[31m\\x07\\x7f\\x9b"),
        ("a\r\nb\rc", "a\nb\\x0dc"),
        ("\u202eevil\u2066", "\\u202eevil\\u2066"),
        ("\u2028\ufeff\u200b", "\\u2028\\ufeff\\u200b"),
        ("\U000e0041", "\\U000e0041"),
        ("\udcff\ud800", "\\xff\\ud800"),
    ],
)
def test_escape(text, want):
    assert escape(text) == want


@pytest.mark.parametrize(
    "value, want",
    [(0.0354, "35 ms"), (0.9999, "1.0 s"), (2.44, "2.4 s"), (99.94, "99.9 s"), (99.96, "1 m 40 s"), (185, "3 m 05 s")],
)
def test_seconds(value, want):
    assert seconds(value) == want


def test_the_lines_of_an_error_stand_out():
    from pushsalt.display.problems import problem_lines
    from pushsalt.display.style import draw

    text = "Something is\nwrong\n  in web.sls:2\n  from top.sls:9\n\n  1 | a:\n> 2 |   b: [\n\nhint: close it"
    rows = list(problem_lines(["first", "second", text]))
    assert draw(rows) == f"first\nsecond\n\n{text}\n"
    styles = {row[0].text[:8]: [span.style for span in row] for row in rows if row}
    assert styles["first"] == styles["wrong"] == ["bad"]
    assert styles["  in web"] == styles["  from t"] == [""]
    assert styles["> "] == ["bad_title", "dim", "title"]
    assert styles["hint:"] == ["title", ""]
    more = [row for row in problem_lines([text + "\n\nMore\n  in web.sls:3"]) if row]
    assert [(row[0].text, row[0].style) for row in more[-2:]] == [("More", "bad"), ("  in web.sls:3", "")]


OWN = {
    "web1": {"web1": "id", "10.0.0.1": "address", "a.example": "vhost"},
    "web2": {"web2": "id", "10.0.0.2": "address", "b.example": "vhost"},
    "db1": {"db1": "id"},
}


def refused(id, address):
    return {"error": {"kind": "connection_refused", "message": f"{id}: {address} port 22: refused", "hint": "sshd?"}}


def test_what_differs_in_a_targets_own_values_only_is_shown_once():
    def vhost(id, name):
        return state(f"file_|-a_|-/srv/{id}_|-managed", 0, True, {"diff": f"+server {name};"})

    data = {"web1": vhost("web1", "a.example"), "web2": vhost("web2", "b.example"), "db1": vhost("db1", "xdb1")}
    text = rich.output(data, own=OWN.get)
    assert text.splitlines()[0] == "web1, web2  1 changed  (2 targets: alike, differing in id, vhost)"
    assert "/srv/web1" in text and "/srv/web2" not in text and "+server xdb1;" in text
    assert "web2  1 changed" in rich.output(data)


def test_errors_alike_are_one():
    data = {"web1": refused("web1", "10.0.0.1"), "web2": refused("web2", "10.0.0.2")}
    text = rich.output(data, own=OWN.get)
    assert text.startswith(
        "web1, web2  no answer: connection_refused  (2 targets: alike, differing in address)\n"
        "  10.0.0.1 port 22: refused\n"
        "  hint: sshd?\n"
    )


@pytest.mark.parametrize("shape, code", [("value", 0), ("value", 2), ("error", 2)])
def test_what_a_function_returned_is_shown_of_each_target(shape, code):
    def value(id):
        return {"error": {"kind": "exception", "exception": "E", "message": f"is {id}"}} if shape == "error" else id

    data = {id: value(id) for id in ("web1", "web2")}
    returns = {id: TargetReturn(id, ret, shape, code, retcode=code) for id, ret in data.items()}
    asked = []
    text = rich.output(data, returns=returns, own=lambda id: asked.append(id) or OWN[id])
    assert "alike" not in text and text == rich.output(data, returns=returns)
    assert asked == []  # finding the parts that belong to a target takes time


@pytest.mark.parametrize(
    "tag, changes",
    [
        ("cmd_|-hostname_|-hostname_|-run", {"pid": 1, "stdout": "it is {}"}),
        ("module_|-x_|-x_|-run", {"grains.get": "{}"}),
    ],
)
@pytest.mark.parametrize("result", [True, False])
def test_what_a_state_was_asked_is_shown_of_each_target(tag, changes, result):
    own = {id: {**OWN[id], f"{id}.x": "host name"} for id in ("web1", "web2")}
    data = {
        id: state(tag, 0, result, {key: str(value).format(f"{id}.x") for key, value in changes.items()}) for id in own
    }
    assert "alike" not in rich.output(data, own=own.get)


def test_own_values_are_asked_only_of_reports_that_may_be_alike():
    asked = []
    data = {"web1": refused("web1", "10.0.0.1"), "web2": {**CONF}, "db1": {**PKG}}
    rich.output(data, own=lambda id: asked.append(id) or OWN[id])
    assert asked == []


def test_own_values_of_one_name_are_all_compared():
    own = {f"web{n}": {f"10.0.0.{n}": "address", "172.17.0.1": "address"} for n in (1, 2)}
    data = {id: refused(id, f"10.0.0.{id[-1]} (behind 172.17.0.1)") for id in own}
    assert "(2 targets: alike, differing in address)" in rich.output(data, own=own.get)
    data["web2"] = refused("web2", "172.17.0.1 (behind 172.17.0.1)")
    assert "alike" not in rich.output(data, own=own.get)


def test_unknown_host_keys_are_listed_with_the_commands_to_verify_them():
    def unknown(id, number):
        message = f"{id}: the host key of 10.0.0.{number} port 22 is not known: ssh-ed25519 SHA256:key{number}"
        return {"error": {"kind": "host_key_unknown", "message": message, "hint": "compare"}}

    text = rich.output({"web1": unknown("web1", 1), "web2": unknown("web2", 2), "db1": True}, own=OWN.get)
    assert "web1, web2  no answer: host_key_unknown  (2 targets: same)\n" in text
    for number in (1, 2):
        assert f"\n  web{number}  10.0.0.{number}  port 22  ssh-ed25519 SHA256:key{number}\n" in text
    assert "ssh-keyscan -p 22 10.0.0.1 10.0.0.2 2>/dev/null | ssh-keygen -lf -\n" in text


def test_what_a_function_returns_is_no_unknown_host_key():
    """The lines below such an error are to be pasted into a shell, and a target chooses its return."""
    message = "the host key of $(touch${IFS}x) port 22 is not known: ssh-ed25519 SHA256:key"
    data = {id: {"error": {"kind": "host_key_unknown", "message": message, "hint": "-"}} for id in ("web1", "web2")}
    text = rich.output(data, returns={id: TargetReturn(id, ret) for id, ret in data.items()})
    assert "ssh-keyscan" not in text and "no answer" not in text and message in text
    assert "ssh-keyscan -p 22 '$(touch${IFS}x)' 2>/dev/null" in rich.output(data)


def test_a_report_that_names_another_target_is_not_alike():
    """``web2`` has the text of ``web1``, with the id of ``web1`` in it; ``db1`` has its own."""

    def points_to(id):
        return state("file_|-a_|-/srv/a_|-managed", 0, True, {"diff": f"+server {id};"})

    data = {"web1": points_to("web1"), "web2": points_to("web1"), "db1": points_to("db1")}
    text = rich.output(data, own=OWN.get)
    assert "alike" not in text and "+server web1;" in text and "+server db1;" in text
    assert "web1, web2  1 changed  (2 targets: same)" in text
    data["web2"] = points_to("web2")
    assert "(3 targets: alike, differing in id)" in rich.output(data, own=OWN.get)


def test_the_end_names_those_that_failed_and_the_command_for_them():
    data = {"web1": refused("web1", "x"), "web2": {**FAILED}, "db1": True}
    text = rich.output(data, again=lambda ids: f"pushsalt apply -L {','.join(ids)} web")
    assert text.endswith("failed     web2\nno answer  web1\nagain      pushsalt apply -L web1,web2 web\n")
    assert "again" not in rich.output({"web2": {**FAILED}}, again=str)
    assert "again" not in rich.output({"db1": True, "web1": True}, again=str)


def test_a_silent_command_that_fails_has_its_exit_status():
    data = {"a": "", "b": "out"}
    returns = {id: TargetReturn(id, ret, exit_code=2, retcode=3) for id, ret in data.items()}
    assert rich.output(data, returns=returns).startswith("a  exit status 3\n\nb  exit status 3\n    out\n")


@pytest.mark.parametrize("value, body", [("", ""), (True, "    True\n"), ("a\nb", "    a\n    b\n")])
def test_a_failed_batch_check_has_no_exit_status_of_the_command(value, body):
    returns = {"web1": TargetReturn("web1", value, exit_code=2, retcode=1, check="test.ping: returned False")}
    text = rich.output({"web1": value}, returns=returns)
    assert text == f"web1  batch check failed\n{body}  test.ping: returned False\n"


@pytest.mark.parametrize(
    "options, unchanged",
    [
        ({}, False),
        ({"state_verbose": True}, True),
        ({"state_output": "full"}, True),
        ({"state_output": "full", "state_verbose": False}, False),
        ({"state_output": "terse", "state_verbose": False}, False),
        ({"state_output": "changes"}, True),
        ({"state_output": "filter", "state_verbose": False}, False),
        ({"verbose": 2, "state_verbose": False}, True),
    ],
)
def test_state_verbose_says_whether_unchanged_states_are_shown(options, unchanged):
    shown = rich.output({"web1": {**PKG, **SAME}}, **options)
    assert "pkg.installed" in shown
    assert ("test.nop" in shown) == unchanged


def test_state_tabular_is_the_row_of_a_state():
    told = {"web1": {**PKG, **SAME, **FAILED, **PENDING}}
    rows = rich.output(told, state_output="terse", state_tabular=True).splitlines()
    assert "         pkg.installed  Changed   Name: nginx" in rows
    assert any(row.strip().startswith("service.running    Failed") for row in rows)
    assert any(row.strip().startswith("pkg.installed  Differs") for row in rows)
    rows = rich.output(told, state_output="terse_id", state_tabular="{1} {2}.{3}={4}").splitlines()
    assert "  web pkg.installed=Changed" in rows
    rows = rich.output(told, state_output="mixed", state_tabular=True).splitlines()
    assert "no such unit" in [row.strip() for row in rows], "a state that failed is shown whole"
    assert "state_tabular: IndexError" in rich.output(told, state_output="terse", state_tabular="{99}")
    assert rich.output(told, state_tabular=True) == rich.output(told), "for modes that leave a line of a state"


COMMANDS = "x\n::set-output name=a::b\n\u3000::error::y\n##[group]z\n##vso[task.setvariable variable=a]b"


@pytest.mark.parametrize("service", ["GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION"])
@pytest.mark.parametrize("out", ["rich", "highstate", "nested", "yaml", "json"])
@pytest.mark.parametrize("begin", ["", "::add-mask::", "##teamcity["])
def test_a_target_sends_no_command_to_a_ci_service(monkeypatch, service, out, begin):
    text = begin + COMMANDS
    data = {"t": {**state("a_|-b_|-c_|-d", 0, True, {"new": text}, text), **FAILED}, "u": text, "v": [text]}
    plain = load(out).output(data)
    assert "::set-output" in plain
    monkeypatch.setenv(service, "true")
    shown = load(out).output(data)
    assert not [line for line in shown.splitlines() if line.lstrip().startswith("::")]
    assert "##[" not in shown and "##vso[" not in shown and "##teamcity[" not in shown
    assert "set-output name=a::b" in shown
    if out in ("yaml", "json"):
        assert yaml.safe_load(shown) == yaml.safe_load(plain)
