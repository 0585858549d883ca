"""Run by test_minimal_python.py, isolated: `python -I -S minimal_python_run.py RUNTIME play CASES FOLDER`, or `...
RUNTIME all FOLDER`. Stdin has the names of modules whose import must fail.

Every import of one of them raises ImportError, also in the runtime or the standard library.
"""

import builtins
import json
import os
import plistlib
import pprint
import sys

runtime_folder, mode = sys.argv[1:3]
MISSING = set(sys.stdin.read().split())
sys.dont_write_bytecode = True
sys.path[:0] = [runtime_folder, os.path.dirname(os.path.abspath(__file__))]
sys.modules["msgpack"] = None  # targets have only the vendored one

import filebed  # noqa: E402

#: modules of the test itself, and json, which it uses; they may import everything
OURS = {"__main__", "filebed", "json"}
_import = builtins.__import__


def limited(name, globals=None, locals=None, fromlist=(), level=0):
    importer = (globals or {}).get("__name__", "")
    if not level and importer.split(".")[0] not in OURS:
        for module in [name] + [f"{name}.{part}" for part in fromlist or ()]:
            parts = module.split(".")
            if any(".".join(parts[:length]) in MISSING for length in range(1, len(parts) + 1)):
                raise ModuleNotFoundError(f"No module named '{module}' (for {importer})", name=module)
    return _import(name, globals, locals, fromlist, level)


class Controller(filebed.Sources):
    """Answers as the controller: pushsalt/functions/slsutil.py."""

    def ask(self, fun, args=(), kwargs=None):
        from thin import link

        if fun.startswith("slsutil."):
            self.requests.append((fun, args[0]))
        if fun == "slsutil.serialize" and args[0] == "json":
            return json.dumps(args[1], **(kwargs or {}))
        if fun == "slsutil.deserialize" and args[0] == "json":
            try:
                return json.loads(args[1])
            except ValueError as exc:
                raise link.LinkError(str(exc), "JSONDecodeError") from exc
        if fun.startswith("slsutil."):
            return {
                ("slsutil.serialize", "python"): lambda data, **options: pprint.pformat(data, **options),
                ("slsutil.serialize", "plist"): plistlib.dumps,
                ("slsutil.deserialize", "plist"): plistlib.loads,
            }[fun, args[0]](args[1], **(kwargs or {}))
        return super().ask(fun, args, kwargs)


def everything(folder):
    """Load all modules, and use those that replace a part of the standard library."""
    from thin import exceptions, grains, link, log, resourcetypes, runtime

    log.sink = lambda level, text: None
    bed = filebed.Bed(folder)
    loaders = bed.loaders
    for kind in (loaders.modules, loaders.states):
        for name in kind:
            assert callable(kind[name]), name
        refused = {name: reason for name, reason in kind._reasons.items() if reason and "Error: " in str(reason)}
        assert not refused, refused
    types = resourcetypes.Types(loaders, runtime, [], {})
    for name in sorted(runtime.virtual_index("resources")):
        types.functions.need(name)
    declared = {"dummy": ["a"], "http_api": {"resource_ids": {"b": {"url": "http://b", "grains": "/"}}}}
    discovered = resourcetypes.discover(loaders, runtime, [], declared)
    assert list(discovered["found"]["dummy"]) == ["a"] and "install python3" in discovered["failed"]["http_api"], (
        discovered
    )
    assert grains.collect({})["kernel"]
    assert loaders.modules.nearest("cmd.runn")[0] == "cmd.run"

    link.connect(bed.link)
    path = bed.file("text", "one\ntwo\n")
    managed = bed.state("managed", name=path, contents="one\nthree\n")
    assert managed["changes"] == {"diff": "--- \n+++ \n@@ -1,2 +1,2 @@\n one\n-two\n+three\n"}, managed
    assert bed.state("append", name=path, text="four 'a' \"b c\"")["changes"], "append"
    assert bed.state("append", name=path, text="four 'a' \"b c\"")["changes"] == {}, "append again"
    assert "-three" in bed.state("replace", name=path, pattern="three", repl="3")["changes"]["diff"]
    bed.source("tree/sub/file", "x\n")
    assert bed.state("recurse", name=bed.path("copy"), source="salt://tree")["result"] is True
    assert bed.state("absent", name=bed.path("copy"))["result"] is True
    assert not os.path.exists(bed.path("copy"))
    assert loaders.modules["cmd.run"]("printf '%s|' 'a b' c", python_shell=False) == "a b|c|"
    assert loaders.modules["hashutil.hmac_compute"]("text", "secret")
    if "pkg.list_pkgs" in loaders.modules:
        assert loaders.modules["pkg.list_pkgs"]()

    # formats that the controller must read and write
    del bed.link.requests[:]
    assert stateful(loaders, 'echo \'{"changed": true, "comment": "by JSON"}\'')["comment"] == "by JSON"
    assert bed.link.requests == [("slsutil.deserialize", "json")], bed.link.requests
    assert stateful(loaders, "echo; echo changed=yes comment='\"by words\"'")["comment"] == "by words"
    assert len(bed.link.requests) == 1, bed.link.requests
    assert stateful(loaders, "echo '{no JSON'")["result"] is False
    for kind in ("json", "plist", "python"):
        data_file = bed.path("data." + kind)
        ret = bed.state("serialize", name=data_file, dataset={"a": [1, "b"]}, serializer=kind)
        assert ret["result"] is True and os.path.getsize(data_file), ret
        ret = bed.state("serialize", name=data_file, dataset={"c": 2}, serializer=kind, merge_if_exists=True)
        assert ret["result"] is True, ret
        with open(data_file) as source:
            text = source.read()
        assert "a" in text and "c" in text, text
    link.connect(None)
    ret = stateful(loaders, "echo '{}'")
    assert ret["result"] is False and "python3" in ret["comment"], ret

    # downloads need a program
    os.environ["PATH"] = bed.path("nothing")
    try:
        loaders.modules["cp.get_url"]("http://127.0.0.1:9/x", bed.path("got"))
        raise AssertionError("downloaded")
    except exceptions.CommandExecutionError as exc:
        assert "curl" in str(exc), exc


def stateful(loaders, command):
    return loaders.states["cmd.run"](name=command, stateful=True)


filebed.Sources = Controller
builtins.__import__ = limited
if mode == "play":
    sys.exit(filebed.main(runtime_folder, *sys.argv[3:]))
everything(sys.argv[3])
print(json.dumps("OK"))
