"""The available locales, and the system's locale. Salt: modules/localemod.py

The system's locale is read by ``localectl`` if systemd runs, and from the distribution's file otherwise. Names are like
``en_US.UTF-8``; on Debian and Gentoo the character map may follow: ``en_IE.UTF-8 UTF-8``.
"""

import logging
import os
import re

from thin import process
from thin.exceptions import CommandExecutionError
from thin.utils.files import textfile

__virtualname__ = "locale"
__reads__ = ("list_avail", "avail", "get_locale")
__changes__ = ("set_locale", "gen_locale")

log = logging.getLogger(__name__)

SUPPORTED = "/usr/share/i18n/SUPPORTED"
LOCALE_GEN = "/etc/locale.gen"

#: family: files of the system's locale (the first that exists is used), and the key in them
_FILES = {
    "Debian": (("/etc/default/locale",), "LANG"),
    "RedHat": (("/etc/sysconfig/i18n", "/etc/locale.conf"), "LANG"),
    "Suse": (("/etc/sysconfig/language",), "RC_LANG"),
    "Arch": (("/etc/locale.conf",), "LANG"),
}


def __virtual__():
    if __grains__.get("kernel") in ("Windows", "Darwin", "SunOS"):
        return False, "The locale module is for Linux and the BSDs"
    return __virtualname__


def list_avail():
    """
    Return the names of the available locales, as printed by ``locale -a``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' locale.list_avail
    """
    return __salt__["cmd.run"](["locale", "-a"], python_shell=False).split("\n")


def avail(locale):
    """
    Return whether the locale is available; ``en_US.UTF-8`` and ``en_US.utf8`` are the same

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' locale.avail de_DE.UTF-8
    """
    wanted = _normal(locale)
    return any(_normal(name) == wanted for name in __salt__["locale.list_avail"]())


def get_locale():
    """
    Return the system's locale; empty when none is set

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' locale.get_locale
    """
    if _by_systemd():
        return _localectl().get("LANG", "")
    if __grains__.get("os_family") == "Gentoo":
        return __salt__["cmd.run"](["eselect", "--brief", "locale", "show"], python_shell=False).strip()
    path, key = _file()
    match = re.search(r"(?m)^%s=(.*)$" % key, textfile.read(path) or "")
    return match.group(1).strip().replace('"', "") if match else ""


def set_locale(locale):
    """
    Set the system's locale; other variables, such as ``LC_TIME``, are kept

    Raises CommandExecutionError with the program's message if that fails.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' locale.set_locale de_DE.UTF-8
    """
    family = __grains__.get("os_family")
    # since Debian 13, localectl does not write the file that logins read
    if _by_systemd() and not (family == "Debian" and __grains__.get("osmajorrelease", 0) >= 13):
        return _localectl_set(str(locale))
    if family == "Gentoo":
        return __salt__["cmd.retcode"](["eselect", "--brief", "locale", "set", locale], python_shell=False) == 0
    path, key = _file()
    if family == "Debian":
        if not process.which("update-locale"):
            raise CommandExecutionError('Cannot set locale: "update-locale" was not found.')
        __salt__["cmd.run"](["update-locale"], python_shell=False)  # creates the file if it does not exist
    _set_line(path, "^%s=.*" % key, '%s="%s"' % (key, locale))
    return True


def gen_locale(locale, **kwargs):
    """
    Generate a locale; returns whether it worked

    verbose
        Return what ``cmd.run_all`` returns for the program instead

    False if the system has no sources for this locale. Raises CommandExecutionError if it has no sources at all, or no
    program to generate locales.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' locale.gen_locale de_DE.UTF-8
        pushsalt run '*' locale.gen_locale 'de_AT.UTF-8 UTF-8'
    """
    ubuntu, family = __grains__.get("os") == "Ubuntu", __grains__.get("os_family")
    parts = _split(locale)
    base = parts["language"] + ("_" + parts["territory"] if parts["territory"] else "")
    name = _join(dict(parts, charmap=""))
    full = _join(dict(parts, charmap=parts["charmap"] or parts["codeset"]))
    if not _has_sources(base, full, by_file=family in ("Debian", "Gentoo") and not ubuntu, family=family):
        return False
    if os.path.exists(LOCALE_GEN):
        pattern = r"^\s*#\s*%s\s*$" % re.escape(full)
        __salt__["file.replace"](LOCALE_GEN, pattern, full + "\n", append_if_not_found=True)
    if process.which("locale-gen"):
        command = ["locale-gen"] + (["--generate"] if family == "Gentoo" else [])
        command.append(_normal(locale) if ubuntu else full)
    elif process.which("localedef"):
        command = ["localedef", "--force", "-i", base, "-f", parts["codeset"], name]
        command.append("--verbose" if kwargs.get("verbose") else "--quiet")
    else:
        raise CommandExecutionError('Command "locale-gen" or "localedef" was not found on this system.')
    done = __salt__["cmd.run_all"](command, python_shell=False)
    if done["retcode"]:
        log.error("%s: %s", " ".join(command), done["stderr"])
    return done if kwargs.get("verbose") else done["retcode"] == 0


def _has_sources(base, full, by_file, family):
    if by_file:
        text = textfile.read(SUPPORTED)
        if text is None:
            raise CommandExecutionError('Locale "%s" is not available: %s is not there' % (full, SUPPORTED))
        available, where = [line.strip() for line in text.split("\n")], SUPPORTED
    else:
        where = "/usr/share/locale" if family == "Suse" else "/usr/share/i18n/locales"
        try:
            available = os.listdir(where)
        except OSError:
            raise CommandExecutionError('Locale "%s" is not available: %s is not there' % (full, where))
    if (full if by_file else base) in available:
        return True
    log.error('The provided locale "%s" is not found in %s', full, where)
    return False


# The system's locale


def _by_systemd():
    # on SLE 12, scripts of packages overwrite the file after localectl
    suse12 = __grains__.get("os_family") == "Suse" and __grains__.get("osmajorrelease") == 12
    return os.path.isdir("/run/systemd/system") and not suse12


def _localectl():
    """The variables of the system's locale."""
    if not process.which("localectl"):
        raise CommandExecutionError('Unable to find "localectl"')
    done = __salt__["cmd.run_all"](["localectl", "status"], python_shell=False, ignore_retcode=True)
    if done["retcode"] != 0:
        raise CommandExecutionError("localectl failed: %s" % done["stderr"])
    match = re.search(r"System Locale:(.*(?:\n\s+[A-Z_]+=.*)*)", done["stdout"])
    if not match:
        raise CommandExecutionError('Unable to parse result of "localectl"')
    pairs = [word.strip().partition("=") for word in match.group(1).split("\n")]
    return {key: value.replace('"', "") for key, mark, value in pairs if mark}


def _localectl_set(locale):
    variables = dict(_localectl(), LANG=locale)
    command = ["localectl", "set-locale"] + ["%s=%s" % pair for pair in variables.items()]
    done = __salt__["cmd.run_all"](command, python_shell=False, ignore_retcode=True)
    if done["retcode"] != 0:
        raise CommandExecutionError("localectl failed: %s" % (done["stderr"] or done["stdout"]))
    return True


def _file():
    if __grains__.get("os_family") not in _FILES:
        raise CommandExecutionError('Error: "%s" is unsupported!' % __grains__.get("oscodename"))
    paths, key = _FILES[__grains__["os_family"]]
    return next(filter(os.path.exists, paths), paths[-1]), key


def _set_line(path, pattern, line):
    """Change the line, or add it."""
    text = textfile.read(path) or ""
    changed, times = re.subn("(?m)" + pattern, lambda _: line, text)
    if not times:
        changed = text + ("\n" if text and not text.endswith("\n") else "") + line + "\n"
    if changed != text:
        textfile.write(path, changed)


# Names


def _split(name):
    rest, _, charmap = str(name).strip().partition(" ")
    rest, _, modifier = rest.partition("@")
    rest, _, codeset = rest.partition(".")
    language, _, territory = rest.partition("_")
    return {"language": language, "territory": territory, "codeset": codeset, "modifier": modifier, "charmap": charmap}


def _join(parts):
    signs = (("territory", "_"), ("codeset", "."), ("modifier", "@"), ("charmap", " "))
    return parts["language"] + "".join(mark + parts[key] for key, mark in signs if parts[key])


def _normal(name):
    parts = _split(name)
    codeset = parts["codeset"].lower().replace("-", "")
    return _join(dict(parts, territory=parts["territory"].upper(), codeset=codeset, charmap=""))
