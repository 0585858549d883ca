"""Runs in a test machine, by its own Python: reads steps from stdin, writes their outcomes as a Python literal to
stdout.

A step is a chunk (state, fun, args …) for the engine, a run of several chunks, a shell command, or a call of an
execution function. Each step has new loaders, as a run has.
"""

import ast
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from thin import grains, runtime  # noqa: E402
from thin.engine import Engine  # noqa: E402
from thin.exceptions import SaltException  # noqa: E402
from thin.loader import Loaders  # noqa: E402
from thin.requisites import tag_of  # noqa: E402

OPTS = {"cachedir": "/tmp", "id": "machine", "saltenv": "base"}


def chunk(step):
    state, fun = step["state"].split(".")
    args = dict(step.get("args", {}))
    name = args.pop("name", "x")
    low = {"state": state, "fun": fun, "name": name, "__id__": name, "__sls__": "t", "__env__": "base", "order": 1}
    low.update(args)
    return low


def take(step, known_grains):
    if "sh" in step:
        done = subprocess.Popen(step["sh"], shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.communicate()[0].decode("utf-8", "replace")
    loaders = Loaders(dict(OPTS, test=step.get("test", False)), runtime, grains=dict(known_grains))
    if "call" in step:
        try:
            return loaders.modules[step["call"]](*step.get("args", ()), **step.get("kwargs", {}))
        except SaltException as exc:
            return "{}: {}".format(type(exc).__name__, exc)  # noqa: UP032  (runs on the machine's Python)
    if "run" in step:
        chunks = [chunk(one) for one in step["run"]]
        joined = [tag_of(low) for low in chunks if low.get("aggregate")]  # the compiler does the same otherwise
        returns = Engine(loaders).run(chunks, groups=[joined] if joined else [])
        return [ret["result"] for ret in returns.values()]
    low = chunk(step)
    if low["fun"] == "mod_watch":  # what the engine does for a watched change, without an engine
        low.pop("__id__")
        names = [key for key in low if key not in ("state", "fun", "order", "__sls__", "__env__")]
        ret = loaders.states[step["state"]](**{key: low[key] for key in names})
    else:
        (ret,) = Engine(loaders).run([low]).values()
    return {key: ret[key] for key in ("result", "changes", "comment")}


grains_of_root = grains.collect(OPTS)
faked = os.path.join(os.path.dirname(os.path.abspath(__file__)), "grains")
if os.path.exists(faked):  # the grains of the system that this root represents
    with open(faked, encoding="utf-8") as stream:
        grains_of_root.update(ast.literal_eval(stream.read()))
asked = ast.literal_eval(sys.stdin.buffer.read().decode("utf-8"))  # independent of the locale
came = "\n@@@" + repr([take(step, grains_of_root) for step in asked])
sys.stdout.buffer.write(came.encode("utf-8", "surrogateescape"))
