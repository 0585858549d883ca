"""Installs Python on a target by its package manager, if the option ``bootstrap`` is set and Python is missing."""

from __future__ import annotations

from typing import Final

from pushsalt.errors import TargetError
from pushsalt.model import Target
from pushsalt.session import handshake, raw
from pushsalt.transport import Connection

#: package manager -> shell command that installs Python non-interactively; tried in this order
MANAGERS: Final[dict[str, str]] = {
    "apt-get": (
        "export DEBIAN_FRONTEND=noninteractive; i='apt-get -q -y install --no-install-recommends python3'; "
        "$i || { apt-get -q update && $i; }"
    ),
    "dnf": "dnf -q -y install python3",
    "microdnf": "microdnf -y install python3",
    "yum": "yum -q -y install python3",
    "zypper": "zypper -q -n install python3",
    "apk": "apk add --no-cache python3",
    "pacman": "pacman -S --noconfirm --needed python || pacman -Sy --noconfirm --needed python",
    "xbps-install": "xbps-install -Sy python3",
    "emerge": "emerge --ask=n dev-lang/python",
    "opkg": "opkg update && opkg install python3",
    "pkg": "env ASSUME_ALWAYS_YES=yes pkg install -y python3",
    "pkg_add": "pkg_add -I python3",
}
_NONE: Final = 91
_NOT_ROOT: Final = 92


def helps(exc: TargetError, target: Target) -> bool:
    """Whether the error is a missing or too old Python, and the inventory does not set ``python`` for the target."""
    return exc.kind in ("no_python", "python_too_old") and target.python is None


async def install(target: Target, connection: Connection) -> str:
    """Install Python on the target; returns a sentence that says how. Raises TargetError."""
    ret = await raw.run(target, connection, _script())
    first, _, said = ret["stdout"].partition("\n")
    manager = first if first in MANAGERS else ""
    if ret["retcode"] == _NONE:
        message, hint = "no package manager was found that could install it", "install Python 3.6 or newer by hand"
    elif ret["retcode"] == _NOT_ROOT:
        message, hint = f"{manager} needs root to install it", "log in as root, or set `sudo: true` for it"
    elif ret["retcode"]:
        words = handshake.printable(ret["stderr"] or said)
        message, hint = f"{manager or 'installing it'} failed: {words}", "install Python 3.6 or newer by hand"
    else:
        return f"Python was installed by {manager or 'its package manager'} (`bootstrap: true`)"
    raise TargetError("no_python", f"{target.id}: no Python was found, and {message}", hint)


def _script() -> str:
    """The shell script; the first line of its output is the name of the package manager that was found."""
    cases = "\n".join(f"{name}) {command} ;;" for name, command in MANAGERS.items())
    return f"""\
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
for m in {" ".join(MANAGERS)} none; do command -v $m >/dev/null 2>&1 && break; done
[ $m = none ] && exit {_NONE}
echo $m
[ "$(id -u)" = 0 ] || exit {_NOT_ROOT}
case $m in
{cases}
esac"""
