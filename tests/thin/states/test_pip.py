"""Python packages installed by pip in a virtual environment, from wheels in a folder; versions without a library."""

import subprocess
import sys
import zipfile

import pytest

from thin import runtime
from thin.exceptions import CommandExecutionError, CommandNotFoundError
from thin.loader import Loaders
from thin.utils.packages import pep440

pytestmark = pytest.mark.slow

ORDER = "1.0.dev1 1.0a1.dev2 1.0a1 1.0a2 1.0b1 1.0rc1 1.0 1.0+local 1.0+local.2 1.0.post1 1.0.1 1.1 1.10 2!0.1".split()  # noqa: SIM905


def test_versions_are_ordered():
    for position, version in enumerate(ORDER[1:]):
        assert pep440.key(ORDER[position]) < pep440.key(version)
    assert pep440.key("1.0") == pep440.key("v1.0.0") == pep440.key("1")
    assert pep440.key("1.0-alpha.1") == pep440.key("1.0a1")
    assert pep440.key("1.0-1") == pep440.key("1.0.post1")
    assert pep440.key("nonsense") < pep440.key("0")


@pytest.mark.parametrize(
    "version, conditions, expected",
    [
        ("1.4.2", "~=1.4", True),
        ("2.0", "~=1.4", False),
        ("1.4.2", "==1.4.*", True),
        ("1.40", "==1.4.*", False),
        ("1.0+deb", "==1.0", True),
        ("1.0", "==1.0+deb", False),
        ("1.0", "!=1.0.0", False),
        ("1.5", ">=1.2,<2", True),
        ("2.0", ">=1.2,<2", False),
        ("1.0", "===1.0", True),
        ("1", "==1.*", True),
        ("1.0", "!=1.*", False),
    ],
)
def test_versions_fulfill_conditions(version, conditions, expected):
    name, parsed = pep440.requirement(f"Some.Name[extra] {conditions}; python_version > '3'")
    assert name == "some-name"
    assert all(pep440.holds(version, *condition) for condition in parsed) == expected


@pytest.mark.parametrize(
    "text", ["git+https://x/y#egg=z", "./dir", "/abs/x.zip", "https://x/y.tar.gz", "a @ https://x"]
)
def test_urls_and_paths_have_no_name(text):
    assert pep440.requirement(text) == ("", [])


def test_a_wheel_has_name_and_version():
    assert pep440.requirement("/x/Some_Name-1.0-py3-none-any.whl") == ("some-name", [("==", "1.0")])


@pytest.mark.parametrize("text", ["a=1", "a b", "==1", "a>>1"])
def test_invalid_requirements_are_errors(text):
    with pytest.raises(ValueError, match="invalid"):
        pep440.requirement(text)


def wheel(folder, name, version):
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{name}.py", f"version = {version!r}\n")
        info = f"{name}-{version}.dist-info"
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel_text = "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        archive.writestr(f"{info}/WHEEL", wheel_text)
        archive.writestr(f"{info}/RECORD", f"{name}.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")


@pytest.fixture(scope="module")
def pip_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pip")
    (folder / "wheels").mkdir()
    for version in ("1.0", "1.1", "2.0", "2.1b1"):
        wheel(folder / "wheels", "pushsalt_a", version)
    wheel(folder / "wheels", "pushsalt_b", "0.1")
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    return folder


def loaders(test=False):
    grains = {"kernel": "Linux", "os": "Debian", "os_family": "Debian"}
    return Loaders({"test": test, "cachedir": "/nonexistent"}, runtime, grains=grains)


@pytest.mark.slow
def test_packages_are_installed_and_removed(pip_folder):
    environment = {"bin_env": str(pip_folder / "venv")}
    options = {**environment, "no_index": True, "find_links": str(pip_folder / "wheels")}

    def run(function, test=False, **args):
        ret = loaders(test).states["pip." + function](**{"name": "pushsalt-a", **args})
        return ret["result"], ret["changes"], ret["comment"]

    installed = (
        True,
        {},
        "Python package pushsalt-a==1.0 was already installed\nAll specified packages are already installed",
    )
    new = {"name": "pushsalt-a==1.0", **options}
    assert run("installed", True, **new) == (None, {}, "Python package pushsalt-a==1.0 is set to be installed")
    assert run("installed", **new) == (
        True,
        {"pushsalt-a==1.0": "Installed"},
        "All packages were successfully installed",
    )
    assert run("installed", **new) == run("installed", True, **new) == installed
    assert run("installed", name="Pushsalt.A >= 1.0, < 2", **options)[:2] == (True, {})
    assert run("installed", pkgs=["pushsalt-a>=1.1,<2", "pushsalt_b"], **options)[:2] == (
        True,
        {"pushsalt-a==1.1": "Installed", "pushsalt-b==0.1": "Installed"},
    )
    assert run("installed", upgrade=True, **options)[1] == {"pushsalt-a==2.0": "Installed"}
    assert run("installed", upgrade=True, **options)[2].endswith("already installed and up-to-date")

    (pip_folder / "req.txt").write_text("pushsalt-b==0.1\n")
    assert run("installed", requirements=str(pip_folder / "req.txt"), **options) == (
        True,
        {},
        "Requirements were already installed.",
    )
    failed = run("installed", name="pushsalt-a==9", **options)
    assert failed[:2] == (False, {})
    assert "Failed to install packages: pushsalt-a==9. Error: " in failed[2]
    assert run("installed", name="pushsalt-a=1", **options)[2].startswith("Invalid version specification in package")
    assert run("installed", user="nosuchuser", **options) == (False, {}, "User nosuchuser does not exist")
    assert run("installed", bin_env="/nonexistent")[0] is False

    assert run("removed", True, **environment) == (None, {}, "Package pushsalt-a is set to be removed")
    assert run("removed", **environment) == (True, {"pushsalt-a": "Removed"}, "Package was successfully removed.")
    assert run("removed", **environment) == (True, {}, "Package is not installed.")


@pytest.mark.slow
def test_functions_list_and_install_packages(pip_folder):
    environment = {"bin_env": str(pip_folder / "venv")}
    call = loaders().modules
    ret = call["pip.install"]("pushsalt_b", no_index=True, find_links=str(pip_folder / "wheels"), **environment)
    assert ret["retcode"] == 0
    assert call["pip.list"]("pushsalt-b", **environment) == {"pushsalt-b": "0.1"}
    assert "pushsalt-b==0.1" in [line.replace("_", "-") for line in call["pip.freeze"](**environment)]
    assert call["pip.is_installed"]("Pushsalt_B", **environment)
    links = {"find_links": str(pip_folder / "wheels"), "no_index": True, **environment}
    assert call["pip.list_all_versions"]("pushsalt-a", **links) == ["1.0", "1.1", "2.0"]
    assert call["pip.list_all_versions"]("pushsalt-a", include_beta=True, **links)[-1] == "2.1b1"
    assert call["pip.version"](**environment)
    with pytest.raises(CommandNotFoundError):
        call["pip.version"](bin_env="/nonexistent")
    with pytest.raises(CommandExecutionError, match="mutually exclusive"):
        call["pip.install"]("x", no_index=True, index_url="http://x", **environment)
