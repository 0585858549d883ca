"""Emacs creates ``.#name.py``, a dangling link, next to a changed file; folders and pipes may have such names, too."""

from __future__ import annotations

import os

import pytest

from pushsalt import plugins
from pushsalt.errors import ConfigError
from tests.plugins.conftest import Bed


@pytest.fixture
def bed(tmp_path):
    bed = Bed(tmp_path, "file roots")
    bed.write("inventory.yaml", "hosts: {here: {transport: local}}")
    for kind in ("wrapper", "roster", "matchers", "renderers", "pillar", "output", "tops", "sdb", "modules", "states"):
        folder = bed.folder / f"salt/_{kind}"
        (folder / "folder.py").mkdir(parents=True)
        (folder / ".#mine.py").symlink_to("me@host.example.org.4711:1")
        (folder / "gone.py").symlink_to("nowhere")
        os.mkfifo(folder / "pipe.py")
    bed.write("salt/a.sls", "a: {test.nop: []}")
    return bed


def test_they_are_no_plugins(bed):
    bed.configure()
    assert bed.json("run", "here", "test.ping").data == {"here": True}
    assert bed.run("apply", "here", "a").code == 0
    assert bed.json("run", "here", "saltutil.sync_wrapper").data == {"here": []}
    assert bed.run("run", "here", "gone.x").code == 2
    bed.configure(roster="gone")
    done = bed.run("target", "*")
    assert (done.code, done.out) == (1, "") and "there is no plug-in 'gone' of the kind roster" in done.err


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read: it is a folder") as caught:
        plugins.text_of(tmp_path)
    assert caught.value.where.path == str(tmp_path) and caught.value.hint
