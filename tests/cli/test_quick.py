"""``jobs list`` by the fast way and by the whole command line: the same output, or the fast way leaves it alone."""

import json
import time

import pytest

from pushsalt.cli.quick import answered
from pushsalt.cli.stdio import Stdout
from pushsalt.jobs import database, record
from pushsalt.jobs.alive import mark_of
from pushsalt.jobs.jid import new_jid
from pushsalt.jobs.jobs import Jobs
from pushsalt.jobs.model import JobEnd, JobStart
from pushsalt.model import TargetReturn
from tests.beds.project import Project


@pytest.fixture
def project(tmp_path):
    made = Project(tmp_path, {"paper": {"transport": "offline"}})
    connection = database.open_database(database.path_of(made.cache))
    for number in range(12):
        start = JobStart(
            new_jid(),
            ("state.apply", "test.ping")[number % 2],
            [["web", 1.5], [None, True]][number % 2],
            {"a": {"b": "ü"}} if number == 3 else {},
            "web*",
            "glob",
            "me",
            (f"web{number}", "db"),
            time.time() - 3600 * number,
        )
        record._begin(connection, start)
        record.put_return(connection, start.jid, TargetReturn("db", 1, exit_code=number % 4))
        if number % 3:
            record._ended(connection, start.jid, JobEnd(number % 4, "done", time.time()), only_whole=False)
        elif number % 2:
            connection.execute("UPDATE jobs SET mark = ? WHERE jid = ?", (f"{mark_of(1)}0", start.jid))
    connection.close()
    return made


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--limit", "3"],
        ["--limit=2", "--failed"],
        ["--fun", "state.*"],
        ["--since", "150m"],
        ["--target", "web3"],
        ["--out", "json"],
        ["--out", "json", "--failed", "--limit", "2"],
        ["--no-color"],
    ],
)
def test_both_ways_give_the_same(project, words, capfdbinary, monkeypatch):
    monkeypatch.setenv("PUSHSALT_CACHE", str(project.cache))
    monkeypatch.chdir(project.folder)
    whole = project.run("-v", "jobs", "list", *words)  # -v is one of the options that the fast way does not know
    assert (whole.code, bool(whole.out)) == (0, True)
    if answered(["jobs", "list", *words], Stdout()):
        assert capfdbinary.readouterr().out.decode() == whole.out
    else:
        assert not whole.out.isascii()
    assert project.run("jobs", "list", *words).out == whole.out


def test_rows_are_those_of_the_python_api(project):
    listed = json.loads(project.run("jobs", "list", "--out", "json").out)
    assert listed == [job.as_row() for job in Jobs(project.cache).list()]
    assert len(listed) == 12
    assert {job["state"] for job in listed} == {"interrupted", "lost", "running"}


@pytest.mark.parametrize(
    "words",
    [
        ["jobs", "list", "--limit", "0"],
        ["jobs", "list", "--limit", "x"],
        ["jobs", "list", "--since", "soon"],
        ["jobs", "list", "--help"],
        ["jobs", "list", "extra"],
        ["jobs", "list", "--out", "yaml"],
        ["jobs", "list", "--fun"],
        ["jobs", "list", "--fun", "-v"],
        ["--limit", "3", "jobs", "list"],
        ["jobs", "list", "--nonsense"],
        ["run", "jobs", "list"],
        ["jobs", "show", "list"],
    ],
)
def test_unusual_command_lines_are_left_to_the_parser(project, words, capfd, monkeypatch):
    monkeypatch.setenv("PUSHSALT_CACHE", str(project.cache))
    monkeypatch.chdir(project.folder)
    assert not answered(words, Stdout())
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("written", ["cache_dir: kept\n", '"\\x63ache_dir": kept\n', "include: more.yaml\n"])
def test_the_configuration_says_where_the_cache_is(project, written):
    project.cache.rename(project.folder / "kept")
    project.write("pushsalt.yaml", written)
    project.write("more.yaml", "cache_dir: kept\n")
    project.variables["PUSHSALT_CACHE"] = ""
    for words in ([], ["-v"]):
        assert project.run(*words, "jobs", "list").out.count("\n") == 12
