"""Text for output: escapes data, and draws lines."""
