"""``react`` over real sshds: jobs that continue on targets after a kill."""

from __future__ import annotations

import json
import os
import signal

import pytest

from pushsalt.journal.store import Journal
from tests.beds import sshd
from tests.beds.processes import wait_until
from tests.beds.project import Project

pytestmark = [
    pytest.mark.sshd,
    pytest.mark.skipif(bool(sshd.missing()), reason=sshd.missing() or "-"),
]


@pytest.fixture
def bed(tmp_path_factory):
    with sshd.sshd_bed(tmp_path_factory.mktemp("bed"), 2) as found:
        yield found


def test_jobs_that_a_kill_left_on_targets_are_taken_up(bed, tmp_path):
    """The function has ended on one target, and still runs on the other one."""
    hosts = {id: target.host() for id, target in bed.targets.items()}
    made = Project(tmp_path, hosts, known_hosts_file=str(bed.known_hosts), reactor=[{"app": "salt://slow.sls"}])
    wait = f"test $ID = t1 || while test ! -e {tmp_path}/go; do sleep 0.05; done"
    command = f"echo begun-$ID >> {tmp_path}/ran; {wait}; echo end-$ID >> {tmp_path}/ran"
    made.write(
        "salt/_modules/slow.py",
        "def go(cmd):\n    return __salt__['cmd.run'](cmd.replace('$ID', __grains__['id']), python_shell=True)\n",
    )
    call = {"local.slow.go": [{"tgt": "t*"}, {"args": {"cmd": command}}]}
    made.write("salt/slow.sls", json.dumps({"slow": call}))
    Journal(made.cache).put("app", {})
    process = made.start("react")

    def ran():
        path = tmp_path / "ran"
        return sorted(path.read_text().split()) if path.exists() else []

    wait_until(lambda: ran() == ["begun-t1", "begun-t2", "end-t1"])
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    (tmp_path / "go").touch()
    done = made.run("react", "--once", timeout=120)
    assert done.code == 0, done.out + done.err
    assert ran() == ["begun-t1", "begun-t2", "end-t1", "end-t2"]
    [job] = json.loads(made.run("jobs", "list", "--fun", "slow.go", "--out", "json").out)
    assert (job["state"], job["failed"], job["unanswered"]) == ("done", 0, 0)
