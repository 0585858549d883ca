"""Former names of helpers that Salt moved are the same objects as the current names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from thin import compat
compat.install()
import importlib
import salt.utils
for name, home in sorted(salt.utils._HOME.items()):
    value = getattr(salt.utils, name)
    there = getattr(importlib.import_module("salt.utils." + home), salt.utils._NOW.get(name, name))
    assert value is there and callable(value), name
try:
    salt.utils.nothing
except AttributeError as exc:
    assert "nothing" in str(exc)
from salt.utils import which, namespaced_function
from salt.utils.dictdiffer import DictDiffer
diff = DictDiffer({"a": 1, "b": 2, "c": 3}, {"b": 2, "c": 4, "d": 5})
assert [diff.added(), diff.removed(), diff.changed(), diff.unchanged()] == [{"a"}, {"d"}, {"c"}, {"b"}]
from salt.utils.event import get_event, tagify
with get_event("minion") as bus:
    assert bus.fire_event({}, "x") is False
assert tagify(["a", "b"], "job") == "salt/job/a/b"
import salt.utils.msgpack
assert salt.utils.msgpack.loads(salt.utils.msgpack.dumps({"a": [1, b"x"]})) == {"a": [1, b"x"]}
import salt.utils.process, os
assert salt.utils.process.os_is_running(os.getpid())
import salt.config
assert salt.config.minion_config("/etc/salt/minion") == {}
print("OK")
"""


def test_former_names_are_the_current_objects() -> None:
    root = Path(__file__).parents[3]
    command = [sys.executable, "-I", "-S", "-W", "error", "-c", PROGRAM, str(root)]
    process = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (process.stdout, process.returncode) == ("OK\n", 0), process.stderr
