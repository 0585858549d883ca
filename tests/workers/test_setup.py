"""``pushsalt worker init`` and ``worker revoke``: files, their modes, and what is refused."""

from __future__ import annotations

import os

import pytest

from pushsalt.errors import UsageError
from pushsalt.workers import keys, names, nkeys, setup
from pushsalt.workers.seal import controller_keys, site_keys
from tests.beds.project import Project

pytestmark = pytest.mark.slow


@pytest.fixture
def here(tmp_path):
    return Project(tmp_path)


def users(here):
    """The NATS users of berlin."""
    return [nkeys.user_of((here.folder / "worker-berlin/site.creds").read_text()).public]


def test_keys_of_a_site_are_made_and_the_project_learns_its_public_key(here):
    done = here.json("worker", "init", "berlin")
    folder, told = here.folder / "worker-berlin", here.folder / "workers/berlin.pub"
    assert done.code == 0, done.err
    assert done.data == {
        "site": "berlin",
        "dir": "worker-berlin",
        "public": str(told),
        "server": str(here.folder / "workers/nats.conf"),
    }
    private = site_keys(folder).private
    assert controller_keys(here.folder / "workers").peer("berlin") == private.public
    assert keys.load_worker(folder).site == "berlin"
    sealed = controller_keys(here.folder / "workers").seal("berlin", b"x", "p")
    assert site_keys(folder).open("controller", sealed, "p") == b"x"


def test_private_files_are_private_whatever_the_umask(here):
    old = os.umask(0)
    try:
        assert here.run("worker", "init", "berlin").code == 0
    finally:
        os.umask(old)
    for top in (here.folder / "worker-berlin", here.folder / "workers/private"):
        for path in (top, *top.rglob("*")):
            assert path.stat().st_mode & 0o077 == 0, path
    assert (here.folder / "workers/private/.gitignore").read_text() == "*\n"
    shown = (here.folder / "workers/berlin.pub").read_text() + (here.folder / "workers/nats.conf").read_text()
    assert "SECRET" not in shown and "identity" not in shown


def test_further_sites_have_the_same_operator_and_account(here):
    for site in ("a", "b"):
        assert here.run("worker", "init", site).code == 0
    found = [nkeys.claims_of(nkeys.jwt_of((here.folder / f"worker-{site}/site.creds").read_text())) for site in "ab"]
    assert found[0]["iss"] == found[1]["iss"] and found[0]["sub"] != found[1]["sub"]
    for site, claims in zip("ab", found, strict=True):
        assert claims["nats"]["pub"]["allow"] == names.worker_publishes(site)
        assert claims["nats"]["sub"]["allow"] == names.worker_subscribes(site)
    assert (here.folder / "worker-a/nats.conf").read_text().count('"eyJ') == 3


def test_no_subject_of_a_site_is_one_of_another(here):
    """Except those that say nothing: the server's own state, and what all sites may read."""
    common = set(names.worker_publishes("a")) & set(names.worker_publishes("b"))
    assert not [subject for subject in common if not subject.startswith(("$JS.API.", "$JS.*.API."))]
    assert not [
        each for each in names.worker_publishes("a") if each.startswith(("pushsalt.", "$KV.")) and ".a" not in each
    ]


def test_outside_of_a_project_the_folder_has_everything(tmp_path):
    made = setup.init("berlin", tmp_path / "w", None, "tls://nats.example.com")
    assert made.told is None and (tmp_path / "w/authority/nats.conf").is_file()
    assert keys.load_worker(tmp_path / "w").url == "tls://nats.example.com"


def test_nothing_is_overwritten(here):
    assert here.run("worker", "init", "berlin").code == 0
    before = (here.folder / "worker-berlin/site.key").read_text()
    for words in (("berlin",), ("berlin", "elsewhere"), ("other", "worker-berlin")):
        done = here.run("worker", "init", *words)
        assert done.code == 1 and "is there already" in done.err and "--renew" in done.err
    assert (here.folder / "worker-berlin/site.key").read_text() == before


def test_renewing_revokes_the_former_user(here):
    here.run("worker", "init", "berlin")
    before = users(here)
    done = here.run("worker", "init", "berlin", "--renew")
    assert done.code == 0 and "revoked" in done.out
    after = users(here)
    authority = setup.Authority(here.folder / "workers")
    revoked, valid = set(authority.revoked()), set(authority.users("berlin"))
    assert set(before) < revoked and set(after) < valid and not revoked & valid  # the others are those of leaf nodes
    assert len(revoked) == len(valid) == 2
    assert (
        controller_keys(here.folder / "workers").peer("berlin")
        == site_keys(here.folder / "worker-berlin").private.public
    )


def test_revoking_takes_the_public_key_away(here):
    here.run("worker", "init", "berlin")
    done = here.json("worker", "revoke", "berlin")
    assert done.code == 0 and done.data == {"site": "berlin", "revoked": 2}
    with pytest.raises(UsageError, match="no public key of the site berlin"):
        controller_keys(here.folder / "workers").peer("berlin")
    assert here.run("worker", "revoke", "berlin").code == 1


@pytest.mark.parametrize("name", ["../x", "", "a.b", "x*", "-a", "a" * 40, "controller"])
def test_names_that_cannot_be_sites(tmp_path, name):
    with pytest.raises(UsageError):
        setup.init(name, tmp_path / "w", None, None)
    assert not (tmp_path / "w").exists()


def test_a_folder_that_others_can_write_to_is_refused(here):
    (here.folder / "workers").mkdir()
    (here.folder / "workers/private").mkdir(mode=0o777)
    (here.folder / "workers/private").chmod(0o777)
    done = here.run("worker", "init", "berlin")
    assert done.code == 1 and "others can write" in done.err


def test_a_worker_with_the_keys_of_another_site_does_not_start(here):
    here.run("worker", "init", "berlin")
    done = here.run("worker", "--site", "rome", "--keys", "worker-berlin", "--workers", "nats://127.0.0.1:1")
    assert done.code == 1 and "berlin" in done.err and "rome" in done.err
