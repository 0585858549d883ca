"""``state.single`` and ``state.low``, called by modules on the target."""

import pytest

from tests.thin import filebed
from thin import link
from thin.exceptions import SaltInvocationError


@pytest.fixture
def bed(tmp_path):
    bed = filebed.Bed(tmp_path / "bed")
    before = link.connect(bed.link)
    yield bed
    link.connect(before)


@pytest.mark.parametrize("outer", [False, True])
def test_state_single_runs_a_state(bed, outer):
    bed.opts["test"] = outer
    path = bed.path("f")
    tag = f"file_|-{path}_|-{path}_|-managed"
    dry_run = bed.call("state.single", "file.managed", path, test=True, contents="x")
    assert (dry_run[tag]["result"], dry_run[tag]["changes"]) == (None, {"newfile": path})
    assert bed.opts["test"] is outer
    returns = bed.call("state.single", "file.managed", path, contents="x", queue=True)
    assert returns[tag]["result"] is (None if outer else True)
    returns = bed.call("state.single", "file.managed", path, test=False, contents="x")
    assert returns[tag]["result"] is True
    assert bed.snapshot()["f"][3] == "x\n"


def test_state_low_returns_one_return(bed):
    ret = bed.call("state.low", {"state": "test", "fun": "fail_without_changes", "name": "n", "__id__": "i"})
    assert (ret["result"], ret["__id__"], ret["name"]) == (False, "i", "n")
    assert bed.call("state.low", {"state": "test"}) == ['Missing "fun" data', 'Missing "name" data']
    with pytest.raises(SaltInvocationError, match="low chunk"):
        bed.call("state.low", "test.nop")


def test_invalid_states_are_reported(bed):
    assert bed.call("state.single", "nop", "n") == "Invalid function passed"
    [ret] = bed.call("state.single", "nope.nope", "n").values()
    assert ret["result"] is False
    assert "nope.nope" in ret["comment"]
