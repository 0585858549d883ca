"""Salt's exception classes are found by name, wherever they are."""

from __future__ import annotations

import pytest

from thin import exceptions
from thin.compat.salt import exceptions as salt_exceptions
from thin.rareexceptions import named


@pytest.mark.parametrize("name", ["SaltInvocationError", "CommandExecutionError", "MinionError", "FileLockError"])
def test_an_exception_is_found_by_its_name(name: str):
    kind = named(name)
    assert kind is not None and issubclass(kind, exceptions.SaltException)
    assert kind is getattr(salt_exceptions, name) and kind.__name__ == name


@pytest.mark.parametrize("name", ["named", "KeyError", "exceptions", ""])
def test_other_names_are_no_exceptions_of_salt(name: str):
    assert named(name) is None
    assert not hasattr(salt_exceptions, name)
