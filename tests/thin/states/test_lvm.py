"""Sizes of logical volumes, as parsed by the state."""

import pytest

from thin.exceptions import ArgumentValueError
from thin.states import lvm


@pytest.mark.parametrize(
    "size, megabytes",
    [
        (10, 10),
        ("10", 10),
        ("10M", 10),
        ("10mb", 10),
        ("2G", 2048),
        ("1TB", 1048576),
        ("2048s", 1),
        ("1p", 1 << 30),
    ],
)
def test_sizes_are_megabytes(size, megabytes):
    assert lvm._megabytes(size) == megabytes


@pytest.mark.parametrize("size", ["1B", "7b", "2K", "2kb", "3BB", "M", "xyz", "1.5G"])
def test_invalid_sizes_are_errors(size):
    """Bytes are refused: ``1B`` must not become a volume of a mebibyte."""
    with pytest.raises(ArgumentValueError, match="is invalid"):
        lvm._megabytes(size)
