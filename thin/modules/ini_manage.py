"""INI files: reads, sets and removes options and sections. Salt: modules/ini_manage.py

Functions without a section are about the options before the first section. A file is written only if this changes a
value or the blanks around a separator, which are set as in Salt.
"""

from thin.exceptions import CommandExecutionError
from thin.utils.files import inifile

__virtualname__ = "ini"
__reads__ = ("get_option", "get_section", "get_ini")
__changes__ = ("set_option", "remove_option", "remove_section")


def __virtual__():
    return __virtualname__


def set_option(file_name, sections=None, separator="=", encoding=None, no_spaces=False):
    """Set options from ``{section: {option: value}, option: value}``; a missing file is created. Returns the changes in
    the same structure, as ``{"before", "after"}``.
    """
    file = _file(file_name, separator, encoding, no_spaces)
    changes = file.change(sections or {})
    if changes or not file.as_written():
        _write(file)
    return changes


def get_option(file_name, section, option, separator="=", encoding=None):
    """The value of an option, or None."""
    options = _file(file_name, separator, encoding)
    if section:
        options = options.get(section, {})
    return options.get(option) if isinstance(options, dict) else None


def remove_option(file_name, section, option, separator="=", encoding=None):
    """Remove an option; returns its former value, or None."""
    file = _file(file_name, separator, encoding)
    options = file.get(section)
    options = options if isinstance(options, dict) else file
    if option not in options:
        return None
    value = options.pop(option)
    _write(file)
    return value


def get_section(file_name, section, separator="=", encoding=None):
    """``{option: value}`` of a section."""
    return _file(file_name, separator, encoding).plain().get(section, {})


def remove_section(file_name, section, separator="=", encoding=None):
    """Remove a section; returns its former options, or None."""
    file = _file(file_name, separator, encoding)
    if section not in file:
        return None
    gone = file.pop(section)
    _write(file)
    return gone.plain() if isinstance(gone, inifile.Section) else gone


def get_ini(file_name, separator="=", encoding=None):
    """All options and sections."""
    return _file(file_name, separator, encoding).plain()


def _file(path, separator, encoding, no_spaces=False):
    try:
        return inifile.File(path, separator, encoding, no_spaces)
    except (OSError, UnicodeError, LookupError) as exc:
        raise CommandExecutionError("Unable to open file '%s'. Exception: %s" % (path, exc))


def _write(file):
    try:
        file.write()
    except (OSError, UnicodeError) as exc:
        reason = getattr(exc, "strerror", None) or exc
        raise CommandExecutionError("Unable to write file '%s'. Exception: %s" % (file.path, reason))
