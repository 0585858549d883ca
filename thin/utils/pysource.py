"""Python source, read without running it."""

import _thread

_TURN = _thread.allocate_lock()


def parse(source):
    """The ``ast`` of a source. Raises SyntaxError, ValueError.

    One thread at a time: CPython before 3.13 counts the depth of trees for all threads in one place, and threads that
    meet there get a SystemError.
    """
    import ast

    with _TURN:
        return ast.parse(source)
