"""Workers without keys: only one user of the machine takes part."""

from __future__ import annotations

import contextlib

import pytest

from pushsalt.errors import UsageError
from pushsalt.workers import parties
from pushsalt.workers.parties import CONTROLLER
from pushsalt.workers.seal import NotAuthentic
from tests.beds.nats import WorkerProcess
from tests.beds.processes import wait_until

URL = "nats://127.0.0.1"


@pytest.fixture
def user(tmp_path, monkeypatch):
    """Makes the party of a user, by name."""

    def party(name):
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / name))
        return parties.site(None, URL)

    return party


def test_without_keys_a_user_reads_its_own_messages(user):
    sealed = user("a").seal("berlin", b"work", "job 1")
    assert b"work" not in sealed
    assert user("a").open(CONTROLLER, sealed, "job 1") == b"work"
    with pytest.raises(NotAuthentic):
        user("a").open(CONTROLLER, sealed, "job 2")


def test_without_keys_work_of_another_user_is_refused(user):
    """The server lets each user of the machine publish."""
    sealed = user("b").seal("berlin", b"work", "job 1")
    for data in (sealed, b"work", b""):
        with pytest.raises(NotAuthentic, match="not made by this user") as caught:
            user("a").open(CONTROLLER, data, "job 1")
        assert "pushsalt worker init SITE" in caught.value.hint


def test_a_key_that_others_can_read_is_not_used(user, tmp_path):
    user("a")
    (tmp_path / "a/pushsalt/cache.key").chmod(0o644)
    with pytest.raises(UsageError, match="chmod 600") as caught:
        user("a")
    assert "pushsalt worker init SITE" in caught.value.hint


def test_without_a_home_there_must_be_keys(monkeypatch):
    for name in ("XDG_STATE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UsageError, match="no home folder"):
        parties.site(None, URL)


@pytest.mark.slow
def test_a_worker_does_not_run_what_another_user_hands_out(local, server, tmp_path):
    """Neither is the job run, nor is the project of the message opened."""
    own, local.home = local.home, tmp_path / "home of another user"
    (local.home / ".ssh").mkdir(parents=True)
    ran = tmp_path / "ran"
    with WorkerProcess(local, server.url) as worker:
        local.home = own
        process = local.start("run", "--out", "json", "l1", "cmd.run", f"touch {ran}")
        try:
            wait_until(lambda: "not made by this user" in worker.log.read_text(), 60)
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.communicate()
    assert not ran.exists()
