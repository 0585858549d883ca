"""Salt: ``salt/utils/environment.py``."""


def get_module_environment(env=None, function=None):
    """The environment from the option ``system-environment``, which pushsalt does not have: {}."""
    return {}
