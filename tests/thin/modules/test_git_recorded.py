"""States and functions of git, compared with recordings, in a directory of the test; recorded paths are below /srv."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.beds import steps
from thin.utils.programs import gitrun

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not shutil.which("git"), reason="needs git")]

HERE = Path(__file__).resolve().parents[2]


def with_path(data, old, new):
    """The data with one path replaced by another, in all texts."""
    if isinstance(data, str):
        return data.replace(old, new)
    if isinstance(data, dict):
        return {with_path(key, old, new): with_path(value, old, new) for key, value in data.items()}
    return [with_path(item, old, new) for item in data] if isinstance(data, list) else data


@pytest.mark.slow
def test_returns_equal_recorded_ones(tmp_path):
    folder = tmp_path / "srv"
    (tmp_path / "run").mkdir()
    (tmp_path / "home").mkdir()
    shutil.copy(HERE / "beds/run_steps.py", tmp_path / "run")
    (tmp_path / "run/thin").symlink_to(HERE.parent / "thin")
    recorded = steps.load("git")
    calls = [{key: step[key] for key in step if key not in ("want", "because")} for step in recorded]
    env = dict(os.environ, HOME=str(tmp_path / "home"), GIT_CONFIG_NOSYSTEM="1", LC_ALL="C.UTF-8")
    process = subprocess.run(
        [sys.executable, "-S", str(tmp_path / "run/run_steps.py")],
        input=repr(with_path(calls, "/srv", str(folder))),
        env=env,
        stdout=subprocess.PIPE,
        check=True,
        encoding="utf-8",
    )
    returned = with_path(ast.literal_eval(process.stdout.split("@@@", 1)[1]), str(folder), "/srv")
    differences = [
        f"{calls[number]}\n  want {step['want']}\n  returned {ret}"
        for number, (step, ret) in enumerate(zip(recorded, returned, strict=True))
        if ret != step["want"]
    ]
    assert not differences, "\n".join(differences)


def test_a_password_is_only_in_the_environment_of_askpass(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with gitrun.Keys(None, "me", "se cret", None, None) as env:
        assert "se cret" not in Path(env["GIT_ASKPASS"]).read_text()
        questions = {"Username for 'https://x': ": "me\n", "Password for 'https://me@x': ": "se cret\n"}
        for question, answer in questions.items():
            process = subprocess.run(
                [env["GIT_ASKPASS"], question], env=dict(os.environ, **env), stdout=subprocess.PIPE, check=True
            )
            assert process.stdout.decode() == answer
    assert list(tmp_path.iterdir()) == []


def test_a_key_from_the_file_server_is_private(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    (tmp_path / "served").write_text("KEY")
    with gitrun.Keys("salt://key", None, None, None, lambda url: str(tmp_path / "served")) as env:
        path = Path(Path(env["GIT_SSH"]).read_text().split()[-2])
        assert path.read_text() == "KEY"
        assert path.stat().st_mode & 0o777 == 0o600
    assert not path.exists()


@pytest.mark.parametrize(
    "text, expected",
    [
        ("fatal: https://me:pw@host/x gone", "fatal: https://<redacted>@host/x gone"),
        ("git@host:x and https://host/a@b", "git@host:x and https://host/a@b"),
    ],
)
def test_logins_are_hidden(text, expected):
    assert gitrun.redact(text) == expected
