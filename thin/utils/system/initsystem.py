"""The init system of this system, and the common part of its modules.

``manager`` decides by what runs, then by what is installed, so that a Debian booted with OpenRC is OpenRC's. Salt
decides in the ``__virtual__`` of each module, mostly by lists of systems.
"""

import os

#: Systems whose init scripts Salt's debian_service manages.
DEBIANS = ("Debian", "Raspbian", "Devuan", "NILinuxRT")
FOLDERS = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")


def manager(grains, exists=os.path.exists):
    """systemd, openrc, runit, debian, chkconfig, scripts, upstart, rc.d, launchd; None if there is none.

    ``exists(path)`` tests a path on the target. A Linux where systemctl is installed but systemd does not run is
    systemd's, unless another init system runs: it is a container, or an image that is being built.
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
    for program, name in (("rc-update", "openrc"), ("chkconfig", "chkconfig")):
        if installed(program):
            return name
    return "scripts" if exists("/etc/init.d") or exists("/etc/rc.d") else None


def is_glob(name):
    """Whether the name of a service is a glob."""
    return any(char in name for char in "*?[")


def matching(name, names):
    """The names that match a glob."""
    from fnmatch import filter as matches

    return matches(list(names), name)


def did(salt, context, command, **options):
    """Run a command. Returns whether it succeeded; its error is stored under ``service.complaint``, for the comment."""
    command = [str(word) for word in command]
    options.setdefault("env", {"LC_ALL": "C"})
    done = salt["cmd.run_all"](command, python_shell=False, ignore_retcode=True, **options)
    if done["retcode"] != 0:
        output = (done["stderr"] or done["stdout"]).strip()
        context["service.complaint"] = "%s: %s" % (" ".join(command), output or "exit code %s" % done["retcode"])
    return done["retcode"] == 0


def patiently(works, seconds):
    """Whether ``works()`` becomes true within ``seconds``; it is called twice a second."""
    import time

    for _ in range(2 * seconds):
        if works():
            return True
        time.sleep(0.5)
    return False
