"""pyproject.toml declares all imports of pushsalt and its tests."""

import importlib.metadata
import re
import sys
from pathlib import Path

from tests.beds.import_graph import import_graph

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "pyproject.toml").read_text()
#: imports of tests without a distribution: test programs import each other, and real Salt runs in its own Python
NONE = {"psutil", "salt", "scripts", "tests"}
#: modules whose distributions are not derived from their names if they are not installed
DISTRIBUTIONS = {"git": "gitpython", "nacl": "pynacl", "yaml": "pyyaml", "tomli": "tomli"}
#: the standard library, with what Python 3.11 has added
STANDARD = sys.stdlib_module_names | {"tomllib"}
DISTRIBUTIONS_OF = importlib.metadata.packages_distributions()
#: optional imports of pushsalt
EXTRAS = ("mako", "nacl", "toml", "jmespath", "timelib", "keyring", "postgres", "mysql", "redis", "serve", "nats")


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
        names = {module.split(".")[0] for _, module, _ in import_graph.imports(path)}
        siblings = {other.stem for other in path.parent.iterdir()}
        for name in names - STANDARD - {"", "pushsalt", "thin"} - siblings:
            found.setdefault(name, path.relative_to(ROOT).as_posix())
    return found


def distribution(module):
    installed = DISTRIBUTIONS_OF.get(module)
    return installed[0].lower() if installed else DISTRIBUTIONS.get(module, module)


def undeclared(top, *extras):
    """{module: one file that imports it} of the modules whose distributions these lists do not declare."""
    distributions = declared("dependencies", *EXTRAS, *extras)
    return {name: path for name, path in foreign(top).items() if distribution(name) not in distributions}


def test_what_pushsalt_imports_is_declared():
    assert not undeclared("pushsalt")


def test_what_tests_import_is_declared():
    assert set(undeclared("tests", "test", "test-servers")) <= NONE


def test_an_undeclared_import_is_found(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_one.py").write_text("def late():\n    import unheard.of\n    from yaml import load\n")
    assert undeclared("tests") == {"unheard": "tests/test_one.py"}


def test_declared_dependencies_are_imported():
    assert {"asyncssh", "cryptography", "markupsafe"} <= declared("dependencies")
    assert declared("nacl") == {"pynacl"}
