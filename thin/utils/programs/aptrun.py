"""Runs apt and dpkg without prompts, in English, and waits for locks of other processes."""

from thin.utils.outputs import aptout
from thin.utils.programs import pkgrun

ENVIRONMENT = {
    "LC_ALL": "C",
    "DEBIAN_FRONTEND": "noninteractive",
    "APT_LISTBUGS_FRONTEND": "none",
    "APT_LISTCHANGES_FRONTEND": "none",
    "UCF_FORCE_CONFFOLD": "1",
}

#: Without a terminal of apt's own, errors of maintainer scripts are on stderr, not among the progress on stdout.
OWN_STDERR = ["-o", "Dpkg::Use-Pty=0"]


def lock_option(opts):
    """apt-get's option to wait for dpkg's lock itself (since apt 1.9.11; older ones ignore it)."""
    return ["-o", "DPkg::Lock::Timeout=%d" % pkgrun.lock_timeout(opts)]


def apt_get(opts):
    """The command line of apt-get with the options of all changes."""
    return ["apt-get", "-q", "-y"] + OWN_STDERR + lock_option(opts)


def install_command(opts, options, fromrepo, skip_verify, downloadonly):
    """The command line of apt-get for installing and upgrading; ``options`` and the others are arguments of
    pkg.install."""
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
    """The return of ``run_all`` (cmd.run_all); runs the command again while another process holds a lock, up to the
    limit.

    ``env``: additional variables, a dict or a list of dicts. It is needed because older apts and dpkg do not wait for a
    lock themselves, and no apt does for its lists.
    """
    return pkgrun.run(run_all, opts, command, _busy, env, ENVIRONMENT, **options)


def _busy(done):
    return bool(aptout.holding_lock(done["stderr"]))
