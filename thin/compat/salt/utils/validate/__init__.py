"""Salt: ``salt/utils/validate/__init__.py``."""
