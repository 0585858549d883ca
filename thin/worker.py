"""The worker: the process on the target in which modules run. It processes the messages of thin.wire until the end.

It has no access to the channel, only a socket pair to the supervisor. At the start it imports only what every session
needs; the engine (thin.runs), the grains and the modules are imported for the first message that needs them.
"""

import os
import sys
import time

from thin import link, loader, log, runtime
from thin.channel import Channel, Closed

#: The default ``cachedir`` of Salt's minion, which options contain if none is configured. It is not used: only root can
#: write to it, and ``clean`` does not remove it.
MINIONS_CACHEDIR = "/var/cache/salt/minion"
#: Fields of ``init``, and the modules in packs that they need.
LATE = {"custom": "thin.compat", "salt": "thin.saltown", "resource": "thin.resourcetypes"}


def main(sock, info):
    """Process messages until the controller sends ``bye`` or closes the stream. Returns whether it sent ``bye``.

    ``info["dir"]``: the private directory, or None.
    """
    os.umask(0o022)  # as states and programs expect; our own files get explicit modes
    if sys.version_info < (3, 7):
        from thin import utf8

        if utf8.needed():
            utf8.mend()
    if "SSH_CLIENT" in os.environ or "SSH2_CLIENT" in os.environ:
        # With these variables, bash assumes that sshd started it, and reads ~/.bashrc, unless SHLVL is set.
        os.environ["SHLVL"] = "1"
    worker = Worker(sock, info)
    try:
        while True:
            worker.channel.step()
    except (Closed, ConnectionError):
        pass
    finally:
        worker.close()
    return worker.channel.said_bye


class Worker(object):
    """The state of one session. A message with ``k`` is processed by the method ``on_<k>``."""

    def __init__(self, sock, info):
        self.info = info
        self._blobs = self._controller = None
        self.channel = Channel(sock, lambda: self.blobs, self.serve)
        self.loaders = None
        self.opts = {}
        self.jid = ""  # of the job; the controller sends it
        self.survives = False  # whether the run may outlive its channel (thin.surviving)
        self._custom = None
        self._resource = None  # (type, whether the worker runs inside the resource) of the session's resource
        self.plain = None  # thin.resourcetypes.Plain, if the session is for a resource in which nothing can be run
        self._transfers = None  # thin.utils.files.transfer.Transfers, after the first copy message
        self._held = None  # messages to process when the session is ready
        self.stopped = False  # whether the run has to end before its next state
        self.looks = None  # what the states of a plan file would do, in a dry run (thin.planned)
        link.connect_later(lambda: self.controller)
        store = runtime.backend()
        if hasattr(store, "fetch"):
            store.fetch = self._fetch_packs

    def close(self):
        if self.plain is not None:
            self.plain.close()
        link.connect(None)
        if self._custom is not None:
            self._custom.keep_image()
        if self._blobs is not None:
            self._blobs.close()

    # Most calls need neither of these, and to load them takes a millisecond.

    @property
    def blobs(self):
        if self._blobs is None:
            from thin.blobs import Blobs

            self._blobs = Blobs(self.info.get("dir"))
        return self._blobs

    @property
    def controller(self):
        if self._controller is None:
            from thin.controller import Controller

            self._controller = Controller(self.channel, self.blobs)
        return self._controller

    def _fetch_packs(self, tables):
        from thin import custom

        return custom.packs(self.info.get("place"), tables)

    def serve(self, message):
        if self._held is not None:
            self._held.append(message)
            return
        handler = getattr(self, "on_%s" % message.get("k"), None)
        if handler is None:
            log.getLogger(__name__).warning("unknown message %r", message.get("k"))
            return
        handler(message)

    # messages

    def on_init(self, message):
        log.level = log.number(message.get("log_level") or "warning")
        log.sink = self._log
        self.opts = message.get("opts") or {}
        if message.get("defaults"):
            self.opts = dict(runtime.defaults(), **self.opts)
        self.jid = message.get("jid") or ""
        self.survives = bool(message.get("survives"))
        self.opts.setdefault("id", message.get("id"))
        user = _user()
        self.opts["user"] = self.opts.get("user") or user
        if self.info.get("dir") and self.opts.get("cachedir") in (None, MINIONS_CACHEDIR):
            self.opts["cachedir"] = os.path.join(self.info["dir"], "minion")
        self._fixed_grains = message.get("grains") or {}
        self._config_grains = self.opts.get("grains") or {}  # of minion_opts; opts["grains"] is replaced below
        warnings, held = [], []
        try:
            self._held = held
            if message.get("custom"):
                warnings = self._take_custom(message["custom"])
            runtime.foresee([LATE[key] for key in sorted(LATE) if message.get(key)])
            machine = self._load(message.get("resource"))
        except ValueError as exc:
            self.channel.send({"k": "error", "kind": "bootstrap_failed", "message": str(exc)})
            return
        finally:
            self._held = None
        if self._custom is not None:
            from thin import compat

            compat.install(machine, self._custom)
        if message.get("salt") and self.plain is None:
            from thin import saltown

            saltown.install(self.loaders, message["salt"])
        self.opts["grains"], self.opts["pillar"] = self.loaders.grains, self.loaders.pillar
        try:
            grains = dict(self.loaders.grains) if message.get("want_grains") else None
        except Exception as exc:
            self.channel.send(self._without_grains(exc))
            return
        self.channel.send(_ready(grains, warnings, user))
        for message in held:
            self.serve(message)

    def _without_grains(self, exc):
        """The error message for a session whose grains could not be collected."""
        if self.plain is None:
            from thin import boot

            kind, text = boot.trouble(exc)
            text = "grains cannot be collected: %s" % text
        else:
            kind, text = "resource_unreachable", "its grains cannot be collected: %s" % exc
        hint = "run with `-l debug` for the details"
        return {"k": "error", "kind": kind, "hint": hint, "message": text, "tb": _traceback()}

    def _load(self, resource):
        """Make the loaders of the session. Returns those of the machine, which differ for a plain resource."""
        own = self._own()
        if resource and not resource.get("inside"):
            from thin import resourcetypes

            if "kept" in resource:
                resource = dict(resource, declared=self.info["kept"][resource["kept"]])
            self._resource = resource["type"], False
            self.plain = resourcetypes.Plain(
                resource, self.opts, runtime, own, self._collect_machine, self.collect, link.pillar
            )
            self.loaders = self.plain.loaders
            return self.plain.manager
        overlays, extra = dict.fromkeys(("modules", "states", "utils"), own), None
        if resource:
            from thin import resourcetypes

            self._resource = resource["type"], True
            self.opts["resource_type"] = resource["type"]
            extra = {"__resource__": {"type": resource["type"], "id": resource["id"]}}
            for kind in ("modules", "states"):
                overlays[kind] = resourcetypes.own_files(kind, resource["type"], own, runtime) + own
        self.loaders = loader.Loaders(
            self.opts, runtime, grains=self.collect, pillar=link.pillar, overlays=overlays, extra=extra
        )
        return self.loaders

    def _own(self):
        return [] if self._custom is None else [self._custom]

    def _take_custom(self, wanted):
        """Find the users' own modules on the target, or request them. Returns warnings. Raises ValueError if they are
        not received."""
        from thin import custom

        sha, place = wanted["sha"], self.info.get("place")
        self._custom = custom.find(place, sha, wanted["size"])
        if self._custom is not None:
            return []
        self.blobs.expect(sha, secret=True)
        if not wanted.get("coming"):
            self.channel.send({"k": "need", "re": None, "digests": [sha]})
        self.channel.wait(lambda: not self.blobs.waiting(sha))
        archive = self.blobs.data(sha)
        self.blobs.forget_secrets()
        if archive is None:
            raise ValueError("the modules of the file roots did not arrive: %s" % self.blobs.failure(sha))
        self._custom, trouble = custom.keep(place, sha, archive)
        return [trouble] if trouble else []

    def on_grains(self, message):
        def answer():
            if message.get("refresh"):
                self.loaders.set_grains(self.collect(True))
            return dict(self.loaders.grains)

        self.answer(message, answer)

    def on_call(self, message):
        if not message.get("keep"):
            self._call(message)
            return
        from thin import runs

        runs.surviving(self, lambda: self._call(message))

    def _call(self, message):
        fun = message.get("fun")
        try:
            function = self.loaders.modules[fun]
        except KeyError as exc:
            self.channel.send(
                {
                    "k": "exc",
                    "re": message["n"],
                    "type": "KeyError",
                    "message": str(exc),
                    "tb": "",
                    "known": False,
                    "nearest": self.loaders.modules.nearest(fun),
                    "hint": self.plain.offer() if self.plain is not None else "",
                }
            )
            return
        from thin import calls

        args, kwargs = list(message.get("args") or ()), dict(message.get("kwargs") or {})
        whose = getattr(function, "__salt_python__", None)
        more = {"salt": whose} if whose else {}

        def answer():
            if self.plain is not None:
                self.plain.start()
            return calls.call(function, fun, args, kwargs, self.opts, message.get("cli"), self.jid)

        self.answer(message, answer, more)

    def on_resources(self, message):
        from thin import resourcetypes

        declared = message.get("declared") or {}
        self.answer(message, lambda: resourcetypes.discover(self.loaders, runtime, self._own(), declared))

    def on_copy(self, message):
        if self._transfers is None:
            from importlib import import_module  # few sessions copy: it is in a pack

            self._transfers = import_module("thin.utils.files.transfer").Transfers(self.controller, self.blobs)

        def need(wanted):
            self.channel.send(
                {
                    "k": "need",
                    "re": message["n"],
                    "digests": [digest for digest, _ in wanted],
                    "parts": dict(item for item in wanted if item[1]),
                }
            )

        self.answer(message, lambda: self._transfers.answer(message, need))

    def on_stop(self, message):
        """End the run after the current state."""
        self.stopped = True

    def on_run(self, message):
        from thin import runs

        runs.serve(self, message)

    # below

    def answer(self, message, function, more=()):
        """Send the result of ``function()``, or its exception."""
        number = message["n"]
        try:
            ret = function()
            if hasattr(ret, "__next__"):
                ret = list(ret)
            code = self.loaders.context.pop("retcode", 0)  # functions set it if their value does not show a failure
            answer = {"k": "ret", "re": number, "ret": ret, "retcode": code}  # ``k`` is first, see kept.is_return
            answer.update(more)
            self.channel.send(answer, for_people=bool(message.get("cli")))
        except Closed:
            raise
        except (Exception, SystemExit) as exc:
            if message["k"] == "run":  # exceptions of states are caught before: this is one of the runtime
                from thin import boot

                kind, text = boot.trouble(exc)
                if kind == "limit_reached":
                    self.channel.send({"k": "error", "kind": kind, "message": text, "tb": _traceback()})
                    return
            name, text = describe(exc)
            self.channel.send(
                {"k": "exc", "re": number, "type": name, "message": text, "tb": _traceback(), "known": True}
            )

    def collect(self, refresh=False):
        grains = self._collect_machine() if self.plain is None else self.plain.grains(refresh)
        if self.opts.get("grains_deep_merge"):
            from thin.utils import dictupdate

            return dictupdate.update(grains, self._fixed_grains)
        grains.update(self._fixed_grains)
        return grains

    def _collect_machine(self):
        from thin import grains

        opts = dict(self._machine().opts, grains=self._config_grains)
        return dict(grains.collect(opts, own=self._own_grains, folder=self.info.get("dir")))

    def _machine(self):
        return self.loaders if self.plain is None else self.plain.manager

    def _own_grains(self, so_far):
        sources = [own for own in self._own() if own.virtual_index("grains")]
        if self._resource is not None and self._resource[1]:
            from thin import resourcetypes

            sources = resourcetypes.own_files("grains", self._resource[0], self._own(), runtime) + sources
        if not sources:
            return {}
        from thin import custom

        machine = self._machine()
        if isinstance(machine.grains, loader.LazyDict):
            machine.grains._fetch = lambda: dict(so_far)  # functions that they call may read grains
        pack = dict(machine.pack, __grains__=so_far)
        del pack["__pillar__"]  # it is compiled with the grains
        return custom.grains(loader.Loader("grains", pack, machine.opts, custom.NoModules(), sources), so_far)

    def _log(self, level, text):
        self.channel.send({"k": "log", "level": level, "text": text, "time": time.time()})


def describe(exc):
    """``(class name, text)`` of an exception for error messages; the text is never empty."""
    name = type(exc).__name__
    if isinstance(exc, (link.LinkError, loader.MissingFunction)):
        name = exc.exception
    if isinstance(exc, SystemExit):
        from thin import returns

        return name, returns.ends_the_program(exc)
    limit = ""
    if isinstance(exc, (OSError, MemoryError)) and not isinstance(exc, BlockingIOError):
        from thin import boot

        limit = boot.limit(exc)
    return name, ": ".join(filter(None, (str(exc), limit))) or name


def _ready(grains, warnings, user):
    """The ``ready`` message, with ``grains`` if they were requested."""
    return {
        "k": "ready",
        "python": "%d.%d.%d" % sys.version_info[:3],
        "grains": grains,
        "warnings": warnings,
        "uid": os.geteuid(),
        "user": user,
        "pid": os.getpid(),
    }


def _traceback():
    import traceback

    return traceback.format_exc()


def _user():
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())
