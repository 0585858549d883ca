"""Salt: ``salt/utils/state.py``."""

from thin.utils.state import *  # noqa: F403


def get_sls_opts(opts, **kwargs):
    """A copy of the options with the saltenvs of a call."""
    return dict(opts, **{key: kwargs[key] for key in ("saltenv", "pillarenv") if kwargs.get(key) is not None})
