"""What the functions of the file state module share: returns, refusals, owners, texts."""

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
    """The return of a state that edits: ``changes`` is the diff; ``predicted`` is the comment of a dry run."""
    if not changes:
        ret["comment"] = "No changes needed to be made"
        return ret
    ret["changes"]["diff"] = changes
    ret["result"] = None if test else True
    ret["comment"] = predicted if test else "Changes were made"
    return ret


def preflight(opts, name, user=None, group=None):
    """Why a state cannot even look, or ""."""
    words = _check_user(opts, user, group)
    if not words and not os.path.isabs(name):
        words = "Specified file %s is not an absolute path" % name
    return words


def _check_user(opts, user, group):
    """Salt's words about owners that do not exist; in a dry run they may come from states before this one."""
    words = owner.missing_owners(user, group)
    if words and opts["test"]:
        log.warning("%s", words)
        detail.need("user", str(user or group), words)
        return ""
    return words


def not_editable(name):
    """Why there is nothing to edit at ``name``, or ""."""
    if not os.path.isabs(name):
        return "Specified file %s is not an absolute path" % name
    return "" if os.path.exists(name) else "%s: file not found" % name


def user_of(kwargs, user):
    """``user``, or what was given as ``owner`` by mistake."""
    if not user and "owner" in kwargs:
        log.warning("there is no argument owner; user is used")
        return kwargs["owner"]
    return user


def link_owner(opts, user, group):
    """User and group of a link or copy: the minion's user and that user's own group unless told otherwise."""
    if user is None:
        user = opts.get("user") or owner.uid_to_user(os.geteuid())
    return user, owner.primary_group(user) if group is None else group


def make_way_to(name, user=None, group=None, dir_mode=None):
    """Make the directories on the way to ``name``. Raises CommandExecutionError with the reason."""
    from thin.utils.files import atomic

    try:
        return atomic.makedirs(name, user, group, dir_mode)
    except OSError as exc:
        raise CommandExecutionError("Unable to create directory %s: %s" % (os.path.dirname(name), exc.strerror))


def texts(value, encoding=None):
    """A text, or a list of anything, as a list of texts. Raises UnicodeDecodeError for bytes that are no text."""
    if isinstance(value, bytes):
        return [value.decode(encoding or "utf-8")]
    if isinstance(value, (str, dict)) or not hasattr(value, "__iter__"):
        return [str(value)]
    return [item if isinstance(item, str) else str(item) for item in value]


def chunk_tag(low):
    """The tag of the chunk that runs, "" outside of a run."""
    return "_|-".join(str(low.get(key, "")) for key in ("state", "__id__", "name", "fun")) if low else ""


def accumulated(context, instance):
    """What file.accumulated charged in this run: ({file: {accumulator: [texts]}}, {file: {accumulator: [ids]}})."""
    return context.setdefault("file.accumulated", {}).setdefault(instance, ({}, {}))
