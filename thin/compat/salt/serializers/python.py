"""Salt: ``salt/serializers/python.py``."""

import pprint

__all__ = ["available", "serialize"]
available = True


def serialize(obj, **options):
    return pprint.pformat(obj, **options)
