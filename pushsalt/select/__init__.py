"""Which targets an expression means, by inventory and caches, and the resources behind targets."""
