"""Data that the controller stores between runs in its cache folder. All of it can be collected or computed again."""
