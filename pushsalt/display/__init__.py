"""Text that is fit to be shown: what data may contain, and how lines are drawn."""
