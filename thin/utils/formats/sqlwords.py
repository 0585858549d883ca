"""Quotes names and values for MySQL's SQL."""


def ident(name):
    """A quoted identifier."""
    return "`%s`" % str(name).replace("`", "``")


def text(value):
    """A quoted string."""
    return "'%s'" % str(value).replace("\\", "\\\\").replace("'", "''")
