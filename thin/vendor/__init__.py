"""Third-party code that travels to targets, each package with its licence and a VENDORED note."""
