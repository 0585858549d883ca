"""Maps and data files of the file roots, rendered for this target, for modules that run on targets. Salt:
modules/jinja.py

The controller renders them. It also answers the calls of templates and of the command line.
"""

from thin.exceptions import SaltRenderError

__reads__ = ("load_map", "import_yaml", "import_json")


def load_map(path, value):
    """
    Return one value of a map file

    path
        The file, such as apache/map.jinja
    value
        The name of a variable that it sets

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' jinja.load_map apache/map.jinja apache
    """
    return _rendered("from", path, "import %s with context" % value, value)


def import_yaml(path):
    """
    Return the data of a YAML file of the file roots, rendered first

    path
        The file

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' jinja.import_yaml defaults.yaml
    """
    return _rendered("import_yaml", path, "as imported", "imported")


def import_json(path):
    """
    Return the data of a JSON file of the file roots, rendered first

    path
        The file

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' jinja.import_json defaults.json
    """
    return _rendered("import_json", path, "as imported", "imported")


def _rendered(word, path, rest, value):
    from thin import link
    from thin.utils.files import serial

    text = "{%% %s %s %s %%}{{ %s | tojson }}" % (word, serial.dumps(str(path)), rest, value)
    try:
        made = link.template(None, __opts__.get("saltenv") or "base", "jinja", text=text)
    except link.LinkError as exc:
        raise SaltRenderError(str(exc))
    return serial.loads(made.decode("utf-8"))
