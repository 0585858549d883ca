"""Entries of known_hosts. Salt: states/ssh_known_hosts.py"""

import os

from thin.exceptions import CommandExecutionError, CommandNotFoundError


def present(
    name,
    user=None,
    fingerprint=None,
    key=None,
    port=None,
    enc=None,
    config=None,
    hash_known_hosts=True,
    timeout=5,
    fingerprint_hash_type=None,
):
    """known_hosts has this key of the host, or its current keys, one of which has this fingerprint.

    changes: ``{old, new}``, lists of ``{hostname, key, enc, fingerprint}``; ``old`` is None for a host not known yet.
    """
    ret = {"name": name, "changes": {}, "result": True, "comment": ""}
    config = _config(user, config)
    if not user and not os.path.isabs(config):
        return _with(ret, False, 'If not specifying a "user", specify an absolute "config".')
    about = {
        "key": key,
        "fingerprint": fingerprint,
        "config": config,
        "port": port,
        "fingerprint_hash_type": fingerprint_hash_type,
    }
    if key and not enc:
        return _with(ret, False, 'Required argument "enc" if using "key" argument.')
    try:
        if __opts__["test"]:
            return _foreseen(ret, user, about, hash_known_hosts)
        done = __salt__["ssh.set_known_host"](
            user=user, hostname=name, enc=enc, hash_known_hosts=hash_known_hosts, timeout=timeout, **about
        )
    except (CommandExecutionError, CommandNotFoundError) as exc:
        return _with(ret, False, str(exc))
    if done["status"] == "exists":
        return _with(ret, True, "%s already exists in %s" % (name, config))
    if done["status"] == "error":
        return _with(ret, False, done["error"])
    ret["changes"] = {"old": done["old"], "new": done["new"]}
    first = done["new"][0]
    if key:
        words = "%s's key saved to %s (key: %s)" % (name, config, first["key"])
    elif fingerprint:
        words = "%s's key saved to %s (fingerprint: %s)" % (name, config, first["fingerprint"])
    elif enc:
        words = "%s's %s key saved to %s (key: %s)" % (name, enc, config, first["key"])
    else:
        words = "%s's key(s) saved to %s" % (name, config)
    return _with(ret, True, words)


def absent(name, user=None, config=None):
    """known_hosts has no key of the host. changes: ``{old: removed keys, new: None}``."""
    ret = {"name": name, "changes": {}, "result": True, "comment": ""}
    config = _config(user, config)
    if not user and not os.path.isabs(config):
        return _with(ret, False, 'If not specifying a "user", specify an absolute "config".')
    try:
        old = __salt__["ssh.get_known_host_entries"](user=user, hostname=name, config=config)
        if isinstance(old, dict) and not __opts__["test"]:  # as in Salt, in a dry run: the same run may create the user
            return _with(ret, False, old["error"])
        if not old:
            return _with(ret, True, "Host is already absent")
        if __opts__["test"]:
            return _with(ret, None, "Key for %s is set to be removed from %s" % (name, config))
        done = __salt__["ssh.rm_known_host"](user=user, hostname=name, config=config)
    except (CommandExecutionError, CommandNotFoundError) as exc:
        return _with(ret, False, str(exc))
    if done["status"] == "error":
        return _with(ret, False, done["error"])
    ret["changes"] = {"old": old, "new": None}
    return _with(ret, True, done["comment"])


def _foreseen(ret, user, about, hashed):
    name, config = ret["name"], about["config"]
    if about["key"] and about["fingerprint"]:
        return _with(ret, False, 'Specify either "key" or "fingerprint", not both.')
    if about["port"] not in (None, 22) and hashed:
        return _with(ret, False, "argument port can not be used in conjunction with argument hash_known_hosts")
    due = __salt__["ssh.check_known_host"](user, name, **about)
    if isinstance(due, dict):
        return _with(ret, False, due["error"])
    if due == "exists":
        return _with(ret, True, "Host %s is already in %s" % (name, config))
    words = {"add": "added to", "update": "updated in"}[due]
    return _with(ret, None, "Key for %s is set to be %s %s" % (name, words, config))


def _config(user, config):
    return config or (".ssh/known_hosts" if user else "/etc/ssh/ssh_known_hosts")


def _with(ret, result, comment):
    ret["result"] = result
    ret["comment"] = comment
    return ret
