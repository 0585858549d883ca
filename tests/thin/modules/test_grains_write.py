"""Grains that are written: each state as a dry and a real run, compared with real Salt's returns; and the file."""

import pytest
import yaml

from thin.utils import yamlout


@pytest.fixture
def machine(make_loaders, tmp_path):
    """``run(state, test, **arguments)`` and ``call(function, *args)`` on one target, whose file is ``text()``."""
    grains = {"os": "Debian", "kernel": "Linux"}
    opts = {"conf_file": str(tmp_path / "salt" / "minion")}
    loaders = make_loaders(opts=opts, grains=grains)

    class Machine:
        call = staticmethod(lambda name, *args, **kwargs: loaders.modules[name](*args, **kwargs))
        text = staticmethod(lambda: (tmp_path / "salt" / "grains").read_text())

        @staticmethod
        def run(state, test=False, **kwargs):
            loaders.context.clear()
            loaders.opts["test"] = test
            ret = loaders.states[state](**kwargs)
            loaders.opts["test"] = False
            return ret["result"], ret["changes"], ret["comment"]

    Machine.grains = loaders.grains
    return Machine


def test_a_value_is_set_once(machine):
    role = {"name": "role", "value": "web"}
    assert machine.run("grains.present", True, **role) == (None, {"new": "role"}, "Grain role is set to be added")
    assert "role" not in machine.grains
    assert machine.run("grains.present", **role) == (True, {"role": "web"}, "Set grain role to web")
    assert machine.run("grains.present", **role) == (True, {}, "Grain is already set")
    assert (machine.text(), machine.grains["role"]) == ("role: web\n", "web")
    assert machine.run("grains.present", True, name="role", value="db") == (
        None,
        {"changed": {"role": "db"}},
        "Grain role is set to be changed",
    )
    result, changes, comment = machine.run("grains.present", name="role", value=["db"])
    assert (result, changes) == (False, {})
    assert comment == "The key 'role' exists and the given value is a dict or a list. Use 'force=True' to overwrite."
    assert machine.run("grains.exists", name="role")[::2] == (True, "Grain exists")
    assert machine.run("grains.exists", name="rolex")[::2] == (False, "Grain does not exist")


def test_a_nested_value_is_set(machine):
    machine.run("grains.present", name="n:a:b", value=1)
    assert machine.run("grains.present", name="n:a:b", value=2) == (
        True,
        {"n": {"a": {"b": 2}}},
        "Set grain n:a:b to 2",
    )
    assert machine.run("grains.present", name="n:a", value=2)[2] == (
        "The key 'n:a' exists but is a dict or a list. Use 'force=True' to overwrite."
    )
    assert machine.run("grains.present", name="n~a", value=[3], delimiter="~", force=True)[0] is True
    assert machine.text() == "n:\n  a:\n  - 3\n"
    assert machine.run("grains.present", name="os:x", value=1)[::2] == (
        False,
        "The key 'os' value is 'Debian', which is different from the provided key 'x'. Use 'force=True' to overwrite.",
    )


def test_values_are_added_to_and_removed_from_lists(machine):
    add = {"name": "roles", "value": ["a", "b"]}
    assert machine.run("grains.list_present", True, **add) == (None, {"new": ""}, "Grain roles is set to be added")
    assert machine.run("grains.list_present", **add) == (
        True,
        {"new": {"roles": ["a", "b"]}},
        "Append value ['a', 'b'] to grain roles",
    )
    assert machine.run("grains.list_present", **add) == (
        True,
        {},
        "Value ['a', 'b'] is already in grain roles (or pending)",
    )
    assert machine.run("grains.list_present", name="roles", value=["b", "c"])[2] == (
        "Removed value ['b'] from update due to value found in \"roles\" (or pending).\n"
        "Append value ['c'] to grain roles"
    )
    assert machine.run("grains.list_present", name="os", value="x")[::2] == (False, "Grain os is not a valid list")
    remove = {"name": "roles", "value": ["a", "z"]}
    assert machine.run("grains.list_absent", True, **remove) == (
        None,
        {"deleted": ["a"]},
        "Value a in grain roles is set to be deleted\nValue z is absent from grain roles",
    )
    assert machine.grains["roles"] == ["a", "b", "c"]
    assert machine.run("grains.list_absent", **remove) == (
        True,
        {"deleted": ["a"]},
        "Value a was deleted from grain roles\nValue z is absent from grain roles",
    )
    assert machine.text() == "roles:\n- b\n- c\n"
    assert machine.run("grains.list_absent", name="nope", value=1)[::2] == (True, "Grain nope does not exist")


def test_append_adds_to_a_list(machine):
    assert machine.run("grains.append", name="roles", value="x")[::2] == (False, "Grain roles does not exist")
    machine.call("grains.setval", "roles", "a")
    assert machine.run("grains.append", name="roles", value="x")[::2] == (False, "Grain roles is not a valid list")
    arguments = {"name": "roles", "value": "x", "convert": True}
    assert machine.run("grains.append", True, **arguments) == (
        None,
        {"added": "x"},
        "Grain roles is set to be converted to list and value x will be added",
    )
    assert machine.run("grains.append", **arguments) == (True, {"added": "x"}, "Value x was added to grain roles")
    assert machine.run("grains.append", **arguments) == (True, {}, "Value x is already in the list for grain roles")
    assert machine.text() == "roles:\n- a\n- x\n"


def test_a_grain_is_emptied_or_deleted(machine):
    machine.call("grains.setvals", {"port": 80, "l": [1]})
    assert machine.run("grains.absent", True, name="port") == (
        None,
        {"grain": "port", "value": None},
        "Value for grain port is set to be deleted (None)",
    )
    assert machine.run("grains.absent", name="port")[2] == "Value for grain port was set to None"
    assert machine.run("grains.absent", name="port") == (True, {}, "Grain is already set")
    destructive = {"name": "port", "destructive": True}
    assert machine.run("grains.absent", True, **destructive) == (
        None,
        {"deleted": "port"},
        "Grain port is set to be deleted",
    )
    assert machine.run("grains.absent", **destructive) == (True, {"deleted": "port"}, "Grain port was deleted")
    assert machine.run("grains.absent", **destructive) == (True, {}, "Grain port does not exist")
    assert machine.run("grains.absent", name="l")[0] is False
    assert machine.run("grains.absent", name="l", force=True, destructive=True)[0] is True
    assert machine.text() == "{}\n"


def test_functions_change_nested_lists(machine):
    assert machine.call("grains.append", "nb:c", [1, 2]) == {"nb": {"c": [1, 2]}}
    assert machine.call("grains.append", "nb:c", 1) == "The val 1 was already in the list nb:c"
    assert machine.call("grains.append", "os", 1) == "The key os is not a valid list"
    assert machine.call("grains.remove", "nb:c", 1) == {"nb": {"c": [2]}}
    assert machine.call("grains.remove", "nb:c", 1) == "The val 1 was not in the list nb:c"
    assert machine.call("grains.set", "nb:c:d", 1)["changes"] == {"nb": {"c": [2, {"d": 1}]}}
    assert machine.call("grains.delkey", "nb", force=True)["changes"] == {"nb": None}
    assert "nb" not in machine.grains


VALUES = {
    "a": "yes",
    "b": "1.5",
    "c": 1.5,
    "d": True,
    "e": "it's",
    "f": "ü\n",
    "g": "2020-01-01",
    "h": "a: b",
    "i": [],
    "j": {},
    "k": "",
    "l": [[1, 2], {"x": 1, "y": [3]}],
    "m": "-x",
    "n": None,
    "o": "a,b",
    "p": "http://x/y",
    "q": "a b  c",
    "r": "#x",
    "s": "10:20",
    "t": "x #y",
    "u": "*x",
    "w": 1e20,
    "x:": "%x",
    "y": "=",
    "z": "key:",
    "0": 5,
    "aa": "12e5",
    "ab": "0x1f",
    "ac": "1_000",
    "ad": "[x]",
    "ae": " x",
    "af": "x ",
    "ag": "tab\t",
    "ah": "1e3",
    "ai": ".5",
    "aj": "0o7",
    "ak": "1:30",
    "al": "~",
    "am": "null",
    "an": "\U0001f600",
    "ao": "x" * 200,
}


def test_written_yaml_is_read_with_the_same_values():
    assert yaml.safe_load(yamlout.dump(VALUES)) == VALUES
    plain = {"n": {"l": [{"a": 1, "b": [1, "x y"]}], "y": "it's", "url": "http://x/y"}, "t": [True, None, 1.5]}
    assert yamlout.dump(plain) == yaml.safe_dump(plain, default_flow_style=False)
