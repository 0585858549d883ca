"""Texts of configuration files, rules, accounts and options, as values and back. Pure."""
