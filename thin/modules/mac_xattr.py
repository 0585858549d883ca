"""Extended attributes of files on macOS, by xattr. Salt: modules/mac_xattr.py"""

from thin.exceptions import CommandExecutionError, SaltInvocationError

__virtualname__ = "xattr"
__func_alias__ = {"list_": "list"}
__reads__ = ("list", "read")
__changes__ = ("write", "delete", "clear")


def __virtual__():
    if __grains__.get("os") in ("MacOS", "Darwin"):
        return __virtualname__
    return False, "Only available on Mac OS systems"


def list_(path, **kwargs):
    """
    Return ``{attribute: value}`` of a file

    path
        The file
    hex
        Values as hexadecimal digits

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' xattr.list /Users/ada/Downloads/app.dmg hex=True
    """
    names = _run([path]).splitlines()
    return {name: read(path, name, hex=_hex(kwargs)) for name in names if name}


def read(path, attribute, **kwargs):
    """
    Return an attribute of a file

    path
        The file
    attribute
        The attribute
    hex
        As hexadecimal digits

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' xattr.read /Users/ada/Downloads/app.dmg com.apple.quarantine
    """
    return _run(["-p"] + (["-x"] if _hex(kwargs) else []) + [attribute, path], attribute)


def write(path, attribute, value, **kwargs):
    """
    Set an attribute of a file; returns whether it then has this value

    path
        The file
    attribute
        The attribute
    value
        Its value
    hex
        The value is in hexadecimal digits

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' xattr.write /Users/ada/notes.txt org.example.reviewed yes
    """
    hexadecimal = _hex(kwargs)
    _run(["-w"] + (["-x"] if hexadecimal else []) + [attribute, str(value), path])
    return read(path, attribute, hex=hexadecimal) == str(value)


def delete(path, attribute):
    """
    Remove an attribute of a file; returns whether it was removed

    path
        The file
    attribute
        The attribute

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' xattr.delete /Users/ada/Downloads/app.dmg com.apple.quarantine
    """
    _run(["-d", attribute, path], attribute)
    return attribute not in list_(path)


def clear(path):
    """
    Remove all attributes of a file; returns whether they were removed

    path
        The file

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' xattr.clear /Users/ada/notes.txt
    """
    _run(["-c", path])
    return list_(path) == {}


def _hex(kwargs):
    unknown = sorted(key for key in kwargs if key != "hex" and not key.startswith("__"))
    if unknown:
        raise SaltInvocationError("The following keyword arguments are not valid: %s" % ", ".join(unknown))
    return bool(kwargs.get("hex"))


def _run(words, attribute=None):
    done = __salt__["cmd.run_all"](["xattr"] + words, python_shell=False, ignore_retcode=True)
    if done["retcode"] == 0:
        return done["stdout"]
    if "No such file" in done["stderr"]:
        raise CommandExecutionError("File not found: %s" % words[-1])
    if "No such xattr" in done["stderr"] and attribute:
        raise CommandExecutionError("Attribute not found: %s" % attribute)
    raise CommandExecutionError("Unknown Error: %s" % (done["stderr"] or done["stdout"]))
