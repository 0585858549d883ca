"""Types of managed resources, which are reached through their manager without an agent. Each is a package in Salt's
layout.

``resources/<type>/__init__.py`` has ``init(opts)``, ``initialized()``, ``discover(opts) -> [id]``, ``grains()``,
``grains_refresh()``, ``ping()`` and ``shutdown(opts)``, all optional; beside it are ``modules/``, ``states/`` and
``grains/``. A user's package hides the shipped one of its name, file by file in those folders.

A type whose package has ``enter()`` is an *inside* type: ``enter()`` returns the command words after which a command
runs in the resource. The runtime is started there, and this module only makes the loader search the type's own files
first. All other types are *plain*: their functions and states run on the manager, and only those in the type's own
folders exist.

=============================  ====================================================================================
dunder                         what it is
=============================  ====================================================================================
``__resource__``               ``{"type", "id"}`` of the resource that a call is about
``__resource_funcs__``         the packages' functions, ``type.function``
``__minion__``                 the manager's own functions, in a plain type's modules and states
``__salt__``                   in a package the manager's functions; in a plain type's files only those of the type
``__pillar__``, also in opts   in a package the declarations: ``{resource_pillar_key: {type: declaration}}``
``__opts__["resource_type"]``  the type, in its modules, states and grains
=============================  ====================================================================================

Salt: ``salt.loader.resource``, ``salt.loader.resource_modules``, ``Minion._discover_resources``.
"""

import time

from thin import custom, loader
from thin.exceptions import CommandExecutionError, SaltException

#: Maximum length of an error about one type.
MOST_SAID = 5
ID_LENGTH = 255
#: Seconds after which discovery collects no more grains of one type: each resource may wait for a failed service.
GRAINS_TIME = 60


def discover(manager, runtime, own, declared):
    """Resources of each declared type: ``{"found": {type: {id: {"grains", "enter"}}}, "failed": {type: text}}``.

    ``manager`` are the manager's Loaders, ``own`` the users' archives (a list of one, or of none). A type may be in
    both mappings: its valid resources are in ``found``. ``grains`` is missing if they could not be collected, ``enter``
    in plain types.
    """
    sound, failed = {}, {}
    for name, by_type in declared.items():
        try:
            sound[name] = declaration(by_type)
        except ValueError as exc:
            failed[name] = str(exc)
    types, result = Types(manager, runtime, own, sound), {}
    for name in sound:
        wrong = []
        try:
            types.start(name)
            result[name] = dict(_each(types, name, wrong))
        except CommandExecutionError as exc:
            wrong.append(str(exc))
        finally:
            types.stop(name, wrong)
        if wrong:
            more = ["and %d more" % (len(wrong) - MOST_SAID)] if len(wrong) > MOST_SAID else []
            failed[name] = "; ".join(wrong[:MOST_SAID] + more)
    return {"found": result, "failed": failed}


def declaration(declared):
    """The declaration in the form for packages: a dict whose ``resource_ids`` are a list; numbers become texts.

    A declaration that is a list contains the ids. ``resource_ids`` may be a dict, with data for each id, if a type
    needs them. Raises ValueError on anything else.
    """
    declared = (
        {} if declared is None else {"resource_ids": declared} if isinstance(declared, (list, tuple)) else declared
    )
    if not isinstance(declared, dict):
        raise ValueError("its declaration is neither a mapping nor a list of ids, but %s" % type(declared).__name__)
    ids = declared.get("resource_ids")
    if ids is None:
        return declared
    if isinstance(ids, dict):
        return dict(declared, resource_ids={_text(one): ids[one] for one in ids})
    if not isinstance(ids, (str, list, tuple)):
        raise ValueError("resource_ids is neither a list nor a mapping, but %s" % type(ids).__name__)
    return dict(declared, resource_ids=[_text(one) for one in ([ids] if isinstance(ids, str) else ids)])


def _text(id):
    return str(id) if type(id) is int else id


def own_files(kind, name, own, runtime):
    """The runtimes (see thin.loader) of the type's files of a kind; those that are searched first come first."""
    sources = list(own) + [runtime]
    return [TypeFiles(source, name) for source in sources if source.virtual_index("resources.%s.%s" % (name, kind))]


def _each(types, name, wrong):
    """Yield (id, description) of each resource of a type; errors are appended to ``wrong``."""
    ids = (
        types.call(name, "discover", types.opts)
        if types.has(name, "discover")
        else (types.declared[name].get("resource_ids") or [])
    )
    if isinstance(ids, (str, bytes)) or not hasattr(ids, "__iter__"):
        raise CommandExecutionError("discover() gave %s, not a list of ids" % type(ids).__name__)
    inside, seen, end = types.has(name, "enter"), set(), time.monotonic() + GRAINS_TIME
    for one in types.guarded(name, "discover", lambda: list(ids)):
        trouble = _wrong_id(one)
        if trouble:
            wrong.append(trouble)
            continue
        if one in seen:
            continue
        seen.add(one)
        types.about(name, one)
        by_type = {}
        if inside:
            try:
                by_type["enter"] = _words(types.call(name, "enter"))
            except CommandExecutionError as exc:
                wrong.append("%s cannot be entered: %s" % (one, exc))
                continue
        try:
            if time.monotonic() > end:
                raise CommandExecutionError("those of the other resources took more than %d seconds" % GRAINS_TIME)
            by_type["grains"] = types.grains(name)
        except CommandExecutionError as exc:
            wrong.append("the grains of %s are missing: %s" % (one, exc))
        yield one, by_type


def _wrong_id(one):
    if not isinstance(one, str):
        return "an id is text, not %s: %.60r" % (type(one).__name__, one)
    if not 0 < len(one) <= ID_LENGTH:
        return "an id has 1 to %d characters, not %d" % (ID_LENGTH, len(one))
    if any(ord(char) < 32 or 127 <= ord(char) < 160 or 0xD800 <= ord(char) < 0xE000 for char in one):
        return "an id has no control characters: %.60r" % one
    return None


def _words(words):
    if not isinstance(words, (list, tuple)) or not words or not all(isinstance(word, str) for word in words):
        raise CommandExecutionError("enter() gave %.60r, not a list of words" % (words,))
    return list(words)


class Types(object):
    """The packages of types, loaded on their manager. ``declared``: {type: declaration}, each a dict."""

    def __init__(self, manager, runtime, own, declared):
        self.declared = declared
        self.opts = dict(manager.opts)
        self.opts["pillar"] = pillar(manager.opts, declared)
        self.resource = {}
        self._started = set()
        pack = dict(manager.pack, __resource__=self.resource, __pillar__=self.opts["pillar"])
        self.functions = pack["__resource_funcs__"] = Packages("resources", pack, self.opts, runtime, own)

    def about(self, name, id):
        """Set the resource of the next calls."""
        self.resource.update(type=name, id=id)

    def has(self, name, function):
        return "%s.%s" % (name, function) in self.functions

    def call(self, name, function, *args):
        """The result of a function of the package. An exception becomes CommandExecutionError with file and line."""
        return self.guarded(name, function, self.functions["%s.%s" % (name, function)], *args)

    def guarded(self, name, function, call, *args):
        try:
            return call(*args)
        except (Exception, SystemExit) as exc:  # a user's file may raise anything: other types must not fail
            meant = isinstance(exc, SaltException) and str(exc)
            text = str(exc) if meant else custom.explain(exc, self.functions.path(name))
            raise CommandExecutionError("%s(): %s" % (function, text))

    def start(self, name):
        """Load and initialize a type's package, once. Raises CommandExecutionError."""
        if name in self._started:
            return
        self.functions.need(name)
        self._started.add(name)
        if self.has(name, "init") and not (self.has(name, "initialized") and self.call(name, "initialized")):
            self.call(name, "init", self.opts)

    def stop(self, name, wrong=None):
        """Call the package's ``shutdown`` if it was initialized."""
        if name not in self._started:
            return
        self._started.discard(name)
        if self.has(name, "shutdown"):
            try:
                self.call(name, "shutdown", self.opts)
            except CommandExecutionError as exc:
                if wrong is not None:
                    wrong.append(str(exc))

    def grains(self, name, refresh=False):
        """Grains of the current resource. Raises CommandExecutionError if the package returns none, or no dict."""
        function = "grains_refresh" if refresh and self.has(name, "grains_refresh") else "grains"
        grains = self.call(name, function) if self.has(name, function) else {}
        if not isinstance(grains, dict):
            raise CommandExecutionError("%s() gave %s, not a dict" % (function, type(grains).__name__))
        return dict(grains)


def pillar(opts, declared):
    """The pillar for packages and the manager's functions: only the declarations."""
    return {opts.get("resource_pillar_key") or "resources": declared}


class Packages(loader.Loader):
    """The functions of types' packages, ``type.function``. The caller reports packages that cannot be loaded."""

    def need(self, name):
        """Load a type's package. Raises CommandExecutionError if there is none, or it does not load."""
        self._load(name)
        if name in self._modules:
            return
        if name in self._reasons:
            raise CommandExecutionError(
                "it cannot be loaded%s" % (": %s" % self._reasons[name] if self._reasons[name] else " here")
            )
        from thin.utils import matching

        near = matching.close(name, list(self._files()))
        raise CommandExecutionError(
            "there is no such resource type%s" % (" (nearest: %s)" % ", ".join(near) if near else "")
        )

    def path(self, name):
        """The file that a type's package was loaded from, for messages."""
        for module in self._modules.get(name, ()):
            return module["__file__"]
        return None

    def _note(self, text):
        pass


class TypeFiles(object):
    """A runtime of a type's own files: ``resources/<type>/modules/x.py`` has the name of ``modules/x.py``."""

    def __init__(self, source, name):
        self._source = source
        self._home = "resources.%s." % name
        if hasattr(source, "module_name"):  # a user's file
            self.module_name = lambda full: source.module_name(self._at(full))
            self.path = lambda full: source.path(self._at(full))
            self.is_package = lambda full: source.is_package(self._at(full))

    def _at(self, full):
        return "thin." + self._home + full[len("thin.") :]

    def virtual_index(self, kind):
        return self._source.virtual_index(self._home + kind)

    def code(self, full):
        return self._source.code(self._at(full))

    def source(self, full):
        return self._source.source(self._at(full))


class Plain(object):
    """The session of one plain resource: ``loaders`` have only the files of the type, ``manager`` the modules of the
    manager.

    ``values`` is the field ``resource`` of ``init`` (thin.wire); ``opts`` is the same object as the worker's.
    """

    def __init__(self, values, opts, runtime, own, machine, grains, pillar_of):
        self.type, self.id = values["type"], values["id"]
        self._trouble = None
        try:
            declared = {self.type: declaration(values.get("declared"))}
        except ValueError as exc:
            declared, self._trouble = {self.type: {}}, str(exc)
        self._runtime, self._own = runtime, own
        self._manager_opts = dict(opts, id=values.get("manager") or opts.get("id"))
        self.manager = loader.Loaders(
            self._manager_opts,
            runtime,
            grains=machine,
            pillar=pillar(opts, declared),
            overlays=dict.fromkeys(("modules", "states", "utils"), own),
        )
        self._manager_opts["grains"], self._manager_opts["pillar"] = self.manager.grains, self.manager.pillar
        self.types = Types(self.manager, runtime, own, declared)
        self.types.about(self.type, self.id)
        opts["resource_type"] = self.type
        overlays = {kind: own_files(kind, self.type, own, runtime) for kind in ("modules", "states")}
        overlays["utils"] = list(own) + [runtime]
        self.loaders = loader.Loaders(
            opts,
            custom.NoModules(),
            grains=grains,
            pillar=pillar_of,
            context=self.manager.context,
            overlays=overlays,
            extra={
                "__resource__": self.types.resource,
                "__resource_funcs__": self.types.functions,
                "__minion__": self.manager.modules,
            },
        )
        for kind in (self.loaders.modules, self.loaders.states):
            kind._words = self._refuse
        self.loaders.modules._beyond = self._beyond
        try:  # shipped files may have to be requested first: later, no other message may come in between
            runtime.code("thin.resources." + self.type)
        except (Exception, SystemExit):  # it is a user's type, or the code that needs it will report the error
            pass
        #: functions that only read grains are allowed
        self._grains = loader.Loader("modules", self.loaders.pack, opts, runtime, controller=True)

    def start(self):
        """Load and initialize the type's package. Raises CommandExecutionError, which names the type."""
        try:
            if self._trouble is not None:
                raise CommandExecutionError(self._trouble)
            self.types.start(self.type)
        except CommandExecutionError as exc:
            raise CommandExecutionError("the resource type %s: %s" % (self.type, exc))

    def close(self):
        self.types.stop(self.type)

    def offer(self):
        """The available modules, as text for people."""
        names = sorted(set(self.loaders.modules._files()) | {"grains"})
        return "a resource of type %s has the functions of these modules: %s" % (self.type, ", ".join(names))

    def set_test(self, test):
        """Set the option ``test`` for functions that use the manager's options."""
        self._manager_opts["test"] = self.types.opts["test"] = test

    def grains(self, refresh=False):
        """The grains of the package, overridden by the functions in the type's ``grains/``."""
        self.start()
        try:
            values = self.types.grains(self.type, refresh)
        except CommandExecutionError as exc:
            raise CommandExecutionError("the resource type %s: %s" % (self.type, exc))
        sources = own_files("grains", self.type, self._own, self._runtime)
        if sources:
            pack = dict(self.loaders.pack, __grains__=values)
            functions = loader.Loader("grains", pack, self.loaders.opts, custom.NoModules(), sources)
            values.update(custom.grains(functions, values))
        return values

    def _refuse(self, name, reason):
        return "'%s' is not supported for resource type '%s'%s" % (name, self.type, ": %s" % reason if reason else "")

    def _beyond(self, name):
        """Functions that every type has: ``test.ping``, which is the package's ``ping``, and those that read grains."""
        if name == "test.ping" and self.types.has(self.type, "ping"):
            functions = self.types.functions["%s.ping" % self.type]
        elif name.startswith("grains.") and name in self._grains:
            functions = self._grains[name]
        else:
            return False
        self.loaders.modules._functions[name] = functions
        return True
