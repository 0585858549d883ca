"""The init system, and shared code of its modules.

``manager`` decides by what runs now, then by what is installed: a Debian that was booted with OpenRC is OpenRC's.
Salt decides in the ``__virtual__`` of each module, mostly by lists of systems.
"""

import os

#: systems whose init scripts Salt's debian_service drives
DEBIANS = ("Debian", "Raspbian", "Devuan", "NILinuxRT")
FOLDERS = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")


def manager(grains, exists=os.path.exists):
    """systemd, openrc, runit, debian, chkconfig, scripts, upstart, rc.d, launchd; None for a system without any.

    ``exists(path)`` looks at the target. A Linux where systemctl is installed but systemd does not run is systemd's,
    unless something else is at work: that is a container, or an image that is being built.
    """
    kernel = grains.get("kernel")
    if kernel in ("FreeBSD", "DragonFly"):
        return "rc.d"
    if kernel == "Darwin":
        return "launchd"
    if kernel != "Linux":
        return None
    installed = lambda name: any(exists(os.path.join(folder, name)) for folder in FOLDERS)  # noqa: E731
    if exists("/run/systemd/system"):
        return "systemd"
    if exists("/run/openrc/softlevel") and installed("rc-service"):
        return "openrc"
    if grains.get("init") == "runit":
        return "runit"
    if grains.get("init") == "upstart":
        return "upstart"
    if grains.get("os") in DEBIANS:
        return "debian"
    if installed("systemctl"):
        return "systemd"
    for name, found in (("rc-update", "openrc"), ("chkconfig", "chkconfig")):
        if installed(name):
            return found
    return "scripts" if exists("/etc/init.d") or exists("/etc/rc.d") else None


def is_glob(name):
    """Whether the name of a service is a glob."""
    return any(char in name for char in "*?[")


def matching(name, names):
    """The names that match the glob."""
    from fnmatch import filter as matches

    return matches(list(names), name)


def did(salt, context, command, **options):
    """Whether a command worked. Its error is stored for the state's comment, under ``service.complaint``."""
    command = [str(word) for word in command]
    options.setdefault("env", {"LC_ALL": "C"})
    done = salt["cmd.run_all"](command, python_shell=False, ignore_retcode=True, **options)
    if done["retcode"] != 0:
        said = (done["stderr"] or done["stdout"]).strip()
        context["service.complaint"] = "%s: %s" % (" ".join(command), said or "exit code %s" % done["retcode"])
    return done["retcode"] == 0


def patiently(works, seconds):
    """Whether ``works()`` is true within so many seconds; it is tried twice a second."""
    import time

    for _ in range(2 * seconds):
        if works():
            return True
        time.sleep(0.5)
    return False
