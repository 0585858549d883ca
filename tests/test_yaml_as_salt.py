"""Texts that real Salt loaded and dumped: ``cases/yaml/salt.jsonl`` has the results.

``load`` is the value (``__d`` a mapping as pairs, ``__t`` a tuple, ``__s`` a set, ``__b`` bytes, ``__f`` a float,
``__i`` a large integer), ``error`` means that it was refused; ``dump``, ``block`` and ``serialized`` are what Salt
writes for it.
"""

import json
from pathlib import Path

import pytest

from pushsalt.serializers import yaml as serializer
from pushsalt.yamldump import dump_yaml
from pushsalt.yamlio import HAS_LIBYAML, YamlError, load_yaml

CASES = [json.loads(line) for line in (Path(__file__).parent / "cases/yaml/salt.jsonl").read_text("utf-8").splitlines()]


def decoded(value):
    if isinstance(value, list):
        return [decoded(item) for item in value]
    if not isinstance(value, dict):
        return value
    [(kind, inside)] = value.items()
    if kind == "__d":
        return {decoded(key): decoded(item) for key, item in inside}
    if kind in ("__t", "__s"):
        return (tuple if kind == "__t" else set)(decoded(item) for item in inside)
    return {"__b": lambda: inside.encode("latin1"), "__f": lambda: float(inside), "__i": lambda: int(inside)}[kind]()


def same(one, other):
    """Equal, and of equal types at any depth: 1 is not True, and NaN equals NaN."""
    return repr(one) == repr(other)


@pytest.mark.parametrize("libyaml", [pytest.param(True, marks=pytest.mark.skipif(not HAS_LIBYAML, reason="")), False])
def test_read(libyaml):
    wrong = []
    for case in CASES:
        try:
            value = load_yaml(case["text"], libyaml=libyaml)
        except YamlError:
            if "error" not in case:
                wrong.append((case, "refused"))
        else:
            if "error" in case or not same(value, decoded(case["load"])):
                wrong.append((case, value))
    assert not wrong


@pytest.mark.parametrize(
    "name, write",
    [
        ("dump", dump_yaml),
        ("block", lambda value: dump_yaml(value, default_flow_style=False)),
        ("serialized", serializer.serialize),
    ],
)
def test_written(name, write):
    wrong = []
    for case in CASES:
        if isinstance(case.get(name), str):
            written = write(decoded(case["load"]))
            if written != case[name]:
                wrong.append((case, written))
    assert not wrong
