"""Helpers that users' state modules call as ``__utils__["state.x"]``. Salt: ``salt.utils.state``."""

from thin import requisites


def gen_tag(low):
    """The key of a chunk's return: ``state_|-id_|-name_|-function``."""
    return requisites.tag_of(low)


def merge_subreturn(original_return, sub_return, subkey=None):
    """Merge the return of a called state into one's own return, which may be incomplete. Returns the latter.

    A failure is taken over; changes are added under ``subkey`` (by default the name); comments are appended, to text as
    lines.
    """
    if sub_return["result"] is False:
        original_return["result"] = False
    more = sub_return["comment"] if isinstance(sub_return["comment"], list) else [sub_return["comment"]]
    mine = original_return.setdefault("comment", [])
    if isinstance(mine, list):
        mine.extend(more)
    else:
        original_return["comment"] = "\n".join(([mine] if mine else []) + more)
    if sub_return["changes"]:
        original_return.setdefault("changes", {})[subkey or sub_return["name"]] = sub_return["changes"]
    return original_return
