"""The effect of a project's change on its targets: both sides are compiled offline and compared (docs/impact.md)."""
