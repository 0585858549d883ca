"""Dry runs at intervals that look for drift, and jobs at times: ``pushsalt watch``."""
