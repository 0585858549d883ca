"""``pushsalt demo`` as a whole command: its output, and that it leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pushsalt.demo import machines, natsserver, on_servers, project
from pushsalt.demo.sshd import SshdBed, free_port
from tests.beds.processes import running, wait_until
from tests.beds.project import ROOT, Project

pytestmark = pytest.mark.slow


@pytest.fixture
def environment(tmp_path):
    """A home and a folder for temporary files, both empty."""
    for name in ("home", "tmp"):
        (tmp_path / name).mkdir()
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "USER", "LOGNAME") if name in os.environ}
    return {**kept, "HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path / "tmp"), "PYTHONPATH": str(ROOT)}


def start(environment, *arguments, **kwargs):
    argv = [sys.executable, "-m", "pushsalt", "demo", *arguments]
    return subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kwargs)


def nothing_left(environment):
    for name in ("HOME", "TMPDIR"):
        assert not os.listdir(environment[name])
    assert not running(environment["TMPDIR"])


def test_it_shows_a_dry_run_a_first_run_and_a_second_one(environment):
    process = start(environment)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, "")
    shown = out.split("\n$ ")[1:]
    commands = [part.partition("\n")[0] for part in shown]
    assert commands[:5] == [
        "pushsalt target '*'",
        "pushsalt run '*' grains.get osfinger",
        "pushsalt apply 'web*' apache --test",
        "pushsalt apply 'web*' apache",
        "pushsalt run web1 cmd.run 'cat ~/apache2/sites-enabled/shop.example.conf'",
    ]
    dry, first, page, second, _, repaired = shown[2:]
    assert "2 would change" in dry and " changed" not in dry
    assert "2 changed" in first and "failed" not in first
    assert "ServerName shop.example" in page
    assert "web1, web2  9 unchanged" in second
    assert "-Listen 9090" in repaired and "+Listen 8080" in repaired
    assert "\x1b" not in out
    nothing_left(environment)


@pytest.mark.parametrize("name, code", [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 143)])
@pytest.mark.parametrize("moment", ["Their project", "--test", "Next"])
def test_stopped_at_any_moment_nothing_stays(environment, name, code, moment):
    process = start(environment, "--keep")
    seen = ""
    awaited = "Ctrl-C" if moment == "Next" else moment
    while awaited not in seen:
        line = process.stdout.readline()
        assert line, seen
        seen += line
    process.send_signal(getattr(signal, name))
    out, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert f"Stopped by {name}" in out
    assert "Traceback" not in out + err
    nothing_left(environment)


def test_killed_its_servers_die_too(environment):
    process = start(environment, "--keep")
    while "Their project" not in process.stdout.readline():
        pass
    assert running(environment["TMPDIR"])
    process.kill()
    process.communicate()
    wait_until(lambda: not running(environment["TMPDIR"]))


def test_formulas_are_found():
    assert (project.formulas() / "apache/map.jinja").is_file()


def test_the_stand_in_behaves_like_sshd(tmp_path):
    with SshdBed(tmp_path / "ssh", stand_in=True) as bed:
        for id in ("a", "b"):
            bed.add(id)
        bed.wait()
        site = Project(tmp_path, bed.inventory()["hosts"])
        (site.home / ".ssh/known_hosts").write_bytes(bed.known_hosts.read_bytes())
        site.write("salt/page", "x" * 300_000)
        site.write(
            "salt/site.sls", "{{ salt['cmd.run']('echo $HOME') }}/page:\n  file.managed:\n    - source: salt://page\n"
        )
        for changed in (True, False):
            done = site.json("apply", "*", "site")
            assert done.code == 0, done.out
            assert [bool(ret["changes"]) for id in "ab" for ret in done.data[id].values()] == [changed, changed]
        assert (bed.homes / "a/page").stat().st_size == 300_000
        assert site.json("run", "a", "cmd.run", "exit 3").code == 2
    assert not running(str(tmp_path / "ssh"))


@pytest.mark.parametrize("reason", ["sshd is not installed", ""])
def test_without_a_usable_sshd_the_stand_in_is_used(tmp_path, monkeypatch, reason):
    from contextlib import ExitStack

    async def refuses(*_):
        return False

    monkeypatch.setattr(on_servers, "missing", lambda: reason)
    monkeypatch.setattr(on_servers, "_usable", refuses)
    with ExitStack() as stack:
        bed, words = on_servers.bed(tmp_path, stack)
        assert bed.stand_in and "own" in words
        assert not running(str(tmp_path / "ssh" / "sshd-"))


@pytest.mark.machines
@pytest.mark.slow
@pytest.mark.skipif(bool(machines.missing()), reason=machines.missing() or "-")
@pytest.mark.timeout(900)
def test_machines_answer_http(environment):
    environment["PUSHSALT_TEST_CACHE"] = str(machines.cache_dir())
    process = start(environment, "--machines")
    out, _ = process.communicate()
    assert process.returncode == 0, out
    assert out.count("200 OK: Hello from web") == 2
    assert "web1, web2  10 unchanged" in out
    nothing_left(environment)


def test_machines_report_missing_requirements(environment, tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root lacks nothing but tools")
    process = start(environment, "--machines")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (1, "")
    assert "root" in err and "hint: " in err
    assert not list(Path(environment["TMPDIR"]).iterdir())


@pytest.mark.sshd
@pytest.mark.skipif(bool(natsserver.missing()), reason=natsserver.missing() or "-")
@pytest.mark.timeout(300)
def test_of_three_workers_one_is_killed_and_each_target_is_run_once(environment):
    process = start(environment, "--workers", "3")
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0, out + err
    assert "is gone ---" in out
    assert "once: 30   not at all: 0   twice or more: 0" in out
    assert "Traceback" not in out + err
    nothing_left(environment)


@pytest.mark.skipif(not Path("/proc/sys/net").exists(), reason="needs /proc of Linux")
def test_the_kernel_gives_free_ports_to_no_other_program():
    first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    if first < 20_000:
        pytest.skip(f"the kernel chooses ports from {first} on, which leaves few others")
    ports = [free_port() for _ in range(20)]
    assert len(set(ports)) > 10 and all(10_000 <= port < first for port in ports)
