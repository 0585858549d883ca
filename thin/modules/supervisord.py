"""Programs under supervisord, by supervisorctl. Salt: ``salt/modules/supervisord.py``.

Every function takes ``user`` (the user that supervisorctl runs as), ``conf_file`` and ``bin_env``: the path of
supervisorctl, or of a virtual environment that has it.
"""

import os

from thin import process
from thin.exceptions import CommandExecutionError, CommandNotFoundError

__reads__ = ("status", "status_raw", "options", "status_bool")
__changes__ = ("start", "restart", "stop", "add", "remove", "reread", "update", "custom")

_CONFIGS = ("/etc/supervisor/supervisord.conf", "/etc/supervisord.conf")


def start(name="all", user=None, conf_file=None, bin_env=None):
    """
    Start a program, a group (``group:``) or all, and return the output of supervisorctl

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' supervisord.start web
    """
    return _run("start", _of_group(name), user, conf_file, bin_env)


def restart(name="all", user=None, conf_file=None, bin_env=None):
    """
    Restart a program, a group (``group:``) or all, and return the output of supervisorctl

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' supervisord.restart web
    """
    return _run("restart", _of_group(name), user, conf_file, bin_env)


def stop(name="all", user=None, conf_file=None, bin_env=None):
    """
    Stop a program, a group (``group:``) or all, and return the output of supervisorctl

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' supervisord.stop web
    """
    return _run("stop", _of_group(name), user, conf_file, bin_env)


def add(name, user=None, conf_file=None, bin_env=None):
    """
    Add a program or group of the configuration to supervisord

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' supervisord.add web
    """
    return _run("add", _plain(name), user, conf_file, bin_env)


def remove(name, user=None, conf_file=None, bin_env=None):
    """
    Remove a stopped program or group from supervisord

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' supervisord.remove web
    """
    return _run("remove", _plain(name), user, conf_file, bin_env)


def reread(user=None, conf_file=None, bin_env=None):
    """
    Reload the configuration, and return the differences

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' supervisord.reread
    """
    return _run("reread", None, user, conf_file, bin_env)


def update(user=None, conf_file=None, bin_env=None, name=None):
    """
    Reload the configuration, and add, remove and restart programs that differ: all, or one group

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' supervisord.update
    """
    return _run("update", _plain(name) if isinstance(name, str) else name, user, conf_file, bin_env)


def status(name=None, user=None, conf_file=None, bin_env=None):
    """
    Return ``{program: {state, reason}}`` of all or one

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' supervisord.status
    """
    states = {}
    for line in status_raw(name, user, conf_file, bin_env).splitlines():
        words = line.split(None, 2) + ["", ""]
        if words[0]:
            states[words[0]] = {"state": words[1], "reason": words[2]}
    return states


def status_raw(name=None, user=None, conf_file=None, bin_env=None):
    """
    Return the output of ``supervisorctl status``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' supervisord.status_raw
    """
    return _run("status", name, user, conf_file, bin_env)


def custom(command, user=None, conf_file=None, bin_env=None):
    """
    Run any command of supervisorctl

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' supervisord.custom 'pid web'
    """
    return _run(command, None, user, conf_file, bin_env)


def options(name, conf_file=None):
    """
    Return the configuration of a program

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' supervisord.options web
    """
    config, section = _config(conf_file), "program:%s" % name
    if section not in config.sections():
        raise CommandExecutionError("Process '%s' not found" % name)
    return {key: _value(value.split(";")[0].strip()) for key, value in config.items(section)}


def status_bool(name, expected_state=None, user=None, conf_file=None, bin_env=None):
    """
    Whether a program exists and is in this state

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' supervisord.status_bool web RUNNING
    """
    lines = custom("status %s" % name, user, conf_file, bin_env).splitlines() or [""]
    words = lines[-1].split(None, 2) + ["", "", ""]
    if words[2] == "(no such process)" or words[0] != name:
        return False
    return expected_state is None or words[1] == expected_state


def _value(text):
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text.lower(), text)


def _config(path):
    import configparser

    path = path or next((one for one in _CONFIGS if os.path.exists(one)), None)
    if path is None:
        raise CommandExecutionError("No suitable config file found")
    config = configparser.RawConfigParser()
    try:
        config.read(path)
    except (OSError, configparser.Error) as exc:
        raise CommandExecutionError("Unable to read from %s: %s" % (path, exc))
    return config


def _of_group(name):
    return name[:-1] if name.endswith(":*") else name


def _plain(name):
    return name[:-2] if name.endswith(":*") else name[:-1] if name.endswith(":") else name


def _program(bin_env):
    if not bin_env:
        path = process.which("supervisorctl")
    elif os.path.isdir(bin_env):
        path = os.path.join(bin_env, "bin", "supervisorctl")
        path = path if os.path.isfile(path) else None
    else:
        return bin_env
    if not path:
        raise CommandNotFoundError("Could not find a `supervisorctl` binary")
    return path


def _run(command, name, user, conf_file, bin_env):
    argv = [_program(bin_env)] + (["-c", conf_file] if conf_file is not None else [])
    argv += [command] + ([name] if name else [])
    done = __salt__["cmd.run_all"](argv, runas=user, python_shell=False, ignore_retcode=True)
    if done["retcode"] and "ERROR" not in done["stdout"]:
        return "ERROR: %s" % done["stdout"]
    return done["stdout"]
