"""Names of selected keys: all different, and each identifies its key."""

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pushsalt.inventory import Inventory
from pushsalt.model import Target
from pushsalt.targeting import Fleet, NoManagedResources, key_of, names

INVENTORY = Inventory({"web1": Target("web1"), "x:m1": Target("x:m1"), "here": Target("here", transport="local")})


@pytest.mark.parametrize(
    "keys, want",
    [
        ("", ""),
        ("web1 here", "web1 here"),
        ("web1 machine:m1", "web1 m1"),
        ("machine:web1", "web1"),
        ("web1 machine:web1", "ssh:web1 machine:web1"),
        ("here machine:here x:here machine:m2", "local:here machine:here x:here m2"),
        ("machine:m1 x:m2", "m1 m2"),
        ("x:m1 y:m1", "x:m1 m1"),
        ("machine:a:b x:a:b", "machine:a:b x:a:b"),
        ("machine:ssh:web1", "machine:ssh:web1"),
        ("machine:local:web1", "local:web1"),
        ("x:m2 y:m2 z:x:m2", "x:m2 y:m2 z:x:m2"),
    ],
)
def test_names(keys, want):
    found = names(keys.split(), INVENTORY)
    assert found == want.split()
    assert [key_of(name) or name for name in found] == keys.split()


def test_a_copy_of_a_name_has_its_key():
    [name] = names(["machine:web1"], INVENTORY)
    for copied in (copy.copy(name), copy.deepcopy({name: 1}).popitem()[0], pickle.loads(pickle.dumps(name))):
        assert (copied, key_of(copied)) == ("web1", "machine:web1")


parts = st.lists(st.sampled_from(["web1", "m1", "ssh", "local", "x", "here"]), min_size=1, max_size=3).map(":".join)


@given(st.lists(st.one_of(st.sampled_from(INVENTORY.ids), st.tuples(st.sampled_from("xy"), parts).map(":".join))))
def test_no_two_names_are_alike(keys):
    keys = list(dict.fromkeys(keys))
    found = names(keys, INVENTORY)
    assert len(set(found)) == len(found)
    assert [key_of(name) or name for name in found] == keys


class ManagedResources(NoManagedResources):
    """Resources that all belong to ``web1``."""

    def __init__(self, keys):
        self._all = dict.fromkeys(keys, "web1")

    def there(self):
        return bool(self._all)

    def called(self, id):
        return [key for key in self._all if key.partition(":")[2] == id]

    def manager(self, key):
        return self._all.get(key)


@given(st.lists(st.tuples(st.sampled_from("xy"), parts).map(":".join), unique=True))
def test_a_name_that_is_typed_means_no_other_inventory_id(keys):
    """For any ids of resources: the name that is printed for an inventory id, used in a command, is that id."""
    managed = ManagedResources(key for key in keys if key not in INVENTORY.targets)
    everything = [*INVENTORY.ids, *managed._all]
    fleet = Fleet(INVENTORY, managed=managed)
    for name, key in zip(names(everything, INVENTORY), everything, strict=True):
        meant = set(fleet.exactly(str(name)))
        assert meant == {key} if key in INVENTORY.targets else not meant & INVENTORY.targets.keys()
