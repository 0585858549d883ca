"""Salt: ``salt.ext.six.moves.urllib``."""
