"""Configuration files of Apache, written from data. Salt: states/apache.py"""

import os

from thin.exceptions import SaltException
from thin.utils.files import atomic, owner, safepath


def __virtual__():
    return True if "apache.config" in __salt__ else (False, "apache module could not be loaded")


def configfile(name, config):
    """The file has this configuration. changes: ``{old, new}``, its texts.

    ``config``: a list of ``{directive: text}``, ``{directive: [text]}`` and ``{section: {this: its argument, …}}``.
    """
    ret = {"name": name, "changes": {}, "result": True, "comment": ""}
    try:
        new = __salt__["apache.config"](name, config, edit=False)
        old = ""
        if os.path.exists(name):
            with open(name, "rb") as handle:
                old = handle.read().decode("utf-8", "replace")
        if new.strip() == old.strip():
            return dict(ret, comment="Configuration is up to date.")
        changes = {"old": old, "new": new}
        if __opts__["test"]:
            return dict(ret, result=None, changes=changes, comment="Configuration will update.")
        mode = None if os.path.exists(name) else owner.mode_bits(owner.default_mode())
        atomic.write(safepath.real(name), (new + "\n").encode("utf-8"), mode=mode)
    except (OSError, SaltException) as exc:
        return dict(ret, result=False, comment="Failed to create apache configuration. %s" % exc)
    return dict(ret, changes=changes, comment="Successfully created configuration.")
