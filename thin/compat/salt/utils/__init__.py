"""Salt: ``salt/utils/__init__.py``, where the helpers were before they had modules of their own."""
