"""Salt: ``salt/utils/xmlutil.py``."""


def _name(tag):
    return tag.rpartition("}")[2]


def to_dict(xmltree, attr=False):
    """The children of an element as a dict; those of the same name are a list. ``attr``: include the attributes."""
    if not len(xmltree):
        if attr and xmltree.attrib:
            result = {_name(key): value for key, value in xmltree.attrib.items()}
            return dict(result, **{_name(xmltree.tag): xmltree.text})
        return {_name(xmltree.tag): xmltree.text}
    result = {_name(key): value for key, value in xmltree.attrib.items()} if attr else {}
    for item in xmltree:
        inner = to_dict(item, attr) if len(item) or (attr and item.attrib) else (item.text or "").strip() or None
        name = _name(item.tag)
        if name not in result:
            result[name] = inner
        elif isinstance(result[name], list):
            result[name].append(inner)
        else:
            result[name] = [result[name], inner]
    return result
