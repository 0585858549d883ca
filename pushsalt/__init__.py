"""pushsalt: an agentless, Salt-compatible SSH push orchestrator."""

__version__ = "0.1.0"
