"""Detection of a system's service manager, the module for systems without one, a provider set by a state or an
option.
"""

import pytest

from thin.engine import Engine
from thin.utils.system import initsystem

LINUX = {"kernel": "Linux", "os": "Ubuntu"}


@pytest.mark.parametrize(
    ("grains", "paths", "want"),
    [
        ({"kernel": "FreeBSD"}, [], "rc.d"),
        ({"kernel": "DragonFly"}, [], "rc.d"),
        ({"kernel": "Darwin"}, [], "launchd"),
        ({"kernel": "SunOS"}, ["/usr/bin/systemctl"], None),
        (LINUX, ["/run/systemd/system", "/sbin/rc-service", "/run/openrc/softlevel"], "systemd"),
        (LINUX, ["/usr/bin/systemctl", "/etc/init.d"], "systemd"),
        ({**LINUX, "os": "Debian"}, ["/usr/bin/systemctl"], "debian"),
        ({**LINUX, "os": "Devuan"}, ["/run/openrc/softlevel", "/sbin/rc-service"], "openrc"),
        ({**LINUX, "os": "Alpine"}, ["/sbin/rc-update", "/etc/init.d"], "openrc"),
        ({**LINUX, "os": "Alpine"}, ["/etc/init.d"], "scripts"),
        ({**LINUX, "os": "Alpine"}, [], None),
        ({**LINUX, "os": "Void", "init": "runit"}, ["/usr/bin/sv"], "runit"),
        ({**LINUX, "init": "upstart"}, ["/etc/init.d"], "upstart"),
        ({**LINUX, "os": "CentOS"}, ["/sbin/chkconfig", "/etc/init.d"], "chkconfig"),
    ],
)
def test_what_runs_now_counts_then_what_is_installed(grains, paths, want):
    assert initsystem.manager(grains, exists=lambda path: path in paths) == want


def chunk(fun, **args):
    low = {"state": "service", "fun": fun, "name": "web", "__id__": "web", "__sls__": "t", "__env__": "base"}
    return {**low, "order": 1, **args}


@pytest.fixture
def make(make_loaders):
    """Loaders of a container whose first process is not an init."""
    grains = {"kernel": "Linux", "os": "Debian", "init": "unknown"}
    return lambda *args, **kwargs: make_loaders(*args, **{"grains": dict(grains), **kwargs})


def run(loaders, fun, **args):
    (ret,) = Engine(loaders).run([chunk(fun, **args)]).values()
    return ret["result"], ret["changes"], ret["comment"]


@pytest.fixture
def bare(monkeypatch):
    monkeypatch.setattr(initsystem, "manager", lambda grains: None)


WHY = "The named service web is not available: this system has no service manager"


@pytest.mark.parametrize("fun, result", [("running", False), ("dead", True), ("enabled", False), ("disabled", True)])
def test_without_a_manager_every_service_is_dead(make, bare, fun, result):
    assert run(make(), fun)[0] is result
    assert run(make(), fun)[2].startswith(WHY)
    assert run(make(opts={"test": True}), "running")[0] is None


def test_without_a_manager_nothing_can_be_done(make, bare):
    modules = make().modules
    assert modules["service.get_all"]() == modules["service.get_enabled"]() == []
    with pytest.raises(Exception, match="Cannot start the service web: this system has no service manager"):
        modules["service.start"]("web")


def test_upstart_is_reported_as_unsupported(make, monkeypatch):
    monkeypatch.setattr(initsystem, "manager", lambda grains: "upstart")
    grains = {"kernel": "Linux", "os": "Ubuntu", "init": "upstart"}
    assert "services under upstart are not supported" in run(make(grains=grains), "running")[2]


def test_runit_as_init(make, monkeypatch, tmp_path):
    monkeypatch.setattr(initsystem, "manager", lambda grains: "runit")
    monkeypatch.setattr(initsystem, "FOLDERS", (str(tmp_path),))
    (tmp_path / "sv").touch()
    modules = make(grains={"kernel": "Linux", "os": "Void", "init": "runit"}).modules
    modules.module("runit.get_all")["SERVICE_DIRS"] = (str(tmp_path),)
    modules.module("runit.get_all")["AVAILABLE_DIRS"] = []
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "run").touch(mode=0o755)
    assert modules["service.get_all"]() == modules["runit.get_all"]() == ["web"]
    assert modules["service.reload"].__doc__ and modules["service.available"]("web")


OWN = (
    "ran = []\n"
    "def __virtual__():\n    return False, 'only when asked for'\n"
    "def available(name):\n    return True\n"
    "def status(name, sig=None):\n    return bool(ran)\n"
    "def start(name):\n    ran.append(name)\n    return True\n"
    "def enabled(name):\n    return False\n"
)


def test_a_state_names_its_provider(make, bare):
    loaders = make({"thin.modules.own_service": OWN})
    assert run(loaders, "running", provider="own_service") == (True, {"web": True}, "Started service web")
    assert run(loaders, "running")[2].startswith(WHY)  # the next state has its own provider again
    assert run(loaders, "running", provider=[{"service": "own_service"}])[0] is True
    assert run(loaders, "running", provider="no such file")[2].startswith(WHY)


def test_the_options_name_a_provider(make, bare):
    loaders = make({"thin.modules.own_service": OWN}, opts={"providers": {"service": "own_service"}})
    assert run(loaders, "running") == (True, {"web": True}, "Started service web")
    assert loaders.modules["service.get_all"]() == []  # functions that the provider lacks


def test_beacons_are_not_watched(make, bare):
    beacon = make().states["service.mod_beacon"]
    assert beacon("web", sfun="running")["result"] is True
    assert beacon("web", sfun="running", beacon=True)["result"] is beacon("web", sfun="enabled")["result"] is False
