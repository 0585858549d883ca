"""Detection of a system's service manager, the module for systems without one, a provider set by a state or an
option.
"""

import pytest

from thin.engine import Engine
from thin.utils.system import initsystem

LINUX = {"kernel": "Linux", "os": "Ubuntu"}


@pytest.mark.parametrize(
    ("grains", "paths", "expected"),
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
def test_the_running_manager_precedes_an_installed_one(grains, paths, expected):
    assert initsystem.manager(grains, exists=lambda path: path in paths) == expected


def chunk(fun, **args):
    low = {"state": "service", "fun": fun, "name": "web", "__id__": "web", "__sls__": "t", "__env__": "base"}
    return {**low, "order": 1, **args}


@pytest.fixture
def make(make_loaders):
    """A function that creates loaders of a container whose first process is not an init."""
    grains = {"kernel": "Linux", "os": "Debian", "init": "unknown"}
    return lambda *args, **kwargs: make_loaders(*args, **{"grains": dict(grains), **kwargs})


def run(loaders, fun, **args):
    (ret,) = Engine(loaders).run([chunk(fun, **args)]).values()
    return ret["result"], ret["changes"], ret["comment"]


@pytest.fixture
def no_manager(monkeypatch):
    monkeypatch.setattr(initsystem, "manager", lambda grains: None)


MESSAGE = "The named service web is not available: this system has no service manager"


@pytest.mark.parametrize("fun, result", [("running", False), ("dead", True), ("enabled", False), ("disabled", True)])
def test_states_without_a_manager_find_every_service_dead(make, no_manager, fun, result):
    assert run(make(), fun)[0] is result
    assert run(make(), fun)[2].startswith(MESSAGE)
    assert run(make(opts={"test": True}), "running")[0] is None


def test_functions_without_a_manager_list_nothing_and_fail(make, no_manager):
    modules = make().modules
    assert modules["service.get_all"]() == modules["service.get_enabled"]() == []
    with pytest.raises(Exception, match="Cannot start the service web: this system has no service manager"):
        modules["service.start"]("web")


def test_upstart_is_reported_as_unsupported(make, monkeypatch):
    monkeypatch.setattr(initsystem, "manager", lambda grains: "upstart")
    grains = {"kernel": "Linux", "os": "Ubuntu", "init": "upstart"}
    assert "services under upstart are not supported" in run(make(grains=grains), "running")[2]


def test_runit_is_used_as_init(make, monkeypatch, tmp_path):
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


OWN_PROVIDER = (
    "ran = []\n"
    "def __virtual__():\n    return False, 'only when asked for'\n"
    "def available(name):\n    return True\n"
    "def status(name, sig=None):\n    return bool(ran)\n"
    "def start(name):\n    ran.append(name)\n    return True\n"
    "def enabled(name):\n    return False\n"
)


def test_the_provider_of_a_state_is_used(make, no_manager):
    loaders = make({"thin.modules.own_service": OWN_PROVIDER})
    assert run(loaders, "running", provider="own_service") == (True, {"web": True}, "Started service web")
    assert run(loaders, "running")[2].startswith(MESSAGE)  # the next state has its own provider again
    assert run(loaders, "running", provider=[{"service": "own_service"}])[0] is True
    assert run(loaders, "running", provider="no such file")[2].startswith(MESSAGE)


def test_the_provider_of_the_options_is_used(make, no_manager):
    loaders = make({"thin.modules.own_service": OWN_PROVIDER}, opts={"providers": {"service": "own_service"}})
    assert run(loaders, "running") == (True, {"web": True}, "Started service web")
    assert loaders.modules["service.get_all"]() == []  # functions that the provider lacks


def test_mod_beacon_is_refused(make, no_manager):
    beacon = make().states["service.mod_beacon"]
    assert beacon("web", sfun="running")["result"] is True
    assert beacon("web", sfun="running", beacon=True)["result"] is beacon("web", sfun="enabled")["result"] is False
