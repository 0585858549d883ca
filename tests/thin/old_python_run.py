"""Run by test_old_pythons.py with each Python there is, isolated: `python -I -S old_python_run.py ROOT CASES`.

Executes every module of the runtime and the engine's cases; prints OK, or raises. Python 3.6 syntax, no pytest.
"""

import json
import os
import sys

root, cases = sys.argv[1:]
sys.path.insert(0, root)
sys.dont_write_bytecode = True
sys.modules["msgpack"] = None  # a target has the vendored one only

from thin import engine, loader, log, requisites, runtime  # noqa: E402

log.sink = lambda level, text: None


def loaders(opts):
    return loader.Loaders(dict({"id": "m", "test": False}, **opts), runtime, {"os": "Debian", "kernel": "Linux"}, {})


every = loaders({})
for kind in (every.modules, every.states):
    for name in kind:
        assert callable(kind[name]), name
    refused = {name: reason for name, reason in kind._reasons.items() if reason and "Error: " in str(reason)}
    assert not refused, refused
assert every.modules["cmd.run"]("echo a") == "a"
lazy = loader.LazyDict(lambda: {"a": 1})
assert dict(lazy) == {"a": 1} and json.dumps(loader.LazyDict(lambda: {"a": 1})) == '{"a": 1}'

for case in sorted(os.listdir(cases)):
    if case.endswith(".json"):
        with open(os.path.join(cases, case)) as handle:
            data = json.load(handle)
        run = engine.Engine(loaders(dict(data["opts"], test=data["test"])))
        written = sorted(data["low"], key=lambda low: low["order"])
        got = run.run(data["low"], [requisites.tag_of(low) for low in written])
        for tag in data["ret"]:
            want = data["ret"][tag]
            assert (got[tag]["result"], got[tag]["changes"]) == (want["result"], want["changes"]), (case, tag)
print("OK")
