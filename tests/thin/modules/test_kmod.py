"""Kernel modules, with scripts in place of lsmod, modprobe and rmmod: no test loads a real one. Output is synthetic."""

import os

import pytest

from tests.thin import filebed
from thin import link
from thin.engine import Engine

MODPROBE = """#!/bin/sh
case $1 in
    bad) echo "modprobe: ERROR: could not insert 'bad'" >&2; exit 1;;
    snd_pcm) echo "snd 1 1 snd_pcm" >> @;;
esac
echo "$1 16384 0" >> @
"""
LSMOD = '#!/bin/sh\necho "Module                  Size  Used by"\ncat @\n'
RMMOD = """#!/bin/sh
grep -q "^$1 .*,x" @ && { echo "rmmod: ERROR: Module $1 is in use" >&2; exit 1; }
sed -i "/^$1 /d" @
"""


@pytest.fixture
def bed(tmp_path, monkeypatch):
    bed = filebed.Bed(tmp_path / "bed")
    before = link.connect(bed.link)
    table = bed.file("loaded", "kvm 1000000 2 kvm_amd,kvm_intel\nbusy 1 2 y,x\n")
    for name, modules_file in (("lsmod", LSMOD), ("modprobe", MODPROBE), ("rmmod", RMMOD)):
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(modules_file.replace("@", table))
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    kmod = bed.loaders.modules["kmod.load"].__globals__
    monkeypatch.setitem(kmod, "_kept", lambda: bed.path("modules"))
    available = ["bad", "bonding", "busy", "kvm", "snd", "snd_pcm", "snd_timer"]
    monkeypatch.setitem(kmod, "available", lambda: available)
    monkeypatch.setitem(bed.loaders.modules._functions, "kmod.available", lambda: available)
    yield bed
    link.connect(before)


def run(bed, state, name="m", test=False, **kwargs):
    bed.opts["test"] = test
    ret = bed.loaders.states["kmod." + state](name, **kwargs)
    return ret["result"], ret["changes"], ret["comment"]


def modules_file(bed):
    with open(bed.path("modules")) as source:
        return source.read()


def test_loaded_modules_are_listed(bed):
    assert bed.call("kmod.lsmod")[0] == {
        "module": "kvm",
        "size": "1000000",
        "depcount": "2",
        "deps": ["kvm_amd", "kvm_intel"],
    }
    assert bed.call("kmod.mod_list") == ["busy", "kvm"]
    assert bed.call("kmod.mod_list", True) == []
    assert (bed.call("kmod.is_loaded", "kvm"), bed.call("kmod.is_loaded", "snd")) == (True, False)
    assert (bed.call("kmod.check_available", "snd"), bed.call("kmod.check_available", "no")) == (True, False)


def test_modules_are_loaded_and_removed(bed):
    assert run(bed, "present", "kvm") == (True, {}, "Kernel module kvm is already present")
    assert run(bed, "present", "snd", test=True) == (None, {}, "Kernel module snd is set to be loaded")
    assert run(bed, "absent", "snd") == (True, {}, "Kernel module snd is already removed")
    modules = {"mods": ["kvm", "snd_pcm", "snd"]}
    assert run(bed, "present", test=True, **modules) == (
        None,
        {},
        "Kernel module kvm is already present\nKernel modules snd_pcm, snd are set to be loaded",
    )
    # a module that was loaded as a dependency is not loaded again
    assert run(bed, "present", **modules) == (
        True,
        {"snd": "loaded", "snd_pcm": "loaded"},
        "Kernel module kvm is already present\nLoaded kernel modules snd_pcm, snd",
    )
    assert run(bed, "present", **modules)[:2] == (True, {})
    assert run(bed, "absent", "snd", test=True) == (None, {}, "Kernel module snd is set to be removed")
    assert run(bed, "absent", "snd") == (True, {"snd": "removed"}, "Removed kernel module snd")


def test_errors_of_programs_are_comments(bed):
    assert run(bed, "present", mods=["none", "bad", "bonding"]) == (
        False,
        {"bonding": "loaded"},
        "Kernel module none is unavailable\nLoaded kernel module bonding\n"
        "Failed to load kernel module bad: Error loading module bad: modprobe: ERROR: could not insert 'bad'",
    )
    assert run(bed, "absent", "busy") == (
        False,
        {},
        "Failed to remove kernel module busy: Error removing module busy: rmmod: ERROR: Module busy is in use",
    )


def test_persistent_modules_are_in_the_file(bed):
    bed.file("modules", "# ours\n# snd\nloop max=3")
    assert run(bed, "present", "snd", persist=True)[:2] == (True, {"snd": "loaded"})
    assert run(bed, "present", "kvm", persist=True, test=True)[0] is None
    assert run(bed, "present", "kvm", persist=True)[:2] == (True, {"kvm": "loaded"})
    assert modules_file(bed) == "# ours\nsnd\nloop max=3\nkvm\n"
    assert bed.call("kmod.mod_list", True) == ["kvm", "loop", "snd"]
    assert run(bed, "present", "kvm", persist=True)[:2] == (True, {})
    assert run(bed, "absent", "snd", persist=True)[:2] == (True, {"snd": "removed"})
    assert modules_file(bed) == "# ours\n#snd\nloop max=3\nkvm\n"
    assert run(bed, "absent", "kvm", persist=True, comment=False)[:2] == (True, {"kvm": "removed"})
    assert modules_file(bed) == "# ours\n#snd\nloop max=3\n"
    assert run(bed, "absent", mods=["snd", "kvm"], persist=True)[::2] == (
        True,
        "Kernel modules snd, kvm are already removed",
    )


def test_missing_programs_are_failures(bed, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr("thin.process.which", lambda name, path=None: None)
    for state in ("present", "absent"):
        assert run(bed, state, "snd") == (False, {}, "Command 'lsmod' cannot be found")


def test_the_engine_calls_the_state(bed):
    """The engine passes the arguments of a state's signature."""
    low = {
        "state": "kmod",
        "fun": "present",
        "name": "snd",
        "persist": False,
        "__id__": "x",
        "__sls__": "t",
        "__env__": "base",
        "order": 1,
    }
    (ret,) = Engine(bed.loaders).run([low]).values()
    assert (ret["result"], ret["changes"]) == (True, {"snd": "loaded"})
