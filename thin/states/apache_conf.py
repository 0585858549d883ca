"""Configurations of Apache on Debian and its kin. Salt (until 3007): states/apache_conf.py; then saltext-apache"""

from thin.utils.programs import apachestates


def __virtual__():
    return True if "apache.a2enconf" in __salt__ else (False, "apache module could not be loaded")


def enabled(name):
    """The configuration is enabled. changes: ``{old: None, new: name}``."""
    return apachestates.switched(__salt__, __opts__, "conf", "conf", name, True)


def disabled(name):
    """The configuration is disabled. changes: ``{old: name, new: None}``."""
    return apachestates.switched(__salt__, __opts__, "conf", "conf", name, False)
