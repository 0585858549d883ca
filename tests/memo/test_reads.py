"""Reads of mappings are recorded, whether Python, Jinja or a library makes them."""

# ruff: noqa: UP031, UP032, SIM300, C406, C416 - these are the ways to read

import collections
import copy
import itertools
import json
import pickle
import pprint

import jinja2
import pytest
import yaml

from pushsalt.memo.reads import (
    WHOLE,
    Asked,
    NoKeyError,
    NotAhead,
    Recorded,
    Recording,
    ahead,
    ask,
    key_of,
    muted,
    not_ahead,
    plain,
    put,
    recording,
    spoil,
    without_recorders,
)
from pushsalt.render.filters import FILTERS
from thin.utils.dictupdate import AggregatedMap, copy_containers, in_order, merge_recurse

DATA = {"a": 1, "b": {"x": [1, 2]}, "c": "text"}


class ReadSource:
    """A target with a pillar."""

    def __init__(self, data=None):
        self.pillar = Recorded("pillar", self, copy.deepcopy(DATA) if data is None else data)
        self.calls = []

    def key(self, read):
        name = read[1]
        return key_of(plain(self.pillar) if name is WHOLE else dict.get(self.pillar, name, "nothing"))

    def common(self):
        return None

    def ask(self, name, args, kwargs):
        self.calls.append(name)
        if name == "raises":
            raise ValueError(name)
        if name == "changes":
            args[0].append(1)
        return object() if name == "odd" else [name, *args]


def recorded_reads(read, data=None):
    """The recorded reads of a function that receives the mapping, and why its recording is spoiled."""
    inputs = ReadSource(data)
    record = Recording(inputs, None, (), lambda: None)
    with recording(record):
        read(inputs.pillar)
    record.check_unchanged()
    return [name for name, _ in record.log], record.spoiled


def template(text, **names):
    environment = jinja2.Environment(extensions=["jinja2.ext.do"])
    environment.filters.update(FILTERS)
    return lambda mapping: environment.from_string(text).render(pillar=mapping, **names)


@pytest.mark.parametrize(
    "read, keys",
    [
        (lambda d: d["a"], ["a"]),
        (lambda d: d.get("z"), ["z"]),
        (lambda d: "z" in d, ["z"]),
        (lambda d: [d["a"], d.get("a"), d["c"]], ["a", "c"]),
        (lambda d: d["b"]["x"], ["b"]),
        (lambda d: "%(a)s" % d, ["a"]),
        (lambda d: "{a}".format_map(d), ["a"]),
        (template("{{ pillar.a }}{{ pillar['c'] }}{{ pillar.get('z') }}"), ["a", "c", "z"]),
        (template("{{ 'yes' if pillar else 'no' }}"), []),
        (bool, []),
    ],
)
def test_reads_of_keys_are_recorded(read, keys):
    assert recorded_reads(read) == ([("pillar", key) for key in keys], "")


@pytest.mark.parametrize(
    "read",
    [
        len,
        list,
        tuple,
        set,
        frozenset,
        sorted,
        dict,
        repr,
        str,
        any,
        max,
        enumerate,
        itertools.chain.from_iterable,
        reversed,
        iter,
        copy.copy,
        copy.deepcopy,
        pickle.dumps,
        json.dumps,
        pprint.pformat,
        yaml.dump,
        yaml.safe_dump,
        collections.OrderedDict,
        collections.Counter,
        copy_containers,
        without_recorders,
        lambda d: d.keys(),
        lambda d: d.values(),
        lambda d: d.items(),
        lambda d: d.copy(),
        lambda d: {**d},
        lambda d: dict(d, z=1),
        lambda d: (lambda **kwargs: kwargs)(**d),
        lambda d: [*d],
        lambda d: {}.update(d),
        lambda d: collections.ChainMap({}, d).items().__len__(),
        lambda d: {"z": 1} | d,
        lambda d: d | {"z": 1},
        lambda d: d == {"a": 1},
        lambda d: {"a": 1} == d,
        lambda d: d != {},
        lambda d: f"{d}",
        lambda d: f"{d!r}",
        lambda d: "{}".format(d),
        lambda d: "%s" % (d,),
        lambda d: [d] == [{"a": 1}],
        lambda d: {"z": d} == {"z": {}},
        lambda d: json.dumps({"z": [d]}),
        lambda d: merge_recurse(d, {}),
        lambda d: merge_recurse({}, d),
        lambda d: " ".join(d),
        lambda d: str([d]),
        lambda d: dict.fromkeys(d),
        lambda d: dict([("z", 1)]).__ior__(d),
        template("{{ pillar }}"),
        template("{{ pillar | json }}"),
        template("{{ pillar | yaml }}"),
        template("{{ pillar | tojson }}"),
        template("{{ pillar | python }}"),
        template("{{ pillar | pprint }}"),
        template("{{ pillar | length }}"),
        template("{{ pillar | dictsort }}"),
        template("{{ pillar | list }}"),
        template("{{ pillar | items | list }}"),
        template("{% for key in pillar %}{{ key }}{% endfor %}"),
        template("{{ pillar ~ 'x' }}"),
        template("{{ 'x%s' | format(pillar) }}"),
        template("{{ '%(a)s' | format(**pillar) }}"),
        template("{{ dict(pillar) }}"),
        template("{{ pillar == {} }}"),
        template("{{ [pillar] | first | string }}"),
        template("{{ pillar | map('upper') | list }}"),
        template("{{ pillar | to_entries }}"),
        template("{{ pillar.copy() }}"),
        template("{{ pillar.items() | list }}"),
        template("{{ {'a': 1}.update(pillar) }}"),
    ],
)
def test_reads_of_the_whole_mapping_are_recorded(read):
    reads, spoiled = recorded_reads(read)
    assert ("pillar", WHOLE) in reads
    assert not spoiled


def test_packing_reads_the_whole_mapping():
    from thin import wire

    assert recorded_reads(lambda d: wire.pack({"pillar": d}))[0] == [("pillar", WHOLE)]
    assert wire.unpack(wire.pack({"pillar": ReadSource().pillar})) == {"pillar": DATA}


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.update(z=1),
        lambda d: d.pop("a"),
        lambda d: d.setdefault("z", 1),
        lambda d: d.clear(),
        lambda d: d.popitem(),
        lambda d: d.__setitem__("z", 1),
        lambda d: d.__delitem__("a"),
        lambda d: d.__ior__({"z": 1}),
        lambda d: d["b"].update(y=1),
        lambda d: d["b"]["x"].append(3),
        lambda d: d.get("b").clear(),
        lambda d: list(d.items())[1][1].pop("x"),
        lambda d: [value for value in d.values()][1].update(z=1),
        template("{% do pillar.update({'z': 1}) %}"),
        template("{% do pillar.b.x.append(3) %}"),
        template("{% do pillar.b.update({'y': 1}) %}{% do pillar.b.pop('y') %}{% do pillar.b.update({'x': 2}) %}"),
    ],
)
def test_changes_spoil_the_recording(change):
    assert recorded_reads(change)[1]


def test_a_reverted_change_does_not_spoil_the_recording():
    assert not recorded_reads(lambda d: d["b"].update(y=1) or d["b"].pop("y"))[1]


def test_a_plain_copy_is_up_to_date():
    mapping = ReadSource().pillar
    mapping["z"] = 1
    assert plain(mapping) == {**DATA, "z": 1} == plain(Recorded("pillar", None, mapping))
    del mapping["z"]
    put(mapping, {"y": 2})
    assert plain(mapping) == {**DATA, "y": 2} == mapping.copy() and type(plain(mapping)) is dict
    plain(mapping).clear()
    assert mapping.pop("y") == 2 and plain(mapping) == DATA


def test_a_recorded_mapping_equals_the_plain_dict():
    mapping = ReadSource().pillar
    assert isinstance(mapping, dict) and mapping == DATA and repr(mapping) == repr(DATA)
    assert json.dumps(mapping) == json.dumps(DATA) and yaml.safe_dump(plain(mapping)) == yaml.safe_dump(DATA)
    assert type(copy.deepcopy(mapping)) is dict and pickle.loads(pickle.dumps(mapping)) == DATA
    assert type(mapping).__name__ == "dict" and list(reversed(mapping)) == ["c", "b", "a"]
    with pytest.raises(TypeError):
        hash(mapping)
    with pytest.raises(TypeError):
        format(mapping, "x")
    with pytest.raises(KeyError):
        mapping["z"]


def test_equal_values_of_different_types_have_different_keys():
    values = [
        1,
        True,
        1.0,
        "1",
        0,
        False,
        0.0,
        -0.0,
        None,
        "",
        b"",
        [],
        (),
        {},
        [1],
        [True],
        (1,),
        {"a": 1},
        {"a": True},
    ]
    values += [{"a": 1, "b": 2}, {"b": 2, "a": 1}, AggregatedMap(), collections.OrderedDict(), "x" * 100, b"x" * 100]
    values += [["x" * 100], 10**30, {1}, frozenset({1}), "None", "missing", ("missing",), 1j]
    values += [in_order({"a": 1}), in_order({"b": 1, "a": [{"c": 1}]}), {"b": 1, "a": [in_order({"c": 1})]}]
    values += [in_order({"b": 1, "a": [{"c": (1,)}]}), in_order({"a": AggregatedMap()}), in_order({})]
    keys = [key_of(value) for value in values]
    assert len(set(keys)) == len(values)
    assert keys == [key_of(copy.deepcopy(value)) for value in values]


@pytest.mark.parametrize("value", [object(), [object()], {"a": lambda: 1}, {1: {2: object}}])
def test_values_without_a_key_spoil_the_recording(value):
    with pytest.raises(NoKeyError):
        key_of(value)
    assert "compare" in recorded_reads(lambda d: d["a"], {"a": value})[1]


def test_a_recursive_value_has_no_key():
    value: list = []
    value.append(value)
    with pytest.raises(NoKeyError):
        key_of(value)


def test_muted_reads_are_not_recorded():
    def read(mapping):
        with muted():
            len(mapping)

    assert recorded_reads(read) == ([], "")


def test_what_is_rendered_ahead_ends_where_it_would_be_spoiled_or_have_an_effect():
    source = ReadSource()
    with ahead():
        with pytest.raises(NotAhead):
            not_ahead()
        spoil("no rendering is recorded")
        with recording(Recording(source, None, (), lambda: None)), pytest.raises(NotAhead):
            spoil("time")
    not_ahead()


def test_data_of_another_target_spoils_the_recording():
    other = ReadSource()
    assert "another target" in recorded_reads(lambda d: other.pillar["a"])[1]


def test_each_call_is_recorded():
    inputs = ReadSource()
    record = Recording(inputs, None, (), lambda: None)
    with recording(record):
        assert ask(inputs, "f", (1,), {}) == ["f", 1]
        ask(inputs, "f", (1,), {})
        ask(inputs, "f", (True,), {})
    assert [(read.name, read.args, read.before) for read, _ in record.log] == [
        ("f", (1,), 0),
        ("f", (1,), 1),
        ("f", (True,), 0),
    ]
    assert len({read for read, _ in record.log}) == 3 and all(isinstance(read, Asked) for read, _ in record.log)
    assert inputs.calls == ["f"] * 3


@pytest.mark.parametrize("name, args", [("changes", ([],)), ("odd", ()), ("f", (object(),))])
def test_calls_that_cannot_be_recorded_spoil_the_recording(name, args):
    inputs = ReadSource()
    record = Recording(inputs, None, (), lambda: None)
    with recording(record):
        ask(inputs, name, args, {})
    assert record.spoiled and not record.sound()


def test_a_call_that_raises_spoils_the_recording():
    inputs = ReadSource()
    record = Recording(inputs, None, (), lambda: None)
    with recording(record), pytest.raises(ValueError, match="raises"):
        ask(inputs, "raises", (), {})
    assert "raised" in record.spoiled


def test_a_mapping_as_an_argument_is_read_as_a_whole():
    inputs = ReadSource()
    record = Recording(inputs, None, (), lambda: None)
    with recording(record):
        ask(inputs, "f", (inputs.pillar,), {"more": [inputs.pillar]})
    assert record.log[0][0] == ("pillar", WHOLE)


def test_an_inner_recording_is_part_of_the_outer_one():
    inputs = ReadSource()
    outer = Recording(inputs, None, (), lambda: None)
    with recording(outer):
        _ = inputs.pillar["a"]
        ask(inputs, "f", (), {})
        inner = Recording(inputs, outer, (), lambda: None)
        with recording(inner):
            _ = inputs.pillar["b"], inputs.pillar["a"]
            ask(inputs, "f", (), {})
            spoil("now")
            _ = inputs.pillar["c"]
        inner.pass_on()
        inner.pass_on()
    assert [getattr(read, "before", read) for read, _ in outer.log] == [("pillar", "a"), 0, ("pillar", "b"), 1]
    assert outer.spoiled == "now" and outer.spoiled_at == 4
