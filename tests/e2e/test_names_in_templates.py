"""The variables of a managed file's template, on real targets: names and values equal Salt's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pushsalt.minion.filetemplates import names_of
from pushsalt.plan import make_plan
from tests.beds.project import Project, values

pytestmark = pytest.mark.slow

SHOWN = (
    "name",
    "source",
    "user",
    "group",
    "mode",
    "attrs",
    "extra",
    "hidden",
    "also",
    "owner",
    "aggregate",
    "unless",
    "order",
    "names",
    "require",
    "makedirs",
    "template",
    "context",
    "file_mode",
    "dir_mode",
    "clean",
    "keep_source",
)
TEMPLATE = "{{ {" + ", ".join(f"'{name}': {name} | default('-')" for name in SHOWN) + "} | tojson }}\n"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path, {name: {"transport": "local", "thin_dir": str(tmp_path / name)} for name in ("a", "b")})
    project.files({"salt/t": TEMPLATE, "salt/tree/one": TEMPLATE, "salt/tree/sub/two": TEMPLATE})
    return project


def apply_sls(project: Project, text: str, *arguments: str) -> list[dict[str, Any]]:
    project.write("salt/it.sls", text)
    return values(project.json("apply", "a", "it", *arguments).data["a"])


def template_variables(path: Path) -> dict[str, Any]:
    """The defined variables that a rendered template lists."""
    return {name: value for name, value in json.loads(path.read_text()).items() if value != "-"}


@pytest.mark.parametrize("sources", ["salt://t", "[salt://not-there, salt://t]", "[{salt://t: null}]"])
def test_arguments_of_the_state_are_variables(project, tmp_path, sources):
    """The expected variables are those of Salt 3008.3."""
    rets = apply_sls(
        project,
        f"""
it:
  file.managed:
    - name: {tmp_path}/it
    - source: {sources}
    - template: jinja
    - mode: 644
    - owner: root
    - extra: x
    - order: 3
    - makedirs: true
    - require: []
    - aggregate: true
    - unless: 'false'
    - context:
      hidden: 1
      also: [a, b]
""",
    )
    assert [ret["result"] for ret in rets] == [True], rets
    assert template_variables(tmp_path / "it") == {
        "name": f"{tmp_path}/it",
        "source": "salt://t",
        "user": "root",
        "group": None,
        "mode": "0644",
        "attrs": None,
        "owner": "root",
        "extra": "x",
        "aggregate": True,
        "hidden": 1,
        "also": ["a", "b"],
    }


def test_defaults_and_context_override_arguments(project, tmp_path):
    apply_sls(
        project,
        f"""
{tmp_path}/it:
  file.managed: [source: salt://t, template: jinja, extra: x, also: y, hidden: z, mode: keep,
                 defaults: {{extra: default, also: default}}, context: {{also: context}}]
""",
    )
    variables = template_variables(tmp_path / "it")
    assert (variables["extra"], variables["also"], variables["hidden"], variables["mode"]) == (
        "default",
        "context",
        "z",
        None,
    )


def test_yaml_of_context_and_pillar_keeps_their_order(project, tmp_path):
    """As in Salt, mappings of an SLS keep their order in the YAML of a template; other mappings are sorted."""
    order = "{{ c | yaml }} {{ d | yaml }} {{ pillar.k | yaml }} {{ {'z': 1, 'a': 2} | yaml }}\n"
    pillar = {"pillar/top.sls": "base: {'*': [p]}", "pillar/p.sls": "k: {z: {y: 1, b: 2}, a: 1}"}
    project.files({"salt/order": order, **pillar})
    apply_sls(
        project,
        f"""
{tmp_path}/it:
  file.managed: [source: salt://order, template: jinja, context: {{c: {{z: {{y: 1, b: 2}}, a: 1}}}},
                 defaults: {{d: {{z: 1, a: 2}}}}]
""",
    )
    written = "{z: {y: 1, b: 2}, a: 1}"
    assert (tmp_path / "it").read_text() == f"{written} {{z: 1, a: 2}} {written} {{a: 2, z: 1}}\n"


def test_each_entry_of_names_has_its_own_arguments(project, tmp_path):
    apply_sls(
        project,
        f"""
several:
  file.managed:
    - names:
      - {tmp_path}/one: [extra: one]
      - {tmp_path}/two
    - source: salt://t
    - template: jinja
    - extra: both
""",
    )
    assert [template_variables(tmp_path / name)["extra"] for name in ("one", "two")] == ["one", "both"]


def test_files_of_a_tree_have_their_own_name_and_mode(project, tmp_path):
    apply_sls(
        project,
        f"""
it:
  file.recurse: [name: {tmp_path}/it, source: salt://tree, template: jinja, file_mode: 640, dir_mode: 755,
                 clean: true, extra: x, context: {{also: c}}]
kept:
  file.recurse: [name: {tmp_path}/kept, source: salt://tree, template: jinja, file_mode: keep]
""",
    )
    same = {"user": None, "group": None, "attrs": None}
    for name in ("one", "sub/two"):
        source = {"name": f"{tmp_path}/it/{name}", "source": f"salt://tree/{name}?saltenv=base"}
        assert template_variables(tmp_path / "it" / name) == {
            **same,
            **source,
            "mode": "0640",
            "extra": "x",
            "also": "c",
        }
        source["name"] = f"{tmp_path}/kept/{name}"
        assert template_variables(tmp_path / "kept" / name) == {**same, **source, "mode": None}


def test_templates_of_contents_and_target_files_have_the_variables(project, tmp_path):
    (tmp_path / "local").write_text(TEMPLATE)
    apply_sls(
        project,
        f"""
contents:
  file.managed: [name: {tmp_path}/contents, contents_pillar: text, template: jinja, extra: x, mode: 600]
local:
  file.managed: [name: {tmp_path}/copy, source: {tmp_path}/local, template: jinja, extra: y]
""",
        "--pillar",
        json.dumps({"text": TEMPLATE}),
    )
    variables = template_variables(tmp_path / "contents")
    assert (variables["extra"], variables["mode"], variables["name"]) == ("x", "0600", f"{tmp_path}/contents")
    variables = template_variables(tmp_path / "copy")
    assert (variables["extra"], variables["source"]) == ("y", f"{tmp_path}/local")


def test_a_dry_run_renders_the_same_text(project, tmp_path):
    text = f"{tmp_path}/it: {{file.managed: [source: salt://t, template: jinja, extra: EXTRA]}}"
    apply_sls(project, text.replace("EXTRA", "1"))
    assert apply_sls(project, text.replace("EXTRA", "1"), "--test")[0]["result"] is True
    (ret,) = apply_sls(project, text.replace("EXTRA", "2"), "--test")
    assert ret["result"] is None and '"extra": 2' in ret["changes"]["diff"]
    (ret,) = apply_sls(project, text.replace("EXTRA", "2"))
    assert '"extra": 2' in ret["changes"]["diff"]


def test_standard_variables_cannot_be_arguments(project, tmp_path):
    text = f"{tmp_path}/it: {{file.managed: [source: salt://t, template: jinja, pillar: {{a: 1}}]}}"
    (ret,) = apply_sls(project, text)
    assert ret["result"] is False and "'pillar' cannot be an argument" in ret["comment"]


def test_arguments_may_differ_between_targets(project, tmp_path):
    project.write(
        "salt/it.sls",
        f"{tmp_path}/to-{{{{ grains.id }}}}: {{file.managed: [source: salt://t, "
        "template: jinja, extra: {{ grains.id }}]}",
    )
    project.json("apply", "*", "it")
    assert [template_variables(tmp_path / f"to-{name}")["extra"] for name in ("a", "b")] == ["a", "b"]


def test_prerendered_names_are_those_that_the_target_requests():
    """Both sides compute the same key, so no template is rendered or sent twice."""
    from thin import wire
    from thin.call_state import INTERNAL
    from thin.states import file
    from thin.utils import args
    from thin.utils.files.names import template_names

    chunk = {
        "state": "file",
        "fun": "managed",
        "name": "/x",
        "__id__": "x",
        "__sls__": "s",
        "__env__": "base",
        "source": "salt://t",
        "template": "jinja",
        "mode": 644,
        "owner": "root",
        "extra": {"b": [1], "a": None},
        "order": 10000,
        "require": [],
        "umask": "022",
        "retry": {"attempts": 1},
        "context": None,
    }
    plan, _ = make_plan([chunk], Files(), lambda url, *_: (names_of(chunk, url), b"text"), test=False)
    _, kwargs = args.bind(file.managed, {**chunk, "__umask__": 18}, INTERNAL)
    extra = {name: kwargs[name] for name in kwargs if name not in args.spec(file.managed).args}
    names = template_names("/x", "salt://t", "root", None, "0644", None, extra)
    assert set(names) == {"name", "source", "user", "group", "mode", "attrs", "owner", "extra"}
    key = wire.template_key("salt://t", "base", "jinja", None, None, "file_|-x_|-/x_|-managed", names)
    assert list(plan.templates) == [key]


class Files:
    """A file server with one file."""

    path, size = "/t", 4

    def find(self, path: str, saltenv: str) -> Files:
        return self

    def digest(self) -> str:
        return "0" * 64
