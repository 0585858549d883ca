"""Run by test_archive_once.py with any Python, isolated: `python -I -S once_run.py ROOT NAME SOURCE MEMORY`.

Extracts an archive with a memory limit of MEMORY bytes above the use after imports; prints the return. Python 3.6.
"""

import json
import os
import resource
import sys

root, name, source, memory = sys.argv[1:]
sys.path.insert(0, root)
sys.dont_write_bytecode = True
sys.modules["msgpack"] = None

from thin import loader, log, runtime  # noqa: E402

log.sink = lambda level, text: None
opts = {"id": "m", "test": False, "cachedir": os.path.dirname(source)}
loaders = loader.Loaders(opts, runtime, {"os": "Debian", "kernel": "Linux"}, {})
loaders.pack["__env__"] = "base"
state = loaders.states["archive.extracted"]
state(name=name, source=source, archive_format="no")  # all needed modules are loaded now
with open("/proc/self/statm") as stream:
    size = int(stream.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
resource.setrlimit(resource.RLIMIT_AS, (size + int(memory), size + int(memory)))
for _ in range(2):
    print(json.dumps(state(name=name, source=source, enforce_toplevel=False)))
