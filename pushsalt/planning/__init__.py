"""Plans: the expected effect of each state, by a dry run, with its certainty and reasons (docs/plan.md)."""
