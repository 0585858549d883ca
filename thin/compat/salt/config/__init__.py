"""Options. A target has no configuration files, so that all functions return the options of the session. Salt:
``salt/config/__init__.py``."""

from thin import compat


def minion_config(path=None, *args, **kwargs):
    loaders = compat.loaders()
    return dict(loaders.opts) if loaders is not None else {}


client_config = master_config = apply_minion_config = minion_config


def get_id(opts=None, cache_minion_id=False):
    return (opts or minion_config()).get("id"), False
