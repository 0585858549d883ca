"""The program that a generic name refers to, with update-alternatives. Salt: ``salt/modules/alternatives.py``.

Functions that change something return the program's output.
"""

import os

__func_alias__ = {"set_": "set"}

__outputter__ = {"display": "txt", "install": "txt", "remove": "txt"}
__reads__ = ("display", "show_link", "show_current", "check_exists", "check_installed")
__changes__ = ("install", "remove", "auto", "set")

#: directory with the data of all links, by os_family; on other systems the program is called
_KEPT = {"RedHat": "/var/lib/alternatives", "Suse": "/var/lib/rpm/alternatives"}


def __virtual__():
    if os.path.isdir("/etc/alternatives"):
        return True
    return False, "Cannot load alternatives module: /etc/alternatives dir not found"


def display(name):
    """
    Return all data of a name, as the program prints it

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' alternatives.display pager
    """
    done = _run("--display", name, ignore_retcode=True)
    return done["stderr"] if done["retcode"] and done["stderr"] else done["stdout"]


def show_link(name):
    """
    Return the path of the generic name; False if there is none

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' alternatives.show_link pager
    """
    folder = _KEPT.get(__grains__.get("os_family"))
    if folder:
        from thin.utils.files import textfile

        lines = textfile.lines(os.path.join(folder, name))
        return lines[1].rstrip("\n") if len(lines) > 1 else False
    done = _run("--query", name, ignore_retcode=True)
    lines = done["stdout"].split("\n\n", 1)[0].splitlines() if not done["retcode"] else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("Link:")), False)


def show_current(name):
    """
    Return the path that a name refers to; False if there is none

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' alternatives.show_current pager
    """
    try:
        return os.readlink(os.path.join("/etc/alternatives", name))
    except OSError:
        return False


def check_exists(name, path):
    """
    Whether a path is one of the alternatives of a name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' alternatives.check_exists editor /usr/bin/vim
    """
    done = _run("--display", name, ignore_retcode=True)
    if done["retcode"] and done["stderr"]:
        return False
    return any(line.startswith(path) for line in done["stdout"].splitlines())


def check_installed(name, path):
    """
    Whether a name refers to a path

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' alternatives.check_installed editor /usr/bin/vim
    """
    return show_current(name) == path


def install(name, link, path, priority):
    """
    Add a path to the alternatives of a name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' alternatives.install pager /usr/bin/pager /usr/bin/less 60
    """
    done = _run("--install", link, name, path, str(priority))
    return done["stderr"] if done["retcode"] and done["stderr"] else done["stdout"]


def remove(name, path):
    """
    Remove a path from the alternatives of a name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' alternatives.remove pager /usr/bin/less
    """
    return _output(_run("--remove", name, path))


def auto(name):
    """
    Set a name to automatic mode: it refers to the alternative of the highest priority

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' alternatives.auto editor
    """
    return _output(_run("--auto", name))


def set_(name, path):
    """
    Let a name refer to this path

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' alternatives.set editor /usr/bin/vim
    """
    return _output(_run("--set", name, path))


def _output(done):
    return done["stderr"] if done["retcode"] else done["stdout"]


def _run(*args, **kwargs):
    program = "alternatives" if __grains__.get("os_family") == "RedHat" else "update-alternatives"
    return __salt__["cmd.run_all"]([program] + list(args), python_shell=False, **kwargs)
