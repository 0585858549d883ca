"""What a change of a project changes on its targets: both sides are compiled offline and compared (docs/impact.md)."""
