"""The requisites of a lowstate: their graph, and the effect of the results on each chunk.

``Graph`` links chunks; ``status`` decides from the returns of the required chunks. Its results:

=========== ===========================================================================================
unmet       a required chunk has not run: run it first
pending     a required chunk still runs in parallel
met         run
change      run; if the chunk makes no changes and a watched one did, run its ``mod_watch``, too
fail        a required chunk failed: do not run, result False
onfail      no required chunk failed: do not run, result True
onchanges   no required chunk changed: do not run, result True
pre         a chunk required by ``prereq`` would make no changes: do not run, result True
skip_req    a required chunk returned ``skip_req`` (do not react to it): do not run, result True
skip_watch  the same, and the requisite is ``watch``: run, but not ``mod_watch``
=========== ===========================================================================================

Salt: ``salt/utils/requisite.py`` and ``State._check_requisites``.
"""

#: Requisites that make a chunk wait, in the order in which they are checked.
WAITING = (
    "require",
    "require_any",
    "watch",
    "watch_any",
    "prereq",
    "onfail",
    "onfail_any",
    "onfail_all",
    "onchanges",
    "onchanges_any",
)

#: Every key of a chunk that is a requisite, in either direction.
REQUISITES = frozenset(WAITING + ("prerequired", "listen", "onfail_stop"))
REQUISITES_IN = frozenset(("onchanges_in", "onfail_in", "prereq_in", "watch_in", "require_in", "listen_in"))


def tag_of(low):
    """The key of a chunk's return: ``state_|-id_|-name_|-function``."""
    return "%s_|-%s_|-%s_|-%s" % (low["state"], low["__id__"], low["name"], low["fun"])


def listeners(chunks):
    """``((state, id or name) of the listener, (state, id or name) that it listens to)`` of these chunks, in order."""
    for low in chunks:
        for target in low.get("listen") or ():
            if not isinstance(target, dict):
                named = [other for other in chunks if target in (other["__id__"], other["name"])]
                target = {named[0]["state"]: named[0]["__id__"]} if named else {}
            for kind, name in target.items():
                yield (low["state"], low["__id__"]), (kind, name)
        for listener in low.get("listen_in") or ():
            for kind, name in (listener if isinstance(listener, dict) else {}).items():
                yield (kind, name), (low["state"], low["__id__"])


class Graph(object):
    """The requisites between the chunks of one lowstate, as Salt links them.

    ``chunks`` is {tag: chunk}. ``declared`` are their tags in the order of the SLS files, which decides what the check
    of a ``prereq`` waits for. ``groups`` are lists of tags that are aggregated, each in the order of the
    run. ``disabled`` names requisites to ignore.

    A node is a tag; ``(tag,)`` is the check of a chunk that others prereq (it runs in test mode, before them; the chunk
    is marked ``__prereq__`` for it); a number is a group, which waits for everything that its members wait for.
    """

    def __init__(self, chunks, declared=None, groups=(), disabled=()):
        self.chunks = chunks
        self._in = {}  # node -> {node before: {requisite: None}}
        self._out = {}  # node -> {node after: {requisite: None}}
        self._checks = set()
        self._lookup = {}  # (state or "id" or "sls", text) -> [tag]
        self._groups = groups
        self._group_of = {tag: number for number, tags in enumerate(groups) for tag in tags}
        declared = list(dict.fromkeys(list(declared or ()) + list(chunks)))
        for tag in declared:
            self._index(tag, chunks[tag])
        for tag in declared:
            for requisite in WAITING:
                if requisite not in disabled:
                    self._require(tag, chunks[tag], requisite)
        self._join()

    def dependencies(self, low):
        """``[(requisite, chunk)]`` that the chunk waits for, or its check while it is marked ``__prereq__``."""
        tag, dependencies = tag_of(low), []
        before = self._in.get((tag,) if low.get("__prereq__") else tag, {})
        for node in before:
            tags = self._groups[node] if isinstance(node, int) else node if isinstance(node, tuple) else (node,)
            dependencies.extend(
                (requisite, self.chunks[other]) for requisite in before[node] for other in tags if other != tag
            )
        return dependencies

    def reactions(self, tag):
        """Tags of the chunks that react to a change of this one: by ``watch`` or ``onchanges``."""
        after = self._out.get(tag, {})
        return [
            node
            for node in after
            if isinstance(node, str) and any(word.startswith(("watch", "onchanges")) for word in after[node])
        ]

    def group(self, low):
        """The chunks that are aggregated with this one, including itself; empty if it is in no group."""
        number = self._group_of.get(tag_of(low))
        return [] if number is None else [self.chunks[tag] for tag in self._groups[number]]

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
            required = self._find(kind.split(".", 1)[0], text)
            checked = bool(low.get("__prereq__"))
            for other in required:
                if requisite == "prereq":
                    self._prereq(tag, other)
                    continue
                if checked:
                    self._edge(other, (tag,), requisite)
                self._edge(other, tag, requisite)

    def _find(self, kind, text):
        if not isinstance(text, str):
            return []
        if not any(sign in text for sign in "*?[]"):
            return self._lookup.get((kind, text), [])
        import fnmatch

        result = []
        for state, name in self._lookup:
            if state == kind and isinstance(name, str) and fnmatch.fnmatch(name, text):
                result.extend(self._lookup[(state, name)])
        return result

    def _prereq(self, tag, required):
        """``tag`` waits for the check of ``required``, which itself waits for ``tag``."""
        self.chunks[tag]["__prerequiring__"] = True
        self.chunks[required]["__prereq__"] = True
        check = (required,)
        if check not in self._checks:
            self._checks.add(check)
            for before, requisites in list(self._in.get(required, {}).items()):
                for requisite in requisites:
                    if requisite != "prereq":
                        self._edge(before, check, requisite)
        self._edge(check, tag, "prereq")
        self._edge(tag, required, "require")
        if (tag,) in self._checks:
            self._edge(check, (tag,), "prereq")

    def _edge(self, before, after, requisite):
        self._in.setdefault(after, {}).setdefault(before, {})[requisite] = None
        self._out.setdefault(before, {}).setdefault(after, {})[requisite] = None

    def _join(self):
        """Make chunks that wait for a member of a group wait for the whole group."""
        joined = set()
        for tag in self.chunks:
            number = self._group_of.get(tag)
            if number is None or tag == self._groups[number][0]:
                continue
            if number not in joined:
                joined.add(number)
                self._take_over(self._groups[number][0], number)
            self._take_over(tag, number)

    def _take_over(self, tag, number):
        for before, requisites in list(self._in.get(tag, {}).items()):
            for requisite in requisites:
                self._edge(before, number, requisite)
        for after, requisites in list(self._out.get(tag, {}).items()):
            for requisite in requisites:
                self._edge(number, after, requisite)


def status(wanted, returns, checks, still_running=()):
    """``(status, {requisite: [chunk]})`` for a chunk; ``wanted`` is the result of ``Graph.dependencies``.

    ``returns`` are those of chunks that ran, ``checks`` those of prereq checks, both by tag; ``still_running`` are
    tags of chunks at work in parallel.
    """
    required, seen, pending = {}, set(), False
    for requisite, chunk in wanted:
        required.setdefault(requisite, []).append(chunk)
    for requisite in required:
        returned = checks if requisite == "prereq" else returns
        statuses = set()
        for chunk in required[requisite]:
            tag = tag_of(chunk)
            if tag not in returned:
                statuses.add("unmet")
            elif tag in still_running:
                pending = True
            else:
                statuses |= _meaning(requisite, returned[tag])
        seen |= _combined(requisite, statuses)
    return _word(seen, pending), required


def _meaning(requisite, ret):
    """The set of statuses that one return results in for this kind of requisite."""
    result = {"skip_req"} if ret.get("skip_req") else set()
    kind = requisite.split("_")[0]
    if kind == "onchanges":
        return result | {"onchanges" if ret["result"] is False or not ret["changes"] else "onchangesmet"}
    if kind == "onfail":
        if ret["result"] is True:
            return result | {"onfail"}
    elif ret["result"] is False:
        return result | {"fail"}
    if kind == "watch" and ret["changes"]:
        return result | {"change"}
    if kind == "prereq":
        return result | {"premet" if ret["result"] is None else "pre"}
    return result | {"met"} if ret.get("__state_ran__", True) else result


def _combined(requisite, statuses):
    """The joint statuses of several chunks. ``_any``: one match is enough; ``_all``: one mismatch is enough."""
    statuses = set(statuses)
    if requisite.endswith("_any") or requisite == "onfail":
        if statuses & {"met", "change", "onchangesmet"}:
            statuses.discard("fail")
        if "onchangesmet" in statuses:
            statuses.discard("onchanges")
        if "met" in statuses:
            statuses.discard("onfail")
    if requisite.endswith("_all") and "onfail" in statuses:
        statuses.discard("met")
    return statuses


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
