"""Virtual environments of Python, by virtualenv or by Python's own venv. Salt: modules/virtualenv_mod.py

``venv_bin`` selects the program: a virtualenv program, ``venv``, or an interpreter, which runs its own venv. The
default is the option or pillar key ``venv_bin``, otherwise a virtualenv in the PATH, otherwise ``venv``.
"""

import os
import re
import sys

from thin.exceptions import CommandExecutionError
from thin.utils.files import safepath

__virtualname__ = "virtualenv"
__reads__ = (
    "virtualenv_ver",
    "get_site_packages",
    "get_distribution_path",
    "get_resource_path",
    "get_resource_content",
)
__changes__ = ("create",)

#: source of pip for an environment without it
GET_PIP = "https://bootstrap.pypa.io/get-pip.py"


def __virtual__():
    return __virtualname__


def virtualenv_ver(venv_bin, user=None, **kwargs):
    """The version of a virtualenv program, as a tuple of numbers: ``(20, 17, 1)``."""
    words = [venv_bin, "--version"]
    done = __salt__["cmd.run_all"](words, runas=user, python_shell=False, redirect_stderr=True, **kwargs)
    match = re.search(r"(?<![\w.])(\d+(?:\.\d+)*)", done["stdout"])
    if done["retcode"] != 0 or not match:
        raise CommandExecutionError(
            "Unable to get the virtualenv version output using '%s'. Returned data: %s" % (words, done)
        )
    return tuple(int(number) for number in match.group(1).split("."))


def create(
    path,
    venv_bin=None,
    system_site_packages=False,
    distribute=False,
    clear=False,
    python=None,
    extra_search_dir=None,
    never_download=None,
    prompt=None,
    pip=False,
    symlinks=None,
    upgrade=None,
    user=None,
    use_vt=False,
    saltenv="base",
    **kwargs,
):
    """Create a virtual environment; returns what cmd.run_all returns. An incomplete one is removed.

    ``python``: the interpreter that it is for. ``pip``: install pip if the program does not. ``symlinks`` and
    ``upgrade`` are only for venv, ``extra_search_dir`` and ``never_download`` only for virtualenv. ``kwargs``:
    cmd.run_all's.
    """
    kwargs = {key: value for key, value in kwargs.items() if not key.startswith("__")}
    runas = kwargs.pop("runas", None)
    user = user or runas
    venv_bin = str(venv_bin or __pillar__.get("venv_bin") or __opts__.get("venv_bin") or _default())
    python = (python or "").strip()
    if venv_bin == "venv" or _is_python(venv_bin):
        _refuse(venv_bin, extra_search_dir=extra_search_dir or None, never_download=never_download)
        if venv_bin != "venv" and python:
            raise CommandExecutionError("Pass the target interpreter either as `venv_bin` or as `python`, not both.")
        words = [_interpreter(python or (sys.executable if venv_bin == "venv" else venv_bin)), "-m", "venv"]
        words += _venv_options(symlinks, upgrade, prompt)
    elif "venv" in os.path.basename(venv_bin):  # pyvenv and similar programs
        _refuse(
            venv_bin, python=python or None, extra_search_dir=extra_search_dir or None, never_download=never_download
        )
        words = [venv_bin] + _venv_options(symlinks, upgrade, prompt)
    else:
        _refuse(venv_bin, upgrade=upgrade, symlinks=symlinks)
        version = virtualenv_ver(venv_bin, user=user, **kwargs)
        words = [venv_bin]
        words += ["--distribute"] if distribute and version < (1, 10) else []
        words += ["--python=%s" % _interpreter(python)] if python else []
        if isinstance(extra_search_dir, str):
            extra_search_dir = [one.strip() for one in extra_search_dir.split(",") if one.strip()]
        words += ["--extra-search-dir=%s" % one for one in extra_search_dir or ()]
        if never_download and not (1, 10) <= version < (14,):
            words.append("--never-download" if version < (20,) else "--no-download")
        elif never_download is False and version >= (20,):
            words.append("--download")
        words += ["--prompt=%s" % prompt] if (prompt or "").strip() else []
    words += ["--clear"] if clear else []
    words += ["--system-site-packages"] if system_site_packages else []
    existed = os.path.exists(path)
    done = __salt__["cmd.run_all"](words + [path], runas=user, python_shell=False, **kwargs)
    if done["retcode"] != 0:
        if not existed and os.path.isdir(path):
            try:
                safepath.remove(path)
            except OSError:
                pass
        return done
    if pip and not os.path.exists(os.path.join(path, "bin", "pip")):
        more = _install_pip(path, user, saltenv)
        done["retcode"] = more["retcode"]
        for stream in ("stdout", "stderr"):
            done[stream] = ("%s\n%s" % (done[stream], more[stream])).strip()
    return done


def get_site_packages(venv):
    """Path of the environment's site-packages."""
    return _ask(venv, "import sysconfig; print(sysconfig.get_path('purelib'))")


def get_distribution_path(venv, distribution):
    """Path of the folder of an installed distribution."""
    return _ask(venv, _DISTRIBUTION, distribution)


def get_resource_path(venv, package=None, resource=None):
    """Path of a package's data file."""
    return _ask(venv, _RESOURCE + "print(path)", package, resource)


def get_resource_content(venv, package=None, resource=None):
    """The content of a package's data file."""
    return _ask(venv, _RESOURCE + "sys.stdout.write(open(path).read())", package, resource)


# Private functions

_DISTRIBUTION = """
import sys
try:
    from importlib.metadata import distribution
    print(distribution(sys.argv[1]).locate_file(''))
except ImportError:
    import pkg_resources
    print(pkg_resources.get_distribution(sys.argv[1]).location)
"""
_RESOURCE = """
import importlib, os, sys
folders = list(importlib.import_module(sys.argv[1]).__path__)
paths = [os.path.join(folder, *sys.argv[2].split('/')) for folder in folders]
path = ([path for path in paths if os.path.exists(path)] or paths)[0]
"""


def _default():
    names = ("virtualenv-%d.%d" % sys.version_info[:2], "virtualenv%d" % sys.version_info[0], "virtualenv")
    for name in names:
        program = __salt__["cmd.which"](name)
        if program:
            return program
    return "venv"


def _is_python(program):
    return re.match(r"(python|pypy)[0-9.]*\Z", os.path.basename(program), re.IGNORECASE) is not None


def _interpreter(program):
    if not __salt__["cmd.which"](program):
        raise CommandExecutionError("Cannot find requested python (%s)." % program)
    return program


def _refuse(program, **options):
    for name, value in options.items():
        if value is not None:
            words = "The `%s`(`--%s`) option is not supported by '%s'"
            raise CommandExecutionError(words % (name, name.replace("_", "-"), program))


def _venv_options(symlinks, upgrade, prompt):
    words = (["--upgrade"] if upgrade else []) + (["--symlinks"] if symlinks else [])
    return words + (["--prompt", prompt] if (prompt or "").strip() else [])


def _install_pip(path, user, saltenv):
    script = __salt__["cp.cache_file"](GET_PIP, saltenv)
    if not script:
        raise CommandExecutionError("Failed to fetch %s" % GET_PIP)
    with open(script, encoding="utf-8", errors="surrogateescape") as stream:  # the user cannot read what is cached here
        code = stream.read()
    python = os.path.join(path, "bin", "python")
    return __salt__["cmd.run_all"](
        [python, "-"], stdin=code, runas=user, cwd=path, env={"VIRTUAL_ENV": path}, python_shell=False
    )


def _ask(venv, code, *words):
    python = os.path.join(venv, "bin", "python")
    if not os.path.exists(python):
        raise CommandExecutionError("Path '%s' does not appear to be a virtualenv: '%s' not found." % (venv, python))
    done = __salt__["cmd.run_all"]([python, "-c", code] + [str(word) for word in words], python_shell=False)
    if done["retcode"] != 0:
        raise CommandExecutionError("%s\n%s" % (done["stdout"], done["stderr"]))
    return done["stdout"]
