#!/usr/bin/env python3
"""Versions of Python packages, as constraints for pip.

constraints.py renew     constraints.txt: the newest versions that tests and the site can be installed with together,
                         in a new environment of this Python. Run it by the oldest supported one (python3.10): what
                         that has newer ones have, too.
constraints.py lowest    prints the lowest versions of what pushsalt itself needs, by pyproject.toml
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "constraints.txt"
HEAD = """# The versions that CI uses, for `pip install --constraint constraints.txt`. Written by `make constraints`.
"""
#: the requirements of pushsalt itself, and of the extras that tests install
OWN = ("dependencies", "mako", "nacl", "toml", "jmespath", "keyring", "serve", "nats")
LOWEST = re.compile(r'^\s*"([\w.-]+)(?:\[[\w,]+\])?>=([\d.]+)', re.MULTILINE)


def lowest() -> list[str]:
    """``name==version`` of each requirement with a lower bound."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    found = []
    for name in OWN:
        words = re.search(rf"^{name} = \[(.*?)\]$", text, re.MULTILINE | re.DOTALL)
        assert words, f"pyproject.toml has no {name}"
        found += [f"{package}=={version}" for package, version in LOWEST.findall(words[1].replace(", ", "\n"))]
    return found


def renew() -> None:
    """Install the newest versions in a new environment, and write them to the file."""
    with tempfile.TemporaryDirectory() as folder:
        pip = [f"{folder}/bin/python", "-m", "pip"]
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([*pip, "install", "--quiet", ".[test,test-servers,docs]"], cwd=ROOT, check=True)
        freeze = [*pip, "list", "--format=freeze", "--exclude=pushsalt", "--exclude=pip", "--exclude=setuptools"]
        listed = subprocess.run(freeze, check=True, stdout=subprocess.PIPE, text=True).stdout
    PAGE.write_text(HEAD + listed, encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["lowest"]:
        print("\n".join(lowest()))
    elif sys.argv[1:] == ["renew"]:
        renew()
    else:
        sys.exit(__doc__)
