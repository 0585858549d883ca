"""Salt: ``salt/utils/xmlutil.py``."""


def _name(tag):
    return tag.rpartition("}")[2]


def to_dict(xmltree, attr=False):
    """The children of an element as a dict; those of the same name are a list. ``attr``: include the attributes."""
    if not len(xmltree):
        if attr and xmltree.attrib:
            found = {_name(key): value for key, value in xmltree.attrib.items()}
            return dict(found, **{_name(xmltree.tag): xmltree.text})
        return {_name(xmltree.tag): xmltree.text}
    found = {_name(key): value for key, value in xmltree.attrib.items()} if attr else {}
    for item in xmltree:
        inner = to_dict(item, attr) if len(item) or (attr and item.attrib) else (item.text or "").strip() or None
        name = _name(item.tag)
        if name not in found:
            found[name] = inner
        elif isinstance(found[name], list):
            found[name].append(inner)
        else:
            found[name] = [found[name], inner]
    return found
