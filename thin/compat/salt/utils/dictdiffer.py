"""Salt: ``salt/utils/dictdiffer.py``."""

from thin.utils.data import recursive_diff  # noqa: F401


class DictDiffer(object):
    """The differences between the keys of two dicts, as sets."""

    def __init__(self, current_dict, past_dict):
        self.current_dict, self.past_dict = current_dict, past_dict

    def added(self):
        return set(self.current_dict) - set(self.past_dict)

    def removed(self):
        return set(self.past_dict) - set(self.current_dict)

    def changed(self):
        return self._both(False)

    def unchanged(self):
        return self._both(True)

    def _both(self, equal):
        past = self.past_dict
        return {key for key in self.current_dict if key in past and (self.current_dict[key] == past[key]) is equal}


def deep_diff(old, new, ignore=None):
    """``{"old": …, "new": …}`` with the differences, recursively; empty if there are none."""
    if old == new:
        return {}
    before, after = {}, {}
    for key in list(old) + [key for key in new if key not in old]:
        if key in (ignore or ()) or (key in old and key in new and old[key] == new[key]):
            continue
        if isinstance(old.get(key), dict) and isinstance(new.get(key), dict):
            inner = deep_diff(old[key], new[key], ignore)
            before.update({key: inner["old"]} if inner.get("old") else {})
            after.update({key: inner["new"]} if inner.get("new") else {})
            continue
        if key in old:
            before[key] = old[key]
        if key in new:
            after[key] = new[key]
    ret = {"old": before} if before else {}
    return dict(ret, new=after) if after else ret
