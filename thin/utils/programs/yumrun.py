"""Runs the first of dnf5, dnf, tdnf and yum that is installed, without prompts, and waits for locks up to a limit."""

from thin import process
from thin.utils.programs import pkgrun

#: Systems with yum whose os_family is not RedHat.
OTHERS = (
    "amazon",
    "xcp",
    "xenserver",
    "virtuozzolinux",
    "virtuozzo",
    "issabel pbx",
    "openeuler",
    "vmware photon os",
)

_LOCKED = (
    "holding the yum lock",
    "Another app is currently holding",
    "already locked by",
    "Failed to obtain",
    "Waiting for process with pid",
    "can't create transaction lock",
    "transaction lock on",
)
_EXIT_ON_LOCK = ["--setopt=exit_on_lock=1"]


def refused(grains, opts):
    """The reason if the system does not use yum or dnf, else ""."""
    system, family = (grains.get("os") or "").lower(), grains.get("os_family")
    if family != "RedHat" and system not in OTHERS:
        return "Module yumpkg: no yum based system detected"
    if opts.get("yum_provider") == "yumpkg_api":
        return "Module yumpkg: yumpkg_api provider not available"
    return "" if program() else "DNF nor YUM found"


def program():
    """The first of dnf5, dnf, tdnf and yum that is installed, or None."""
    return next((name for name in ("dnf5", "dnf", "tdnf", "yum") if process.which(name)), None)


def is_dnf():
    return program() in ("dnf", "dnf5")


def run(run_all, opts, args, **options):
    """The return of cmd.run_all for ``dnf ARGS``."""
    name = program()
    # without this option they would wait for a lock without limit
    early = _EXIT_ON_LOCK if name in ("dnf", "yum") else []
    return pkgrun.run(run_all, opts, [name] + early + list(args), _busy, **options)


def _busy(done):
    if done["retcode"] == 200:  # the exit status of yum and dnf for a lock
        return True
    return pkgrun.says(*_LOCKED)(done)


def options(kwargs, extra=False):
    """The command-line options for ``fromrepo`` (or ``repo``), ``enablerepo``, ``disablerepo``, ``disableexcludes``,
    ``branch`` and ``setopt``; ``extra``: also for every other string or True, as ``--key[=value]``."""
    kwargs = dict(kwargs)
    fromrepo = kwargs.pop("fromrepo", None) or kwargs.get("repo")
    given = {key: kwargs.pop(key, None) for key in _OPTIONS}
    words = []
    if fromrepo:
        words += ["--disablerepo=*", "--enablerepo=%s" % ",".join(pkgrun.listed(fromrepo))]
    else:
        for key in ("disablerepo", "enablerepo"):
            value = given[key]
            words += ["--%s=%s" % (key, repo) for repo in (value if isinstance(value, list) else [value]) if repo]
    for key in ("disableexcludes", "branch"):
        if given[key]:
            words.append("--%s=%s" % (key, given[key]))
    words += ["--setopt=%s" % item for item in pkgrun.listed(given["setopt"])]
    if extra:
        for key in sorted(key for key in kwargs if not key.startswith("__") and key not in _NOT_OPTIONS):
            if isinstance(kwargs[key], str):
                words.append("--%s=%s" % (key, kwargs[key]))
            elif kwargs[key] is True:
                words.append("--%s" % key)
    return words


_OPTIONS = ("repo", "disablerepo", "enablerepo", "disableexcludes", "branch", "setopt")
#: Arguments of the state system, which are no options of the program.
_NOT_OPTIONS = ("saltenv", "allow_updates", "split_arch", "dist_upgrade", "resolve_capabilities")
