"""YAML with PyYAML if the target has it, else by the controller. Salt: ``salt/utils/yaml.py``."""

from thin.exceptions import SaltException
from thin.utils.files import serial

try:
    import yaml as _yaml
    from yaml import YAMLError
    from yaml.constructor import ConstructorError
    from yaml.parser import ParserError
    from yaml.scanner import ScannerError
except ImportError:
    _yaml = None

    class YAMLError(Exception):
        """The text is no valid YAML."""

    class ScannerError(YAMLError):
        pass

    class ParserError(YAMLError):
        pass

    class ConstructorError(YAMLError):
        pass


def safe_load(stream, Loader=None):
    """The value of a text or open file. Raises YAMLError for invalid YAML."""
    if _yaml is not None:
        return _yaml.safe_load(stream)
    text = stream.read() if hasattr(stream, "read") else stream
    try:
        return serial.elsewhere("deserialize", "yaml", text, {})
    except (ValueError, SaltException) as exc:
        raise YAMLError(str(exc))


load = safe_load


def safe_dump(data, stream=None, **kwargs):
    """The YAML of a value, with flow style for flat lists and mappings; written to ``stream`` if one is given."""
    kwargs.setdefault("default_flow_style", None)
    kwargs.pop("Dumper", None)
    if _yaml is not None:
        kwargs.setdefault("allow_unicode", True)
        return _yaml.safe_dump(_simple(data), stream, **kwargs)
    text = serial.elsewhere("serialize", "yaml", _simple(data), kwargs)
    if stream is None:
        return text
    stream.write(text)
    return None


dump = safe_dump


def _simple(value):
    if isinstance(value, dict):
        return {_simple(key): _simple(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_simple(item) for item in value]
    return str(value) if isinstance(value, str) else value
