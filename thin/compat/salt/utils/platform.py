"""The operating system. Salt: ``salt/utils/platform.py``."""

import os
import sys


def is_windows():
    return False


def is_proxy():
    return False


def is_linux():
    return sys.platform.startswith("linux")


def is_darwin():
    return sys.platform.startswith("darwin")


def is_sunos():
    return sys.platform.startswith("sunos")


def is_smartos():
    return is_sunos() and os.uname().version.startswith("joyent")


def is_smartos_globalzone():
    return False


def is_smartos_zone():
    return False


def is_junos():
    return sys.platform.startswith("freebsd") and os.uname().release.startswith("JNPR")


def is_freebsd():
    return sys.platform.startswith("freebsd")


def is_netbsd():
    return sys.platform.startswith("netbsd")


def is_openbsd():
    return sys.platform.startswith("openbsd")


def is_aix():
    return sys.platform.startswith("aix")


def is_aarch64():
    return os.uname().machine.startswith("aarch64")


def _release():
    try:
        with open("/etc/os-release", encoding="utf-8", errors="surrogateescape") as handle:
            pairs = (line.rstrip("\n").partition("=") for line in handle)
            return {key: value.strip("\"'") for key, _, value in pairs}
    except OSError:
        return {}


def is_fedora():
    return _release().get("ID") == "fedora"


def is_photonos():
    return _release().get("ID") == "photon"


def linux_distribution(full_distribution_name=True):
    """(name, version, code name)."""
    release = _release()
    return (
        release.get("NAME" if full_distribution_name else "ID", ""),
        release.get("VERSION_ID", ""),
        release.get("VERSION_CODENAME", ""),
    )


def get_machine_identifier():
    for path in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        try:
            with open(path, encoding="utf-8", errors="surrogateescape") as handle:
                return {"machine_id": handle.read().strip()}
        except OSError:
            pass
    return {}
