"""Which programs detect the virtualisation, and which of their answers are cached."""

import pytest

from thin.grains import virtual


@pytest.mark.parametrize("name, kept", [("systemd-detect-virt", True), ("virt-what", False)])
def test_only_the_answer_of_a_single_program_is_kept(tmp_path, monkeypatch, name, kept):
    """virt-what is a script: its answer may change with the programs that it calls."""
    monkeypatch.setattr(virtual, "which", lambda word: str(tmp_path / word) if word == name else None)
    monkeypatch.setattr(virtual, "Command", lambda argv: "asked")
    assert virtual.start(lambda argv: "may be kept") == (name, "may be kept" if kept else "asked")
