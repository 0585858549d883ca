"""Orchestrations: SLS files whose states run on the controller, and run jobs on targets. Salt: ``state.orchestrate``."""
