"""Disks: df, file systems in an image (blkid, mkfs), and settings of block devices by a script in PATH."""

import shutil

import pytest

from thin.exceptions import CommandExecutionError, SaltInvocationError

BLOCKDEV = """#!/bin/sh
for last; do :; done
while [ $# -gt 1 ]; do
    case $1 in
        --setra) shift; echo $1 > {state}/getra;; --setro) echo 1 > {state}/getro;; --setrw) echo 0 > {state}/getro;;
        --get*) cat {state}/${{1#--}} 2>/dev/null || echo 512;;
    esac
    shift
done
"""


def test_usage_of_mounted_file_systems(make_loaders):
    disk = make_loaders().modules.disk
    root = disk.usage()["/"]
    assert set(root) == {"filesystem", "1K-blocks", "used", "available", "capacity"} and root["1K-blocks"].isdigit()
    assert disk.percent("/") == root["capacity"] and disk.percent("/nowhere") == {}
    assert set(disk.inodeusage()["/"]) == {"filesystem", "inodes", "used", "free", "use"}
    assert "/" in disk.usage("h")
    with pytest.raises(CommandExecutionError, match="Invalid flag passed"):
        disk.usage("h;")


@pytest.mark.skipif(not shutil.which("mkfs.ext4") or not shutil.which("blkid"), reason="no mkfs.ext4 or no blkid")
def test_an_image_is_formatted_once(make_loaders, tmp_path):
    image = tmp_path / "image"
    image.write_bytes(b"\0" * 4_000_000)

    def run(test=False, **options):
        states = make_loaders(opts={"test": test}).states
        ret = states["blockdev.formatted"](str(image), force=True, **options)
        return ret["result"], ret["changes"]

    assert run(True) == (None, {}) and run() == (True, {"old": "", "new": "ext4"})
    assert run(True) == run() == (True, {})
    assert make_loaders().modules["disk.blkid"](str(image))[str(image)]["TYPE"] == "ext4"
    assert run(fs_type="nosuchfs") == (False, {})
    ret = make_loaders().states["blockdev.tuned"](str(image))
    assert ret["comment"] == f"Changes to {image} cannot be applied. Not a block device."


def test_settings_of_a_block_device_are_changed(make_loaders, tmp_path, monkeypatch):
    (tmp_path / "getra").write_text("256\n")
    (tmp_path / "getro").write_text("0\n")
    (tmp_path / "blockdev").write_text(BLOCKDEV.format(state=tmp_path))
    (tmp_path / "blockdev").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    own = {"thin.modules.file": "def is_blkdev(name):\n    return True\n"}
    options = {"read-ahead": 1024, "read-only": True}

    def run(test=False, **options):
        ret = make_loaders(own, opts={"test": test}).states["blockdev.tuned"]("/dev/x", **options)
        return ret["result"], ret["changes"], ret["comment"].strip()

    assert run(True, **options) == (None, {}, "Changes to /dev/x will be applied")
    changes = {"read-ahead": "Changed from 256 to 1024", "read-only": "Changed from False to True"}
    assert run(**options) == (True, changes, "Block device /dev/x successfully modified")
    assert run(**options) == run(True, **options) == (True, {}, "Block device /dev/x already in correct state")
    assert run(**{"read-write": True})[1] == {"read-write": "Changed from False to True"}
    with pytest.raises(SaltInvocationError, match="read-only=False, x=1"):
        make_loaders(own).modules["disk.tune"]("/dev/x", **{"read-only": False, "x": 1})


def test_blkid_looks_for_a_token(make_loaders, tmp_path, monkeypatch):
    script = """#!/bin/sh\n[ "$*" = "-t LABEL=data" ] && echo '/dev/x: LABEL="data" TYPE="ext4"'\n"""
    (tmp_path / "blkid").write_text(script)
    (tmp_path / "blkid").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    found = make_loaders().modules["disk.blkid"](token="LABEL=data")
    assert found == {"/dev/x": {"LABEL": "data", "TYPE": "ext4"}}
