"""What the controller remembers between runs, under its cache folder. All of it can be lost without loss of work."""
