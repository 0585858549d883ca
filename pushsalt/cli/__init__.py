"""The command line: words to calls of ``pushsalt.api``, returns to text, signals to exit codes."""
