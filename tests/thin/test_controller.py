"""What the worker's link says of files that come with the plan of a run."""

import hashlib
from types import SimpleNamespace

import pytest

from thin import blobs, controller, wire

DATA = b"setting = value\n"
DIGEST = hashlib.sha256(DATA).hexdigest()
URL = "salt://app.conf"


@pytest.fixture
def store(tmp_path):
    return blobs.Blobs(str(tmp_path))


def begun(store):
    """A link in a run whose plan has the file, and the digests that it requests."""
    link = controller.Controller(SimpleNamespace(wait=lambda ready: None), store)
    need = link.begin(files={wire.file_key(URL, "base"): DIGEST}, wants=[[DIGEST, None]])
    return link, [digest for digest, _ in need]


def test_a_file_that_comes_with_the_plan_is_not_cached_until_a_state_asks_for_it(store):
    """The plan's files come while states run: whether this one is there already depends on time only."""
    link, need = begun(store)
    assert need == [DIGEST] and link.cached(URL) is None
    store.feed(bytes.fromhex(DIGEST) + DATA)
    store.feed(bytes.fromhex(DIGEST))
    assert store.path(DIGEST)
    link.drop(URL)
    assert link.cached(URL) is None
    path = link.file(URL)
    assert path == store.path(DIGEST) == link.cached(URL)
    link.drop(URL)
    assert link.cached(URL) is None and store.path(DIGEST) is None


def test_a_file_of_an_earlier_run_is_cached_if_a_state_asked_for_it(store):
    """A dry run brings the files of its plan, too, and they stay for the run that follows."""
    _, _ = begun(store)
    store.feed(bytes.fromhex(DIGEST) + DATA)
    store.feed(bytes.fromhex(DIGEST))
    link, need = begun(store)
    assert need == [] and link.cached(URL) is None
    assert link.file(URL) == store.path(DIGEST)
    link, need = begun(store)
    assert need == [] and link.cached(URL) == store.path(DIGEST)
