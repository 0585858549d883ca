"""The same answers as ``salt.utils.sdb`` and ``apply_sdb`` of real Salt, for the drivers of Salt 3008."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from pushsalt.errors import FunctionError
from pushsalt.programs import run_program
from pushsalt.sdb import Outside
from pushsalt.sdb.store import Sdb
from tests.beds.required import no_salt

SALT = os.environ.get("SALT_PYTHON")
pytestmark = [pytest.mark.salt, pytest.mark.skipif(bool(no_salt()), reason=no_salt() or "-")]

URIS = [
    "sdb://env/SDB_THERE",
    "sdb://env/SDB_NOT_THERE",
    "sdb://env/",
    "sdb://env",
    "sdb://nobody/x",
    "plain",
    "sdb:/env/x",
    "SDB://env/x",
    5,
    None,
    ["sdb://env/SDB_THERE"],
    "sdb://file/a:b",
    "sdb://file/a",
    "sdb://file/list:1",
    "sdb://file/list",
    "sdb://file/nope:b",
    "sdb://file/none",
    "sdb://file/over",
    "sdb://text/x",
    "sdb://file/a/b",
]
SCRIPT = """
import json, sys
import salt.config, salt.utils.sdb
given = json.load(sys.stdin)
opts = salt.config.DEFAULT_MINION_OPTS.copy()
opts.update(given["opts"])
out = []
for uri in given["uris"]:
    for strict in (False, True):
        try:
            out.append([salt.utils.sdb.sdb_get(uri, opts, strict=strict)])
        except Exception as exc:
            out.append(type(exc).__name__)
    out.append([salt.utils.sdb.sdb_set(uri, "x", opts)] if "file/" not in str(uri) else None)
data = given["config"]
salt.config.apply_sdb(opts, data)
json.dump([out, data], sys.stdout)
"""


def test_the_answers(tmp_path, monkeypatch):
    monkeypatch.setenv("SDB_THERE", "yes-it-is")
    monkeypatch.delenv("SDB_NOT_THERE", raising=False)
    (tmp_path / "a.yaml").write_text("a: {b: deep-value}\nlist: [one, two]\nnone: null\nover: first\n")
    (tmp_path / "b.yaml").write_text("a: {c: other}\nover: second\n")
    files = [str(tmp_path / name) for name in ("a.yaml", "b.yaml")]
    opts = {"env": {"driver": "env"}, "file": {"driver": "yaml", "files": files}, "text": {"no": "driver"}}
    config = {"a": {"deep": ["sdb://env/SDB_THERE", 1, "x"]}, "b": "sdb://file/a:b", "c": "see sdb://env/SDB_THERE"}
    given = json.dumps({"opts": opts, "uris": URIS, "config": config})
    done = subprocess.run([SALT or "", "-c", SCRIPT], input=given, capture_output=True, text=True, check=True)
    theirs, resolved = json.loads(done.stdout.splitlines()[-1])
    sdb, ours = Sdb(opts, Outside(run_program)), []
    for uri in URIS:
        for strict in (False, True):
            try:
                ours.append([sdb.get(uri, strict)])
            except FunctionError as exc:
                ours.append(exc.exception)
        ours.append([sdb.set(uri, "x")] if "file/" not in str(uri) else None)
        monkeypatch.delenv("SDB_NOT_THERE", raising=False)
    assert ours == theirs
    assert sdb.resolve(config) == resolved
