"""Runs package managers without prompts and in English, and waits for their locks up to a limit.

Also caches their output about installed packages as long as their database file does not change.
"""

from thin.utils.files import safepath

LOCK_TIMEOUT = 300  # seconds; the option pkg_lock_timeout

ENVIRONMENT = {"LC_ALL": "C", "LANGUAGE": "C"}


def lock_timeout(opts):
    return int(opts.get("pkg_lock_timeout", LOCK_TIMEOUT))


def run(run_all, opts, command, busy, env=None, environment=None, **options):
    """The return of ``run_all`` (cmd.run_all); runs the command again while ``busy(done)``: another process has the
    lock.

    ``env``: additional variables, a dict or a list of dicts; ``environment``: variables that are set in addition to
    LC_ALL.
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
    """A function ``busy(done)``: whether the output of a failed command contains one of these texts."""

    def busy(done):
        text = "%s\n%s" % (done["stderr"], done["stdout"])
        return any(part in text for part in parts)

    return busy


def remembered(context, key, paths, read):
    """The value of ``read()``, stored in ``context``; it is called again only if one of the files has changed."""
    stamp = [_stamp(path) for path in paths]
    cached = context.get(key)
    if not (isinstance(cached, dict) and cached.get("stamp") == stamp) or not any(stamp):
        cached = context[key] = {"stamp": stamp, "value": read()}
    return cached["value"]


def _stamp(path):
    import os

    try:
        stat = os.stat(path)
    except OSError:
        return None
    return [stat.st_mtime_ns, stat.st_size, stat.st_ino]


def refreshed(context, opts):
    """Record that the package lists were refreshed: clear the flag of states.pkg, and the file that Salt's code
    checks."""
    import os

    context.pop("pkg.refresh", None)
    try:
        safepath.unlink(os.path.join(opts["cachedir"], "pkg_refresh"))
    except (KeyError, OSError):
        pass


def words(done):
    """The error of a failed command: its error lines, else its output."""
    return (done["stderr"] or "").strip() or (done["stdout"] or "").strip()


def listed(value):
    """A list from a list, a comma-separated string or None."""
    if value is None or value == "":
        return []
    if isinstance(value, (list, tuple)):
        return [str(item) for item in value]
    return [item.strip() for item in str(value).split(",") if item.strip()]


def upgraded(before, done, after):
    """``{name: {"old", "new"}}`` of an upgrade. ``done``: its return of cmd.run_all; the others are ``{name:
    version}``.

    Raises CommandExecutionError if it failed; ``info`` has the ``changes`` and the ``result``.
    """
    from thin.exceptions import CommandExecutionError
    from thin.utils.packages import pkgspec

    changes = pkgspec.differences(before, after)
    if done["retcode"] != 0:
        raise CommandExecutionError("Problem encountered upgrading packages", info={"changes": changes, "result": done})
    return changes


def changed(look, act, problem):
    """``{name: {"old", "new"}}`` of the differences of ``look()`` (``{name: version}``) before and after ``act()``.

    ``act()`` returns a list of errors. If it is not empty, raises CommandExecutionError ``problem``, whose ``info`` has
    these ``errors`` and the ``changes``.
    """
    from thin.exceptions import CommandExecutionError
    from thin.utils.packages import pkgspec

    before = look()
    errors = act()
    changes = pkgspec.differences(before, look())
    if errors:
        raise CommandExecutionError(problem, info={"errors": errors, "changes": changes})
    return changes
