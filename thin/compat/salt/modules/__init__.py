"""Our execution modules and the users' own, with the names of their files; see thin.compat."""
