"""Accounts, services, processes, devices and networks of this system, read and changed."""
