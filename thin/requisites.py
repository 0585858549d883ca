"""What a chunk waits for: the graph of a lowstate's requisites, and what their results mean for it.

``Graph`` links chunks; ``status`` decides from the returns of the required chunks. The words it answers with:

=========== ===========================================================================================
unmet       a required chunk has not run: run it first
pending     a required chunk still runs in parallel
met         run
change      run; without changes of its own and with a watched one changed, run its ``mod_watch`` too
fail        a required chunk failed: do not run, result False
onfail      no required chunk failed: do not run, result True
onchanges   no required chunk changed: do not run, result True
pre         nothing is going to change: do not run, result True
skip_req    a required chunk asked (``skip_req``) that nobody reacts to it: do not run, result True
skip_watch  the same, and the requisite is ``watch``: run, but not ``mod_watch``
=========== ===========================================================================================

Salt: ``salt/utils/requisite.py`` and ``State._check_requisites``.
"""

#: Requisites that make a chunk wait, in the order in which they are looked at.
WAITING = ("require", "require_any", "watch", "watch_any", "prereq", "onfail", "onfail_any", "onfail_all",
           "onchanges", "onchanges_any")

#: Every key of a chunk that is a requisite, in either direction.
REQUISITES = frozenset(WAITING + ("prerequired", "listen", "onfail_stop"))
REQUISITES_IN = frozenset(("onchanges_in", "onfail_in", "prereq_in", "watch_in", "require_in", "listen_in"))

AGGREGATE_LIMIT = 500


def tag_of(low):
    """The key of a chunk's return: ``state_|-id_|-name_|-function``."""
    return "%s_|-%s_|-%s_|-%s" % (low["state"], low["__id__"], low["name"], low["fun"])


class Graph(object):
    """The requisites between the chunks of one lowstate. ``chunks`` is {tag: chunk}, in the order of the run.

    The check of a ``prereq`` (its target run in test mode, before) is a node of its own: the required chunk is marked
    ``__prereq__``, and what it waits for itself is what the check waits for. ``disabled`` names requisites to ignore.
    """

    def __init__(self, chunks, disabled=()):
        self.chunks = chunks
        self._in = {}  # node -> {(node before, requisite): None}, in order
        self._out = {}  # node -> {node after: None}
        self._lookup = {}  # (state or "id" or "sls", text) -> [tag]
        self._groups = {}  # tag -> [tags that may be aggregated with it]
        for tag in chunks:
            self._index(tag, chunks[tag])
        for tag in chunks:
            for requisite in WAITING:
                if requisite not in disabled:
                    self._require(tag, chunks[tag], requisite)
        self._checks()

    def dependencies(self, low):
        """``[(requisite, chunk)]`` that the chunk waits for; those of its check while it is marked ``__prereq__``."""
        tag = tag_of(low)
        node = (tag,) if low.get("__prereq__") else tag
        found = {}
        for before, requisite in self._in.get(node, ()):
            if isinstance(before, tuple):
                found[(requisite, before[0])] = None
                continue
            for one in [before] + [other for other in self._groups.get(before, ()) if other != before]:
                found[(requisite, one)] = None
        return [(requisite, self.chunks[one]) for requisite, one in found if one != tag]

    def group(self, low):
        """The chunks which may be aggregated with this one (itself among them), or nothing."""
        return [self.chunks[tag] for tag in self._groups.get(tag_of(low), ())]

    def aggregate(self, allowed):
        """Form groups of chunks of one state module, none waiting for another; ``allowed(chunk)`` may be in one."""
        groups = {}  # state -> [[tag]]
        for tag in self.chunks:
            low = self.chunks[tag]
            if not allowed(low):
                continue
            for group in groups.setdefault(low["state"], []):
                if len(group) < AGGREGATE_LIMIT and not self._reaches(group, tag):
                    group.append(tag)
                    for member in group:
                        self._groups[member] = group
                    break
            else:
                groups[low["state"]].append([tag])

    # how it is built

    def _index(self, tag, low):
        keys = [(low["state"], low["name"]), (low["state"], low["__id__"]), ("id", low["__id__"]), ("id", low["name"])]
        keys += [("sls", sls) for sls in [low.get("__sls__")] + list(low.get("__sls_included_from__") or ()) if sls]
        for key in keys:
            tags = self._lookup.setdefault(key, [])
            if tag not in tags:
                tags.append(tag)

    def _require(self, tag, low, requisite):
        for reference in low.get(requisite) or ():
            if isinstance(reference, str):
                reference = {"id": reference}
            if not isinstance(reference, dict) or not reference:
                continue
            kind, text = next(iter(reference.items()))
            for other in self._find(kind.split(".", 1)[0], text):
                if requisite == "prereq":
                    self.chunks[tag]["__prerequiring__"] = True
                    self.chunks[other]["__prereq__"] = True
                    self._edge((other,), tag, "prereq")
                    self._edge(tag, other, "require")
                else:
                    self._edge(other, tag, requisite)

    def _find(self, kind, text):
        if not isinstance(text, str):
            return []
        if not any(sign in text for sign in "*?[]"):
            return self._lookup.get((kind, text), [])
        import fnmatch

        found = {}
        for known, name in self._lookup:
            if known == kind and isinstance(name, str) and fnmatch.fnmatch(name, text):
                found.update((tag, None) for tag in self._lookup[(known, name)])
        return list(found)

    def _checks(self):
        """Give every check what its chunk waits for, but for the chunks that wait for the check."""
        for check in [node for node in self._out if isinstance(node, tuple)]:
            for before, requisite in list(self._in.get(check[0], ())):
                if requisite != "require" or (check, "prereq") not in self._in.get(before, ()):
                    self._edge(before, check, requisite)

    def _edge(self, before, after, requisite):
        self._in.setdefault(after, {})[(before, requisite)] = None
        self._out.setdefault(before, {})[after] = None

    def _reaches(self, group, tag):
        """Whether ``tag`` waits, through any number of others, for one of the group."""
        seen, todo = set(), list(group)
        while todo:
            node = todo.pop()
            for after in self._out.get(node, ()):
                if after == tag:
                    return True
                members = self._groups.get(after, (after,))
                todo.extend(member for member in members if member not in seen)
                seen.update(members)
        return False


def status(wanted, returns, checks, still_running=()):
    """``(word, {requisite: [chunk]})`` for a chunk, from ``wanted`` as ``Graph.dependencies`` gives it.

    ``returns`` are those of chunks that ran, ``checks`` those of prereq checks, both by tag; ``still_running`` are
    tags of chunks at work in parallel.
    """
    required, seen, pending = {}, set(), False
    for requisite, chunk in wanted:
        required.setdefault(requisite, []).append(chunk)
    for requisite in required:
        known = checks if requisite == "prereq" else returns
        here = set()
        for chunk in required[requisite]:
            tag = tag_of(chunk)
            if tag not in known:
                here.add("unmet")
            elif tag in still_running:
                pending = True
            else:
                here |= _meaning(requisite, known[tag])
        seen |= _combined(requisite, here)
    return _word(seen, pending), required


def _meaning(requisite, ret):
    """What one return means to this kind of requisite."""
    found = {"skip_req"} if ret.get("skip_req") else set()
    kind = requisite.split("_")[0]
    if kind == "onchanges":
        return found | {"onchanges" if ret["result"] is False or not ret["changes"] else "onchangesmet"}
    if kind == "onfail":
        if ret["result"] is True:
            return found | {"onfail"}
    elif ret["result"] is False:
        return found | {"fail"}
    if kind == "watch" and ret["changes"]:
        return found | {"change"}
    if kind == "prereq":
        return found | {"premet" if ret["result"] is None else "pre"}
    return found | {"met"} if ret.get("__state_ran__", True) else found


def _combined(requisite, here):
    """``_any``: one is enough; ``_all``: one against it is enough."""
    here = set(here)
    if requisite.endswith("_any") or requisite == "onfail":
        if here & {"met", "change", "onchangesmet"}:
            here.discard("fail")
        if "onchangesmet" in here:
            here.discard("onchanges")
        if "met" in here:
            here.discard("onfail")
    if requisite.endswith("_all") and "onfail" in here:
        here.discard("met")
    return here


def _word(seen, pending):
    if "unmet" in seen:
        return "unmet"
    if pending:
        return "pending"
    if "fail" in seen:
        return "fail"
    if "skip_req" in seen and seen & {"onchangesmet", "premet"}:
        return "skip_req"
    if "skip_req" in seen and "change" in seen:
        return "skip_watch"
    if "pre" in seen:
        return "met" if "premet" in seen else "pre"
    if "onfail" in seen and "onchangesmet" not in seen:
        return "onfail"
    if "onchanges" in seen and "onchangesmet" not in seen:
        return "onchanges"
    if "change" in seen:
        return "change"
    return "onfail" if "onfail" in seen else "met"
