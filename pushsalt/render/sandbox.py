"""The sandbox: which attributes and operations of objects templates may use.

Jinja's sandbox has a list of forbidden attributes; this one also has a list of allowed ones: attributes of plain data
and of the few classes that are made for templates. Functions, classes, modules and our other objects are closed, so
that a template cannot reach other code from a value. Names with a leading underscore are always closed.

Lists, dicts and sets may be changed, as formulas do. They belong to the template, or are copies; templates cannot
access the options that control rendering (``RenderContext.settings``).
"""

from __future__ import annotations

import sys
from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, defaultdict, deque
from types import FunctionType, MethodType
from typing import Any, Final

import jinja2.environment
import jinja2.ext
import jinja2.runtime
import jinja2.sandbox
import jinja2.utils
from jinja2.exceptions import SecurityError

#: Data types whose attributes are open, subclasses included: their methods only access the data.
_DATA: Final[tuple[type, ...]] = (
    str,
    bytes,
    bytearray,
    bool,
    int,
    float,
    complex,
    type(None),
    list,
    tuple,
    dict,
    set,
    frozenset,
    range,
    slice,
    OrderedDict,
    defaultdict,
    deque,
    Counter,
    ChainMap,
    UserDict,
    UserList,
    type({}.keys()),
    type({}.values()),
    type({}.items()),
)
#: Modules of Python's standard library whose objects are data.
_DATA_MODULES: Final = frozenset(
    {"datetime", "decimal", "fractions", "ipaddress", "uuid", "re", "time", "markupsafe", "zoneinfo"}
)
#: Jinja's own types for templates.
_JINJA: Final = (
    jinja2.runtime.LoopContext,
    jinja2.runtime.Macro,
    jinja2.runtime.BlockReference,
    jinja2.runtime.TemplateReference,
    jinja2.runtime.Undefined,
    jinja2.environment.TemplateModule,
    jinja2.utils.Namespace,
    jinja2.utils.Cycler,
    jinja2.utils.Joiner,
)
#: Classes that templates may call; of their attributes only ``fromkeys`` is open.
_CLASSES: Final = frozenset(
    {dict, OrderedDict, range, jinja2.utils.Cycler, jinja2.utils.Joiner, jinja2.utils.Namespace}
)
_OURS: Final = ("pushsalt", "thin", "jinja2", "asyncssh", "yaml", "msgpack")
#: Limit for the bits of a power's result.
MAX_POWER: Final = 1_000_000

_exposed: set[type] = set()
_open: dict[type, bool] = {}


def exposed(cls: type) -> type:
    """Decorator of classes for templates: their public attributes are open."""
    _exposed.add(cls)
    _open.clear()
    return cls


def _is_open(kind: type) -> bool:
    is_open = _open.get(kind)
    if is_open is None:
        if len(_open) > 1000:  # classes may be created dynamically
            _open.clear()
        is_open = _open[kind] = _looked_at(kind)
    return is_open


def _looked_at(kind: type) -> bool:
    """Whether the public attributes of objects of this type are open."""
    if kind in _exposed or issubclass(kind, _DATA) or issubclass(kind, _JINJA):
        return True
    top = kind.__module__.split(".")[0]
    if top in _DATA_MODULES:
        return True
    # objects of users' modules are open, since these modules passed them to templates
    return top not in _OURS and top not in sys.stdlib_module_names and top != "builtins"


class Sandbox(jinja2.sandbox.ImmutableSandboxedEnvironment):
    """See the module."""

    intercepted_binops = frozenset({"**"})

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        if attr.startswith("_") or jinja2.sandbox.is_internal_attribute(obj, attr):
            return False
        if isinstance(obj, type):
            return obj in _CLASSES and attr == "fromkeys"
        return _is_open(type(obj))

    def is_safe_callable(self, obj: Any) -> bool:
        if not super().is_safe_callable(obj):
            return False
        if isinstance(obj, type):
            return obj in _CLASSES
        if isinstance(obj, MethodType):  # methods of closed objects are never reachable
            owner = obj.__self__
            return isinstance(owner, type | jinja2.ext.Extension) or _is_open(type(owner))
        return isinstance(obj, FunctionType) or _is_open(type(obj)) or type(obj).__name__ in _BUILTIN

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if isinstance(left, int) and isinstance(right, int) and left.bit_length() * max(0, right) > MAX_POWER:
            raise SecurityError(f"a power of more than {MAX_POWER} bits")
        return super().call_binop(context, operator, left, right)

    def method(self, context: jinja2.runtime.Context, obj: Any, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """``obj.name(…)`` as written in a template; None without such an attribute."""
        if not isinstance(name, str):
            raise TypeError(f"attribute name must be string, not '{type(name).__name__}'")
        if name.startswith("_"):
            raise SecurityError(f"access to attribute {name!r} is unsafe.")
        try:
            value = getattr(obj, name)
        except AttributeError:
            return None
        if not self.is_safe_attribute(obj, name, value):
            raise SecurityError(f"access to attribute {name!r} of {type(obj).__name__!r} object is unsafe.")
        return self.call(context, self.wrap_str_format(value) or value, *args, **kwargs)


_BUILTIN: Final = frozenset({"builtin_function_or_method", "method-wrapper", "method_descriptor"})
