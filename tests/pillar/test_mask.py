from __future__ import annotations

import pytest

from pushsalt.pillar.mask import PLACEHOLDER, mask, shown


def test_keys_and_structure_stay_values_go():
    pillar = {"a": {"b": "x", "n": 5, "f": 0.5, "t": True}, "l": ["x", ["y"], {"z": b"b"}], "s": {"x"}, 7: ("q",)}
    assert mask(pillar) == {
        "a": dict.fromkeys("bnft", PLACEHOLDER),
        "l": [PLACEHOLDER, [PLACEHOLDER], {"z": PLACEHOLDER.encode()}],
        "s": [PLACEHOLDER],
        7: [PLACEHOLDER],
    }


@pytest.mark.parametrize("value", ["", 0, 0.0, False, None, b"", [], {}])
def test_nothing_is_not_hidden(value):
    assert mask(value) == value


@pytest.mark.parametrize(
    "unmask, option, function, clear",
    [
        (None, True, "pillar.items", False),
        (None, False, "pillar.items", True),
        (None, False, "pillar.get", False),
        (True, True, "pillar.get", True),
        (False, False, "pillar.items", False),
    ],
)
def test_who_sees_values(unmask, option, function, clear):
    value = shown({"k": "v"}, unmask, {"pillar_mask_output": option}, function=function)
    assert value == {"k": "v" if clear else PLACEHOLDER}
    assert shown("v", None, {}) == PLACEHOLDER
