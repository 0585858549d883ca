"""Runs a lowstate: each chunk when its requisites allow it, with Salt's rules, returns and comments.

``Engine(loaders, …).run(chunks)`` returns ``{tag: return}``, and calls ``on_start(tag)`` and ``on_done(tag, return)``.
The chunks are in the order of the run, as ``state.show_low_sls`` shows them. ``thin.call_state`` runs one chunk;
``thin.requisites`` decides what it waits for. Salt: ``State.call_chunks``, ``call_chunk``, ``call_listen``.
"""

import time

from thin.call_state import Caller
from thin.log import getLogger
from thin.requisites import REQUISITES, Graph, listeners, status, tag_of
from thin.returns import clock, failed, not_run

log = getLogger(__name__)

NOT_RUN = {
    "skip_req": "State was not run because requisites were skipped by another state",
    "pre": "No changes detected",
    "onfail": "State was not run because onfail req did not change",
    "onchanges": "State was not run because none of the onchanges reqs changed",
}

#: Maximum depth of required chunks; beyond it a chunk requires itself.
DEPTH_LIMIT = 20


STOPPED = "State was not run because the run was stopped"


def dunders_in(message):
    """The globals for all states in the message ``run``: ``__orchestration_jid__`` in an orchestration, as in Salt."""
    jid = message.get("orchestration_jid")
    return {"__orchestration_jid__": jid} if jid else {}


def named(chunks, message):
    """``declared``, ``groups`` and ``only`` of a message ``run`` with tags in place of the chunks' numbers."""

    def tags(numbers):
        return None if numbers is None else [tag_of(chunks[number]) for number in numbers]

    return (
        tags(message.get("declared")),
        [tags(group) for group in message.get("groups") or ()],
        tags(message.get("only")),
    )


class Failhard(Exception):
    """A chunk with ``failhard`` failed: the run ends."""


class Stopped(BaseException):
    """The run has to end before its next state. A BaseException, so that no state catches it as an error."""


class Engine(object):
    """One run. ``loaders`` are those of the target (thin.loader.Loaders); ``collect_grains()`` collects grains again.

    ``on_start(tag)``, ``on_done(tag, return)`` and ``on_event(fire_event, return)`` are called when these happen.
    ``jobs`` runs chunks in parallel (thin.parallel.Jobs); None: ``parallel`` is ignored. ``mock``: nothing is called.
    ``reactions`` records reactions that an interrupted run would lose (thin.due.Reactions). ``stopping()`` is called
    before each state: if it is true, that state and those after it are not run. ``detail``: collect notes for a plan
    (thin.detail) in ``details``, by tag. ``keeper`` keeps files that ``file`` states change (thin.utils.files.keeping).
    ``looks``: what the states of a plan file were seen to do (thin.planned). ``dunders``: more globals of the states'
    modules, by name.
    """

    def __init__(
        self,
        loaders,
        on_start=None,
        on_done=None,
        collect_grains=None,
        jobs=None,
        mock=False,
        on_event=None,
        reactions=None,
        stopping=None,
        detail=False,
        keeper=None,
        looks=None,
        dunders=None,
    ):
        self.loaders = loaders
        self.opts = loaders.opts
        self.running = {}  # tag -> return
        self.checks = {}  # tag -> return of its prereq check
        self.graph = None
        self.chunks = []
        self._jobs = jobs
        self._on_start = on_start or (lambda tag: None)
        self._on_done = on_done or (lambda tag, ret: None)
        self._on_event = on_event or (lambda name, ret: None)
        self._reported = set()
        self._initialised = set()
        self._detail = detail
        self.details = {}  # tag -> notes of thin.detail
        self.keeper = keeper
        self.dunders = dunders or {}
        self._looks = looks
        self._caller = Caller(loaders, self, collect_grains, mock)
        self._reactions = reactions
        self._stopping = stopping or (lambda: False)

    @property
    def test(self):
        return bool(self.opts.get("test"))

    def run(self, chunks, declared=None, groups=(), only=None, done=None):
        """Run all chunks, then the listeners. Returns ``{tag: return}``.

        ``declared``: the tags in the order of the SLS files, which in a few cases decides which chunk waits for which;
        ``groups``: lists of tags of chunks that ``mod_aggregate`` may join; ``only``: tags of the wanted chunks, others
        run only if these require them; ``done``: returns of an earlier run that this one continues.
        """
        unique = {}
        for chunk in chunks:
            unique.setdefault(tag_of(chunk), dict(chunk))
        for low in unique.values():
            low.pop("__prereq__", None)
            low.pop("__prerequiring__", None)
            self._watch_or_require(low)
        ignored = self.opts.get("disabled_requisites") or []
        self.graph = Graph(unique, declared, groups, [ignored] if isinstance(ignored, str) else ignored)
        if self._reactions is not None:
            self._reactions.begin(self)
        self.chunks = [unique[tag_of(chunk)] for chunk in chunks]
        if done:
            self._take_over(done)
        disabled = self._disabled()
        wanted, stopped = [low for low in self.chunks if only is None or tag_of(low) in only], False
        try:
            self._run_all(wanted)
            if only is None:  # in a lowstate, the position of a chunk that others prereq is that of its check
                self._run_all([low for low in unique.values() if tag_of(low) not in self.running])
        except Failhard:
            pass
        except Stopped:
            stopped = True
        stopped = stopped or self._has_drifted()
        self._wait_for_jobs()  # chunks may listen to their changes, too
        if only is None and not stopped:
            try:
                self._listen()
            except Stopped:
                pass
            self._wait_for_jobs()
        if stopped:
            self._report_stopped(wanted)
        for tag in disabled:
            self.running.setdefault(tag, disabled[tag])
        if self._reactions is not None:
            self._reactions.end()
        return self.running

    def _take_over(self, done):
        """Report the returns of the earlier run that remain valid; their states are not run again."""
        from thin.resumed import standing

        for tag, ret in standing(self.graph, self.chunks, done).items():
            self.running[tag] = dict(ret, __run_num__=self._caller.number())
            self.checks[tag] = dict(ret, changes={})
            self._reported.add(tag)
            self._on_done(tag, self.running[tag])

    def _report_stopped(self, wanted):
        """Report the returns of the states that are not run after a stop. Their due reactions stay due."""
        comment = STOPPED
        if self._has_drifted():
            from thin.planned import AFTER as comment
        for low in wanted:
            tag = tag_of(low)
            if tag not in self.running:
                self.running[tag] = not_run(low, False, comment, self._caller.number())
                self._on_done(tag, self.running[tag])

    # the order of the run

    def _watch_or_require(self, low):
        """Convert ``watch`` to ``require`` for a state module without ``mod_watch``."""
        for watch, require in (("watch", "require"), ("watch_any", "require_any")):
            if watch in low and "%s.mod_watch" % low["state"] not in self.loaders.states:
                low[require] = list(low.get(require) or []) + list(low.pop(watch))

    def _run_all(self, order):
        pending = {}
        for low in order:
            self._retry_pending(pending)
            if tag_of(low) not in self.running and tag_of(low) not in pending:
                if self._chunk(low):
                    pending[tag_of(low)] = low
                self._check_failhard(low)
        while pending:
            self._jobs.step()
            self._retry_pending(pending)
        self._wait_for_jobs()

    def _retry_pending(self, pending):
        self._collect_jobs()
        for tag in list(pending):
            if not self._chunk(pending[tag]):
                low = pending.pop(tag)
                self._check_failhard(low)

    def _check_failhard(self, low):
        ret = self.running.get(tag_of(low))
        if ret is not None and not self.test and low.get("failhard", self.opts.get("failhard", False)):
            if ret["result"] is not None and not ret["result"]:
                raise Failhard()

    # one chunk

    def _chunk(self, low, depth=0):
        """Run the chunk if its requisites allow it. Returns True if it has to wait for a parallel state."""
        tag = tag_of(low)
        if self._stopping() or self._has_drifted():
            raise Stopped()
        try:
            low = self._aggregated(low)
            self._initialise(low)
        except (Exception, SystemExit) as exc:  # a hook of a user's own module: it fails this state, not the run
            self._record(low, tag, dict(not_run(low, False, "", self._caller.number()), **failed(low, exc)))
            self._report(low, tag)
            return False
        wanted = self.graph.dependencies(low)
        if not low.get("parallel"):
            self._wait_for_jobs([tag_of(chunk) for _, chunk in wanted])
        returns = self.running if self._reactions is None else self._reactions.returns(low, wanted)
        word, required = status(wanted, returns, self.checks, self._at_work())
        if word == "unmet":
            if self._run_required(low, tag, wanted, required, depth):
                return True
        elif word == "pending":
            return True
        elif word == "fail":
            self._required_failed(low, tag, required)
        elif word in NOT_RUN:
            self._record(low, tag, not_run(low, True, NOT_RUN[word], self._caller.number()))
        elif low.get("__prereq__"):
            self.checks[tag] = self._call(low)
        elif word == "skip_watch":
            ret = self._call(low)
            ret["comment"] += " mod_watch was not run because requisites were skipped by another state"
            self.running[tag] = ret
        elif word == "change":
            self.running[tag] = self._call_and_watch(low, required)
        else:
            self.running[tag] = self._call(low)
        self._report(low, tag)
        return False

    def _call(self, low):
        if not low.get("__prereq__"):
            self._on_start(tag_of(low))
        if not self._detail:
            return self._caller.call(low) if self._looks is None else self._looks.call(low, self._caller)
        from thin import detail

        detail.begin()
        try:
            ret = self._caller.call(low)
        finally:
            notes = self.details[tag_of(low)] = detail.end()
        if self._looks is not None:
            self._looks.note(low, ret, notes)
        return ret

    def _has_drifted(self):
        """Whether a state of a plan file would do something else now than what was planned."""
        return self._looks is not None and self._looks.drifted

    def _call_and_watch(self, low, required):
        ret = self._call(low)
        if ret["changes"] or ret.get("skip_watch"):
            return ret
        return self._caller.call(dict(low, sfun=low["fun"], fun="mod_watch", __reqs__=required))

    def _run_required(self, low, tag, wanted, required, depth):
        """Run the required chunks, then the chunk. Returns True if a parallel state is still running."""
        for requisite, chunk in wanted:
            other = tag_of(chunk)
            if other not in self.running and not (requisite == "prereq" and other in self.checks):
                if self._chunk(chunk):
                    return True
                self._check_failhard(chunk)
        if low.get("__prereq__"):
            self._check_after_required(low, tag)
        elif depth >= DEPTH_LIMIT:
            log.error("Recursive requisite found")
            self._record(low, tag, not_run(low, False, "Recursive requisite found", self._caller.number()))
        elif self._chunk(low, depth + 1):
            return True
        self._check_failhard(low)
        return False

    def _check_after_required(self, low, tag):
        """Run the check of a prereq after the requisites of that check have run."""
        word, _ = status(self.graph.dependencies(low), self.running, self.checks)
        if word == "pre":
            self.checks[tag] = not_run(low, True, NOT_RUN["pre"], self._caller.number())
            return
        ret = self.checks[tag] = self._caller.call(low)
        if not ret["changes"] and word == "change":
            ret["changes"], ret["result"] = {"watch": "watch"}, None

    def _required_failed(self, low, tag, required):
        if tag in self.checks:
            # The check reported what would change; since its prereq failed, nothing was changed.
            ret = self.checks[tag]
            ret.update(
                changes={},
                __run_num__=self._caller.number(),
                name=low.get("name"),
                __sls__=low.get("__sls__"),
                __id__=low.get("__id__"),
            )
            ret.setdefault("start_time", clock(time.time()))
            ret.setdefault("duration", 0.0)
            self.running[tag] = ret
            return
        failed = {}
        for chunks in required.values():
            for chunk in chunks:
                other = tag_of(chunk)
                ret = self.checks.get(other, self.running.get(other))
                if ret is not None and ret["result"] is False:
                    failed["%s.%s" % (chunk.get("__sls__"), chunk["__id__"])] = None
        comment = "One or more requisite failed: %s" % ", ".join(failed)
        self._record(low, tag, not_run(low, False, comment, self._caller.number()))

    def _record(self, low, tag, ret):
        self.running[tag] = ret
        if low.get("__prereq__"):
            self.checks[tag] = ret

    def _report(self, low, tag):
        """Report a return when it is final, and record the states that ran inside of it."""
        ret = self.running.get(tag)
        if ret is None or tag in self._reported or tag in self._at_work():
            return
        self._reported.add(tag)
        if self._reactions is not None:
            self._reactions.reported(low, ret)
        inner = ret.pop("sub_state_run", None) or ()
        self._on_done(tag, ret)
        if low.get("fire_event"):
            self._on_event(low["fire_event"], ret)
        for part in inner:
            sub_tag = tag_of(part["low"])
            sub = {
                "name": low.get("name"),
                "changes": part["changes"],
                "result": part["result"],
                "duration": part.get("duration", 0.0),
                "start_time": part.get("start_time", clock(time.time())),
                "comment": part.get("comment", ""),
                "__state_ran__": True,
                "__run_num__": self._caller.inner_number(),
                "__sls__": low.get("__sls__"),
                "__id__": low.get("__id__"),
            }
            self.running[sub_tag] = sub
            self._reported.add(sub_tag)
            self._on_done(sub_tag, sub)

    # hooks of state modules

    def _aggregated(self, low):
        group = None if low.get("__agg__") else self.graph.group(low)
        if not group or "%s.mod_aggregate" % low["state"] not in self.loaders.states:
            return low
        low["__agg__"] = True
        try:
            return self.loaders.states["%s.mod_aggregate" % low["state"]](low, group, self.running)
        except TypeError:
            log.error("mod_aggregate of the state %s raised an exception", low["state"])
            return low

    def _initialise(self, low):
        """Call the module's ``mod_init`` until it returns that it is done."""
        name = "%s.mod_init" % low["state"]
        if low["state"] in self._initialised or "%s.%s" % (low["state"], low["fun"]) not in self.loaders.states:
            return
        if name not in self.loaders.states or self.loaders.states[name](low):
            self._initialised.add(low["state"])

    # listen

    def _listen(self):
        """Run ``mod_watch`` of every chunk that listens to one that changed."""
        by_key = {(low["state"], low["__id__"], low["name"]): low for low in self.chunks}
        watchers, errors = {}, {}
        for (state, name), target in self.listeners():
            sources = [low for key, low in by_key.items() if target[0] == key[0] and target[1] in key]
            if not sources:
                self._unknown_listen(errors, *target)
            changed = any(self.running.get(tag_of(low), {}).get("changes") for low in sources)
            if not changed and self._reactions is None:
                continue
            result = [low for key, low in by_key.items() if state == key[0] and name in key]
            if not changed:
                result = [low for low in result if self._reactions.listens(low, sources)]
            elif not result:
                self._unknown_listen(errors, state, name)
            for chunk in result:
                low = {key: chunk[key] for key in chunk if key not in REQUISITES}
                low.update(sfun=chunk["fun"], fun="mod_watch", __id__="listener_%s" % chunk["__id__"])
                watchers.setdefault(tag_of(low), low)
        if watchers:
            self.chunks = list(watchers.values())
            try:
                self._run_all(self.chunks)
            except Failhard:
                pass
        for tag in errors:
            errors[tag]["__run_num__"] = self._caller.number()
            self.running[tag] = errors[tag]
            self._on_done(tag, errors[tag])

    def listeners(self):
        """``((state, id or name) of the listener, (state, id or name) that it listens to)``, in order."""
        return listeners(self.chunks)

    def _unknown_listen(self, errors, state, name):
        tag = "Listen_Error_|-listen_%s_|-listen_%s_|-Listen_Error" % (name, state)
        errors[tag] = {
            "comment": "Referenced state %s: %s does not exist" % (state, name),
            "name": "listen_%s:%s" % (state, name),
            "result": False,
            "changes": {},
            "__id__": "listen_%s" % name,
            "__sls__": None,
            "duration": 0.0,
            "start_time": clock(time.time()),
        }

    # states that are switched off

    def _disabled(self):
        """Returns of the chunks that the grain ``state_runs_disabled`` (globs) forbids; they are not run.

        The grain is read only if grains were set by ``state.disable``, which are in the options then.
        """
        patterns = self.opts.get("state_runs_disabled") or ()
        if not patterns:
            return {}
        import fnmatch

        result = {}
        for low in self.chunks:
            name = "%s.%s" % (low["state"], low["fun"])
            for pattern in patterns:
                if fnmatch.fnmatch(name, pattern):
                    result[tag_of(low)] = not_run(
                        low,
                        False,
                        (
                            'The state function "%s" is currently disabled by "%s", to re-enable, run state.enable %s.'
                            % (name, pattern, pattern)
                        ),
                        self._caller.number(),
                    )
                    break
        self.running.update(result)
        for tag in result:
            self._on_done(tag, result[tag])
        return result

    # parallel chunks

    def start_parallel(self, low, function):
        """Run ``function()`` in a parallel process; returns a preliminary return, or None if this is not possible."""
        return self._jobs.start(tag_of(low), low, function) if self._jobs is not None else None

    def _at_work(self):
        return self._jobs.tags() if self._jobs is not None else ()

    def _collect_jobs(self):
        for low, ret in self._jobs.finished() if self._jobs is not None else ():
            tag = tag_of(low)
            if tag in self.running:
                self.running[tag].update(ret)
                self._report(low, tag)

    def _wait_for_jobs(self, tags=None):
        """Wait until these (all) parallel chunks are done."""
        self._collect_jobs()
        while self._jobs is not None and any(tags is None or tag in tags for tag in self._at_work()):
            self._jobs.step()
            self._collect_jobs()
