"""The configuration of logrotate. Salt: ``salt/modules/logrotate.py``."""

import os
import re

from thin.exceptions import SaltInvocationError
from thin.log import getLogger

log = getLogger(__name__)

__func_alias__ = {"set_": "set"}
__reads__ = ("show_conf", "get")
__changes__ = ("set",)

_CONF = "/etc/logrotate.conf"
#: directives with a script in the lines below, up to "endscript"
_SCRIPTS = ("firstaction", "lastaction", "prerotate", "postrotate", "preremove")


def show_conf(conf_file=_CONF):
    """
    Return ``{directive: value, path: {directive: value}, "include files": {file: [its keys]}}``

    A directive without a value is True, a script a list of lines.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' logrotate.show_conf
    """
    return _parsed(conf_file)


def get(key, value=None, conf_file=_CONF):
    """
    Return a directive's value, or with ``value`` that of this directive in the block of a path; False if there is none

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' logrotate.get compress
        pushsalt run '*' logrotate.get /var/log/btmp create
    """
    setting = _parsed(conf_file).get(key, False)
    if not value:
        return setting
    return setting.get(value, False) if setting else setting


def set_(key, value, setting=None, conf_file=_CONF):
    """
    Set a directive, or with ``setting`` the directive ``value`` in the block of the path ``key``

    The value True is for a directive without a value; a false value removes the directive. A directive of an included
    file is changed there. Returns whether the directive is as wanted.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' logrotate.set rotate 8
        pushsalt run '*' logrotate.set /var/log/btmp rotate 3
    """
    conf = _parsed(conf_file)
    for name, keys in conf.get("include files", {}).items():
        if key in keys:
            conf_file = os.path.join(conf["include"], name)
    current = conf.get(key, False)
    how = {"path": conf_file, "backup": False, "show_changes": False}
    if setting is None:
        if isinstance(current, dict):
            raise SaltInvocationError(
                "Error: %s includes a dict, and a specific setting inside the dict was not declared" % key
            )
        if value == current:
            return True
        line = key if value is True else "%s %s" % (key, value) if value else ""
        return __salt__["file.replace"](
            pattern="^%s(?:[ \t].*)?$" % re.escape(key),
            repl=line.replace("\\", "\\\\"),
            flags=8,
            prepend_if_not_found=True,
            **how,
        )
    if current and not isinstance(current, dict):
        raise SaltInvocationError(
            "Error: A setting for a dict was declared, but the configuration line given is not a dict"
        )
    block = dict(current or {})
    if setting == block.get(value, False):
        return True
    if setting:
        block[value] = setting
    else:
        block.pop(value, None)
    body = "{\n%s}" % _block(block)
    # other text before the brace is further paths of the same block
    return __salt__["file.replace"](
        pattern=r"^(%s(?:\s[^{}]*)?)\{.*?^[ \t]*\}" % re.escape(key),
        repl="\\g<1>" + body.replace("\\", "\\\\"),
        flags=24,
        append_if_not_found=True,
        not_found_content="%s %s" % (key, body),
        **how,
    )


def _number(text):
    try:
        return int(text)
    except ValueError:
        return text


def _parsed(path):
    """The parsed file. Paths on separate lines before a brace belong to its block."""
    parsed, block, paths, waiting = {}, None, [], []
    script, lines = None, []
    with open(path, encoding="utf-8", errors="surrogateescape") as handle:
        for line in map(str.strip, handle):
            place = parsed if block is None else block
            if script is not None:
                if line == "endscript":
                    place[script], script = lines, None
                else:
                    lines.append(line)
                continue
            if not line or line.startswith("#"):
                continue
            words = line.split()
            if "{" in line and "}" not in line:
                paths, waiting, block = waiting + line.replace("{", " ").split(), [], {}
            elif "}" in line:
                parsed.update((one, block or {}) for one in paths)
                paths, block = [], None
            elif words[0] in _SCRIPTS and len(words) == 1:
                script, lines = words[0], []
            elif block is None and len(words) == 1 and _is_path(line):
                waiting.append(line)
            else:
                if words[0] == "include" and len(words) > 1:
                    _include(parsed, words[1])
                place[words[0]] = _number(words[1]) if len(words) == 2 else " ".join(words[1:]) or True
    parsed.update((one, True) for one in waiting)
    return parsed


def _is_path(word):
    return word[0] in "/~\"'" or any(char in word for char in "*?[")


def _include(settings, folder):
    files = settings.setdefault("include files", {})
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        inner = _parsed(os.path.join(folder, name))
        files.setdefault(name, []).extend(inner)
        settings.update(inner)


def _block(block):
    """The lines of a block."""
    text = ""
    for key, value in block.items():
        if key in _SCRIPTS and isinstance(value, list):
            text += "    %s\n%s    endscript\n" % (key, "".join("        %s\n" % line for line in value))
        else:
            text += "    %s %s\n" % (key, "" if value is True else value)
    return text
