"""A process removes its file of intents at its end, also if its objects are not finalized."""

import subprocess
import sys

import pytest

_PROCESS = """
import atexit, gc, sys
from pathlib import Path
atexit.register(gc.freeze)
from pushsalt.cache.intents import Intents
intents = Intents(Path(sys.argv[1]))
intents.itself = intents  # only the collector would call __del__
intents.begin({"a": "b"})
if sys.argv[2] == "done":
    intents.end()
"""


@pytest.mark.parametrize("what, left", [("done", 0), ("in the middle", 1)])
def test_the_file_is_removed_unless_a_change_is_in_progress(tmp_path, what, left):
    subprocess.run([sys.executable, "-c", _PROCESS, str(tmp_path), what], check=True)
    assert len(list(tmp_path.glob("intent-*"))) == left
