"""Runs apt and dpkg so that they never ask, speak English, and wait for each other's locks."""

from thin.utils import aptout

LOCK_TIMEOUT = 300  # seconds; the option apt_lock_timeout

ENVIRONMENT = {
    "LC_ALL": "C",
    "DEBIAN_FRONTEND": "noninteractive",
    "APT_LISTBUGS_FRONTEND": "none",
    "APT_LISTCHANGES_FRONTEND": "none",
    "NEEDRESTART_MODE": "a",
    "UCF_FORCE_CONFFOLD": "1",
}

#: what maintainer scripts complain about comes on stderr, not mixed into the progress on a terminal of apt's own
OWN_STDERR = ["-o", "Dpkg::Use-Pty=0"]


def lock_timeout(opts):
    return int(opts.get("apt_lock_timeout", LOCK_TIMEOUT))


def lock_option(opts):
    """apt-get's option to wait for dpkg's lock itself (since apt 1.9.11; older ones ignore it)."""
    return ["-o", "DPkg::Lock::Timeout=%d" % lock_timeout(opts)]


def run(run_all, opts, command, env=None, **options):
    """What ``run_all`` (cmd.run_all) returns, run again while another process holds a lock, up to the limit.

    ``env``: more variables, as a dict or a list of dicts. Older apts, dpkg, and every apt about its lists, do not wait
    for a lock themselves.
    """
    import time

    environment = dict(ENVIRONMENT)
    for item in env if isinstance(env, list) else [env or {}]:
        environment.update({str(key): str(value) for key, value in item.items()})
    options = {key: value for key, value in options.items() if value is not None}
    deadline = time.monotonic() + lock_timeout(opts)
    pause = 0.5
    while True:
        done = run_all(command, python_shell=False, ignore_retcode=True, env=environment, **options)
        if done["retcode"] == 0 or not aptout.holding_lock(done["stderr"]) or time.monotonic() + pause > deadline:
            return done
        time.sleep(pause)
        pause = min(2 * pause, 10)
