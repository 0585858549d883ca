"""Serialization for file.serialize. The controller does it for formats that the standard library cannot write."""

from thin import link
from thin.exceptions import CommandExecutionError
from thin.utils.files import serial


def flat(options):
    """One dict from a list of one-item dicts, as SLS files write options."""
    if isinstance(options, dict):
        return dict(options)
    return {key: value for item in options or () for key, value in (item.items() if isinstance(item, dict) else ())}


def dumps(kind, dataset, options, encoding=None):
    """The text (bytes for a plist) of a dataset. Raises CommandExecutionError with the reason."""
    try:
        if kind == "json":
            defaults = {"indent": 2, "separators": (",", ": "), "sort_keys": True, "ensure_ascii": False}
            return serial.dumps(dataset, **dict(defaults, **options))
        if kind == "python":
            try:
                import pprint
            except ImportError:
                return serial.elsewhere("serialize", kind, dataset, options)
            return pprint.pformat(dataset, **options)
        if kind == "plist":
            try:
                import plistlib
            except ImportError:
                return serial.elsewhere("serialize", kind, dataset, options)
            return plistlib.dumps(dataset, **options)
        if kind == "configparser":
            return _ini(dataset, options)
    except (TypeError, ValueError) as exc:
        raise CommandExecutionError("The dataset cannot be serialized as %s: %s" % (kind, exc))
    if kind == "yaml":
        options = dict({"default_flow_style": False}, **dict({"allow_unicode": True} if encoding else {}, **options))
    return _ask("serialize", kind, dataset, options)


def loads(kind, path, options):
    """The data in a file. Raises CommandExecutionError with the reason."""
    from thin.utils.files import edit

    raw = edit.read(path)
    try:
        if kind == "plist":
            try:
                import plistlib
            except ImportError:
                return serial.elsewhere("deserialize", kind, raw, options)
            return plistlib.loads(raw, **options)
        text = raw.decode("utf-8")
        if kind == "json":
            return serial.loads(text, **options)
        if kind == "python":
            import ast

            return ast.literal_eval(text)
        if kind == "configparser":
            parser = _parser(options)
            parser.read_string(text)
            return {section: dict(parser.items(section)) for section in parser.sections()}
    except CommandExecutionError:
        raise
    except Exception as exc:  # each format has its own exception
        raise CommandExecutionError("Failed to deserialize existing data: %s" % exc)
    return _ask("deserialize", kind, text, options)


def _parser(options):
    import configparser

    keep = options.pop("preserve_case", False)
    parser = configparser.RawConfigParser(**options)
    if keep:
        parser.optionxform = str
    return parser


def _ini(dataset, options):
    import io

    if not isinstance(dataset, dict):
        raise TypeError("Config option dictionaries expected, not %s" % type(dataset).__name__)
    parser = _parser(options)
    parser.read_dict(dataset)
    target = io.StringIO()
    parser.write(target)
    return target.getvalue()


def _ask(what, kind, data, options):
    try:
        return link.ask("slsutil." + what, [kind, data], options)
    except Exception as exc:  # LinkError, or an error that has the name of the controller's
        if "deserialize" == what:
            raise CommandExecutionError("Failed to deserialize existing data: %s" % exc)
        raise CommandExecutionError(
            "The %s serializer could not be found. It either does not exist or its prerequisites are not installed. "
            "(%s)" % (kind, exc)
        )


def merged(old, new):
    """``new`` merged over ``old``: dicts recursively, other values and lists are replaced."""
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return new
    out = dict(old)
    for key, value in new.items():
        out[key] = merged(old[key], value) if key in old else value
    return out


def difference(old, new):
    """``{key: {"old", "new"}}`` of the differences, nested for dicts, in the shape of Salt's recursive diff."""
    differences = {}
    for key in list(old) + [key for key in new if key not in old]:
        before, after = old.get(key, "<_null_>"), new.get(key, "<_null_>")
        if isinstance(before, dict) and isinstance(after, dict):
            inner = difference(before, after)
            if inner:
                differences[key] = inner
        elif before != after:
            differences[key] = {"old": before, "new": after}
    return differences
