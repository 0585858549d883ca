"""Salt: ``salt/utils/systemd.py``."""

import os
import re
import subprocess


def booted(context=None):
    """Whether systemd started this machine."""
    return os.path.isdir("/run/systemd/system")


def version(context=None):
    """systemd's version as a number, or None."""
    try:
        out = subprocess.check_output(["systemctl", "--version"], encoding="utf-8")
    except (OSError, subprocess.CalledProcessError):
        return None
    match = re.search(r"\b(\d+)\b", out.split("\n")[0])
    return int(match.group(1)) if match else None


def offline(context=None):
    return not booted()


def has_scope(context=None):
    return booted() and (version() or 0) >= 205
