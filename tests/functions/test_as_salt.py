"""Functions compared with real Salt's answers for the same grains, pillar, options and files.

``cases/functions.jsonl``: its first line has the inputs; each other one a call (function, arguments, keyword arguments)
with its return or the class of its exception. ``shown`` are calls by a command line, the others by templates. Values as
in ``test_yaml_as_salt.py``. Accidental results of Salt for wrong calls are left out.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

from pushsalt.api import Client, JobOptions, Settings
from pushsalt.errors import FunctionError, StateError
from pushsalt.minion.minion import Minion
from pushsalt.options import OPTIONS

HEAD, *CASES = map(json.loads, (Path(__file__).parent.parent / "cases/functions.jsonl").read_text("utf-8").splitlines())
MODULES = sorted({case["call"][0].split(".")[0] for case in CASES})


@pytest.fixture(scope="module")
def minions(tmp_path_factory):
    """The minion for a command line, and for templates."""
    top = tmp_path_factory.mktemp("tree")
    for path, text in HEAD["files"].items():
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_text(text)
    for path in HEAD["folders"]:
        (top / path).mkdir()
    for path, goal in HEAD["links"].items():
        (top / path).symlink_to(goal)
    for path, mode in HEAD["modes"].items():
        (top / path).chmod(mode)
    own = {name: value for name, value in HEAD["opts"].items() if name not in OPTIONS}
    inventory = {"hosts": {"it": {"transport": "offline", "minion_opts": own}}}
    (top / "inventory.yaml").write_text(json.dumps(inventory))
    (top / "pushsalt.yaml").write_text(json.dumps(HEAD["opts"]))
    project = Client(Settings(config=top / "pushsalt.yaml", cache_dir=top / "cache")).project
    target = project.inventory.targets["it"]
    return {
        shown: Minion(project, target, JobOptions(), HEAD["grains"], None, rendering=not shown)
        for shown in (True, False)
    }


def decoded(value):
    if isinstance(value, list):
        return [decoded(item) for item in value]
    if not isinstance(value, dict):
        return value
    [(kind, inside)] = value.items()
    if kind == "__d":
        return {decoded(key): decoded(item) for key, item in inside}
    if kind == "__r":  # JSON cannot represent the type
        return inside
    return {"__b": lambda: inside.encode("latin1"), "__f": lambda: float(inside)}[kind]()


def comparable(value):
    if isinstance(value, dict):
        return {comparable(key): comparable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [comparable(item) for item in value]
    plain = value is None or isinstance(value, str | bytes | bool | int | float)
    return value if plain else f"{type(value).__name__}:{value!r}"


def answer(minion, function, args, kwargs):
    args, kwargs = copy.deepcopy((args, kwargs))
    try:
        value = minion.functions[function](*args, **kwargs) if minion.rendering else minion.call(function, args, kwargs)
    except FunctionError as exc:
        return exc.exception, exc
    except StateError as exc:
        return "SaltRenderError", exc
    except Exception as exc:
        return type(exc).__name__, exc
    return None, comparable(value)


@pytest.mark.parametrize("module", MODULES)
def test_functions(minions, module):
    wrong = []
    for case in CASES:
        function, args, kwargs = case["call"]
        if function.split(".")[0] != module:
            continue
        raised, value = answer(minions[case.get("shown", False)], function, args, kwargs)
        if raised != case.get("raises") or (raised is None and value != decoded(case["ret"])):
            wrong.append((case, raised, value))
    assert not wrong
