"""Commands in a changed root: a part of ``cmd``. Salt: modules/cmdmod.py"""

import os
import time

from thin.log import getLogger

__virtualname__ = "cmd"
__usual__ = True
__runs__ = ("run_chroot",)

log = getLogger(__name__)


def run_chroot(
    root,
    cmd,
    cwd=None,
    stdin=None,
    runas=None,
    group=None,
    shell="/bin/sh",
    python_shell=True,
    binds=None,
    env=None,
    clean_env=False,
    template=None,
    rstrip=True,
    umask=None,
    output_encoding=None,
    output_loglevel="quiet",
    log_callback=None,
    hide_output=False,
    timeout=None,
    reset_system_locale=True,
    ignore_retcode=False,
    saltenv=None,
    use_vt=False,
    bg=False,
    success_retcodes=None,
    success_stdout=None,
    success_stderr=None,
    **kwargs,
):
    """
    Run a command in a changed root in which /dev, /proc and /sys are mounted; returns what cmd.run_all returns

    Afterwards these are unmounted, and processes that the command left running there are ended.

    root
        The directory that becomes the root
    cmd
        The command, run by a shell of that root
    runas, group
        The user and group of that root that run it
    binds
        Directories of the system that are mounted there, too
    hide_output
        Return no output
    cwd, stdin, shell, python_shell, env, clean_env, template, rstrip, umask, output_encoding, output_loglevel
        As in cmd.run_all
    log_callback, timeout, reset_system_locale, ignore_retcode, saltenv, use_vt, bg, success_retcodes
        As in cmd.run_all
    success_stdout, success_stderr, kwargs
        As in cmd.run_all

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' cmd.run_chroot /srv/chroot/app 'apt-get --assume-yes upgrade'
    """
    kinds = (("dev", "devtmpfs"), ("proc", "proc"), ("sys", "sysfs"))
    mounts = [(name, kind, kind, "defaults") for name, kind in kinds]
    mounts += [(bind.lstrip("/"), bind, "", "bind") for bind in binds or ()]
    inner = "/bin/bash" if os.path.isfile(os.path.join(root, "bin/bash")) else "/bin/sh"
    command = ["chroot"] + (["--userspec", "%s:%s" % (runas, group or "")] if runas else []) + [root, inner, "-c"]
    command.append(" ".join(str(word) for word in cmd) if isinstance(cmd, (list, tuple)) else str(cmd))
    places = []
    try:
        for below, device, fstype, opts in mounts:
            place = os.path.join(root, below)
            if __salt__["mount.mount"](place, device, fstype=fstype, opts=opts) is True:
                places.append(place)
        ret = __salt__["cmd.run_all"](
            command,
            cwd=cwd,
            stdin=stdin,
            shell=shell,
            python_shell=False,
            env=env,
            clean_env=clean_env,
            template=template,
            rstrip=rstrip,
            umask=umask,
            output_encoding=output_encoding,
            output_loglevel=output_loglevel,
            log_callback=log_callback,
            timeout=timeout,
            reset_system_locale=reset_system_locale,
            ignore_retcode=ignore_retcode,
            saltenv=saltenv,
            use_vt=use_vt,
            success_retcodes=success_retcodes,
            success_stdout=success_stdout,
            success_stderr=success_stderr,
            bg=bg,
        )
    finally:
        if not bg:
            _end(root)
        for place in reversed(places):
            answer = __salt__["mount.umount"](place, lazy=bg)
            if answer is not True:
                log.error("%s: %s", place, answer)
    if hide_output:
        ret["stdout"] = ret["stderr"] = ""
    return ret


def _end(root):
    """End the processes that still run in a changed root: SIGTERM first, then SIGKILL."""
    root = os.path.realpath(root).rstrip("/")
    for number in (15, 15, 15, 9, 9, 9):
        left = _inside(root) if root else []
        for pid in left:
            try:
                os.kill(pid, number)
            except OSError:
                pass
        if not left:
            return
        time.sleep(0.2)
    log.error("processes in the chroot are still alive, so that its file systems stay mounted")


def _inside(root):
    result = []
    for name in os.listdir("/proc"):
        try:
            place = os.readlink("/proc/%s/root" % name) if name.isdigit() else ""
        except OSError:
            continue
        if place == root or place.startswith(root + "/"):
            result.append(int(name))
    return result
