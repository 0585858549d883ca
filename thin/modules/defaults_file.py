"""The default values of a formula, for modules that run on a target. Salt: modules/defaults.py

In templates, and on the command line, the controller answers.
"""

from thin.exceptions import SaltRenderError
from thin.utils import data

__virtualname__ = "defaults"
__reads__ = ("get",)


def get(key, default=""):
    """
    Return a value of ``defaults.yaml`` or ``defaults.json`` in a formula's folder, or all of them

    key
        The formula, and after a colon the path to the value: ``core:users:root``
    default
        The value to return if there is none

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' defaults.get app:listen:port
    """
    from thin import link
    from thin.utils.files import serial

    formula, _, path = key.partition(":")
    values = None
    for kind in ("yaml", "json"):
        copy = link.file("salt://%s/defaults.%s" % (formula, kind), __opts__.get("saltenv") or "base")
        if copy:
            with open(copy, encoding="utf-8") as source:
                text = source.read()
            try:
                values = serial.elsewhere("deserialize", kind, text, {}) or {}
            except ValueError as exc:
                raise SaltRenderError("%s/defaults.%s: %s" % (formula, kind, exc))
            break
    return data.traverse_dict_and_list(values, path, default) if path else values
