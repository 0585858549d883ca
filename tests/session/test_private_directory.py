"""The private directory belongs to the user or is not used, whatever is in its place and whatever the umask is."""

from __future__ import annotations

import os

import pytest

from pushsalt.session.start import LockRequest, Start


def group_writable(cache, trap):
    cache.mkdir(mode=0o700)
    (cache / "pushsalt").mkdir()
    (cache / "pushsalt").chmod(0o770)


def anybody_s(cache, trap):
    cache.mkdir(mode=0o700)
    (cache / "pushsalt").mkdir()
    (cache / "pushsalt").chmod(0o1777)


def link_above(cache, trap):
    cache.symlink_to(trap)


def link_loop(cache, trap):
    cache.mkdir()
    (cache / "pushsalt").symlink_to("pushsalt")


def regular_file(cache, trap):
    cache.mkdir()
    (cache / "pushsalt").write_text("mine")


def a_fifo(cache, trap):
    cache.mkdir()
    os.mkfifo(cache / "pushsalt")


def owned_by_nobody(cache, trap):
    if os.geteuid():
        pytest.skip("only root can give folders away")
    cache.mkdir()
    (cache / "pushsalt").mkdir()
    os.chown(cache / "pushsalt", 65534, 65534)


def below_a_folder_of_nobody(cache, trap):
    owned_by_nobody(cache, trap)
    os.chown(cache / "pushsalt", 0, 0)
    os.chown(cache, 65534, 65534)


@pytest.mark.parametrize(
    "plant",
    [group_writable, anybody_s, link_above, link_loop, regular_file, a_fifo, owned_by_nobody, below_a_folder_of_nobody],
)
async def test_folders_that_others_can_use_are_not_used(open_session, home, tmp_path, plant):
    trap = tmp_path / "trap"
    trap.mkdir()
    plant(home / ".cache", trap)
    before = sorted(home.rglob("*"))
    session = await open_session(start=Start(lock=LockRequest("me", wait=60)))  # other tests use the same other folder
    assert await session.call("test.ping") is True
    assert not session.info["dir"].startswith((str(home), str(trap)))
    await session.close()
    assert sorted(home.rglob("*")) == before and not list(trap.iterdir())


@pytest.mark.parametrize("umask", [0o000, 0o777])
async def test_the_umask_has_no_effect(open_session, home, umask):
    old = os.umask(umask)
    try:
        session = await open_session(start=Start(lock=LockRequest("me")))
        await session.close()
    finally:
        os.umask(old)
    folder = home / ".cache" / "pushsalt"
    assert session.info["dir"] == str(folder)
    assert {path.lstat().st_mode & 0o7777 for path in (folder, folder.parent)} == {0o700}
    assert {path.lstat().st_mode & 0o7777 for path in folder.iterdir()} == {0o600}


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes anywhere")
async def test_a_home_that_cannot_be_written_to(open_session, home):
    home.chmod(0o500)
    session = await open_session(start=Start(lock=LockRequest("me", wait=60)))  # other tests use the same other folder
    assert await session.call("test.ping") is True
    assert not session.info["dir"].startswith(str(home))
    if not session.info["dir"]:
        assert any(f"{home}/.cache: Permission denied" in text for text in session.warnings)
