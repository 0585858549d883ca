"""Salt: ``salt/ext``."""
