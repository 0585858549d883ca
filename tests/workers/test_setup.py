"""``pushsalt worker init`` and ``worker revoke``: files, their modes, and what is refused."""

from __future__ import annotations

import os

import pytest

from pushsalt.errors import UsageError
from pushsalt.workers import keys, names, nkeys, setup
from pushsalt.workers.seal import controller_keys, site_keys
from tests.beds.nats import claims_of
from tests.beds.project import Project

pytestmark = pytest.mark.slow


@pytest.fixture
def project_folder(tmp_path):
    return Project(tmp_path)


def users(project_folder):
    """The NATS users of berlin."""
    return [nkeys.user_of((project_folder.folder / "worker-berlin/site.creds").read_text()).public]


def test_keys_of_a_site_are_made_and_the_project_learns_its_public_key(project_folder):
    done = project_folder.json("worker", "init", "berlin")
    folder, told = project_folder.folder / "worker-berlin", project_folder.folder / "workers/berlin.pub"
    assert done.code == 0, done.err
    assert done.data == {
        "site": "berlin",
        "dir": "worker-berlin",
        "public": str(told),
        "server": str(project_folder.folder / "workers/nats.conf"),
    }
    private = site_keys(folder).private
    assert controller_keys(project_folder.folder / "workers").peer("berlin") == private.public
    assert keys.load_worker(folder).site == "berlin"
    sealed = controller_keys(project_folder.folder / "workers").seal("berlin", b"x", "p")
    assert site_keys(folder).open("controller", sealed, "p") == b"x"


def test_private_files_are_private_whatever_the_umask(project_folder):
    old = os.umask(0)
    try:
        assert project_folder.run("worker", "init", "berlin").code == 0
    finally:
        os.umask(old)
    for top in (project_folder.folder / "worker-berlin", project_folder.folder / "workers/private"):
        for path in (top, *top.rglob("*")):
            assert path.stat().st_mode & 0o077 == 0, path
    assert (project_folder.folder / "workers/private/.gitignore").read_text() == "*\n"
    shown = (project_folder.folder / "workers/berlin.pub").read_text() + (
        project_folder.folder / "workers/nats.conf"
    ).read_text()
    assert "SECRET" not in shown and "identity" not in shown


def test_further_sites_have_the_same_operator_and_account(project_folder):
    for site in ("a", "b"):
        assert project_folder.run("worker", "init", site).code == 0
    found = [
        claims_of(nkeys.jwt_of((project_folder.folder / f"worker-{site}/site.creds").read_text())) for site in "ab"
    ]
    assert found[0]["iss"] == found[1]["iss"] and found[0]["sub"] != found[1]["sub"]
    for site, claims in zip("ab", found, strict=True):
        assert claims["nats"]["pub"]["allow"] == names.worker_publishes(site)
        assert claims["nats"]["sub"]["allow"] == names.worker_subscribes(site)
    assert (project_folder.folder / "worker-a/nats.conf").read_text().count('"eyJ') == 3


def test_no_subject_of_a_site_is_one_of_another(project_folder):
    """Except subjects without content of a site: the server's own state, and what all sites may read."""
    common = set(names.worker_publishes("a")) & set(names.worker_publishes("b"))
    assert not [subject for subject in common if not subject.startswith(("$JS.API.", "$JS.*.API."))]
    assert not [
        each for each in names.worker_publishes("a") if each.startswith(("pushsalt.", "$KV.")) and ".a" not in each
    ]


def test_outside_of_a_project_all_files_are_in_the_folder(tmp_path):
    made = setup.init("berlin", tmp_path / "w", None, "tls://nats.example.com")
    assert made.told is None and (tmp_path / "w/authority/nats.conf").is_file()
    assert keys.load_worker(tmp_path / "w").url == "tls://nats.example.com"


def test_nothing_is_overwritten(project_folder):
    assert project_folder.run("worker", "init", "berlin").code == 0
    before = (project_folder.folder / "worker-berlin/site.key").read_text()
    for words in (("berlin",), ("berlin", "elsewhere"), ("other", "worker-berlin")):
        done = project_folder.run("worker", "init", *words)
        assert done.code == 1 and "is there already" in done.err and "--renew" in done.err
    assert (project_folder.folder / "worker-berlin/site.key").read_text() == before


def test_renewing_revokes_the_former_user(project_folder):
    project_folder.run("worker", "init", "berlin")
    before = users(project_folder)
    done = project_folder.run("worker", "init", "berlin", "--renew")
    assert done.code == 0 and "revoked" in done.out
    after = users(project_folder)
    authority = setup.Authority(project_folder.folder / "workers")
    revoked, valid = set(authority.revoked()), set(authority.users("berlin"))
    assert set(before) < revoked and set(after) < valid and not revoked & valid  # the others are those of leaf nodes
    assert len(revoked) == len(valid) == 2
    assert (
        controller_keys(project_folder.folder / "workers").peer("berlin")
        == site_keys(project_folder.folder / "worker-berlin").private.public
    )


def test_revoking_removes_the_public_key(project_folder):
    project_folder.run("worker", "init", "berlin")
    done = project_folder.json("worker", "revoke", "berlin")
    assert done.code == 0 and done.data == {"site": "berlin", "revoked": 2}
    with pytest.raises(UsageError, match="no public key of the site berlin"):
        controller_keys(project_folder.folder / "workers").peer("berlin")
    assert project_folder.run("worker", "revoke", "berlin").code == 1


@pytest.mark.parametrize("name", ["../x", "", "a.b", "x*", "-a", "a" * 40, "controller"])
def test_invalid_names_of_sites_are_refused(tmp_path, name):
    with pytest.raises(UsageError):
        setup.init(name, tmp_path / "w", None, None)
    assert not (tmp_path / "w").exists()


def test_a_folder_that_others_can_write_to_is_refused(project_folder):
    (project_folder.folder / "workers").mkdir()
    (project_folder.folder / "workers/private").mkdir(mode=0o777)
    (project_folder.folder / "workers/private").chmod(0o777)
    done = project_folder.run("worker", "init", "berlin")
    assert done.code == 1 and "others can write" in done.err


def test_a_worker_with_the_keys_of_another_site_does_not_start(project_folder):
    project_folder.run("worker", "init", "berlin")
    done = project_folder.run("worker", "--site", "rome", "--keys", "worker-berlin", "--workers", "nats://127.0.0.1:1")
    assert done.code == 1 and "berlin" in done.err and "rome" in done.err
