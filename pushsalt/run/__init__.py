"""Orchestration: one target from connect to return (single), and all of them at once (fanout)."""
