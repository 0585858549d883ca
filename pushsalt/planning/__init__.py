"""Plans: what a dry run says of each state, how sure that is, and why (docs/plan.md)."""
