"""Helpers shared by the functions of the file state module: returns, error texts, owners."""

import os

from thin import detail
from thin.exceptions import CommandExecutionError
from thin.log import getLogger
from thin.utils.files import owner

log = getLogger(__name__)


def state_return(name, comment="", result=True):
    return {"name": name, "changes": {}, "result": result, "comment": comment}


def failed(ret, comment):
    ret["result"] = False
    ret["comment"] = comment
    return ret


def edited(ret, changes, predicted, test):
    """Fill the return of a state that edits. ``changes``: the diff; ``predicted``: the comment of a dry run."""
    if not changes:
        ret["comment"] = "No changes needed to be made"
        return ret
    ret["changes"]["diff"] = changes
    ret["result"] = None if test else True
    ret["comment"] = predicted if test else "Changes were made"
    return ret


def preflight(opts, name, user=None, group=None):
    """The error text if the state's user, group or path is invalid, or ""."""
    words = _check_user(opts, user, group)
    if not words and not os.path.isabs(name):
        words = "Specified file %s is not an absolute path" % name
    return words


def _check_user(opts, user, group):
    """Salt's text about users and groups that do not exist. In a dry run "" and a warning: an earlier state may create
    them."""
    words = owner.missing_owners(user, group)
    if words and opts["test"]:
        log.warning("%s", words)
        detail.need("user", str(user or group), words)
        return ""
    return words


def not_editable(name):
    """The error text if the file ``name`` does not exist or is no absolute path, or ""."""
    if not os.path.isabs(name):
        return "Specified file %s is not an absolute path" % name
    return "" if os.path.exists(name) else "%s: file not found" % name


def user_of(kwargs, user):
    """``user``, or the value of the unknown argument ``owner``."""
    if not user and "owner" in kwargs:
        log.warning("there is no argument owner: its value is used as user")
        return kwargs["owner"]
    return user


def link_owner(opts, user, group):
    """(user, group) of a link or copy; by default the minion's user and the primary group of ``user``."""
    if user is None:
        user = opts.get("user") or owner.uid_to_user(os.geteuid())
    return user, owner.primary_group(user) if group is None else group


def make_way_to(name, user=None, group=None, dir_mode=None):
    """Create the missing directories above ``name``. Raises CommandExecutionError with the reason."""
    from thin.utils.files import atomic

    try:
        return atomic.makedirs(name, user, group, dir_mode)
    except OSError as exc:
        raise CommandExecutionError("Unable to create directory %s: %s" % (os.path.dirname(name), exc.strerror))


def texts(value, encoding=None):
    """A list of strings from a string, bytes, or a list of any values. Raises UnicodeDecodeError for undecodable
    bytes."""
    if isinstance(value, bytes):
        return [value.decode(encoding or "utf-8")]
    if isinstance(value, (str, dict)) or not hasattr(value, "__iter__"):
        return [str(value)]
    return [item if isinstance(item, str) else str(item) for item in value]


def chunk_tag(low):
    """The tag of a chunk; "" for an empty chunk."""
    return "_|-".join(str(low.get(key, "")) for key in ("state", "__id__", "name", "fun")) if low else ""


def accumulated(context, instance):
    """The values of file.accumulated in this run: ({file: {accumulator: [text]}}, {file: {accumulator: [state
    id]}})."""
    return context.setdefault("file.accumulated", {}).setdefault(instance, ({}, {}))
