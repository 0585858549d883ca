"""pyproject.toml declares all imports of pushsalt and its tests."""

import ast
import importlib.metadata
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "pyproject.toml").read_text()
#: imports of tests without a distribution: test programs import each other, and real Salt runs in its own Python
NONE = {"salt", "scripts", "tests"}
#: modules whose distributions are not derived from their names if they are not installed
DISTRIBUTIONS = {"git": "gitpython", "nacl": "pynacl", "yaml": "pyyaml", "tomli": "tomli"}
#: optional imports of pushsalt
EXTRAS = ("mako", "nacl", "toml", "jmespath", "timelib", "keyring", "postgres", "mysql", "redis", "serve")


def declared(*names):
    """The distributions, in lower case, of ``dependencies`` and of extras."""
    found = set()
    for name in names:
        table = re.search(rf"^{name} = \[(.*?)\]$", TEXT, re.MULTILINE | re.DOTALL)[1]
        found |= {word.lower() for word in re.findall(r'"([\w.-]+)', table)}
    return found


def foreign(top):
    """{module: one file that imports it}, without the standard library and the project itself."""
    found = {}
    for path in sorted((ROOT / top).rglob("*.py")):
        names = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                names.add(node.module)
        siblings = {other.stem for other in path.parent.iterdir()}
        for name in {name.split(".")[0] for name in names} - sys.stdlib_module_names - {"pushsalt", "thin"} - siblings:
            found.setdefault(name, path.relative_to(ROOT).as_posix())
    return found


def distribution(module):
    distributions = importlib.metadata.packages_distributions().get(module)
    return distributions[0].lower() if distributions else DISTRIBUTIONS.get(module, module)


@pytest.mark.parametrize("module,path", sorted(foreign("pushsalt").items()))
def test_what_pushsalt_imports_is_declared(module, path):
    assert distribution(module) in declared("dependencies", *EXTRAS), path


@pytest.mark.parametrize("module,path", sorted(foreign("tests").items()))
def test_what_tests_import_is_declared(module, path):
    wanted = declared("dependencies", *EXTRAS, "test", "test-servers")
    assert module in NONE or distribution(module) in wanted, path


def test_what_is_declared_is_read():
    assert {"asyncssh", "cryptography", "markupsafe"} <= declared("dependencies")
    assert declared("nacl") == {"pynacl"}
