"""Requirements of ``REQUIRE`` must not be skipped (``tests/beds/required.py``, the hooks of ``tests/conftest.py``)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pushsalt.demo import machines
from tests.beds import pythons, required

ROOT = Path(__file__).parent.parent
#: the files of a folder in which pytest runs
TESTS = """
import pytest

@pytest.mark.machines
@pytest.mark.skip(reason="the weather")
def test_marked(): pass

@pytest.mark.machines
@pytest.mark.optional
def test_optional(): pytest.skip("no such program")

@pytest.mark.machines
@pytest.mark.xfail(reason="not yet")
def test_expected(): assert False

def test_plain(): pytest.skip("of something else")
"""


def outcomes(tmp_path: Path, require: str) -> str:
    """The summary of a run of TESTS in which every requirement is met."""
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "conftest.py").write_text(
        "from tests.beds import required\n"
        "required.LACKING = {word: str for word in required.LACKING}\n"
        "from tests.conftest import pytest_configure, pytest_runtest_makereport  # noqa: F401\n"
    )
    words = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "pytest",
        "-q",
        "-rsE",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
    ]
    words += [*("-o", "markers=machines"), *("-o", "addopts="), str(tmp_path)]
    environment = {**os.environ, "REQUIRE": require, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True)
    return done.stdout + done.stderr


@pytest.mark.slow
def test_a_skipped_test_that_is_required_fails(tmp_path: Path) -> None:
    assert "3 skipped, 1 xfailed" in outcomes(tmp_path, "sshd")
    said = outcomes(tmp_path, "sshd,machines")
    assert "E" in said.split()[0] and "2 skipped, 1 xfailed, 1 error" in said
    assert "skipped, though REQUIRE has machines: the weather" in said


def test_by_reason_and_by_marker(monkeypatch: pytest.MonkeyPatch) -> None:
    lacking = {"machines": lambda: "no machines", "salt": lambda: "no salt", "sshd": lambda: ""}
    monkeypatch.setattr(required, "LACKING", lacking)
    assert required.forbids({"machines"}, [], "no machines") == "machines"
    assert required.forbids({"machines"}, ["machines", "slow"], "it is night") == "machines"
    assert required.forbids({"machines"}, ["machines"], "no salt") == ""  # one about Salt only
    assert required.forbids({"machines", "salt"}, ["machines"], "no salt") == "salt"
    assert required.forbids({"sshd"}, [], "") == ""
    assert required.forbids({"sshd"}, ["sshd", "optional"], "no fish") == ""


def test_a_missing_requirement_is_reported_before_any_test_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(required, "LACKING", {"machines": lambda: "no bridge", "sshd": lambda: ""})
    for words, message in (("machines", "REQUIRE=machines: no bridge"), ("dogs,sshd", "REQUIRE: dogs")):
        monkeypatch.setenv("REQUIRE", words)
        with pytest.raises(pytest.UsageError, match=message):
            required.required()
    monkeypatch.setenv("REQUIRE", "sshd")
    assert required.required() == {"sshd"}


@pytest.mark.pythons
@pytest.mark.skipif(bool(pythons.missing()), reason=pythons.missing() or "-")
def test_more_than_one_python_was_tested() -> None:
    found = pythons.pythons()
    assert len(found) > 1 and next(iter(found)) == pythons.OLDEST


def test_a_python_that_a_variable_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\necho 3.99\n")
    program.chmod(0o755)
    monkeypatch.setenv("PUSHSALT_TEST_PYTHONS", str(program))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    pythons.pythons.cache_clear()
    try:
        assert pythons.pythons()["3.99"] == str(program)
        assert pythons.missing() == "" or f"no Python {pythons.OLDEST}" in pythons.missing()
    finally:
        pythons.pythons.cache_clear()


@pytest.mark.parametrize(
    "refused, said",
    [
        ("ip", "this machine cannot create a network bridge: "),
        ("mount", "this machine cannot mount an overlay: "),
    ],
)
def test_containers_in_which_no_machine_can_be_booted(monkeypatch: pytest.MonkeyPatch, refused: str, said: str) -> None:
    def run(*argv: object, check: bool = True, **kwargs: object) -> subprocess.CompletedProcess[str]:
        code = int(argv[0] == refused)
        if code and check:
            raise RuntimeError("Operation not permitted")
        return subprocess.CompletedProcess(list(argv), code, "Operation not permitted\n")

    monkeypatch.setattr(machines, "_run", run)
    machines._forbidden.cache_clear()
    try:
        assert machines._forbidden() == f"{said}Operation not permitted"
    finally:
        machines._forbidden.cache_clear()
