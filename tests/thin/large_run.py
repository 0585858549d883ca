"""Run by test_large_files.py with any Python, isolated: `python -I -S large_run.py ROOT PATH MEMORY CALLS`.

Edits a file with a memory limit of MEMORY bytes above the use after imports; prints the returns. Python 3.6.
"""

import json
import os
import resource
import sys

root, path, memory, calls = sys.argv[1:]
sys.path.insert(0, root)
sys.dont_write_bytecode = True
sys.modules["msgpack"] = None

from thin import loader, log, runtime  # noqa: E402
from thin.utils.files import large  # noqa: E402

log.sink = lambda level, text: None
loaders = loader.Loaders({"id": "m", "test": False}, runtime, {"os": "Debian", "kernel": "Linux"}, {})
loaders.pack["__env__"] = "base"
with open(path + ".small", "w") as stream:
    stream.write("x\n")
loaders.states["file.replace"](name=path + ".small", pattern="x", repl="y")
loaders.states["file.prepend"](name=path + ".small", text="y")
assert large.is_large(path)
with open("/proc/self/status") as stream:
    data = next(int(line.split()[1]) * 1024 for line in stream if line.startswith("VmData"))
resource.setrlimit(resource.RLIMIT_DATA, (data + int(memory), data + int(memory)))
for name, kwargs in json.loads(calls):
    inode = os.stat(path).st_ino
    kind, _, function = name.partition(":")
    ret = getattr(loaders, kind)[function](path, **kwargs)
    print(json.dumps([ret, os.path.getsize(path), os.stat(path).st_ino == inode]))
