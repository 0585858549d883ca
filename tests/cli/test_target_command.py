"""``pushsalt target``: how --explain finds its id, and what is printed."""

import pytest

from pushsalt.cli.target import explain_alone

VALUES = {"--out", "-i"}


@pytest.mark.parametrize(
    "line, same",
    [
        ("web* --explain web1", True),
        ("--explain web1 web*", True),
        ("-i inv --explain web1 -G os:x", True),
        ("web* --explain", False),
        ("--explain web*", False),
        ("web* --explain --out json", False),
        ("--explain -i inv web*", False),
        ("--explain -- web*", False),
        ("web*", True),
    ],
)
def test_explain_takes_an_id_only_beside_an_expression(line, same):
    args = line.split()
    found = explain_alone(args, VALUES)
    assert found == (args if same else [word if word != "--explain" else "--explain=" for word in args])
