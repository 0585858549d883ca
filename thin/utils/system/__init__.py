"""Reads and changes accounts, services, processes, devices and networks of this system."""
