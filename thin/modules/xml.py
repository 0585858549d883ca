"""Values and attributes in XML files. Salt: modules/xml.py

Elements are named as ElementTree's XPath does: ``.//element[@id='3']``.
"""

from thin.exceptions import CommandExecutionError
from thin.log import getLogger

__reads__ = ("get_value", "get_attribute")
__changes__ = ("set_value", "set_attribute")

log = getLogger(__name__)


def get_value(file, element):
    """
    Return an element's text, False if there is no such element

    file
        The path
    element
        The element

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' xml.get_value /etc/app/app.xml ".//listen/port"
    """
    _, node = _find(file, element)
    return False if node is None else node.text


def set_value(file, element, value):
    """
    Set an element's text; returns whether there is such an element

    file
        The path
    element
        The element
    value
        The text

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' xml.set_value /etc/app/app.xml ".//listen/port" 8443
    """
    tree, node = _find(file, element)
    if node is None:
        return False
    node.text = str(value)
    tree.write(file)
    return True


def get_attribute(file, element):
    """
    Return an element's attributes as a dict; False if there is no such element

    file
        The path
    element
        The element

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' xml.get_attribute /etc/app/app.xml ".//user[@name='ada']"
    """
    _, node = _find(file, element)
    return False if node is None else dict(node.attrib)


def set_attribute(file, element, key, value):
    """
    Set an attribute of an element; returns whether there is such an element

    file
        The path
    element
        The element
    key
        The attribute
    value
        Its value

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' xml.set_attribute /etc/app/app.xml ".//user[@name='ada']" role admin
    """
    tree, node = _find(file, element)
    if node is None:
        return False
    node.set(key, str(value))
    tree.write(file)
    return True


def _find(path, element):
    try:
        import xml.etree.ElementTree as parser
    except ImportError:
        raise CommandExecutionError("the target's Python cannot read XML: install its whole standard library")
    try:
        tree = parser.parse(path)  # noqa: S314  (a file of the target, read on the target)
        node = tree.find(element)
    except (OSError, parser.ParseError, SyntaxError) as exc:
        raise CommandExecutionError("%s cannot be read: %s" % (path, exc))
    if node is None:
        log.error("no element matches %s", element)
    return tree, node
