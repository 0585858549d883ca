"""Further functions of ``state``: requests, mocks, test mode by pillar, and the returns and events of states."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pushsalt.api import Client, Reporter, Selection, Settings
from tests.beds.project import Project, values

pytestmark = pytest.mark.slow

TOUCH = "{}:\n  file.touch\n"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path, {"it": {"transport": "local"}})
    project.write("salt/touch.sls", TOUCH.format(tmp_path / "touched"))
    return project


def test_a_request_is_stored_shown_and_run(project: Project, tmp_path: Path) -> None:
    assert project.json("run", "it", "state.check_request").data == {"it": {}}
    (requested,) = values(project.json("run", "it", "state.request", "touch").data["it"])
    assert requested["result"] is None and not (tmp_path / "touched").exists()

    (stored,) = values(project.json("run", "it", "state.check_request").data["it"]["default"]["test_run"])
    assert stored["result"] is None

    (ran,) = values(project.json("run", "it", "state.run_request").data["it"])
    assert ran["result"] is True and (tmp_path / "touched").exists()
    assert project.json("run", "it", "state.run_request").data == {"it": {}}


def test_a_dry_run_of_a_request_keeps_it(project: Project, tmp_path: Path) -> None:
    project.json("run", "it", "state.request", "touch")
    (ran,) = values(project.json("run", "it", "state.run_request", "--test").data["it"])
    assert ran["result"] is None and not (tmp_path / "touched").exists()
    assert list(project.json("run", "it", "state.check_request").data["it"]) == ["default"]


def test_the_code_of_a_failed_command_reaches_all_guards_but_the_first(project: Project) -> None:
    """As real Salt 3008 does."""
    guard = "  test.nop:\n    - onlyif:\n      - {fun: test.echo, args: [x]}\n"
    command = "fails:\n  cmd.run: [{name: exit 3}]\n"
    project.write("salt/one.sls", f"{command}a:\n{guard}")
    project.write("salt/two.sls", f"a:\n{guard}{command}b:\n{guard}")
    *_, one = values(project.json("apply", "it", "one").data["it"])
    *_, two = values(project.json("apply", "it", "two").data["it"])
    assert (one["comment"], two["comment"]) == ("Success!", "onlyif condition is false")


def test_a_guard_with_a_function_holds_in_the_check_of_a_prereq_and_in_the_run(project: Project) -> None:
    """In Salt, the check takes the function out of the guard, and the state runs though its guard says no."""
    guarded = "a:\n  test.succeed_with_changes:\n    - onlyif: {fun: test.echo, text: ''}\n"
    project.write("salt/one.sls", guarded + "b:\n  test.succeed_with_changes: [{prereq: [{test: a}]}]\n")
    returned = {state["__id__"]: state for state in values(project.json("apply", "it", "one").data["it"])}
    assert (returned["a"]["comment"], returned["a"]["changes"]) == ("onlyif condition is false", {})
    assert returned["b"]["changes"] == {}


def test_requests_have_names(project: Project, tmp_path: Path) -> None:
    for name in ("one", "two"):
        project.json("run", "it", "state.request", "touch", f"name={name}")
    assert project.json("run", "it", "state.clear_request", "three").data == {"it": False}
    assert project.json("run", "it", "state.clear_request", "one").data == {"it": True}
    assert list(project.json("run", "it", "state.check_request").data["it"]) == ["two"]
    assert project.json("run", "it", "state.check_request", "one").error("it")["exception"] == "KeyError"
    assert project.json("run", "it", "state.clear_request").data == {"it": True}
    assert project.json("run", "it", "state.run_request", "two").data == {"it": {}}
    assert not (tmp_path / "touched").exists()


def test_a_mocked_run_calls_nothing(project: Project, tmp_path: Path) -> None:
    (state,) = values(project.json("run", "it", "state.sls", "touch", "mock=true").data["it"])
    assert (state["result"], state["comment"]) == (True, "Not called, mocked")
    assert not (tmp_path / "touched").exists()


@pytest.mark.parametrize(
    "arguments, created",
    [([], False), (["test=false"], True), (["test=true"], False), (["pillar={test: false}"], True)],
)
def test_pillar_can_enable_test_mode(project: Project, tmp_path: Path, arguments: list[str], created: bool) -> None:
    project.files({"pillar/top.sls": "base:\n  '*':\n    - careful\n", "pillar/careful.sls": "test: true\n"})
    (state,) = values(project.json("run", "it", "state.sls", "touch", *arguments).data["it"])
    assert state["result"] is (True if created else None)
    assert (tmp_path / "touched").exists() is created


def test_pillar_of_the_call_reaches_templates_and_modules(project: Project, tmp_path: Path) -> None:
    project.files(
        {
            "pillar/top.sls": "base:\n  '*':\n    - p\n",
            "pillar/p.sls": "who: {tree: here, call: no}\n",
            "salt/t.txt": "{{ pillar.who.tree }} {{ pillar.who.call }} {{ salt['pillar.get']('who:call') }}",
            "salt/p.sls": f"{tmp_path}/out:\n  file.managed:\n    - source: salt://t.txt\n    - template: jinja\n"
            "both:\n  test.check_pillar:\n    - string: [who:tree, who:call]\n"
            "{{ salt['config.get']('who:call') }}:\n  test.nop: []\n",
        }
    )
    done = project.json("run", "it", "state.sls", "p", "pillar={who: {call: yes-it-is}}")
    assert [state["name"] for state in values(done.data["it"]) if state["result"]][1:] == ["both", "yes-it-is"]
    assert (tmp_path / "out").read_text() == "here yes-it-is yes-it-is"


def test_a_binary_template_is_copied_unchanged(project: Project, tmp_path: Path) -> None:
    data = bytes(range(256)) + b"{{ pillar }}"
    project.files(
        {
            "salt/tree/bin": data,
            "salt/tree/text": "{{ 1 + 1 }}",
            "salt/t.sls": f"{tmp_path}/out:\n  file.recurse:\n    - source: salt://tree\n    - template: jinja\n",
        }
    )
    assert project.json("run", "it", "state.sls", "t").code == 0
    assert (tmp_path / "out/bin").read_bytes() == data and (tmp_path / "out/text").read_text() == "2"


def test_errors_of_a_refreshed_pillar_are_logged(project: Project) -> None:
    project.files({"pillar/top.sls": "base: {'*': [p]}\n", "pillar/p.sls": "word\n"})
    done = project.json("run", "it", "saltutil.refresh_pillar")
    assert (done.code, done.data) == (0, {"it": True}) and "SLS 'p' does not render to a dictionary" in done.err


@pytest.mark.parametrize("template", ["", "template=jinja"])
def test_a_missing_script_has_salts_return(project: Project, template: str) -> None:
    done = project.json("run", "it", "cmd.script", "salt://no/such/script.sh", *filter(None, [template]))
    assert done.data["it"] == {"pid": 0, "retcode": 1, "stdout": "", "stderr": "", "cache_error": True}


def test_errors_have_salts_text_and_stderr_has_the_line(project: Project) -> None:
    project.write("salt/list.sls", "# one\nA:\n  cmd.run:\n    name: x\n")
    for fun in ("state.sls", "state.show_sls", "state.show_low_sls"):
        done = project.json("run", "it", fun, "list")
        assert done.code == 2
        assert done.data["it"] == ["State 'A' in SLS 'list' is not formed as a list"]
        assert "salt/list.sls:3" in done.err
    shown = project.run("run", "it", "state.sls", "list")
    assert "salt/list.sls:3" in shown.out and "list.sls" not in shown.err


def test_an_error_of_a_rendered_text_is_an_exception(project: Project) -> None:
    error = project.json("run", "it", "slsutil.renderer", "string={{ nope.x }}").error("it")
    assert error["exception"] == "SaltRenderError" and "nope" in error["message"]


def test_pillar_opts_put_the_configuration_into_pillar(tmp_path: Path) -> None:
    more = {"pillar_opts": True, "my_option": {"a": 1, "token": "x"}, "my_password": "not-for-targets"}
    project = Project(tmp_path, {"it": {"transport": "local"}}, **more)
    options = project.json("run", "it", "pillar.get", "master", "unmask=true").data["it"]
    assert options["file_roots"]["base"] == [str(project.folder / "salt")] and options["my_option"] == {"a": 1}
    assert "my_password" not in options


def test_a_parallel_state_is_answered_while_another_one_runs(project: Project, tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    wait = f"for i in $(seq 400); do [ -e {flag} ] && exit 0; sleep 0.05; done; exit 1"
    source = "__slot__:salt:test.echo(salt://asked)"  # a source that is not in the plan
    project.write("salt/asked", "from the controller")
    first = f"{flag}:\n  file.managed:\n    - source: {source}\n    - parallel: true\n"
    project.write("salt/beside.sls", f"{first}waits:\n  cmd.run:\n    - name: {wait}\n")
    done = project.json("apply", "it", "beside")
    assert [state["result"] for state in values(done.data["it"])] == [True, True], done.out
    assert flag.read_text() == "from the controller"


def test_fired_events_are_returned(project: Project) -> None:
    first = "a:\n  test.nop:\n    - fire_event: true\n    - name: first\n"
    project.write("salt/loud.sls", f"{first}b:\n  test.nop:\n    - fire_event: my/tag\n")
    tags: list[str] = []

    class Listener(Reporter):
        def event(self, id: str, tag: str, data: dict[str, Any]) -> None:
            tags.append(tag)

    settings = Settings(config=project.folder / "pushsalt.yaml", cache_dir=project.cache)
    settings.inventories.append(project.folder / "inventory.yaml")
    done = Client(settings, Listener()).apply(Selection("it"), ["loud"])["it"]
    assert [event["tag"] for event in done.events] == tags
    assert [tag.split("/", 3)[::3] for tag in tags] == [["salt", "it/first"], ["salt", "it/my/tag"]]
    assert [event["data"]["ret"]["__id__"] for event in done.events] == ["a", "b"]


def test_one_low_chunk_gives_one_return(project: Project) -> None:
    low = '{"state": "test", "fun": "%s", "name": "n", "__id__": "i"}'
    done = project.json("run", "it", "state.low", low % "nop")
    assert (done.code, done.data["it"]["__id__"], done.data["it"]["comment"]) == (0, "i", "Success!")
    done = project.json("run", "it", "state.low", low % "fail_without_changes")
    assert (done.code, done.data["it"]["result"]) == (2, False)
    unknown = project.json("run", "it", "state.low", low % "nope").data["it"]
    assert unknown == ["Specified state 'test.nope' was not found"]
    assert project.json("run", "it", "state.low", '{"fun": "nop"}').data["it"] == [
        'Missing "state" data',
        'Missing "name" data',
    ]


@pytest.mark.parametrize(
    "id_, ran", [("needs", "one needs"), ("heard", "one heard"), ("before", "before"), ("after", "before after")]
)
def test_one_id_runs_with_its_requisites(project: Project, id_: str, ran: str) -> None:
    project.write(
        "salt/ids.sls",
        "one: test.succeed_with_changes\n"
        "needs: {test.nop: [require: [test: one]]}\n"
        "heard: {test.nop: [listen: [test: one], watch: [sls: nothing*], require: [id: one]]}\n"
        "before: {test.nop: [prereq: [test: after]]}\n"
        "after: test.succeed_with_changes\n",
    )
    done = project.json("run", "it", "state.sls_id", id_, "ids")
    assert " ".join(state["__id__"] for state in values(done.data["it"])) == ran


@pytest.mark.parametrize("option", [True, False])
def test_states_that_do_not_wait_for_each_other_are_aggregated(tmp_path: Path, option: bool) -> None:
    project = Project(tmp_path, {"it": {"transport": "local"}}, **({"state_aggregate": ["probe"]} if option else {}))
    probe = (Path(__file__).parents[1] / "differential" / "states" / "probe.py").read_text()
    asked = "" if option else ", aggregate: true"
    project.files(
        {
            "salt/_states/probe.py": probe,
            "salt/many.sls": f"one: {{probe.listed: [items: [a]{asked}]}}\n"
            f"two: {{probe.listed: [items: [b]{asked}]}}\n"
            f"three: {{probe.listed: [items: [c], require: [probe: two]{asked}]}}\n"
            f"four: {{probe.listed: [items: [d]{asked}]}}\n",
        }
    )
    rets = {ret["__id__"]: ret["changes"]["items"] for ret in values(project.json("apply", "it", "many").data["it"])}
    assert rets == {"one": ["a", "b", "d"], "two": ["b"], "four": ["d"], "three": ["c"]}
    assert list(rets)[-1] == "three"
