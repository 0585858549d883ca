"""Parsers and writers of configuration files, rules, accounts and options. Pure."""
