"""Keys that may log in. Salt: states/ssh_auth.py

A key is written as ``[options] type key [comment]``, or as ``key [comment]`` with the arguments ``enc``, ``options``
and ``comment``; or ``source`` is a file with keys.
"""

from thin.exceptions import CommandExecutionError
from thin.utils.formats import authkeys


def present(
    name,
    user,
    enc="ssh-rsa",
    comment="",
    source="",
    options=None,
    config=".ssh/authorized_keys",
    fingerprint_hash_type=None,
    **kwargs,
):
    """The key, or those in ``source``, may log in as the user, with these options and this comment."""
    desired = authkeys.wanted(name, enc, comment, options) if not source else (options, enc, name, comment)
    ret = _ret(name)
    try:
        authkeys.key_type(desired[1])
    except CommandExecutionError as exc:
        return _with(ret, False, str(exc))
    about = {"config": config, "fingerprint_hash_type": fingerprint_hash_type}
    if source:
        if __opts__["test"]:
            keys = __salt__["ssh.check_key_file"](user, source, saltenv=__env__, **about)
            due = ["Set to %s: %s\n" % (keys[key], key) for key in keys if keys[key] != "exists"]
            return _foreseen(ret, due, "All host keys in file %s are already present" % source)
        if __salt__["cp.cache_file"](source, __env__):
            done = __salt__["ssh.set_auth_key_from_file"](user, source, saltenv=__env__, options=options, **about)
        else:
            done = "no key"
    elif __opts__["test"]:
        status = __salt__["ssh.check_key"](user, desired[2], desired[1], desired[3], desired[0], **about)
        if status == "exists":
            return _with(ret, True, "The authorized host key %s is already present for user %s" % (desired[2], user))
        words = {"update": "updated", "add": "added"}[status]
        return _with(ret, None, "Key %s for user %s is set to be %s" % (desired[2], user, words))
    else:
        done = __salt__["ssh.set_auth_key"](
            user, desired[2], enc=desired[1], comment=desired[3], options=desired[0], **about
        )
    key = desired[2]
    good = {"replace": ("was updated", "Updated"), "new": ("was added", "New"), "no change": ("", None)}
    if done in good:
        words, change = good[done]
        ret["changes"] = {key: change} if change else {}
        if not change:
            return _with(ret, True, "The authorized host key %s is already present for user %s" % (key, user))
        return _with(ret, True, "The authorized host key %s for user %s %s" % (key, user, words))
    return _with(ret, False, _trouble(done, source))


def absent(
    name,
    user,
    enc="ssh-rsa",
    comment="",
    source="",
    options=None,
    config=".ssh/authorized_keys",
    fingerprint_hash_type=None,
):
    """The key, or those in ``source``, may not log in as the user."""
    desired = authkeys.wanted(name, enc, comment, options) if not source else (options, enc, name, comment)
    ret = _ret(name)
    about = {"config": config, "fingerprint_hash_type": fingerprint_hash_type}
    if source:
        if __opts__["test"]:
            keys = __salt__["ssh.check_key_file"](user, source, saltenv=__env__, **about)
            due = ["Set to remove: %s\n" % key for key in keys if keys[key] != "add"]
            return _foreseen(ret, due, "All host keys in file %s are already absent" % source)
        if not __salt__["cp.cache_file"](source, __env__):  # as in Salt: then there is no key to remove
            ret["warnings"] = ["Source file %s is missing: no key was taken away" % source]
            return ret
        done = __salt__["ssh.rm_auth_key_from_file"](user, source, saltenv=__env__, **about)
    elif __opts__["test"]:
        if __salt__["ssh.check_key"](user, desired[2], desired[1], desired[3], desired[0], **about) == "add":
            return _with(ret, True, "Key is already absent")
        return _with(ret, None, "Key %s for user %s is set for removal" % (desired[2], user))
    else:
        done = __salt__["ssh.rm_auth_key"](user, desired[2], **about)
    if done == "fail":
        return _with(ret, False, _trouble(done, source))
    ret["changes"] = {desired[2]: "Removed"} if done == "Key removed" else {}
    return _with(ret, True, done)


def manage(
    name,
    ssh_keys,
    user,
    enc="ssh-rsa",
    comment="",
    source="",
    options=None,
    config=".ssh/authorized_keys",
    fingerprint_hash_type=None,
    **kwargs,
):
    """These keys, and no others, may log in as the user."""
    ret = _ret(name)
    kept = {word for key in ssh_keys for word in key.split()}
    same = (enc, comment, source, options, config, fingerprint_hash_type)
    for key in __salt__["ssh.auth_keys"](user=user, config=config, fingerprint_hash_type=fingerprint_hash_type):
        if key in kept:
            continue
        if __opts__["test"]:
            _with(ret, None, "%s Key set for removal" % key)
        else:
            ret["changes"][key] = absent(key, user, *same)["comment"]
    for key in ssh_keys:
        done = present(key, user, *same)
        ret["changes"].update(done["changes"])
        if not done["changes"]:
            ret["comment"] = ("%s\n%s" % (ret["comment"], done["comment"])).strip()
        if not done["result"] and ret["result"] is not False:
            ret["result"] = done["result"]
    return ret


def _foreseen(ret, due, comment):
    if due:
        return _with(ret, None, "".join(due))
    trouble = __context__.pop("ssh_auth.error", None)
    return _with(ret, not trouble, trouble or comment)


def _trouble(done, source):
    if done == "no key":
        return "Failed to add the ssh key. Source file %s is missing" % source
    if done == "fail":
        return __context__.pop("ssh_auth.error", None) or (
            "Failed to add the ssh key. Is the home directory available, and/or does the key file exist?"
        )
    return "Invalid public ssh key, most likely has spaces or invalid syntax"


def _ret(name):
    return {"name": name, "changes": {}, "result": True, "comment": ""}


def _with(ret, result, comment):
    ret["result"] = result
    ret["comment"] = comment
    return ret
