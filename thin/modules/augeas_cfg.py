"""Configuration files as a tree, by augtool(1). Salt (until 3007): modules/augeas_cfg.py

A path like ``/files/etc/hosts/1/canonical`` names a setting; ``lens`` is the lens for a file that Augeas has no lens
for by default; ``load_path`` names directories with more lenses, as a list or a text with colons.
"""

import re

from thin import process
from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.programs import augtool

__virtualname__ = "augeas"
__reads__ = ("would_change", "get", "match", "ls", "tree")
__changes__ = ("execute", "setvalue", "remove")

#: the number of arguments of each command, and the positions of those that are paths
_COMMANDS = {
    "set": (2, (0,)),
    "setm": (3, (0,)),
    "mv": (2, (0, 1)),
    "move": (2, (0, 1)),
    "rm": (1, (0,)),
    "remove": (1, (0,)),
    "ins": (3, (2,)),
    "insert": (3, (2,)),
    "clear": (1, (0,)),
    "clearm": (2, (0,)),
    "touch": (1, (0,)),
}


def __virtual__():
    return __virtualname__ if process.which("augtool") else (False, augtool.MISSING)


def execute(context=None, lens=None, commands=(), load_path=None):
    """
    Run commands of Augeas and save their changes, all or none: ``{retval: bool, error: text}``

    context
        A prefix of each path
    lens
        The lens that reads the file of ``context``
    commands
        ``set``, ``setm``, ``clear``, ``clearm``, ``touch``, ``rm``, ``ins``, ``mv``, as augtool has them
    load_path
        Directories with more lenses

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' augeas.execute /files/etc/ssh/sshd_config commands='["set PermitRootLogin no"]'
    """
    ret = {"retval": False}
    try:
        lines = _lines(commands, context)
    except SaltInvocationError as exc:
        return dict(ret, error=str(exc))
    for more in ([], ["save", "errors"]):  # a dry run first: if one command fails, augtool would still save the others
        code, text = augtool.run(lines + more, lens, load_path, context)
        if code or "error: " in text:
            return dict(ret, error=text.strip())
    return {"retval": True}


def would_change(context=None, lens=None, commands=(), load_path=None):
    """
    Return the files that ``augeas.execute`` would change. Raises its errors

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' augeas.would_change /files/etc/ssh/sshd_config commands='["set UseDNS no"]'
    """
    lines = ["set /augeas/save noop"] + _lines(commands, context) + ["save", "match /augeas/events/saved"]
    code, text = augtool.run(lines, lens, load_path, context)
    if code or "error: " in text:
        raise CommandExecutionError(text.strip())
    return [re.sub("^/files", "", value) for path, value in augtool.printed(text) if path.startswith("/augeas/events/")]


def _lines(commands, context):
    """The commands with full paths. Raises SaltInvocationError."""
    lines = []
    for command in commands:
        words = _words(command)
        if not words or words[0] not in _COMMANDS:
            raise SaltInvocationError("Command %s is not supported (yet)" % (words[:1] or [command])[0])
        name, words = words[0], words[1:]
        count, paths = _COMMANDS[name]
        if name == "set" and len(words) > 2:
            words = [words[0], " ".join(words[1:])]
        if len(words) != count:
            raise SaltInvocationError("Invalid formatted command, see debug log for details: %s" % command)
        if context:
            words = [_below(context, word) if at in paths else word for at, word in enumerate(words)]
        quote = {"set": (1,), "setm": (2,)}.get(name, ())
        words = [augtool.quoted(word) if at in quote else _path(word) for at, word in enumerate(words)]
        lines.append(" ".join([name] + words))
    return lines


def _words(command):
    """The words of a command; quotes and brackets keep words together."""
    words, word, quote, depth, within = [], "", "", 0, False
    for char in command:
        if quote:
            if char == quote:
                quote = ""
                word += char if depth else ""
            else:
                word += char
        elif char in "'\"":
            quote, within = char, True
            word += char if depth else ""
        elif char.isspace() and not depth:
            if word or within:
                words.append(word)
            word, within = "", False
        else:
            depth += {"[": 1, "]": -1}.get(char, 0)
            word += char
    return words + ([word] if word or within else [])


def _path(word):
    return augtool.quoted(word) if re.search(r"\s", word) and "[" not in word else word


def _below(context, path):
    return "%s/%s" % (context.rstrip("/"), path.lstrip("/")) if path else context


def get(path, value="", load_path=None):
    """
    Return ``{path: its value}``; ``value`` is a path below it

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' augeas.get /files/etc/ssh/sshd_config Port
    """
    path = path.rstrip("/") + ("/" + value.strip("/") if value else "")
    code, text = augtool.run(["get " + path], load_path=load_path)
    if code:
        return {"error": text.strip()}
    line = text.strip("\n")
    return {path: line.partition(" = ")[2] if " = " in line else None if line.endswith("(o)") else ""}


def setvalue(*args, **kwargs):
    """
    Set values and save them: ``{retval: bool, error: text}``

    args
        Path, value, path, value …
    prefix
        A prefix of each path

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' augeas.setvalue ipaddr 127.0.0.1 canonical localhost prefix=/files/etc/hosts/1
    """
    values = [str(one) for one in args]
    if len(values) % 2:
        raise SaltInvocationError("Uneven number of path/value arguments")
    prefix = kwargs.get("prefix")
    lines = []
    for path, value in zip(values[::2], values[1::2]):
        path = "%s/%s" % (prefix.rstrip("/"), path.lstrip("/")) if prefix else path
        lines.append("set %s %s" % (_path(path), augtool.quoted(value)))
    for more in ([], ["save", "errors"]):
        code, text = augtool.run(lines + more, load_path=kwargs.get("load_path"))
        if code or "error: " in text:
            return {"retval": False, "error": text.strip()}
    return {"retval": True}


def match(path, value="", load_path=None):
    """
    Return ``{path: value}`` of the paths that match and have this value

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' augeas.match /files/etc/hosts/*/canonical web01
    """
    code, text = augtool.run(["match " + path], load_path=load_path)
    if code:
        return {}
    return {matched: value for matched, current in augtool.printed(text) if current == value}


def remove(path, load_path=None):
    """
    Remove the nodes at a path and save: ``{retval: bool, count: number removed, error: text}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' augeas.remove /files/etc/ssh/sshd_config/X11Forwarding
    """
    code, text = augtool.run(["rm " + path, "save", "errors"], load_path=load_path)
    if code or "error: " in text:
        return {"retval": False, "error": text.strip()}
    removed = re.search(r"^rm : .* (\d+)$", text, re.MULTILINE)
    count = int(removed.group(1)) if removed else 0
    if not count:
        return {"retval": False, "error": "Invalid node"}
    return {"retval": True, "count": count}


def ls(path, load_path=None):
    """
    Return ``{name: value}`` of the node at the path and its children; the name of a node that has children ends in a
    slash

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' augeas.ls /files/etc/hosts/1
    """
    code, text = augtool.run(["ls " + path], load_path=load_path)
    ls = {}
    for line in text.splitlines() if not code else ():
        name, _, value = line.partition(" = ")
        ls[name] = "" if value == "(none)" else value
    return ls


def tree(path, load_path=None):
    """
    Return ``{path: value}`` of all nodes at and below a path

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' augeas.tree /files/etc/hosts
    """
    code, text = augtool.run(["print " + path], load_path=load_path)
    return {} if code else dict(augtool.printed(text))
