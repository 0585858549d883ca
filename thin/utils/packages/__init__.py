"""Names, versions and conditions of packages, and the plan of a package state. Pure."""
