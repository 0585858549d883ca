"""Names, versions and version conditions of packages, and the plan of a package state. Pure."""
