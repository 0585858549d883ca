"""Sites of Apache on Debian and similar systems. Salt (until 3007): states/apache_site.py; then saltext-apache"""

from thin.utils.programs import apachestates


def __virtual__():
    return True if "apache.a2ensite" in __salt__ else (False, "apache module could not be loaded")


def enabled(name):
    """The site is enabled. changes: ``{old: None, new: name}``."""
    return apachestates.switched(__salt__, __opts__, "site", "site", name, True)


def disabled(name):
    """The site is disabled. changes: ``{old: name, new: None}``."""
    return apachestates.switched(__salt__, __opts__, "site", "site", name, False)
