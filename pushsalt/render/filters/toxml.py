"""Data as indented XML, for the filter ``xml``. Salt: salt.utils.jinja.SerializerExtension.format_xml."""

from __future__ import annotations

from typing import Any
from xml.dom import minidom
from xml.etree.ElementTree import Element, SubElement, tostring

from jinja2.exceptions import TemplateRuntimeError


def indented(value: Any) -> str:
    """The text of a mapping, or of a list of (tag, content) pairs. Raises ValueError, TemplateRuntimeError."""
    root = _tree(_pairs(value), None)
    if root is None:
        raise ValueError("Value has no element. Cannot render as XML")
    return minidom.parseString(tostring(root)).toprettyxml(indent=" ")  # noqa: S318 - our own text


def _pairs(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.items())
    if isinstance(value, list | tuple):
        return list(value) if isinstance(value[0], str) else []
    raise TemplateRuntimeError("Value is not a dict or list. Cannot render as XML")


def _tree(pairs: Any, parent: Element | None) -> Element | None:
    element: Element | None = None
    for tag, content in pairs:
        if isinstance(content, list):
            for item in content:
                _tree(((tag, item),), parent)
            continue
        element = Element(tag) if parent is None else SubElement(parent, tag)
        if isinstance(content, str | int | bool | float):
            element.text = str(content)
            continue
        if isinstance(content, dict):
            element.attrib = {name: str(item) for name, item in content.items() if not isinstance(item, dict | list)}
        _tree([pair for pair in _pairs(content) if isinstance(pair[1], dict | list)], element)
    return element
