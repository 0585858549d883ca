"""Data as text, for modules and templates. Salt: modules/out.py

Returns are formatted by the outputters of the controller. This file has simple formats: nested, json, yaml, txt, pprint
and raw.
"""

from thin.exceptions import CommandExecutionError
from thin.log import getLogger
from thin.utils import yamlout
from thin.utils.files import serial

__reads__ = ("out_format", "string_format", "html_format")

log = getLogger(__name__)


def out_format(data, out="nested", opts=None, **kwargs):
    """
    Return data as text

    data
        The data
    out
        nested, json, yaml, txt, pprint or raw; any other is taken for nested
    opts
        Options: ``output_indent`` for json
    kwargs
        Ignored

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' out.out_format '{"port": 8080}' out=json
    """
    opts = opts or __opts__
    if out == "json":
        indent = opts.get("output_indent", 4)
        more = {"sort_keys": True} if indent == "pretty" else {}
        return serial.dumps(data, indent=None if indent in (None, "None") else 4 if more else int(indent), **more)
    if out == "yaml":
        return _elsewhere("yaml", data, {"default_flow_style": False}, yamlout.dump)
    if out == "pprint":
        return _elsewhere("python", data, {}, repr)
    if out == "txt":
        return "\n".join("%s: %s" % (key, data[key]) for key in data) if isinstance(data, dict) else str(data)
    if out == "raw":
        return repr(data)
    if out != "nested":
        log.error("there is no outputter %s; nested is used", out)
    return "\n".join(_nested(data, 0))


def string_format(data, out="nested", opts=None, **kwargs):
    """
    Return data as text without colours, as ``out.out_format``

    data, out, opts, kwargs
        As there

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' out.string_format '{"port": 8080}' out=yaml
    """
    return out_format(data, out, opts, **kwargs)


def html_format(data, out="nested", opts=None, **kwargs):
    """
    Return data as text for HTML, as ``out.out_format``

    data, out, opts, kwargs
        As there

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' out.html_format '{"port": 8080}' out=yaml
    """
    return out_format(data, out, opts, **kwargs).replace("\n", "<br />").replace(" ", "&nbsp;")


def _elsewhere(kind, data, options, otherwise):
    """The controller's output; without a controller, a similar one."""
    try:
        return serial.elsewhere("serialize", kind, data, options).rstrip("\n")
    except CommandExecutionError:
        return otherwise(data).rstrip("\n")


def _nested(data, indent):
    """Mappings as keys with a colon, four blanks of indentation for each level; items of a list with a hyphen."""
    blank = " " * indent
    if isinstance(data, dict):
        rule = ["%s----------" % blank] if indent else []
        for key, value in sorted(data.items(), key=lambda item: str(item[0])):
            rule.append("%s%s:" % (blank, key))
            rule += _nested(value, indent + 4)
        return rule
    if isinstance(data, (list, tuple, set)):
        rows = []
        for item in data:
            below = _nested(item, indent + 2)
            if isinstance(item, (dict, list, tuple)):
                rows += ["%s|_" % blank] + below
            else:
                rows += ["%s- %s" % (blank, "".join(below[:1]).strip())] + below[1:]
        return rows
    if isinstance(data, str):
        return [blank + line for line in data.splitlines()]
    return ["%s%s" % (blank, data)]
