"""Enables and disables sites, modules and configurations of Apache, on Debian and SUSE: a part of ``apache``.

Salt (until 3007): modules/deb_apache.py, modules/suse_apache.py; then saltext-apache. SUSE only has modules.
"""

import os

from thin import process

__virtualname__ = "apache"
__reads__ = ("check_site_enabled", "check_mod_enabled", "check_conf_enabled")
__changes__ = ("a2ensite", "a2dissite", "a2enmod", "a2dismod", "a2enconf", "a2disconf")

_ETC = "/etc/apache2"


def __virtual__():
    if process.which("a2enmod") and __grains__.get("os_family") in ("Debian", "Suse"):
        return __virtualname__
    return False, "apache execution module not loaded: apache not installed."


def check_site_enabled(site):
    """
    Whether a site is enabled; ``default`` is the site that the package installs

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' apache.check_site_enabled app.conf
    """
    names = [_with(site, ".conf")] + (["000-default.conf"] if site == "default" else [])
    return any(os.path.islink(os.path.join(_ETC, "sites-enabled", name)) for name in names)


def a2ensite(site):
    """
    Enable a site; returns ``{Name, Site, Status}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' apache.a2ensite app.conf
    """
    return _switch("en", "Site", site)


def a2dissite(site):
    """
    Disable a site; returns ``{Name, Site, Status}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' apache.a2dissite 000-default.conf
    """
    return _switch("dis", "Site", site)


def check_mod_enabled(mod):
    """
    Whether a module is enabled

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' apache.check_mod_enabled headers
    """
    if __grains__.get("os_family") == "Suse":
        enabled = __salt__["cmd.run"](["a2enmod", "-l"], python_shell=False, env={"LC_ALL": "C"})
        return (mod[:-5] if mod.endswith((".load", ".conf")) else mod) in enabled.split()
    name = mod if mod.endswith((".load", ".conf")) else mod + ".load"
    return os.path.islink(os.path.join(_ETC, "mods-enabled", name))


def a2enmod(mod):
    """
    Enable a module; returns ``{Name, Mod, Status}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' apache.a2enmod headers
    """
    return _switch("en", "Mod", mod)


def a2dismod(mod):
    """
    Disable a module; returns ``{Name, Mod, Status}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' apache.a2dismod autoindex
    """
    return _switch("dis", "Mod", mod)


def check_conf_enabled(conf):
    """
    Whether a configuration is enabled

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' apache.check_conf_enabled charset
    """
    return os.path.islink(os.path.join(_ETC, "conf-enabled", _with(conf, ".conf")))


def a2enconf(conf):
    """
    Enable a configuration; returns ``{Name, Conf, Status}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' apache.a2enconf charset
    """
    return _switch("en", "Conf", conf)


def a2disconf(conf):
    """
    Disable a configuration; returns ``{Name, Conf, Status}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' apache.a2disconf serve-cgi-bin
    """
    return _switch("dis", "Conf", conf)


def _with(name, ending):
    return name if name.endswith(ending) else name + ending


def _switch(verb, kind, name):
    done = __salt__["cmd.run_all"](
        ["a2%s%s" % (verb, kind.lower()), name], python_shell=False, env={"LC_ALL": "C"}, redirect_stderr=True
    )
    word = {"en": "Enable", "dis": "Disable"}[verb]
    if done["retcode"] == 0:
        status = "%s %s %sd" % (kind, name, word.lower())
    elif "does not exist" in done["stdout"]:
        status = "%s %s Not found" % (kind, name)
    else:
        status = "%s %s: %s" % (kind, name, " ".join(done["stdout"].split()))
    return {"Name": "Apache2 %s %s" % (word, kind), kind: name, "Status": status}
