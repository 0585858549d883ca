"""Salt: ``salt/utils/environment.py``."""


def get_module_environment(env=None, function=None):
    """The environment that the option ``system-environment`` has; there is none here."""
    return {}
