"""The Apache web server: its properties, and its configuration files. Salt: modules/apache.py

apache_a2.py enables and disables sites, modules and configurations.
"""

import os
import re

from thin import process
from thin.exceptions import SaltException
from thin.utils.files import safepath

__reads__ = ("version", "fullversion", "modules", "servermods", "directives", "vhosts", "server_status")
__changes__ = ("signal", "useradd", "userdel", "config")

_PLAIN = ("configtest", "status", "fullstatus")
_SIGNALS = ("start", "stop", "restart", "graceful", "graceful-stop")


def __virtual__():
    if process.which(_program()):
        return "apache"
    return False, "The apache execution module cannot be loaded: apache is not installed."


def _program():
    return "apache2ctl" if __grains__.get("os_family") in ("Debian", "Suse") else "apachectl"


def _lines(option):
    out = __salt__["cmd.run"]([_program(), option], python_shell=False, env={"LC_ALL": "C"})
    return out.splitlines()


def version():
    """
    Return the version of the server

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' apache.version
    """
    return _lines("-v")[0].partition(": ")[2]


def fullversion():
    """
    Return the output of ``-V``: ``{name: text}``, and ``compiled_with`` as a list

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' apache.fullversion
    """
    ret = {"compiled_with": []}
    for line in _lines("-V"):
        if ": " in line:
            name, _, value = line.partition(": ")
            ret[name.strip().lower().replace(" ", "_")] = value.partition(": ")[0].strip()
        elif " -D" in line:
            ret["compiled_with"].append(re.sub(r"^\s+-D\s+", "", line))
    return ret


def modules():
    """
    Return ``{static: [module], shared: [module]}`` of the loaded modules

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' apache.modules
    """
    lines = _lines("-M")
    return {kind: [line.split()[0] for line in lines if "(%s)" % kind in line] for kind in ("static", "shared")}


def servermods():
    """
    Return the modules that are compiled into the program

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' apache.servermods
    """
    return [line.strip() for line in _lines("-l") if ".c" in line]


def directives():
    """
    Return ``{directive: its arguments and contexts}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' apache.directives
    """
    ret = {}
    for line in "\n".join(_lines("-L")).replace("\n\t", "\t").splitlines():
        if line:
            words = line.split("\t")
            ret[words[0]] = "\n".join(words[1:])
    return ret


def vhosts():
    """
    Return ``{address: {host: {vhost, conf, port}}}`` of the virtual hosts

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' apache.vhosts
    """
    ret, hosts = {}, None
    for line in _lines("-S"):
        words = line.split()
        if "is a NameVirtualHost" in line:
            hosts = ret.setdefault(words[0], {})
        elif hosts is not None and words[:1] == ["default"] and len(words) > 3:
            hosts["default"] = {"vhost": words[2], "conf": words[3].strip("()")}
        elif hosts is not None and words[:1] == ["port"] and len(words) > 4:
            hosts[words[3]] = {"vhost": words[3], "conf": words[4].strip("()"), "port": words[1]}
    return ret


def signal(signal=None):
    """
    Start, stop, restart, graceful or graceful-stop the server, or ask for configtest, status or fullstatus

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' apache.signal graceful
    """
    if signal not in _SIGNALS + _PLAIN:
        return None
    argv = [_program()] + (["-k", signal] if signal in _SIGNALS else [signal])
    done = __salt__["cmd.run_all"](argv, python_shell=False, env={"LC_ALL": "C"})
    output = done["stderr"].strip() or done["stdout"].strip()
    return output or 'Command: "%s" completed successfully!' % " ".join(argv)


def useradd(pwfile, user, password, opts=""):
    """
    Add a user to a password file, which is created if it does not exist

    opts
        options of htpasswd: letters

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' apache.useradd /etc/apache2/wiki.htpasswd ada 'correct horse'
    """
    return __salt__["webutil.useradd"](pwfile, user, password, opts)


def userdel(pwfile, user):
    """
    Remove a user from a password file

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' apache.userdel /etc/apache2/wiki.htpasswd ada
    """
    return __salt__["webutil.userdel"](pwfile, user)


def server_status(profile="default"):
    """
    Return the server's status page with a counted scoreboard; ``error`` if there is none

    profile
        which of ``apache.server-status`` in the configuration or pillar: url (http://localhost/server-status), user,
        pass, timeout (5)

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' apache.server_status
    """
    get = __salt__["config.get"]
    where = "apache.server-status:%s:" % profile
    asked = {"timeout": get(where + "timeout", 5)}
    if get(where + "user", "") and get(where + "pass", ""):
        asked.update(username=get(where + "user"), password=get(where + "pass"))
    answer = __salt__["http.query"](get(where + "url", "http://localhost/server-status") + "?auto", **asked)
    if "error" in answer:
        return "error"
    ret = {"Scoreboard": dict.fromkeys("_SRWKDCLGI.", 0)}
    for line in answer["body"].splitlines():
        name, colon, value = (part.strip() for part in line.partition(":"))
        if name == "Scoreboard":
            for letter in value:
                ret["Scoreboard"][letter] = ret["Scoreboard"].get(letter, 0) + 1
        elif colon:
            ret[name] = _number(value)
    return ret


def _number(text):
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def config(name, config, edit=True):
    """
    Write a configuration file from data, and return its text; with ``edit=False`` only return it

    config
        list of ``{directive: text}``, ``{directive: [text]}`` and ``{section: {this: its argument, directive: …}}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' apache.config /etc/apache2/conf-available/app.conf config="[{'Listen': '8443'}]"
    """
    parts = []
    for entry in config:
        key = next(iter(entry))
        parts.append(_written(entry[key], key))
    text = "\n".join(parts)
    if edit:
        from thin.utils.files import atomic, owner

        mode = None if os.path.exists(name) else owner.mode_bits(owner.default_mode())
        atomic.write(safepath.real(name), ("# This file is managed by Salt.\n" + text).encode("utf-8"), mode=mode)
    return text


def _written(data, word):
    """The lines of one directive or section."""
    if isinstance(data, dict):
        if "this" not in data:
            raise SaltException(
                'Apache section container "<%s>" expects attribute. Specify it using key "this".' % word
            )
        return _section(word, data["this"], data.items())
    if isinstance(data, list):
        this = [item["this"] for item in data if isinstance(item, dict) and "this" in item]
        if this:
            return _section(word, this[-1], [pair for item in data for pair in item.items()])
        return "".join(_written(item, word) + "\n" for item in data)
    return "%s %s" % (word, data)


def _section(word, this, pairs):
    inside = "".join(_written(value, key) + "\n" for key, value in pairs if key != "this")
    return "<%s %s>\n%s</%s>\n" % (word, this, inside, word)
