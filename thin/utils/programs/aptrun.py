"""Runs apt and dpkg so that they never ask, speak English, and wait for each other's locks."""

from thin.utils.outputs import aptout
from thin.utils.programs import pkgrun

ENVIRONMENT = {
    "LC_ALL": "C",
    "DEBIAN_FRONTEND": "noninteractive",
    "APT_LISTBUGS_FRONTEND": "none",
    "APT_LISTCHANGES_FRONTEND": "none",
    "UCF_FORCE_CONFFOLD": "1",
}

#: what maintainer scripts complain about comes on stderr, not mixed into the progress on a terminal of apt's own
OWN_STDERR = ["-o", "Dpkg::Use-Pty=0"]


def lock_option(opts):
    """apt-get's option to wait for dpkg's lock itself (since apt 1.9.11; older ones ignore it)."""
    return ["-o", "DPkg::Lock::Timeout=%d" % pkgrun.lock_timeout(opts)]


def apt_get(opts):
    """apt-get with the options that all changes have."""
    return ["apt-get", "-q", "-y"] + OWN_STDERR + lock_option(opts)


def install_command(opts, options, fromrepo, skip_verify, downloadonly):
    """The same for installing and upgrading; ``options`` are the arguments of pkg.install."""
    command = apt_get(opts)
    if options.get("force_conf_new"):
        command += ["-o", "DPkg::Options::=--force-confnew"]
    else:
        command += ["-o", "DPkg::Options::=--force-confold", "-o", "DPkg::Options::=--force-confdef"]
    if options.get("force_yes"):
        command += ["--allow-unauthenticated", "--allow-downgrades", "--allow-remove-essential"]
    if options.get("install_recommends") is not None:
        command.append("--install-recommends" if options["install_recommends"] else "--no-install-recommends")
    if options.get("only_upgrade"):
        command.append("--only-upgrade")
    if skip_verify:
        command.append("--allow-unauthenticated")
    if downloadonly:
        command.append("--download-only")
    if fromrepo:
        command += ["-t", fromrepo]
    return command


def run(run_all, opts, command, env=None, **options):
    """What ``run_all`` (cmd.run_all) returns, run again while another process holds a lock, up to the limit.

    ``env``: more variables, as a dict or a list of dicts. Older apts, dpkg, and every apt about its lists, do not wait
    for a lock themselves.
    """
    return pkgrun.run(run_all, opts, command, _busy, env, ENVIRONMENT, **options)


def _busy(done):
    return bool(aptout.holding_lock(done["stderr"]))
