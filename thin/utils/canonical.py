"""Texts of values, to compare or to hash them."""


def canonical(value):
    """A text that is the same for equal values, whatever the order of the keys of their dictionaries."""
    if isinstance(value, dict):
        items = ("%s:%s" % (canonical(key), canonical(each)) for key, each in value.items())
        return "{%s}" % ",".join(sorted(items))
    if isinstance(value, (list, tuple)):
        return "[%s]" % ",".join(map(canonical, value))
    return repr(value)
