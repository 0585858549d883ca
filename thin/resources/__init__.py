"""Types of resources: a package each, in Salt's layout; see thin.resourcetypes."""
