"""Runs package managers so that they never ask, speak English, and wait for each other's locks up to a limit.

Also keeps what they said of the installed packages for as long as their database is the same file.
"""

from thin.utils.files import safepath

LOCK_TIMEOUT = 300  # seconds; the option pkg_lock_timeout

ENVIRONMENT = {"LC_ALL": "C", "LANGUAGE": "C"}


def lock_timeout(opts):
    return int(opts.get("pkg_lock_timeout", LOCK_TIMEOUT))


def run(run_all, opts, command, busy, env=None, environment=None, **options):
    """What ``run_all`` (cmd.run_all) returns; run again while ``busy(done)``: another process holds the lock.

    ``env``: more variables, as a dict or a list of dicts; ``environment``: what is set beside LC_ALL in any case.
    """
    import time

    variables = dict(ENVIRONMENT, **(environment or {}))
    for item in env if isinstance(env, list) else [env or {}]:
        variables.update({str(key): str(value) for key, value in item.items()})
    options = {key: value for key, value in options.items() if value is not None}
    deadline = time.monotonic() + lock_timeout(opts)
    pause = 0.5
    while True:
        done = run_all(command, python_shell=False, ignore_retcode=True, env=variables, **options)
        if done["retcode"] == 0 or not busy(done) or time.monotonic() + pause > deadline:
            return done
        time.sleep(pause)
        pause = min(2 * pause, 10)


def says(*parts):
    """A ``busy``: whether a failed command's output has one of these texts."""

    def busy(done):
        text = "%s\n%s" % (done["stderr"], done["stdout"])
        return any(part in text for part in parts)

    return busy


def remembered(context, key, paths, read):
    """What ``read()`` gives, read again only when one of the files is another one than at the last look."""
    stamp = [_stamp(path) for path in paths]
    known = context.get(key)
    if not (isinstance(known, dict) and known.get("stamp") == stamp) or not any(stamp):
        known = context[key] = {"stamp": stamp, "value": read()}
    return known["value"]


def _stamp(path):
    import os

    try:
        stat = os.stat(path)
    except OSError:
        return None
    return [stat.st_mtime_ns, stat.st_size, stat.st_ino]


def refreshed(context, opts):
    """The lists are refreshed: clear the mark of states.pkg, and the file that Salt's own code checks."""
    import os

    context.pop("pkg.refresh", None)
    try:
        safepath.unlink(os.path.join(opts["cachedir"], "pkg_refresh"))
    except (KeyError, OSError):
        pass


def words(done):
    """The error of a failed command: its error lines, otherwise its output."""
    return (done["stderr"] or "").strip() or (done["stdout"] or "").strip()


def listed(value):
    """A list from a list, a comma-separated text or None."""
    if value is None or value == "":
        return []
    if isinstance(value, (list, tuple)):
        return [str(item) for item in value]
    return [item.strip() for item in str(value).split(",") if item.strip()]


def upgraded(before, done, after):
    """``{name: {"old", "new"}}`` of an upgrade: ``done`` is its cmd.run_all, the others are ``{name: version}``.

    Raises CommandExecutionError, whose ``info`` has the ``changes`` and the ``result``, when it failed.
    """
    from thin.exceptions import CommandExecutionError
    from thin.utils.packages import pkgspec

    changes = pkgspec.differences(before, after)
    if done["retcode"] != 0:
        raise CommandExecutionError("Problem encountered upgrading packages", info={"changes": changes, "result": done})
    return changes


def changed(look, act, problem):
    """``{name: {"old", "new"}}`` of what differs in ``look()`` (``{name: version}``) before and after ``act()``.

    ``act()`` gives the complaints. With any of them: raises CommandExecutionError ``problem``, whose ``info`` has these
    ``errors`` and the ``changes``.
    """
    from thin.exceptions import CommandExecutionError
    from thin.utils.packages import pkgspec

    before = look()
    errors = act()
    changes = pkgspec.differences(before, look())
    if errors:
        raise CommandExecutionError(problem, info={"errors": errors, "changes": changes})
    return changes
