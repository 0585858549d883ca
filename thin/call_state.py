"""Calls one state: converts its chunk to a call, and the call's result to a return. Salt: ``State.call``."""

import time

from thin import detail, guards, slots, waiting
from thin.log import getLogger
from thin.requisites import REQUISITES, REQUISITES_IN, tag_of
from thin.returns import clock, failed, masked, unified
from thin.utils import args as signatures

log = getLogger(__name__)

#: Keys of a chunk that are for the engine, not arguments of the state.
INTERNAL = (
    REQUISITES
    | REQUISITES_IN
    | frozenset(
        (
            "fun",
            "state",
            "check_cmd",
            "cmd_opts_exclude",
            "failhard",
            "onlyif",
            "unless",
            "creates",
            "retry",
            "order",
            "parallel",
            "reload_modules",
            "reload_grains",
            "reload_pillar",
            "runas",
            "runas_password",
            "no_log",
            "fire_event",
            "saltenv",
            "umask",
            "use",
            "use_in",
            "provider",
            "__env__",
            "__sls__",
            "__id__",
            "__sls_included_from__",
            "__orchestration_jid__",
            "__pub_user",
            "__pub_arg",
            "__pub_jid",
            "__pub_fun",
            "__pub_tgt",
            "__pub_ret",
            "__pub_pid",
            "__pub_tgt_type",
            "__prereq__",
            "__prerequiring__",
            "__umask__",
            slots.REFUSED,
        )
    )
)

#: Keys of a chunk that are passed only to functions with ``**kwargs``.
FOR_SOME = INTERNAL | frozenset(("aggregate", "__agg__"))

RETRY = {"until": (bool, True), "attempts": (int, 2), "interval": (int, 30), "splay": (int, 0)}


class Caller(object):
    """Calls states for an engine, and numbers them in the order in which they are called (``__run_num__``)."""

    def __init__(self, loaders, engine, collect_grains=None, mock=False):
        self.loaders = loaders
        self.opts = loaders.opts
        self.states = loaders.states
        self.functions = loaders.modules
        self.context = loaders.context
        self._engine = engine
        self._collect_grains = collect_grains
        self._mock = mock
        self._run_num = -1

    def number(self):
        """The next run number, from 0."""
        self._run_num += 1
        return self._run_num

    def inner_number(self):
        """The run number of a state that ran inside of another one.

        As in Salt, one number is skipped, and the next state has the same number as the inner one.
        """
        self._run_num += 1
        return self._run_num + 1

    def call(self, low, attempt=1):
        """The return of a chunk, always in the correct shape. With ``retry`` the state may be called several times."""
        began, start = time.time(), time.perf_counter()
        log.info("the state %s starts at %s", low.get("name"), clock(began))
        errors = self._verify(low)
        check, comment, whole = bool(low.get("__prereq__")), None, True
        if errors:
            ret = {
                "result": False,
                "name": low.get("name"),
                "changes": {},
                "comment": "".join("%s\n" % error for error in errors),
            }
            if not check:  # as in Salt, such a return has only the run number in addition
                ret["__run_num__"] = self.number()
                _log_return(ret)
                return ret
        else:
            given = self._guarded(low)
            comment = given.get("comment") if isinstance(given, dict) else None
            ret = unified(given)
            whole = ret is given
        if check:
            low["__prereq__"] = False
            return ret
        ret["__sls__"] = low.get("__sls__")
        ret["__run_num__"] = self.number()
        if low.get("no_log") and whole:  # otherwise the comment was written by the engine
            ret.update((key, masked(ret[key])) for key in ("name", "comment", "changes"))
            comment = masked(comment)
            if isinstance(comment, list):  # the lines of the comment
                ret["comment"] = "\n".join(str(line) for line in comment)
        _log_return(ret)
        self._refresh(low, ret)
        ret["start_time"] = clock(began)
        ret["duration"] = round((time.perf_counter() - start) * 1000, 3)
        ret["__id__"] = low.get("__id__")
        if "retry" not in low or "parallel" in low:
            return ret
        if whole:
            return self._retried(
                low, ret, ret["result"], comment if isinstance(comment, list) else ret["comment"], attempt
            )
        # Salt checks the shape last: the result of the state itself decides, and an error replaces a forecast
        if self.opts.get("test") or not isinstance(given, dict):
            return ret
        return self._retried(low, ret, given.get("result"), comment, attempt)

    # before the call

    def _verify(self, low):
        """The reason why the chunk cannot be called, or None."""
        errors = ['Missing "%s" data' % key for key in ("state", "fun", "name") if key not in low]
        if low.get("name") and not isinstance(low["name"], str):
            errors.append(
                "ID '%s' in SLS '%s' is not formed as a string, but is a %s"
                % (low["name"], low.get("__sls__"), type(low["name"]).__name__)
            )
        if "umask" in low:
            umask = low.pop("umask")
            try:
                low["__umask__"] = int(str(umask), 8)
            except ValueError:
                errors.append("Invalid umask: %s" % umask)
        if errors:
            return errors
        full = "%s.%s" % (low["state"], low["fun"])
        if full not in self.states:
            if "__sls__" not in low:
                return ["Specified state '%s' was not found" % full]
            return [
                "State '%s' was not found in SLS '%s'" % (full, low["__sls__"]),
                "Reason: %s" % self.states.missing(full),
            ]
        shape = signatures.spec(self.states[full])
        return [
            "Missing parameter %s for state %s" % (name, full)
            for name in shape.args[: len(shape.args) - len(shape.defaults)]
            if name not in low
        ]

    # the call

    def _guarded(self, low):
        """The state's return, or that of the guard that prevented it from running. An exception becomes a return."""
        full, kwargs = "%s.%s" % (low["state"], low["fun"]), {}
        self.context["runas"] = low.get("runas")
        self.context["runas_password"] = (
            low["password"] if low["state"] == "cmd" and "password" in low else low.get("runas_password")
        )
        test = self.opts.get("test", False)
        if low.get("__prereq__"):
            self.opts["test"] = True
        try:
            function = self.states[full]
            args, kwargs = signatures.bind(function, low, INTERNAL if _takes_all(function) else FOR_SOME, full)
            if detail.on():
                detail.origin(self.states.module(full), low["fun"], low["name"])
            ret = {"result": False, "name": low["name"], "changes": {}}
            if "%s.mod_run_check" % low["state"] not in self.states:
                verdict = guards.before(low, self._allowed(low), self.context)
                if verdict is not None:
                    ret.update(verdict, __sls__=low.get("__sls__"), __id__=low.get("__id__"))
            if ret["result"] is False:
                ret = self._executed(low, full, function, args, kwargs)
            if "check_cmd" in low and (
                "%s.mod_run_check_cmd" % low["state"] not in self.states
                or "check_cmd" not in signatures.spec(function).optional
            ):
                ret.update(guards.check_cmd(low, self.functions))
            return ret
        except (Exception, SystemExit) as exc:
            return failed(low, exc)
        finally:
            self.opts["test"] = test
            self.context.pop("runas", None)
            self.context.pop("runas_password", None)

    def _allowed(self, low):
        """The functions that guards and slots of the chunk may call."""
        return slots.Allowed(self.functions, low[slots.REFUSED]) if slots.REFUSED in low else self.functions

    def _executed(self, low, full, function, args, kwargs):
        if self._mock:
            return {
                "name": args[0] if args else kwargs["name"],
                "comment": "Not called, mocked",
                "changes": {},
                "result": True,
            }
        ret = self._forbidden(low, full)
        if ret is not None:
            return ret

        def execute():
            functions = self._allowed(low)
            values = [slots.fill(value, functions) for value in args]
            named = slots.fill_all(kwargs, functions)
            own = Injected(self.states.module(full), self._globals(low, kwargs))
            with Umask(low.get("__umask__")), own, Provided(low, self.functions), self._kept(low):
                return function(*values, **named)

        if low.get("parallel") and not low.get("__prereq__"):
            ret = self._engine.start_parallel(low, lambda: self._parallel(low, execute))
            if ret is not None:
                return ret
        return execute()

    def _kept(self, low):
        """The context in which files that a ``file`` state changes are kept for ``pushsalt undo``."""
        keeper = self._engine.keeper
        if keeper is None or low["state"] != "file" or self.opts.get("test"):
            return Umask(None)
        return keeper.of_state(low, tag_of(low))

    def _globals(self, low, kwargs):
        """The dunders that a state module has while one of its states runs."""
        env = low.get("__env__", "base")
        if not self.opts.get("lock_saltenv"):
            if "saltenv" in low:
                env = low["saltenv"]
            elif isinstance(kwargs.get("env"), str):
                env = kwargs["env"]
        return {
            "__low__": dict(low),
            "__running__": self._engine.running,
            "__lowstate__": self._engine.chunks,
            "__instance_id__": str(id(self._engine)),
            "__env__": str(env),
            "__user__": self.opts.get("user", "UNKNOWN"),
            **self._engine.dunders,
        }

    def _forbidden(self, low, full):
        """A return if ``global_state_conditions`` has conditions for this state and none of them is true."""
        conditions = self.opts.get("global_state_conditions")
        result = []
        for pattern, entries in conditions.items() if isinstance(conditions, dict) else ():
            if pattern in ("*", full, low["state"]):
                entries = [entries] if isinstance(entries, str) else entries
                result.extend(self.functions["match.compound"](entry) for entry in entries)
        if not result or any(result):
            return None
        return {
            "name": low["name"],
            "changes": {},
            "result": None,
            "comment": "Failed to meet global state conditions. State not called.",
        }

    # after the call

    def _refresh(self, low, ret):
        """Reload modules that the state may have changed: packages and module files can provide new functions."""
        again = False
        if low.get("reload_grains") and self._collect_grains is not None:
            self.loaders.set_grains(self._collect_grains())
            again = True
        if low.get("reload_pillar"):
            log.warning("reload_pillar of %s: the pillar of a run is compiled once, before it", low.get("__id__"))
            again = True
        if low.get("force_reload_modules") or (ret["changes"] and (again or low.get("reload_modules"))):
            self.loaders.refresh()
        elif ret["changes"] and low["state"] in ("pkg", "ports", "pip", "file", "cmd", "archive"):
            self.loaders.reconsider()

    def _retried(self, low, ret, result, comment, attempt):
        """The return of the last attempt. ``result`` and ``comment`` are those of the state."""
        rules = retry_rules(low["retry"])
        if self.opts.get("test"):
            ret["comment"] = "  ".join((str(comment or ""), _would_retry(rules)))
            return ret
        if rules["until"] == result or rules["attempts"] <= attempt:
            return ret
        pause = _pause(rules)
        log.info("the result is not what retry waits for; the next attempt is in %s seconds", pause)
        waiting.sleep(pause)
        again = self.call(low, attempt + 1)
        again["comment"] = "\n".join((_attempt(attempt, result, comment), again["comment"] or ""))
        again["duration"] = round(again["duration"] + ret["duration"] + pause * 1000, 3)
        if attempt == 1:
            again["start_time"] = ret["start_time"]
        return again

    def _parallel(self, low, execute):
        """The return that the process of a parallel state computes, with its own times and retries."""
        began, start = time.time(), time.perf_counter()

        def once():
            try:
                return unified(execute())
            except (Exception, SystemExit) as exc:
                return failed(low, exc)

        ret = once()
        rules = retry_rules(low["retry"]) if "retry" in low else None
        if rules is not None and self.opts.get("test"):
            ret["comment"] = "  ".join((str(ret["comment"] or ""), _would_retry(rules)))
        elif rules is not None:
            for attempt in range(1, rules["attempts"] + 1):
                if rules["until"] == ret["result"]:
                    break
                time.sleep(_pause(rules))
                before, ret = ret, once()
                tried = _attempt(attempt, ret["result"], ret["comment"]) if ret["comment"] else ""
                ret["comment"] = "\n".join((before["comment"], tried))
        ret.update(start_time=clock(began), duration=round((time.perf_counter() - start) * 1000, 3), __parallel__=True)
        if low.get("no_log"):
            ret.update((key, masked(ret[key])) for key in ("name", "comment", "changes"))
        return ret


def _takes_all(function):
    return signatures.spec(function).keywords is not None


class Umask(object):
    """The process's umask within a block; None leaves it."""

    def __init__(self, mask):
        self._mask = mask

    def __enter__(self):
        import os

        self._before = os.umask(self._mask) if self._mask is not None else None

    def __exit__(self, *args):
        import os

        if self._before is not None:
            os.umask(self._before)


class Injected(object):
    """Sets globals of a module for a block, and restores the former ones: states may call each other."""

    def __init__(self, space, values):
        self._space, self._values = space, values

    def __enter__(self):
        self._before = {name: self._space.get(name) for name in self._values}
        self._space.update(self._values)

    def __exit__(self, *args):
        self._space.update(self._before)


class Provided(object):
    """Applies a state's ``provider`` (``runit``, or ``[{service: runit}]``) within a block.

    The functions of the module come from the named file, even if its ``__virtual__`` refuses to load. Salt:
    ``State.load_modules``.
    """

    def __init__(self, low, functions):
        given = low.get("provider")
        given = [{low["state"]: given}] if isinstance(given, str) else given if isinstance(given, list) else []
        self._wanted = [pair for one in given if isinstance(one, dict) for pair in one.items()]
        self._functions = functions

    def __enter__(self):
        self._undo = [self._functions.provide(virtual, name) for virtual, name in self._wanted]

    def __exit__(self, *args):
        for undo in reversed(self._undo):
            undo()


def retry_rules(given):
    """until, attempts, interval (seconds) and splay (seconds) of a ``retry``.

    Invalid values are replaced by defaults.
    """
    rules = {name: default for name, (_, default) in RETRY.items()}
    if given is False:
        rules["attempts"] = 0
    elif isinstance(given, dict):
        for name in given:
            if name in RETRY and isinstance(given[name], RETRY[name][0]):
                rules[name] = given[name]
            elif name in RETRY:
                log.warning("retry: %s has a value of the wrong type; '%s' is used", name, rules[name])
    elif given is not True:
        log.warning("retry is neither true nor a dict; its defaults are used")
    return rules


def _pause(rules):
    if not rules["splay"]:
        return rules["interval"]
    import random

    return rules["interval"] + random.randint(0, rules["splay"])  # noqa: S311


def _would_retry(rules):
    return (
        "The state would be retried every %(interval)s seconds (with a splay of up to %(splay)s seconds) "
        "a maximum of %(attempts)s times or until a result of %(until)s is returned" % rules
    )


def _attempt(attempt, result, comment):
    return 'Attempt %d: Returned a result of "%s", with the following comment: "%s"' % (attempt, result, comment)


def _log_return(ret):
    text = ret["comment"] if not ret["changes"] else str(ret["changes"])
    (log.error if ret["result"] is False else log.info)("%s", text or "No changes made for %s" % ret["name"])
