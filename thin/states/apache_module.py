"""Modules of Apache on Debian and its kin, and SUSE. Salt (until 3007): states/apache_module.py; then saltext-apache"""

from thin.utils.programs import apachestates


def __virtual__():
    return True if "apache.a2enmod" in __salt__ else (False, "apache module could not be loaded")


def enabled(name):
    """The module is enabled. changes: ``{old: None, new: name}``."""
    return apachestates.switched(__salt__, __opts__, "mod", "module", name, True)


def disabled(name):
    """The module is disabled. changes: ``{old: name, new: None}``."""
    return apachestates.switched(__salt__, __opts__, "mod", "module", name, False)
