"""The targets that have drifted, as the status page shows them."""

from __future__ import annotations

from pushsalt.journal.store import Journal
from pushsalt.journal.watched import Watched, drifted


def test_the_targets_that_have_drifted(tmp_path):
    journal = Journal(tmp_path)
    assert drifted(journal) == []  # no file yet
    journal.put("app", {})
    assert drifted(journal) == []  # nothing was looked at yet
    for sls, id, tags in ((["a"], "web2", ["x", "y"]), (["a"], "web1", ["x"]), ([], "web1", ["z"]), ([], "db1", [])):
        Watched(journal, sls).change(id, tags, (f"pushsalt/drift/{id}", {}))
    assert [(each.id, each.tags) for each in drifted(journal) if each.id == "web2"] == [("web2", ("x", "y"))]
    assert sorted(each.tags for each in drifted(journal) if each.id == "web1") == [("x",), ("z",)]
    assert [each.id for each in drifted(journal)] == ["web1", "web1", "web2"]
    Watched(journal, ["a"]).change("web2", [], ("pushsalt/drift/web2", {}))
    assert [each.id for each in drifted(journal)] == ["web1", "web1"]
