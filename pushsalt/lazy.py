"""``cached_property`` without a lock, and functions that test for and drop computed values.

Before Python 3.12, that of ``functools`` holds a lock of the class while a value is computed: a thread that waits for
an answer would block all other threads, for all objects. Here two threads may compute the same value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from functools import cached_property
else:

    class cached_property:
        """As ``functools.cached_property``, without a lock."""

        def __init__(self, func: Any) -> None:
            self.func = func
            self.__doc__ = func.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self.name = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            value = instance.__dict__[self.name] = self.func(instance)
            return value


def is_made(owner: object, name: str) -> bool:
    """Whether the value of a cached property (of this class or of ``functools``) has been computed."""
    return name in vars(owner)


def forget(owner: object, *names: str) -> None:
    """Drop the values of cached properties: they are computed again when they are next read."""
    for name in names:
        vars(owner).pop(name, None)


__all__ = ["cached_property", "forget", "is_made"]
