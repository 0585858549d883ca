"""Types of resources, one package each, in Salt's layout; see thin.resourcetypes."""
