"""Run by test_salt_helpers.py with several Pythons, isolated: `python -I -S salt_helpers_run.py ROOT CASES`.

Imports every file of thin/compat/salt as `salt.*` and compares each case with Salt 3008's result; prints the
differences, then OK. Python 3.6 syntax, no pytest.
"""

import copy
import importlib
import json
import os
import sys

root, cases = sys.argv[1:]
sys.path.insert(0, root)
sys.dont_write_bytecode = True
sys.modules["msgpack"] = None  # targets have only the vendored one

from thin import compat, loader, runtime  # noqa: E402

assert "salt" not in sys.modules
loaders = loader.Loaders({"id": "m"}, runtime, {"os": "Debian", "kernel": "Linux"}, {})


class Nothing:
    def find_spec(self, name, path=None, target=None):
        return None


compat.install(loaders, Nothing())
assert "salt" not in sys.modules, "nothing is loaded before it is imported"

helpers_folder = os.path.join(root, "thin", "compat", "salt")
for folder, folders, files in os.walk(helpers_folder):
    folders[:] = [name for name in folders if name != "__pycache__"]
    for name in sorted(files):
        parts = os.path.relpath(os.path.join(folder, name), helpers_folder)[:-3].split(os.sep)
        importlib.import_module(".".join(["salt"] + [part for part in parts if part != "__init__"]))

import salt.modules.cmdmod  # noqa: E402
import salt.utils.yaml  # noqa: E402

assert salt.modules.cmdmod._run_quiet("echo a") == "a"
assert salt.modules.cmdmod.exec_code("sh", "echo b") == "b", "a function of the module in another file"
assert not hasattr(salt.modules.cmdmod, "no_such_function")
try:
    import salt.nothing_of_the_kind
except ImportError:
    pass
else:
    raise AssertionError(salt.nothing_of_the_kind)


def plain(value):
    if isinstance(value, bytes):
        return {"bytes": value.decode("latin-1")}
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


with open(cases, encoding="utf-8") as handle:
    recorded = json.load(handle)
for case in recorded:
    module, _, function = case["fun"].rpartition(".")
    if salt.utils.yaml._yaml is None and ("yaml" in case["fun"] or "parse_input" in case["fun"]):
        continue  # the controller would parse it
    module = importlib.import_module(("salt." if module.startswith("serializers") else "salt.utils.") + module)
    try:
        outcome = {
            "want": plain(getattr(module, function)(*copy.deepcopy(case["args"]), **copy.deepcopy(case["kwargs"])))
        }
    except Exception as exc:
        outcome = {"raises": type(exc).__name__}
    if outcome != {key: case[key] for key in ("want", "raises") if key in case}:
        print(case, "but", outcome)
print("OK")
