"""A new user whose groups cannot be set: the function reports it; the state also reports that the user was created."""

import pytest

INFO = {"uid": 1500, "gid": 1500, "name": "ada", "passwd": "x", "home": "/home/ada", "shell": "/bin/sh", "groups": []}
MESSAGE = "usermod: cannot lock /etc/group; try again later."


@pytest.fixture
def loaders(make_loaders):
    return make_loaders(grains={"os": "Debian", "os_family": "Debian", "kernel": "Linux"})


@pytest.fixture
def modules(loaders):
    def run_all(command, **kwargs):
        failed = command[0] == "usermod"
        return {"retcode": 10 if failed else 0, "stdout": "", "stderr": MESSAGE if failed else ""}

    loaders.modules["cmd.run_all"]  # loaded first, so that its entry of __salt__ can be replaced
    loaders.modules["user.add"].__globals__["__salt__"] = {"cmd.run_all": run_all}
    return loaders.modules


def test_the_function_returns_false(modules):
    assert modules["user.add"]("no-such-ada") is True
    assert modules["user.add"]("no-such-ada", groups=["crew"]) is False
    assert modules["user.info"].__globals__["__context__"]["user.complaint"] == MESSAGE


@pytest.mark.parametrize("is_created", [True, False])
def test_the_state_reports_the_new_user_and_the_error(loaders, modules, is_created):
    state, created, locked = loaders.states["user.present"], [], []

    def add(name, **kwargs):
        created.extend([name] if is_created else [])
        return modules["user.add"](name, groups=kwargs["groups"])

    state.__globals__["__salt__"] = {
        "user.info": lambda name, **kwargs: dict(INFO) if created else {},
        "user.add": add,
        "group.info": lambda name: {"name": name, "gid": 7},
        "shadow.info": lambda name: {},
        "shadow.default_hash": str,
        "shadow.lock_password": lambda name: locked.append(name) or True,
    }
    ret = state("ada", groups=["crew"], password_lock=True)
    assert ret["result"] is False
    if is_created:
        assert (ret["changes"], locked) == (INFO, ["ada"])
        assert ret["comment"] == f"User ada created but failed to set its groups: {MESSAGE}"
    else:
        assert (ret["changes"], locked, ret["comment"]) == ({}, [], f"Failed to create new user ada: {MESSAGE}")


@pytest.mark.parametrize("succeeds", [True, False])
def test_the_function_of_macos_returns_false(monkeypatch, succeeds):
    from thin.modules import mac_user

    for name in ("_must", "_flush"):
        monkeypatch.setattr(mac_user, name, lambda *args: None)
    monkeypatch.setattr(mac_user, "info", lambda name, root=None: {})
    monkeypatch.setattr(mac_user, "chgroups", lambda name, groups, append=False: succeeds)
    assert mac_user.add("ada", uid=505, groups=["crew"], createhome=False) is succeeds
    assert mac_user.add("ada", uid=505, createhome=False) is True
