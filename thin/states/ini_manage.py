"""Options and sections of INI files. Salt: states/ini_manage.py"""

from thin.exceptions import CommandExecutionError

__virtualname__ = "ini"


def __virtual__():
    return __virtualname__ if "ini.set_option" in __salt__ else (False, "ini: the module ini is not available")


def options_present(name, sections=None, separator="=", strict=False, encoding=None, no_spaces=False):
    """The options of ``{section: {option: value}, option: value}`` are in the file, which is created if it is missing.

    ``strict``: nothing else is in these sections, and no other section. ``no_spaces``: none around the separator.
    changes: ``{section: {option: {"before", "after"}}}``.
    """
    ret = _ret(name)
    how = {"file_name": name, "separator": separator, "encoding": encoding}
    wanted = sections or {}
    bodies = {key: value for key, value in wanted.items() if isinstance(value, dict)}
    options = {key: value for key, value in wanted.items() if key not in bodies}
    try:
        now = __salt__["ini.get_ini"](**how)
        top = {key: value for key, value in now.items() if not isinstance(value, dict)}
        present = {key: value for key, value in now.items() if key not in top}
        if __opts__["test"]:
            return _foreseen(ret, wanted, options, bodies, top, present, strict)
        changes = dict(__salt__["ini.set_option"](sections=options, no_spaces=no_spaces, **how))
        if strict and wanted:
            for option in [key for key in top if key not in options]:
                __salt__["ini.remove_option"](section=None, option=option, **how)
                changes[option] = {"before": top[option], "after": None}
            for section in [key for key in present if key not in bodies]:
                __salt__["ini.remove_section"](section=section, **how)
                changes[section] = {"before": present[section], "after": None}
        for section, body in bodies.items():
            done = {}
            for option in [key for key in present.get(section, {}) if strict and key not in body]:
                __salt__["ini.remove_option"](section=section, option=option, **how)
                done[option] = {"before": present[section][option], "after": None}
            set_now = __salt__["ini.set_option"](sections={section: body}, no_spaces=no_spaces, **how)
            done.update(set_now.get(section, {}))
            if done:
                changes[section] = done
    except CommandExecutionError as exc:
        return _failed(ret, exc)
    if changes:
        ret.update(changes=changes, comment="Changes take effect")
    return ret


def _foreseen(ret, wanted, options, bodies, top, existing, strict):
    lines, changing = [], False

    def say(word, key, where=""):
        lines.append("%s %s%s.\n" % (word, key, where))
        return not word.startswith("Unchanged")

    for key, value in options.items():
        changing |= say("Unchanged key" if top.get(key) == str(value) else "Changed key", key)
    if strict and wanted:
        for key in top:
            changing |= key not in options and say("Removed key", key)
        for key in existing:
            changing |= key not in bodies and say("Removed section", key)
    for section, body in bodies.items():
        have = existing.get(section, {})
        where = " in section %s" % section if section else ""
        for key in have:
            changing |= strict and key not in body and say("Deleted key", key, where)
        for key, value in body.items():
            changing |= say("Unchanged key" if have.get(key) == str(value) else "Changed key", key, where)
    ret.update(comment="".join(lines), result=None if changing else True)
    return ret


def options_absent(name, sections=None, separator="=", encoding=None):
    """The options of ``{section: [options]}`` are not in the file; ``{option: anything else}`` is one before all
    sections. changes: ``{section: {option: value it had}}``."""
    ret = _ret(name)
    how = {"file_name": name, "separator": separator, "encoding": encoding}
    lines = []
    try:
        for section, options in (sections or {}).items():
            where = " in section %s" % section if section else ""
            if isinstance(options, (list, dict)):
                gone = {key: value for key, value in _each_gone(how, section, options, where, lines) if value}
                if gone:
                    ret["changes"][section] = gone
            else:
                for _, value in _each_gone(how, None, [section], "", lines):
                    if value:
                        ret["changes"][section] = value
    except CommandExecutionError as exc:
        return _failed(ret, exc)
    return _concluded(ret, lines)


def _each_gone(how, section, options, where, lines):
    for option in options:
        key = str(option)
        value = __salt__["ini.get_option"](section=section, option=key, **how)
        words = "Deleted key %s%s.\n" if value else "Key %s%s does not exist.\n"
        lines.append(words % (key, where))
        if value is not None and not __opts__["test"]:
            __salt__["ini.remove_option"](section=section, option=key, **how)
        yield key, value


def sections_present(name, sections=None, separator="=", encoding=None):
    """The sections exist; missing ones are created empty.

    changes: ``{section: {"before": None, "after": {}}}``.
    """
    ret = _ret(name)
    how = {"file_name": name, "separator": separator, "encoding": encoding}
    lines = []
    try:
        now = __salt__["ini.get_ini"](**how)
        for section in sections or ():
            new = section not in now
            lines.append(("Created new section %s.\n" if new else "Section unchanged %s.\n") % section)
            if new:
                ret["changes"][section] = {"before": None, "after": {}}
        if ret["changes"] and not __opts__["test"]:
            __salt__["ini.set_option"](sections={section: {} for section in ret["changes"]}, **how)
    except CommandExecutionError as exc:
        return _failed(ret, exc)
    return _concluded(ret, lines)


def sections_absent(name, sections=None, separator="=", encoding=None):
    """The sections are not in the file. changes: ``{section: {option: value it had}}``."""
    ret = _ret(name)
    how = {"file_name": name, "separator": separator, "encoding": encoding}
    lines = []
    try:
        now = __salt__["ini.get_ini"](**how)
        for section in sections or ():
            exists = section in now
            lines.append(("Deleted section %s.\n" if exists else "Section %s does not exist.\n") % section)
            if exists and (now[section] or __opts__["test"]):  # as in Salt, an empty section is not reported
                ret["changes"][section] = now[section]
            if exists and not __opts__["test"]:
                __salt__["ini.remove_section"](section=section, **how)
    except CommandExecutionError as exc:
        return _failed(ret, exc)
    return _concluded(ret, lines)


# Private functions


def _ret(name):
    return {"name": name, "changes": {}, "result": True, "comment": "No anomaly detected"}


def _failed(ret, exc):
    ret.update(result=False, comment=str(exc), changes={})
    return ret


def _concluded(ret, lines):
    """The return: of a run from its ``changes``, of a dry run from the lines about planned changes."""
    if __opts__["test"]:
        if ret["changes"]:
            ret["result"] = None
        ret["changes"] = {}
        ret["comment"] = "".join(lines) or "No changes detected."
    elif ret["changes"]:
        ret["comment"] = "Changes take effect"
    return ret
