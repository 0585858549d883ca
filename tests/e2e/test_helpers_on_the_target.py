"""Functions that the controller answers in templates, called by a state on the target: they ask the controller."""

from __future__ import annotations

import json

from pushsalt.api import Client, JobOptions, Selection, Settings

FILES = {
    "salt/fm/defaults.yaml": "a: {b: 1}\n",
    "salt/fm/map.jinja": "{% set fm = {'id': grains.id} %}\n",
}
CALLS = {
    "slsutil.renderer": ({"path": "salt://fm/defaults.yaml"}, {"a": {"b": 1}}),
    "slsutil.serialize": ({"serializer": "json", "obj": {"a": 1}}, '{"a": 1}'),
    "slsutil.deserialize": ({"serializer": "yaml", "stream_or_string": "a: [1]"}, {"a": [1]}),
    "slsutil.path_exists": ({"path": "fm"}, True),
    "slsutil.findup": ({"startpath": "fm", "filenames": ["none", "map.jinja"]}, "fm/map.jinja"),
    "defaults.get": ({"key": "fm:a:b"}, 1),
    "jinja.load_map": ({"path": "fm/map.jinja", "value": "fm"}, {"id": "it"}),
    "jinja.import_yaml": ({"path": "fm/defaults.yaml"}, {"a": {"b": 1}}),
    "sdb.get": ({"uri": "text"}, "text"),
    "saltutil.list_extmods": ({}, {}),
    "out.out_format": ({"data": {"a": [1]}, "out": "yaml"}, "a:\n- 1"),
    "baredoc.list_modules": ({"m_name": "pam", "names_only": True}, {"pam": ["read_file"]}),
    "salt_version.less_than": ({"m_name": "potassium"}, True),
    "test.provider": ({"module": "cmd"}, "cmdmod"),
}
REFUSED = {
    "saltutil.runner": {"m_name": "manage.up"},
    "publish.publish": {"tgt": "x", "m_fun": "test.ping"},
    "cp.push": {"path": "/etc/fstab"},
    "state.pause": {"jid": "1"},
    "key.finger": {},
}


#: Functions that only the controller answers.
CONTROLLER_ONLY = {"ret.get_jids": {"returner": "x"}}


def test_functions_of_the_controller_are_answered_for_states(tmp_path):
    chunks = {**{name: args for name, (args, _) in CALLS.items()}, **REFUSED, **CONTROLLER_ONLY}
    sls = {
        name: {"module.run": [{"name": name}, *({key: value} for key, value in args.items())]}
        for name, args in chunks.items()
    }
    files = {
        **FILES,
        "salt/t.sls": json.dumps(sls),
        "pushsalt.yaml": "file_roots: {base: [salt]}\n",
        "inventory.yaml": "hosts: {it: {transport: local}}\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    settings = Settings([tmp_path / "inventory.yaml"], tmp_path / "pushsalt.yaml", cache_dir=tmp_path / "cache")
    [result] = Client(settings).apply(Selection("it"), ["t"], JobOptions()).values()
    rets = {ret["name"]: ret for ret in result.ret.values()}
    returned = {name: rets[name]["changes"].get("ret") for name in CALLS}
    assert returned == {name: expected for name, (_, expected) in CALLS.items()}
    for name in REFUSED:
        assert rets[name]["result"] is False
        assert f"{name} needs a Salt master and its minions, which pushsalt does not have" in rets[name]["comment"]
    for name in CONTROLLER_ONLY:
        assert rets[name]["result"] is False
        assert f"{name} is answered on the controller" in rets[name]["comment"]
