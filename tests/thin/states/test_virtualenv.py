"""Virtual environments created, cleared and filled with wheels of a folder."""

import shutil
import subprocess
import sys
import zipfile

import pytest

from thin import runtime
from thin.exceptions import CommandExecutionError, CommandNotFoundError
from thin.loader import Loaders

pytestmark = pytest.mark.slow


def loaders(test=False, pillar=None):
    grains = {"kernel": "Linux", "os": "Debian", "os_family": "Debian"}
    return Loaders({"test": test, "cachedir": "/nonexistent"}, runtime, grains=grains, pillar=pillar or {})


def virtualenv_script(path, version="20.1.2"):
    """A virtualenv that records its calls."""
    path.write_text(
        f'#!/bin/sh\ncase "$1" in --version) echo "virtualenv {version} from /x/py3.11/virtualenv.py"; exit;; esac\n'
        'for last; do :; done\nmkdir -p "$last"; printf "%s\\n" "$@" > "$last/asked"\n'
        'case "$last" in *broken) exit 3;; esac\n'
    )
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    "version, options, expected",
    [
        ("20.1.2", {}, []),
        ("20.1.2", {"system_site_packages": True, "clear": True}, ["--clear", "--system-site-packages"]),
        (
            "20.1.2",
            {"prompt": "a b", "extra_search_dir": "/a, /b"},
            ["--extra-search-dir=/a", "--extra-search-dir=/b", "--prompt=a b"],
        ),
        ("20.1.2", {"never_download": False}, ["--download"]),
        ("20.1.2", {"never_download": True}, ["--no-download"]),
        ("15.0", {"never_download": True}, ["--never-download"]),
        ("1.9rc1", {"distribute": True}, ["--distribute"]),
        ("20.1.2", {"python": sys.executable}, [f"--python={sys.executable}"]),
    ],
)
def test_arguments_become_options_of_virtualenv(tmp_path, version, options, expected):
    ret = loaders().modules["virtualenv.create"](
        str(tmp_path / "env"), venv_bin=virtualenv_script(tmp_path / "virtualenv", version), **options
    )
    assert ret["retcode"] == 0
    assert (tmp_path / "env" / "asked").read_text().splitlines() == [*expected, str(tmp_path / "env")]


@pytest.mark.parametrize(
    "options, message",
    [
        ({"upgrade": True}, r"`upgrade`\(`--upgrade`\) option is not supported"),
        ({"symlinks": False}, "`symlinks`"),
        ({"python": "/no/such/python"}, "Cannot find requested python"),
        ({"venv_bin": "venv", "never_download": True}, "`never_download`.`--never-download`"),
        ({"venv_bin": "venv", "extra_search_dir": ["/a"]}, "`extra_search_dir`"),
        ({"venv_bin": "/no/such/python3"}, "Cannot find requested python"),
        ({"venv_bin": sys.executable, "python": sys.executable}, "not both"),
        ({"venv_bin": "/x/pyvenv", "python": "x"}, "`python`"),
        ({"venv_bin": "/bin/false"}, "Unable to get the virtualenv version"),
    ],
)
def test_invalid_combinations_of_options_are_errors(tmp_path, options, message):
    options = {"venv_bin": virtualenv_script(tmp_path / "virtualenv"), **options}
    with pytest.raises(CommandExecutionError, match=message):
        loaders().modules["virtualenv.create"](str(tmp_path / "env"), **options)


def test_an_incomplete_environment_is_removed(tmp_path):
    pillar = {"venv_bin": virtualenv_script(tmp_path / "virtualenv")}
    created = loaders(pillar=pillar).modules["virtualenv.create"](str(tmp_path / "broken"))
    assert created["retcode"] == 3 and not (tmp_path / "broken").exists()
    ret = loaders(pillar=pillar).states["virtualenv.managed"](str(tmp_path / "broken"))
    assert ret["result"] is False and ret["changes"] == {}


def wheel(folder, name):
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{name}/__init__.py", "")
        archive.writestr(f"{name}/data/text", "of the package")
        info = f"{name}-1.0.dist-info"
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        tags = "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        archive.writestr(f"{info}/WHEEL", tags)
        archive.writestr(f"{info}/RECORD", "".join(f"{member.filename},,\n" for member in archive.filelist))


@pytest.mark.slow
def test_an_environment_is_created_filled_and_cleared(tmp_path):
    env = tmp_path / "env"

    def managed(test=False, **args):
        ret = loaders(test).states["virtualenv.managed"](name=str(env), venv_bin="venv", **args)
        return ret["result"], ret["changes"], ret["comment"]

    python = subprocess.run([sys.executable, "-V"], capture_output=True, text=True, check=True).stdout.strip()
    assert managed(True) == (None, {}, f"Virtualenv {env} is set to be created") and not env.exists()
    assert managed(prompt="here it is") == (True, {"new": python}, "Created new virtualenv")
    assert "here it is" in (env / "pyvenv.cfg").read_text()
    assert managed() == (True, {}, "virtualenv exists")
    assert managed(True) == (True, {}, f"Virtualenv {env} is already created")

    wheel(tmp_path, "pushsalt_v")
    (tmp_path / "wanted").write_text(f"--no-index\n--find-links {tmp_path}\npushsalt_v\n")
    result, changes, _ = managed(requirements=str(tmp_path / "wanted"))
    (new,) = changes["packages"]["new"]
    assert result is True and new.replace("_", "-") == "pushsalt-v==1.0" and changes["packages"]["old"] == ""
    assert managed(requirements=str(tmp_path / "wanted")) == (True, {}, "virtualenv exists")

    call = loaders().modules
    site = call["virtualenv.get_site_packages"](str(env))
    assert call["virtualenv.get_distribution_path"](str(env), "pushsalt_v").rstrip("/") == site
    assert call["virtualenv.get_resource_path"](str(env), "pushsalt_v", "data/text") == f"{site}/pushsalt_v/data/text"
    assert call["virtualenv.get_resource_content"](str(env), "pushsalt_v", "data/text") == "of the package"
    with pytest.raises(CommandExecutionError, match="does not appear to be a virtualenv"):
        call["virtualenv.get_site_packages"](str(tmp_path))

    (tmp_path / "wrong").write_text("--no-index\nno-such-thing\n")
    result, changes, comment = managed(requirements=[str(tmp_path / "wrong")])
    assert (result, changes) == (False, {}) and comment.startswith("virtualenv exists\n") and "no-such" in comment
    assert managed(no_binary=":all:", use_wheel=True)[0] is False

    assert managed(True, clear=True)[::2] == (None, f"Virtualenv {env} is set to be cleared")
    result, changes, comment = managed(clear=True)
    assert (result, comment) == (True, "Cleared existing virtualenv")
    assert new in changes["cleared_packages"] and changes["old"] == changes["new"] == python
    shutil.rmtree(f"{site}/pip")
    for function in ("pip.freeze", "pip.list"):
        with pytest.raises(CommandNotFoundError, match="Could not find a `pip` binary"):
            call[function](bin_env=str(env))
