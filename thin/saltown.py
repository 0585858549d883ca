"""Runs Salt's own modules on the target if pushsalt lacks a module: the controller's option ``salt_python``.

``install`` makes the loaders search functions here last. A function that is found here is run in a separate process,
which is forked from this one when it is first needed. In that process ``salt`` and its imports are Salt's own files,
which were sent by digest; ``__salt__``, ``__states__`` and ``__utils__`` are pushsalt's loaders, which search Salt's
modules last. Its questions to the controller go through this process.

C extensions are not sent. A distribution with C extensions is imported from the target's own Python if installed there.
"""

import os
import socket
import sys

from thin import exceptions, link, loader, log, waiting, wire
from thin.rareexceptions import named
from thin.utils import args as signatures

#: The key of a state's return with the version of Salt whose module was run.
MARK = "__salt_python__"
_WANTED = ("__low__", "__running__", "__lowstate__", "__instance_id__", "__env__", "__user__")
_PLAIN = (type(None), bool, int, float, str, bytes)


def install(loaders, versions):
    """``versions``: version (of that Salt) and python (the lowest version that it needs, ``[major, minor]``)."""
    fallback = Fallback(loaders, versions)
    for kind in ("modules", "states"):
        getattr(loaders, kind)._beyond = _Kind(fallback, kind)
    return fallback


class _Kind(object):
    """Makes one loader search its functions in the Fallback."""

    def __init__(self, fallback, kind):
        self._fallback, self._kind = fallback, kind

    def __call__(self, name):
        return self._fallback.find(self._kind, name)

    def reconsider(self):
        """Try again to load modules that refused to load."""
        self._fallback.again = True


class Fallback(object):
    """The worker's side: finds functions of Salt's modules, and sends calls to the other process."""

    def __init__(self, loaders, versions):
        self._loaders = loaders
        self._versions = versions
        self._answers = {}  # (kind, virtual name) -> the controller's answer
        self._spaces = {}
        self._server = None
        self.again = False

    def find(self, kind, name):
        """Add the function to the loader if Salt has it. Returns True if it was added."""
        virtual, _, function = name.partition(".")
        target = getattr(self._loaders, kind)
        shipped = virtual in target._files()
        if not target._wanted(virtual) or (shipped and kind == "states" and function.startswith("mod_")):
            return False  # a hook of Salt's would affect a shipped state
        info = ask_once(self._answers, kind, virtual)
        if function not in info["functions"]:
            return False
        version = "Salt %s" % self._versions["version"]
        if sys.version_info[:2] < tuple(self._versions["python"]):
            need = "%s, whose own module would do it, needs Python %d.%d or newer; this target has %d.%d" % (
                (version,) + tuple(self._versions["python"]) + sys.version_info[:2]
            )
            target._reasons[virtual] = need
            return False
        answer = self._request({"k": "find", "kind": kind, "name": name})
        if "spec" not in answer:
            if answer.get("reason") and virtual not in target._modules:
                target._reasons[virtual] = "%s (of %s)" % (answer["reason"], version)
            return False
        space = self._spaces.setdefault((kind, virtual), {"__name__": answer["module"], "__functions__": set()})
        space["__file__"] = answer["module"].replace(".", "/") + ".py"
        modules = target._modules.setdefault(virtual, [])
        if not any(one is space for one in modules):
            modules.append(space)
        space["__functions__"].add(name)
        target._functions[name] = self._proxy(kind, name, answer, space)
        return True

    def _proxy(self, kind, name, answer, space):
        def call(args, kwargs):
            message = {
                "k": "call",
                "kind": kind,
                "name": name,
                "args": args,
                "kwargs": kwargs,
                "test": bool(self._loaders.opts.get("test")),
                "dunders": {word: space[word] for word in answer["wants"] if word in space},
            }
            log.getLogger(__name__).info("%s is done by Salt %s's own module", name, self._versions["version"])
            ret = answered(self._request(message))
            if kind == "states" and isinstance(ret, dict) and "result" in ret:
                ret[MARK] = self._versions["version"]
            return ret

        made = function_of(name, answer["spec"], call)
        made.__doc__ = answer["doc"]
        made.__salt_python__ = self._versions["version"]
        return made

    def _request(self, message):
        message["again"], self.again = self.again, False
        if self._server is None or self._server.owner != os.getpid():  # a parallel state has its own
            self._server = Server(self._loaders, self._versions)
        return self._server.request(message)


def ask_once(cache, kind, virtual):
    """The controller's data about Salt's modules with this virtual name."""
    if (kind, virtual) not in cache:
        cache[kind, virtual] = link.salt({"module": [kind, virtual]})
    return cache[kind, virtual]


def answered(answer):
    """The returned value. An exception of the other process is raised again, with a class of the same name."""
    if "raised" not in answer:
        return answer["ret"]
    kind = named(answer["raised"])
    log.getLogger(__name__).debug("%s", answer["traceback"])
    if kind is not None:
        try:
            raise kind(answer["text"])
        except TypeError:
            pass
    raise type(str(answer["raised"]), (Exception,), {})(answer["text"])


class Left(object):
    """The default of an argument that is not plain data: the argument is then omitted in the other process, too."""

    def __repr__(self):
        return "..."


LEFT = Left()


def described(function):
    """The signature of a function as data; a default is ``[value]``, or [] if it is not plain data."""
    shape = signatures.spec(function)

    def plain(value):
        if isinstance(value, (list, tuple)):
            return all(plain(item) for item in value)
        return isinstance(value, _PLAIN) or (isinstance(value, dict) and all(map(plain, value.values())))

    def wrapped(value):
        return [value] if plain(value) else []

    return {
        "args": shape.args,
        "defaults": [wrapped(value) for value in shape.defaults],
        "varargs": shape.varargs,
        "keywords": shape.keywords,
        "kwonly": [
            [name, None if value is signatures.REQUIRED else wrapped(value)] for name, value in shape.kwonly.items()
        ],
    }


def function_of(name, shape, call):
    """A function with that signature, which calls ``call(args, kwargs)``."""
    values, words = {"_call": call, "_left": LEFT}, []
    cut = len(shape["args"]) - len(shape["defaults"])

    def default(item):
        key = "_default_%d" % len(values)
        values[key] = item[0] if item else LEFT
        return key

    for at, arg in enumerate(shape["args"]):
        words.append(arg if at < cut else "%s=%s" % (arg, default(shape["defaults"][at - cut])))
    if shape["varargs"]:
        words.append("*" + shape["varargs"])
    elif shape["kwonly"]:
        words.append("*")
    words += [arg if item is None else "%s=%s" % (arg, default(item)) for arg, item in shape["kwonly"]]
    if shape["keywords"]:
        words.append("**" + shape["keywords"])
    named = shape["args"] + [arg for arg, _ in shape["kwonly"]]
    text = "def function(%s):\n" % ", ".join(words)
    positional = []
    if shape["varargs"]:
        positional, named = shape["args"], named[len(shape["args"]) :]
        text += "    _args = [%s] + list(%s)\n" % ("".join(arg + ", " for arg in positional), shape["varargs"])
    else:
        text += "    _args = []\n"
    pairs = "".join("(%r, %s), " % (arg, arg) for arg in named)
    text += "    _kwargs = {_k: _v for _k, _v in (%s) if _v is not _left}\n" % pairs
    if shape["keywords"]:
        text += "    _kwargs.update(%s)\n" % shape["keywords"]
    text += "    return _call([_a for _a in _args if _a is not _left], _kwargs)\n"
    exec(compile(text, name, "exec"), values)  # noqa: S102  (names of a signature and nothing else)
    values["function"].__name__ = str(name.partition(".")[2])
    return values["function"]


class Server(object):
    """The process in which Salt's modules run. It ends when no process holds the other end of its socket."""

    def __init__(self, loaders, versions):
        # Before the fork: the child cannot ask the controller for their pack before it has read its first request.
        from thin import compat, parallel  # noqa: F401

        self.owner = os.getpid()
        self._frames = wire.Frames()
        self._sock, theirs = socket.socketpair()
        if os.fork() == 0:
            try:
                self._sock.close()
                waiting.current = None
                _serve(theirs, loaders, versions)
            finally:
                os._exit(0)
        theirs.close()

    def request(self, message):
        from thin import parallel

        self._sock.sendall(wire.frame(b"M", wire.pack(message)))
        while True:
            for _, payload in self._frames:
                got = wire.unpack(payload)
                if got["k"] == "done":
                    return got
                if got["k"] == "log" and log.sink is not None:
                    log.sink(got["level"], got["text"])
                elif got["k"] == "link":
                    self._sock.sendall(wire.frame(b"M", wire.pack(parallel._answered(got))))
            if waiting.readable(self._sock.fileno()):
                data = self._sock.recv(256 * 1024)
                if not data:
                    raise exceptions.CommandExecutionError("the process that ran Salt's own module has died")
                self._frames.feed(data)


# -- in that process ----------------------------------------------------------------------------------------------


def _serve(sock, loaders, versions):
    from thin import parallel

    through = parallel._Through(sock)
    link.connect(through)
    if log.sink is not None:
        log.sink = lambda level, text: through.send({"k": "log", "level": level, "text": text})
    if isinstance(loaders.pillar, loader.LazyDict):
        loaders.pillar._fetch = link.pillar
    source = Source(versions)
    source.take_over()
    finders = {}
    for kind in ("modules", "states", "utils"):
        target = getattr(loaders, kind)
        _drop_proxies(target)
        finders[kind] = target._beyond = _Fallback(kind, target, source).find
        target.reconsider()  # modules that refused to load may now find what they need
    frames = wire.Frames()
    while True:
        data = sock.recv(256 * 1024)
        if not data:
            return
        frames.feed(data)
        for _, payload in frames:
            message = wire.unpack(payload)
            if message.pop("again"):
                loaders.reconsider()
            try:
                answer = getattr(_Requests, message["k"])(loaders, finders, message)
            except (Exception, SystemExit) as exc:
                answer = _raised(exc)
            through.send(dict(answer, k="done"))


def _drop_proxies(target):
    """Remove the functions that would call this process again."""
    for name in [name for name, one in target._functions.items() if hasattr(one, "__salt_python__")]:
        del target._functions[name]
    for virtual in list(target._modules):
        real = [space for space in target._modules[virtual] if "__module_object__" in space]
        target._modules[virtual] = real
        if not real:
            del target._modules[virtual]


def _raised(exc):
    import traceback

    return {"raised": type(exc).__name__, "text": str(exc) or type(exc).__name__, "traceback": traceback.format_exc()}


class _Requests(object):
    @staticmethod
    def find(loaders, finders, message):
        target = getattr(loaders, message["kind"])
        name = message["name"]
        finders[message["kind"]](name)
        function = target._functions.get(name)
        if function is None:
            return {"reason": target._reasons.get(name.partition(".")[0]) or ""}
        space = target.module(name)
        return {
            "spec": described(function),
            "doc": function.__doc__,
            "module": space["__name__"],
            "wants": _mentioned(space["__name__"]),
        }

    @staticmethod
    def call(loaders, finders, message):
        target = getattr(loaders, message["kind"])
        loaders.opts["test"] = message["test"]
        function = target[message["name"]]
        target.module(message["name"]).update(message["dunders"])
        try:
            ret = function(*message["args"], **message["kwargs"])
        except Exception as exc:
            if message["kind"] != "states":
                raise
            from thin import returns

            ret = returns.failed(dict(message["kwargs"], name=message["kwargs"].get("name", "")), exc)
        return {"ret": list(ret) if hasattr(ret, "__next__") else ret}


#: Names of loaded modules -> the dunders of one call that are set in them.
_MENTIONS = {}


def _mentioned(name):
    return _MENTIONS.get(name, [])


class _Fallback(object):
    """Searches a function in Salt's modules if a loader does not have it."""

    def __init__(self, kind, target, source):
        self._kind, self._loader, self._source = kind, target, source
        self._answers = {}

    def find(self, name):
        virtual, _, function = name.partition(".")
        shipped = virtual in self._loader._files()
        if self._kind == "states" and shipped and function.startswith("mod_"):
            return False
        info = ask_once(self._answers, self._kind, virtual)
        self._source.learn(info)
        for module in info["modules"]:
            if "@" + module not in self._loader._done:
                self._loader._done.add("@" + module)
                self._loader._execute(self._source, "@" + module)
        return name in self._loader._functions


class Source(object):
    """Salt's files: a runtime for thin.loader (of names ``thin.KIND.@salt.KIND.x``), and a finder for imports."""

    def __init__(self, versions):
        self._versions = versions
        self._files = {}  # dotted name -> (package, digest)
        self._tops = {}
        self._paths = {}  # digest -> path
        self._absent = {}  # dotted name -> whether it is a C extension

    def take_over(self):
        """Make imports of ``salt`` load Salt's own files from now on."""
        from thin import compat

        for name in [name for name in sys.modules if name == "salt" or name.startswith(("salt.", "saltext."))]:
            del sys.modules[name]
        sys.meta_path[:] = [one for one in sys.meta_path if not isinstance(one, (compat.Finder, compat.SiteFinder))]
        sys.meta_path.insert(0, self)
        import site

        sys.path.extend(one for one in site.getsitepackages() if one not in sys.path and os.path.isdir(one))

    def learn(self, info):
        """Register files, and request those that are missing, with one question."""
        self._tops.update(info.get("tops") or {})
        wanted = []
        for name, package, digest, _ in info.get("files") or ():
            self._files[name] = (package, digest)
            if digest not in self._paths:
                wanted.append(digest)
        if wanted:
            self._paths.update(link.salt_files(sorted(set(wanted))))

    # as a runtime

    def code(self, full):
        name = full.partition("@")[2]
        text = self._bytes(name)
        _MENTIONS[self.module_name(full)] = [word for word in _WANTED if word.encode("ascii") in text]
        return self._compiled(name)

    def path(self, full):
        return full.partition("@")[2].replace(".", "/") + ".py"

    def module_name(self, full):
        _, kind, name = full.split(".", 2)
        return "salt.loaded.int.%s.%s" % ({"modules": "module"}.get(kind, kind), name.rpartition(".")[2])

    def home(self, full):
        """The package to which its relative imports are relative."""
        return full.partition("@")[2].rpartition(".")[0]

    def is_package(self, full):
        return False

    def _bytes(self, name):
        """The bytes of a file, verified against their digest."""
        digest = self._files[name][1]
        with open(self._paths[digest], "rb") as handle:
            data = handle.read()
        from thin.boot import sha256

        if sha256(data).hexdigest() != digest:
            raise ImportError("the copy of %s was damaged: run again" % name, name=name)
        return data

    def _compiled(self, name):
        return compile(self._bytes(name), name.replace(".", "/") + ".py", "exec", 0, True)

    # as a finder

    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if name == "salt.loader" or name.startswith("salt.loader."):
            return self._replaced(name)
        if name in ("salt.loaded", "salt.loaded.int", "salt.loaded.ext"):
            return _spec(name, self, True)
        top_info = self._tops.get(top)
        if top_info is None and top != "salt":
            return None
        native, least = top_info or (False, [3, 6])
        if native:
            from importlib.machinery import PathFinder

            spec = PathFinder.find_spec(name, path, target)
            if spec is not None:
                return spec
        if name not in self._files:
            if name not in self._absent:
                info = link.salt({"import": name})
                self.learn(info)
                if name not in self._files:
                    self._absent[name] = bool(info.get("native"))
            if self._absent.get(name):
                raise ImportError(
                    "%s is a C extension, which cannot be sent: install the package of %s for %s on this target"
                    % (name, top, sys.executable),
                    name=name,
                )
            if name in self._absent:
                return None
        if sys.version_info[:2] < tuple(least):
            raise ImportError(
                "%s as Salt's Python has it needs Python %d.%d; this target has %d.%d: install its package here"
                % ((top,) + tuple(least) + sys.version_info[:2]),
                name=name,
            )
        return _spec(name, self, self._files[name][0])

    def _replaced(self, name):
        from thin import compat, runtime

        code = runtime.code(compat.PREFIX + name)
        return _spec(name, compat.CompatFile(code), name == "salt.loader")

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        name = module.__name__
        if name.startswith("salt.loaded"):
            return
        module.__file__ = name.replace(".", "/") + ("/__init__.py" if self._files[name][0] else ".py")
        exec(self._compiled(name), module.__dict__)  # noqa: S102
        if name == "salt.version":  # it needs a file in its folder
            module.__saltstack_version__ = module.SaltStackVersion.parse(self._versions["version"])
            module.__version__ = module.__saltstack_version__.string
            module.__version_info__ = module.__saltstack_version__.info


def _spec(name, loader_, package):
    return type(sys.__spec__)(name, loader_, origin=name.replace(".", "/"), is_package=package)
