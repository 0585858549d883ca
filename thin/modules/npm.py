"""
Packages of Node.js, with npm. Salt: ``salt/modules/npm.py``.

Without ``dir`` packages are global. ``runas`` is the user that npm runs as, ``env`` a dict of variables for it.
"""

import re

from thin import process
from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.log import getLogger
from thin.utils.files import serial

log = getLogger(__name__)

__func_alias__ = {"list_": "list"}
__reads__ = ("list", "cache_list", "cache_path", "describe")
__changes__ = ("install", "uninstall", "cache_clean")


def __virtual__():
    if process.which("npm"):
        return True
    return False, "npm execution module could not be loaded because the npm binary could not be located"


def install(pkg=None, pkgs=None, dir=None, runas=None, registry=None, env=None, dry_run=False, silent=True):
    """
    Install a package, several, or those in ``package.json`` of a folder; returns what npm reports

    pkg
        A package, with a version if need be: ``coffee-script@1.0.1``; a file or an address.
    pkgs
        A list of these.
    dir
        The folder that they belong to.
    registry
        The registry to install from.
    dry_run
        Only report what would be done.
    silent
        Without npm's progress output.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' npm.install less@4.2.0
    """
    wanted = [pkg] if pkg else list(pkgs or [])
    quiet = ["--no-progress", "--loglevel=error"] if silent else []  # --silent would suppress the report, too
    words = ["install", "--json"] + quiet + ([] if dir else ["--global"])
    words += (["--registry=%s" % registry] if registry else []) + (["--dry-run"] if dry_run else [])
    done = _npm(words + (["--"] + wanted if wanted else []), dir or "/", runas, env)
    if done["retcode"]:
        raise CommandExecutionError(_failure(done))
    text = done["stdout"] or done["stderr"]  # old versions report on stderr
    return _json(text, text)


def uninstall(pkg, dir=None, runas=None, env=None):
    """
    Remove a package; returns whether it worked

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' npm.uninstall less
    """
    done = _npm(["uninstall"] + ([] if dir else ["--global"]) + ["--", pkg], dir, runas, env)
    if done["retcode"]:
        log.error(_failure(done))
    return done["retcode"] == 0


def list_(pkg=None, dir=None, runas=None, env=None, depth=None):
    """
    Return ``{package: {version, ...}}`` of installed packages, as reported by npm; ``depth``: with dependencies

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' npm.list depth=0
    """
    words = ["list", "--json", "--silent"] + ([] if dir else ["--global"])
    if depth is not None:
        if not isinstance(depth, (int, float)):
            raise SaltInvocationError("Error: depth %s must be a number" % depth)
        words.append("--depth=%d" % depth)
    done = _npm(words + ([pkg] if pkg else []), dir, runas, env)
    # npm also fails if nothing is installed, but without an error message then.
    if done["retcode"] and done["stderr"]:
        raise CommandExecutionError(_failure(done))
    return _json(done["stdout"], {}).get("dependencies", {})


def cache_clean(path=None, runas=None, env=None, force=False):
    """
    Empty npm's cache, or remove one package from it; since npm 5 this needs ``force``. Returns whether it worked

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' npm.cache_clean force=True
    """
    words = ["cache", "clean"] + ([path] if path else []) + (["--force"] if force is True else [])
    done = _npm(words, None, runas, env)
    if done["retcode"]:
        log.error(_failure(done))
    return done["retcode"] == 0


def cache_list(path=None, runas=None, env=None):
    """
    Return the content of npm's cache, as text

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' npm.cache_list
    """
    done = _npm(["cache", "ls"] + ([path] if path else []), None, runas, env)
    if done["retcode"] and done["stderr"]:
        raise CommandExecutionError(_failure(done))
    return done["stdout"]


def cache_path(runas=None, env=None):
    """
    Return the folder of npm's cache

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' npm.cache_path
    """
    done = _npm(["config", "get", "cache"], None, runas, env)
    return done["stdout"] or done["stderr"]


def describe(path, runas=None):
    """
    Return ``{"name", "version"}`` of the package in a folder or a packed file; {} if there is none

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' npm.describe /srv/app-1.0.0.tgz
    """
    import os

    if os.path.isdir(path):
        command = ["cat", os.path.join(path, "package.json")]
    else:
        command = ["tar", "-xzOf", path, "package/package.json"]
    done = __salt__["cmd.run_all"](command, runas=runas, python_shell=False, ignore_retcode=True)
    about = _json(done["stdout"], {}) if done["retcode"] == 0 else {}
    return {key: about[key] for key in ("name", "version") if key in about}


def _npm(words, cwd, runas, env):
    variables = {"LC_ALL": "C"}
    for given in [env] if isinstance(env, dict) else env or []:
        variables.update(given)
    if runas:
        import pwd

        try:
            variables.update(SUDO_UID=str(pwd.getpwnam(runas).pw_uid), SUDO_USER="")
        except KeyError:
            raise CommandExecutionError("User '%s' is not available" % runas)
    command = ["npm"] + [str(word) for word in words]
    return dict(
        __salt__["cmd.run_all"](command, cwd=cwd, runas=runas, env=variables, python_shell=False, ignore_retcode=True),
        command=" ".join(command),
    )


def _failure(done):
    return "%s failed: %s" % (done["command"], done["stderr"] or done["stdout"])


def _json(text, otherwise):
    """The JSON object or list in a text that may have other lines before and after it."""
    for opening, closing in ("{}", "[]"):
        first, last = re.search("^" + re.escape(opening), text, re.M), text.rfind(closing)
        if first and last > first.start():
            try:
                return serial.loads(text[first.start() : last + 1])
            except ValueError:
                continue
    return otherwise
