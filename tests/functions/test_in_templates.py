"""Functions called by templates: each expression has Salt's value, for an offline target."""

import json

import pytest

from pushsalt.api import Client, JobOptions, Selection, Settings

FILES = {
    "app/map.jinja": "{% set app = {'os': grains.os, 1: 2} %}",
    "app/data.yaml": "a: {{ 1 + 1 }}\n",
    "app/data.json": '{"b": [null, "{{ grains.os }}"]}',
    "app/defaults.yaml": "port: 80\nnested: {deep: [x]}\n",
    "old/defaults.json": '{"port": 21}',
}
PILLAR = {"a": {"b": {"c": 1, "l": [1]}, "driver": "env"}, "text": "word"}


@pytest.fixture(scope="module")
def evaluate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    for name, text in FILES.items():
        (folder / "states" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "states" / name).write_text(text)
    config = {"file_roots": {"base": [str(folder / "states")]}, "pillar_roots": {"base": []}}
    (folder / "pushsalt.yaml").write_text(json.dumps(config))
    hosts = {"web1": {"transport": "offline", "grains": {"os": "Debian"}}}
    (folder / "inventory.yaml").write_text(json.dumps({"hosts": hosts}))
    client = Client(Settings(config=folder / "pushsalt.yaml", cache_dir=folder / "cache"))

    def call(expression):
        (folder / "states" / "it.sls").write_text(
            f"{{% set v = {expression} %}}\nit: {{test.nop: [{{v: {{{{ v | json }}}}}}]}}\n"
        )
        ret = client.run(Selection("web1"), "state.show_low_sls", ["it"], options=JobOptions(pillar=PILLAR))["web1"].ret
        return ret[0]["v"] if isinstance(ret, list) and isinstance(ret[0], dict) else ret

    return call


@pytest.mark.parametrize(
    "expression, want",
    [
        ("salt['pillar.get']('a:b', {'c': 5, 'd': 6}, True)", {"c": 1, "d": 6, "l": [1]}),
        ("salt['pillar.get']('a:b', {'l': [9]}, True, True)", {"c": 1, "l": [9, 1]}),
        ("salt['pillar.get']('a|b|c', 0, False, None, '|')", 1),
        ("salt['grains.get']('nope', nope) is defined", False),
        ("salt['slsutil.serialize']('yaml', {'a': [1, 2], 'b': {'c': none}})", "a: [1, 2]\nb: {c: null}"),
        ("salt['slsutil.serialize']('yaml', {'a': 1}, default_flow_style=False)", "a: 1"),
        ("salt['slsutil.serialize']('yaml', 'x')", "x"),
        ("salt['slsutil.file_exists']('app/data.yaml')", True),
        ("salt['slsutil.file_exists']('salt://app/data.yaml')", False),
        ("salt['slsutil.renderer']('salt://app/data.yaml')", {"a": 2}),
        ("salt['slsutil.renderer']('salt://app/nothing.yaml')", {}),
        ("salt['defaults.get']('app')", {"port": 80, "nested": {"deep": ["x"]}}),
        ("salt['defaults.get']('app:nested:deep:0')", "x"),
        ("salt['defaults.get']('app:nope', 5)", 5),
        ("salt['defaults.get']('old:port')", 21),
        ("salt['defaults.get']('nobody')", None),
        ("salt['defaults.merge']({'a': 1}, {'b': 2})", {"a": 1, "b": 2}),
        ("salt['jinja.load_map']('app/map.jinja', 'app')", {"os": "Debian", "1": 2}),
        ("salt['jinja.import_yaml']('app/data.yaml')", {"a": 2}),
        ("salt['jinja.import_json']('app/data.json')", {"b": [None, "Debian"]}),
        ("salt['random.sample']('abcde', 2, seed='x')", ["d", "c"]),
        ("salt['random.shuffle']([1, 2, 3], seed='x')", [2, 3, 1]),
        ("salt['random.rand_int'](1, 100, seed='x')", 81),
        ("salt['random.seed'](5, hash='abc')", 4),
        ("salt['random.get_str'](7) | length", 7),
        ("salt['random.hash']('x', 'md5')", "9dd4e461268c8034f5c8564e155c67a6"),
        ("salt['random.str_encode']('x')", "eA=="),
        (
            "salt['random.shadow_hash']('s', 'p')",
            "$6$s$H/8pW5Gx18QDBBv1rR.jh4zbUFj1XpsTBZurvWVVrCeIbUqN1UkEV48tWnfT7cYz7WcRbQYv6iZ8ieHr02hK30",
        ),
        ("salt['sdb.get']('plain')", "plain"),
        ("salt['sdb.get']('sdb://nobody/x')", "sdb://nobody/x"),
        ("salt['postgres.user_create'] is callable", True),
        ("['postgres.user_create' in salt, 'mongodb.user_find' in salt, 'postgres._x' in salt]", [True, False, False]),
        ("salt['mongodb.user_create'] | default('none here')", "none here"),
        ("opts.saltenv ~ salt['config.get']('saltenv') ~ saltenv", "basebasebase"),
    ],
)
def test_the_value_is_that_of_salt(evaluate, expression, want):
    assert evaluate(expression) == want


@pytest.mark.parametrize(
    "expression, words",
    [
        ("salt['pillar.get']('text', nope)", "'nope' is undefined"),
        ("salt['pillar.get']('text', {}.nope)", "has no attribute 'nope'"),
        ("salt['random.hash']('x', 'nope')", "valid algorithm"),
        ("salt['random.str_encode']('x', 'nope')", "valid encoder"),
        ("salt['random.shadow_hash']('s', 'p', 'nope')", "unknown algorithm"),
        ("salt['jinja.load_map']('app/map.jinja', 'nope')", "nope"),
        ("salt['jinja.import_yaml']('app/none.yaml')", "app/none.yaml"),
        ("salt['sdb.get']('sdb://a/x')", "the sdb profile 'a' is in pillar"),
        ("salt['sdb.get']('x', strict=true)", 'must start with "sdb://"'),
        ("salt['sdb.get']('sdb://a', strict=true)", "must have a profile name"),
        ("salt['sdb.get']('sdb://none/x', strict=true)", 'profile "none"'),
        ("salt['slsutil.banner'](width=4)", "too small"),
    ],
)
def test_what_cannot_be_answered_says_so(evaluate, expression, words):
    [error] = evaluate(expression)
    assert words in error and "it.sls:1" in error


def test_a_function_that_a_machine_may_have_cannot_be_called_while_there_is_none(evaluate):
    assert evaluate("salt['postgres.user_create']('x')")["error"]["kind"] == "offline"
