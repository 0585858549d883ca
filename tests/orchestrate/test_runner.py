"""``pushsalt runner``: shipped functions, users' own ones, and errors."""

from __future__ import annotations

import pytest

from pushsalt.journal.store import Journal
from tests.beds.project import Project


@pytest.fixture
def project(tmp_path):
    down = {"transport": "ssh", "host": "127.0.0.1", "port": 1}
    return Project(tmp_path, {"web1": {"transport": "local"}, "gone": down})


def test_arguments_are_read_as_salt_reads_them(project):
    done = project.run("runner", "test.arg", "1", "a b", "size=3", "--out", "json")
    assert done.code == 0 and done.data == {"args": [1, "a b"], "kwargs": {"size": 3}}


def test_status_connects_to_each_target(project):
    done = project.run("runner", "manage.status", "--out", "json")
    assert done.code == 0 and done.data == {"up": ["web1"], "down": ["gone"]}


def test_an_event_is_in_the_journal(project):
    assert project.run("runner", "event.send", "app/up", "{version: 2}").code == 0
    events = {event.tag: event.data for event in Journal(project.cache).after(0)}
    assert events.pop("app/up") == {"version": 2}  # its position among the events of the runner may vary
    new, end = events
    assert new.startswith("salt/run/") and end == new.replace("/new", "/ret")


def test_a_function_on_the_controller(project):
    assert project.run("runner", "salt.cmd", "test.echo", "here").out.strip() == "here"


def test_runners_of_users(project):
    project.write(
        "salt/_runners/own.py",
        "def hello(name, loud=False):\n    return 'hello ' + name * (2 if loud else 1)\n",
    )
    assert project.run("runner", "own.hello", "you", "loud=True").out.strip() == "hello youyou"


@pytest.mark.parametrize(
    "words, text",
    [
        (["nothing"], "is not a function"),
        (["no.such"], "no.such"),
        (["test.sleep", "1", "2", "3"], "invalid arguments"),
    ],
)
def test_what_is_wrong_is_said(project, words, text):
    done = project.run("runner", *words)
    assert done.code in (1, 2) and text in done.err and "Traceback" not in done.err
