"""Programs that detect the virtualization, and the caching of their output."""

import pytest

from thin.grains import virtual


@pytest.mark.parametrize("name, cached", [("systemd-detect-virt", True), ("virt-what", False)])
def test_only_the_output_of_a_single_program_is_cached(tmp_path, monkeypatch, name, cached):
    """virt-what is a script: its output depends on the programs that it calls."""
    monkeypatch.setattr(virtual, "which", lambda program: str(tmp_path / program) if program == name else None)
    monkeypatch.setattr(virtual, "Command", lambda argv: "not cached")
    assert virtual.start(lambda argv: "cached") == (name, "cached" if cached else "not cached")
