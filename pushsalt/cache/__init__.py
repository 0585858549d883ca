"""Data that the controller keeps between runs in its cache folder. All of it can be made again."""
