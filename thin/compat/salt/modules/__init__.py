"""Our execution modules, and the users' own, by the name of their file; see thin.compat."""
