"""``pushsalt watch``: dry runs at intervals, which detect drift, and scheduled jobs."""
