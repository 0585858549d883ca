"""Users of FreeBSD: their parsed properties, and the commands of pw(8) that change them."""

import pwd

import pytest

ROOT = pwd.getpwuid(0)


@pytest.fixture
def users(make_loaders):
    """(modules, commands that ran); ``pw`` succeeds, and reports the login class ``staff`` for everybody."""
    modules = make_loaders(grains={"os": "FreeBSD", "kernel": "FreeBSD"}).modules
    ran = []

    def run_all(command, **kwargs):
        ran.append(" ".join(command))
        output = "x:*:0:0:staff:0:0::/:/bin/sh"
        return {"retcode": 65 if "nobody-here" in command else 0, "stdout": output, "stderr": "no"}

    modules["cmd.run_all"]  # loaded first, so that its entry of __salt__ can be replaced
    modules["user.info"].__globals__["__salt__"] = {"cmd.run_all": run_all}
    return modules, ran


def test_properties_of_users_are_returned(users):
    modules, _ = users
    info = modules["user.info"](ROOT.pw_name)
    assert (info["uid"], info["gid"], info["home"], info["shell"]) == ROOT[2:4] + ROOT[5:7]
    assert info["fullname"] == ROOT.pw_gecos.split(",")[0] and "other" not in info
    assert modules["user.primary_group"](ROOT.pw_name) in modules["user.list_groups"](ROOT.pw_name) == info["groups"]
    assert info in modules["user.getent"]() and ROOT.pw_name in modules["user.list_users"]()
    assert modules["user.info"]("no such user") == {} and modules["user.list_groups"]("no such user") == []
    assert modules["user.get_loginclass"]("root") == {"loginclass": "staff"}


@pytest.mark.parametrize(
    ("function", "args", "kwargs", "command"),
    [
        ("add", ["ada"], {"fullname": "Ada L"}, "pw useradd -n ada -m -c Ada L"),
        (
            "add",
            ["ada"],
            {"uid": 9, "gid": "g", "groups": ["a", "b"], "home": "/h", "createhome": False, "unique": False},
            "pw useradd -n ada -u 9 -g g -d /h -G a,b -o -c ",
        ),
        ("delete", ["ada"], {"remove": True}, "pw userdel -n ada -r"),
        ("rename", ["root", "ada-of-9"], {}, "pw usermod -n root -l ada-of-9"),
        ("chuid", ["root", 5], {}, "pw usermod -n root -u 5"),
        ("chhome", ["root", "/x"], {"persist": True}, "pw usermod -n root -d /x -m"),
        ("chgroups", ["root", "b,a"], {}, "pw usermod -n root -G a,b"),
        ("chfullname", ["root", "R"], {}, "pw usermod -n root -c R"),
    ],
)
def test_each_change_is_one_command(users, function, args, kwargs, command):
    modules, ran = users
    assert modules[f"user.{function}"](*args, **kwargs) is True
    assert ran == [command]


def test_unchanged_properties_and_failures(users):
    modules, ran = users
    assert modules["user.chuid"](ROOT.pw_name, 0) and modules["user.chloginclass"]("root", "staff")
    assert ran == ["pw usershow -n root"]
    assert modules["user.delete"]("nobody-here") is False
    assert modules["user.info"].__globals__["__context__"]["user.complaint"] == "no"
    with pytest.raises(Exception, match="User 'nobody-here' does not exist"):
        modules["user.chuid"]("nobody-here", 5)
