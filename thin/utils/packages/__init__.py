"""Names, versions and conditions of packages, and what a package state has to do. Pure."""
