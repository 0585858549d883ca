"""Parses ``mine_functions``, and wraps values with limited access for storage. For both sides."""

ACL_ID = "__saltmine_acl__"
ACL_DATA = "__data__"


def parse(given):
    """``(function or None, args, kwargs, allow_tgt, allow_tgt_type)`` from arguments in a list or a mapping."""
    items = given if isinstance(given, list) else [given] if isinstance(given, dict) else []
    kwargs = {}
    for item in items:
        if isinstance(item, dict):
            kwargs.update((str(key), value) for key, value in item.items())
    args = [item for item in items if not isinstance(item, dict)]
    function, whom, how = (kwargs.pop(key, None) for key in ("mine_function", "allow_tgt", "allow_tgt_type"))
    return function or None, args, kwargs, whom, how


def wrapped(value, allow_tgt=None, allow_tgt_type=None):
    """The value in Salt's storage format. Without ``allow_tgt`` it is only wrapped if it looks like that format."""
    if not allow_tgt:
        return {ACL_DATA: value, ACL_ID: 1} if isinstance(value, dict) and ACL_ID in value else value
    kept = {ACL_DATA: value, ACL_ID: 1, "allow_tgt": allow_tgt}
    if allow_tgt_type:
        kept["allow_tgt_type"] = allow_tgt_type
    return kept
