"""Extended attributes of files on macOS. Salt: states/mac_xattr.py

.. code-block:: yaml

    /Users/ada/notes.txt:
      xattr.exists:
        - attributes:
            - org.example.reviewed=yes
            - org.example.mark=0x1F 8B
"""

import os

__virtualname__ = "xattr"


def __virtual__():
    if __grains__.get("os") in ("MacOS", "Darwin"):
        return __virtualname__
    return False, "Only supported on Mac OS"


def exists(name, attributes):
    """The file has these attributes. changes: ``{attribute: value}``.

    name
        The file
    attributes
        A list of ``attribute=value``; a value that begins with 0x is in hexadecimal digits
    """
    ret = {"name": name, "result": True, "changes": {}, "comment": ""}
    if not os.path.exists(name):
        return dict(ret, result=False, comment="File or directory doesn't exist")
    existing, failed = __salt__["xattr.list"](name), []
    for attribute in attributes:
        key, _, value = attribute.partition("=")
        hexadecimal = value.startswith("0x")
        now = existing.get(key)
        if hexadecimal:
            value = value[2:].replace(" ", "")
            now = "".join(__salt__["xattr.read"](name, key, hex=True).split()) if key in existing else None
        if now == value:
            continue
        ret["changes"][key] = value
        if not __opts__["test"]:
            done = __salt__["xattr.write"](name, key, value, hex=hexadecimal)
            if not done and not hexadecimal:  # digits are returned in groups
                failed.append(key)
    if failed:
        return dict(ret, result=False, comment="These attributes could not be set: %s" % ", ".join(failed))
    return _done(ret, "All values existed correctly.", "would be set")


def delete(name, attributes):
    """The file has none of these attributes. changes: ``{attribute: delete}``.

    name
        The file
    attributes
        A list of attributes
    """
    ret = {"name": name, "result": True, "changes": {}, "comment": ""}
    if not os.path.exists(name):
        return dict(ret, result=False, comment="File or directory doesn't exist")
    existing = __salt__["xattr.list"](name)
    for attribute in attributes:
        if attribute in existing:
            ret["changes"][attribute] = "delete"
            if not __opts__["test"]:
                __salt__["xattr.delete"](name, attribute)
    return _done(ret, "All attributes were already deleted.", "would be deleted")


def _done(ret, right, words):
    if not ret["changes"]:
        return dict(ret, comment=right)
    if __opts__["test"]:
        return dict(ret, result=None, comment="These attributes %s: %s" % (words, ", ".join(sorted(ret["changes"]))))
    return ret
