"""Orchestrations: states that run on the controller, and run jobs on targets. Salt: ``state.orchestrate``."""
