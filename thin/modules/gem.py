"""
Ruby's packages, with gem. Salt (until 3007): ``salt/modules/gem.py``.

If RVM or rbenv is installed for the user (``runas``), ``ruby`` selects the Ruby, unless ``gem_bin`` names the program.
Functions return the output of gem, or False if it fails.
"""

import os
import re

from thin import process
from thin.exceptions import CommandNotFoundError
from thin.log import getLogger

log = getLogger(__name__)

__func_alias__ = {"list_": "list"}
__reads__ = ("version", "list", "list_upgrades", "sources_list")
__changes__ = ("install", "uninstall", "update", "update_system", "sources_add", "sources_remove")


def install(
    gems,
    ruby=None,
    gem_bin=None,
    runas=None,
    version=None,
    rdoc=False,
    ri=False,
    pre_releases=False,
    proxy=None,
    source=None,
):
    """
    Install one or several gems (names with spaces between, or a list; files too)

    version
        Which version, or ``>= 1.0``.
    rdoc
        Also install its documentation in HTML.
    ri
        Also install its documentation for ri.
    pre_releases
        Take them into account, too.
    proxy
        An HTTP proxy, as ``http://host:port``.
    source
        The source to search first.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' gem.install bundler version=2.5.23
    """
    words = ["--version", version] if version else []
    if _major(ruby, gem_bin, runas) >= 3:
        kinds = ",".join(kind for kind, wanted in (("rdoc", rdoc), ("ri", ri)) if wanted)
        words += ["--document=%s" % kinds] if kinds else ["--no-document"]
    else:
        words += ([] if rdoc else ["--no-rdoc"]) + ([] if ri else ["--no-ri"])
    words += (["--pre"] if pre_releases else []) + (["-p", proxy] if proxy else [])
    words += ["--source", source] if source else []
    return _gem(["install"] + _names(gems) + words, ruby, runas, gem_bin)


def uninstall(gems, ruby=None, runas=None, gem_bin=None):
    """
    Remove one or several gems in all versions, with their programs

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' gem.uninstall bundler
    """
    return _gem(["uninstall"] + _names(gems) + ["-a", "-x"], ruby, runas, gem_bin)


def update(gems, ruby=None, runas=None, gem_bin=None):
    """
    Update one or several gems to their newest version

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' gem.update bundler
    """
    return _gem(["update"] + _names(gems), ruby, runas, gem_bin)


def update_system(version="", ruby=None, runas=None, gem_bin=None):
    """
    Update gem itself to a version, by default the newest

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' gem.update_system
    """
    return _gem(["update", "--system"] + ([version] if version else []), ruby, runas, gem_bin)


def version(ruby=None, runas=None, gem_bin=None):
    """
    Return gem's version

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' gem.version
    """
    for line in (_gem(["--version"], ruby, runas, gem_bin) or "").splitlines():
        if re.match(r"\d+\.", line):
            return line.strip()
    return ""


def list_(prefix="", ruby=None, runas=None, gem_bin=None):
    """
    Return ``{gem: [versions]}`` of the gems whose names begin with this text

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' gem.list
    """
    return _listed(["list"] + ([prefix] if prefix else []), ruby, runas, gem_bin)


def list_upgrades(ruby=None, runas=None, gem_bin=None):
    """
    Return ``{gem: newest version}`` of the gems with a newer version

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' gem.list_upgrades
    """
    gems = _listed(["outdated"], ruby, runas, gem_bin)
    return {name: versions[0].split(" < ")[-1] for name, versions in gems.items()}


def sources_add(source_uri, ruby=None, runas=None, gem_bin=None):
    """
    Add a source of gems

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' gem.sources_add https://gems.example.org/
    """
    return _gem(["sources", "--add", source_uri], ruby, runas, gem_bin)


def sources_remove(source_uri, ruby=None, runas=None, gem_bin=None):
    """
    Remove a source of gems

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' gem.sources_remove https://gems.example.org/
    """
    return _gem(["sources", "--remove", source_uri], ruby, runas, gem_bin)


def sources_list(ruby=None, runas=None, gem_bin=None):
    """
    Return the sources of gems

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' gem.sources_list
    """
    return (_gem(["sources"], ruby, runas, gem_bin) or "").splitlines()[2:]


def _names(gems):
    return gems.split() if isinstance(gems, str) else [str(gem) for gem in gems]


def _major(ruby, gem_bin, runas):
    major = version(ruby, runas, gem_bin).partition(".")[0]
    return int(major) if major.isdigit() else 3


def _listed(words, ruby, runas, gem_bin):
    result = {}
    for line in (_gem(words, ruby, runas, gem_bin) or "").splitlines():
        match = re.match(r"^([^ ]+) \((.+)\)", line)
        if match:
            result[match.group(1)] = match.group(2).split(", ")
    return result


def _gem(words, ruby, runas, gem_bin):
    """The output of gem; False if it fails: then ``__context__["gem.failure"]`` has the error."""
    command, env = [gem_bin or "gem"] + [str(word) for word in words], {"LC_ALL": "C"}
    if not gem_bin:
        home = os.path.expanduser("~%s" % (runas or ""))
        rvm, rbenv = [_program(home, name) for name in ("rvm", "rbenv")]
        if rvm:
            command = [rvm, ruby or "default", "do"] + command
        elif rbenv:
            command = [rbenv, "exec"] + command
            env.update({"RBENV_VERSION": ruby} if ruby else {})
    if not process.which(command[0]):
        raise CommandNotFoundError("Command '%s' cannot be found" % command[0])
    done = __salt__["cmd.run_all"](command, runas=runas, env=env, python_shell=False, ignore_retcode=True)
    if done["retcode"] == 0:
        return done["stdout"]
    __context__["gem.failure"] = "%s failed: %s" % (" ".join(command), done["stderr"] or done["stdout"])
    log.error(__context__["gem.failure"])
    return False


def _program(home, name):
    places = [os.path.join(top, "bin", name) for top in (os.path.join(home, "." + name), "/usr/local/" + name)]
    return next((path for path in places if os.access(path, os.X_OK)), None)
