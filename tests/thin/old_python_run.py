"""Run by test_old_pythons.py with each installed Python, isolated: `python -I -S old_python_run.py ROOT CASES`.

Executes every module of the runtime and the engine's cases; prints OK, or raises. Python 3.6 syntax, no pytest.
"""

import json
import os
import sys

root, cases = sys.argv[1:]
sys.path.insert(0, root)
sys.dont_write_bytecode = True
sys.modules["msgpack"] = None  # targets have only the vendored one

from thin import engine, loader, log, requisites, resourcetypes, runtime  # noqa: E402

log.sink = lambda level, text: None


def loaders(opts):
    return loader.Loaders(dict({"id": "m", "test": False}, **opts), runtime, {"os": "Debian", "kernel": "Linux"}, {})


functions = loaders({})
for kind in (functions.modules, functions.states):
    for name in kind:
        assert callable(kind[name]), name
    refused = {name: reason for name, reason in kind._reasons.items() if reason and "Error: " in str(reason)}
    assert not refused, refused
assert functions.modules["cmd.run"]("echo a") == "a"
lazy = loader.LazyDict(lambda: {"a": 1})
assert dict(lazy) == {"a": 1} and json.dumps(loader.LazyDict(lambda: {"a": 1})) == '{"a": 1}'

# every type of resources loads with all of its files, and a plain one works
names = sorted(runtime.virtual_index("resources"))
assert {"container", "dummy", "http_api", "machine"} <= set(names), names
types = resourcetypes.Types(functions, runtime, [], {})
for name in names:
    types.functions.need(name)
    for kind in ("modules", "states"):
        own = loader.Loader(kind, functions.pack, {}, resourcetypes.TypeFiles(runtime, name))
        assert all(callable(own[function]) for function in own) and not own._reasons, (name, kind, own._reasons)
answer = resourcetypes.discover(
    functions, runtime, [], {"dummy": ["a"], "http_api": {"resource_ids": {"b": "http://b"}}}
)
assert answer["failed"] == {} and answer["found"]["http_api"] == {"b": {"grains": {"url": "http://b"}}}, answer
declaration = {"type": "dummy", "id": "a", "declared": None, "manager": "m"}
plain = resourcetypes.Plain(declaration, {"id": "a", "test": False}, runtime, [], dict, dict, {})
assert plain.loaders.modules["test.ping"]() is True and "cmd.run" not in plain.loaders.modules
assert plain.manager.modules["cmd.run"]("echo a") == "a"
assert plain.grains()["resource_id"] == "a"

for case in sorted(os.listdir(cases)):
    if case.endswith(".json"):
        with open(os.path.join(cases, case)) as handle:
            data = json.load(handle)
        run = engine.Engine(loaders(dict(data["opts"], test=data["test"])))
        ordered = sorted(data["low"], key=lambda low: low["order"])
        returned = run.run(data["low"], [requisites.tag_of(low) for low in ordered])
        for tag in data["ret"]:
            expected = data["ret"][tag]
            assert (returned[tag]["result"], returned[tag]["changes"]) == (expected["result"], expected["changes"]), (
                case,
                tag,
            )
print("OK")
