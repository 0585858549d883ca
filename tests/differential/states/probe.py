"""A user's state module with all hooks of Salt; the returns record their calls."""

import json


def mod_init(low):
    seen = __context__.setdefault("probe.init", [])
    seen.append(low["__id__"])
    return len(seen) > 1  # does not succeed at the first call


def mod_aggregate(low, chunks, running):
    """Merge the lists of the others into the first chunk of a group."""
    if low.get("fun") != "listed":
        return low
    items = list(low.get("items") or [])
    for chunk in chunks:
        tag = "{state}_|-{__id__}_|-{name}_|-{fun}".format(**chunk)
        if tag not in running and chunk.get("fun") == "listed" and chunk is not low and not chunk.get("__agg__"):
            chunk["__agg__"] = True
            items.extend(chunk.get("items") or [chunk["name"]])
    low["items"] = items
    return low


def mod_watch(name, sfun=None, **kwargs):
    ret = _ret(name, f"watched after {sfun}")
    ret["changes"] = {"watched": sfun, "by": sorted(kwargs.get("__reqs__") or {})}
    ret["result"] = None if __opts__["test"] else kwargs.get("watch_result", True)
    return ret


def _ret(name, comment):
    return {"name": name, "changes": {}, "result": True, "comment": comment}


def listed(name, items=None, **kwargs):
    ret = _ret(name, "listed")
    ret["changes"] = {"items": list(items or [])}
    ret["result"] = None if __opts__["test"] else True
    return ret


def echo(name, value=None, **kwargs):
    """Return the arguments that the function received."""
    return _ret(name, json.dumps([value, kwargs.get("more")], sort_keys=True, default=str))


def inited(name, **kwargs):
    return _ret(name, "mod_init for {}".format(", ".join(__context__.get("probe.init", []))))


def said(name, result=True, changes=None, test_changes=True, **kwargs):
    """Return the requested data, including unusual keys (skip_watch, skip_req, sub_state_run)."""
    ret = _ret(name, "said")
    ret["changes"] = dict(changes or {})
    ret["result"] = result
    if __opts__["test"]:
        ret["result"] = None if changes else True
        if not test_changes:
            ret["changes"], ret["result"] = {}, True
    ret.update((key, kwargs[key]) for key in ("skip_watch", "skip_req", "sub_state_run", "comment") if key in kwargs)
    return ret


def raises(name, **kwargs):
    raise ValueError("as asked for")


def malformed(name, **kwargs):
    return {"name": name, "changes": [], "result": True, "comment": ""}


def counted(name, until=2, **kwargs):
    """Succeed at the call of this number."""
    calls = __context__[f"probe.{name}"] = __context__.get(f"probe.{name}", 0) + 1
    ret = _ret(name, f"call {calls}")
    ret["result"] = calls >= until
    return ret


def dunders(name, **kwargs):
    """The globals of a state module during a call."""
    ret = _ret(name, "")
    low = dict(__low__)
    ret["comment"] = f"{__env__} {sorted(low)} {low['__id__']} {len(__running__)} {len(__lowstate__)}"
    return ret
