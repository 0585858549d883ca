"""The command line: converts arguments to calls of ``pushsalt.api``, returns to text, and signals to exit codes."""
