"""Names and values as MySQL's SQL wants them."""


def ident(name):
    """A name of an object as SQL wants it."""
    return "`%s`" % str(name).replace("`", "``")


def text(value):
    """A value as SQL wants it."""
    return "'%s'" % str(value).replace("\\", "\\\\").replace("'", "''")
