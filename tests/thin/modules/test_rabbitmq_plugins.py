"""Names of rabbitmq's plugins, from a script with the formats of old and new versions."""

import os

import pytest

from tests.thin import filebed


@pytest.mark.parametrize(
    "output",
    [
        "rabbitmq_management\nrabbitmq_mqtt\n",
        "rabbitmq_management rabbitmq_mqtt\n",
        'Listing plugins with pattern ".*" ...\nrabbitmq_management\n\nrabbitmq_mqtt\n',
    ],
)
def test_names_of_plugins_are_parsed(output, tmp_path, monkeypatch):
    programs = tmp_path / "bin"
    programs.mkdir()
    (tmp_path / "output").write_text(output)
    for name in ("rabbitmqctl", "rabbitmq-plugins"):
        (programs / name).write_text(f"#!/bin/sh\nexec cat '{tmp_path}/output'\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    bed = filebed.Bed(tmp_path / "bed")
    expected = ["rabbitmq_management", "rabbitmq_mqtt"]
    assert bed.call("rabbitmq.list_available_plugins") == expected
    assert bed.call("rabbitmq.list_enabled_plugins") == expected
