"""Loads execution, state and utility modules lazily by their virtual names, and sets Salt's dunders in them.

``Loader`` is a mapping of ``"module.function"`` to callables; ``loader.module.function`` works too. A lookup executes
only the files that can have that module's name, according to the runtime's index. Each Loader executes the files in
separate module objects, so the controller makes one Loader for each target, with that target's dunders.

A module file has Salt's form: functions, ``__virtual__`` (True, a name, False or ``(False, reason)``),
``__virtualname__``, ``__virtual_aliases__``, ``__func_alias__``, ``__load__``/``__all__``, ``__init__(opts)``. Not in
Salt: ``__fits__ = {grain: (values)}``, a literal, prevents that a file is read on other systems (see thin.runtime);
``__controller__ = True``, or a tuple of function names, marks functions that need only grains, pillar and options of
the target, and are therefore called on the controller. Salt: ``salt/loader/lazy.py``.

A ``runtime`` (``thin.runtime``, or a user's module folders) has ``code(modname)``, ``source(modname)``,
``names(prefix)`` and ``virtual_index(kind) -> {virtual name: [file names]}``; modules are ``thin.<kind>.<file name>``.
"""

import sys

from thin import log

#: Dunders that a module may use even if no value was given for them.
EMPTY = {
    "__env__": "base",
    "__low__": dict,
    "__lowstate__": list,
    "__running__": dict,
    "__instance_id__": "",
    "__proxy__": dict,
    "__file_client__": None,
    "__context__": dict,
    "__pillar__": dict,
    "__grains__": dict,
    "__salt__": dict,
    "__states__": dict,
    "__utils__": dict,
    "__opts__": dict,
    "__user__": "root",
}

_FUNCTION = type(lambda: None)  # the module `types` is slow to import
#: The options that disable modules of a kind, and those that allow only some. ``whitelist_modules`` is not among them:
#: it limits calls from outside, which the controller checks, and not calls between modules.
LIMITS = {"modules": ("disable_modules", ""), "states": ("disable_states", "whitelist_state_modules")}


def _names(value):
    return frozenset(value if isinstance(value, (list, tuple)) else [value] if value else [])


def _is_function(value):
    """Whether the value is a function or a functools.partial, without importing functools, which is slow."""
    functools = sys.modules.get("functools")
    return isinstance(value, _FUNCTION) or (functools is not None and isinstance(value, functools.partial))


class MissingFunction(KeyError):
    """A function does not exist: a KeyError with Salt's message as ``text``."""

    exception = "KeyError"

    def __init__(self, name, text):
        super(MissingFunction, self).__init__(name)
        self.name = name
        self.text = text

    def __str__(self):
        return self.text


class LazyDict(dict):
    """A dict whose content is fetched when it is first read. ``fetch() -> dict`` is called at most once.

    Afterwards it is an ordinary dict, with the speed of one. Until then it contains one item, since C code (``json``)
    does not read the items of a dict whose size is 0.
    """

    def __init__(self, fetch):
        dict.__init__(self, unread=True)
        self._fetch = fetch

    def _fill(self):
        data = self._fetch()
        self.__class__ = FilledDict
        dict.clear(self)
        dict.update(self, data)
        return self

    def __deepcopy__(self, memo):
        import copy

        return copy.deepcopy(dict(self._fill()), memo)

    def __reduce_ex__(self, protocol):
        return dict, (dict(self._fill()),)


class FilledDict(dict):
    """The class of a LazyDict after its first use."""

    def __deepcopy__(self, memo):
        import copy

        return copy.deepcopy(dict(self), memo)

    def __reduce_ex__(self, protocol):
        return dict, (dict(self),)


def _filling(name):
    def method(self, *args, **kwargs):
        return getattr(self._fill(), name)(*args, **kwargs)

    method.__name__ = name
    return method


for _name in (
    "__contains__ __delitem__ __eq__ __getitem__ __ior__ __iter__ __len__ __ne__ __or__ __repr__ __reversed__ "
    "__ror__ __setitem__ clear copy get items keys pop popitem setdefault update values"
).split():
    if hasattr(dict, _name):
        setattr(LazyDict, _name, _filling(_name))


class Loader(object):
    """Functions of one kind (``modules``, ``states``, ``utils``) by ``module.function``.

    ``pack`` maps dunder names to values; it is shared between loaders and read when a module is executed.
    ``overlays`` are runtimes that are searched before ``runtime``; a file there hides the runtime's file of that name.
    ``controller`` limits the loader to functions marked ``__controller__``.

    Modules are attributes of the loader, too, therefore the names of its own attributes begin with an underscore.
    """

    def __init__(self, kind, pack, opts, runtime, overlays=(), controller=False):
        self._kind = kind
        self._pack = pack
        self._opts = opts
        self._sources = list(overlays) + [runtime]
        self._controller = controller
        self._beyond = None  # name -> bool: called for a missing function; adds it to _functions if it can
        self._family = None  # the Loaders that this one belongs to
        self._words = None  # (name, reason or None) -> text: the message for a missing function, instead of Salt's
        self._refused, self._allowed = [_names(opts.get(option)) for option in LIMITS.get(kind, ("", ""))]
        self.clear()

    def clear(self):
        """Unload all modules; their files are executed again when they are next needed."""
        self._functions = {}
        self._modules = {}  # virtual name -> [module]
        self._done = set()  # file names that were executed, or that failed
        self._reasons = {}  # name -> why its __virtual__ refused to load, or None
        self._index = None
        providers = self._opts.get("providers") if self._kind == "modules" else None
        self._providers = dict(providers) if isinstance(providers, dict) else {}  # those not loaded yet

    def reconsider(self):
        """Try again to load files that refused to load (``__virtual__``) when next needed; loaded ones stay loaded."""
        self._done -= set(self._reasons)
        self._reasons = {}
        if hasattr(self._beyond, "reconsider"):
            self._beyond.reconsider()

    # the mapping

    def __getitem__(self, name):
        try:
            return self._functions[name]
        except KeyError:
            pass
        if isinstance(name, str) and "." in name:
            self._load(name.split(".", 1)[0], name)
            if name in self._functions or (self._beyond is not None and self._beyond(name)):
                return self._functions[name]
        raise MissingFunction(name, self.missing(name))

    def __contains__(self, name):
        if name in self._functions:
            return True
        if not isinstance(name, str) or "." not in name:
            return False
        self._load(name.split(".", 1)[0], name)
        if name not in self._functions and self._beyond is not None:
            self._beyond(name)
        return name in self._functions

    def get(self, name, default=None):
        try:
            return self[name]
        except KeyError:
            return default

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        self._load(name)
        if name not in self._modules:
            raise AttributeError(self.missing(name))
        return ModuleView(self, name)

    def __iter__(self):
        return iter(self.keys())

    def __len__(self):
        return len(self.keys())

    def keys(self):
        """Every function's name, sorted; executes every file."""
        self.load_all()
        return sorted(self._functions)

    def items(self):
        return [(name, self[name]) for name in self.keys()]

    def values(self):
        return [self[name] for name in self.keys()]

    # beyond a mapping

    def load_all(self):
        self.foresee(self._files())
        for virtual in list(self._files()):
            self._load(virtual)

    def foresee(self, virtuals):
        """Have all files of these virtual names sent at once, as far as they are not on this target."""
        for source in self._sources:
            if hasattr(source, "foresee"):
                found = [(name, own) for virtual in virtuals for own, name in self._files_of(virtual)]
                chosen = [name for name, own in found if own is source and self._fits(source, name)]
                source.foresee(["thin.%s.%s" % (self._kind, name) for name in chosen if name not in self._done])

    def module(self, name):
        """The globals (a dict) of the function's module."""
        self[name]
        for module in self._modules[name.split(".", 1)[0]]:
            if name in module["__functions__"]:
                return module
        raise MissingFunction(name, self.missing(name))

    def missing(self, name):
        """Salt's message for a missing function, with the reason that the module's ``__virtual__`` gave."""
        module = str(name).split(".", 1)[0]
        if self._words is not None:
            return self._words(name, self._reasons.get(module))
        if module not in self._modules and module in self._reasons:
            reason = self._reasons[module]
            return "'%s' __virtual__ returned False%s" % (module, ": %s" % reason if reason else "")
        return "'%s' is not available." % name

    missing_fun_string = missing

    def nearest(self, name, count=3):
        """Names of functions that are similar to this one. Only modules with similar names are loaded."""
        from thin import nearest

        return nearest.functions(self, name, count)

    # loading

    def _files(self):
        """virtual name -> [(source, file name)], overlays first."""
        if self._index is None:
            self._index, seen = {}, set()
            for source in self._sources:
                index, own_names = source.virtual_index(self._kind), set()
                for virtual in index:
                    for name in index[virtual]:
                        own_names.add(name)
                        if name not in seen and self._wanted(virtual):
                            self._index.setdefault(virtual, []).append((source, name))
                seen |= own_names
        return self._index

    def _files_of(self, virtual):
        """[(source, file name)] of a virtual name. Without overlays no table of all names is made."""
        if self._index or len(self._sources) > 1:
            return self._files().get(virtual, ())
        names = self._sources[0].virtual_index(self._kind).get(virtual, ())
        return [(self._sources[0], name) for name in names] if self._wanted(virtual) else ()

    def _wanted(self, virtual):
        return virtual not in self._refused and (not self._allowed or virtual in self._allowed)

    def _load(self, virtual, wanted=None):
        """Execute the files of the virtual name until one has the function ``wanted`` (None: execute all)."""
        provider = self._providers.pop(virtual, None)
        if provider is not None:
            self.provide(virtual, str(provider))
        for source, name in self._files_of(virtual):
            if name not in self._done:
                self._done.add(name)
                if self._fits(source, name):
                    self._execute(source, name)
                else:
                    self._reasons[name] = "it is for other systems"
                    self._reasons.setdefault(virtual, self._reasons[name])
            if wanted is not None and wanted in self._functions:
                return

    def _fits(self, source, name):
        """Whether the grains of this system match the ``__fits__`` of the file; True without ``__fits__``."""
        wanted = source.fits(self._kind).get(name) if hasattr(source, "fits") else None
        if not wanted:
            return True
        grains = self._pack.get("__grains__") or {}
        return any(grains.get(grain) in values for grain, values in wanted.items())

    def provide(self, virtual, name):
        """Take a module's functions from the file with this name, even if its ``__virtual__`` refuses to load.

        Functions that the file does not have stay. Returns the function that undoes this. A missing file is logged,
        and changes nothing.
        """
        from thin import providers

        return providers.provide(self, virtual, name, _public)

    def _file(self, name):
        """The module of the file with this name, executed regardless of its ``__virtual__``; None if there is no such
        file.
        """
        full = "thin.%s.%s" % (self._kind, name)
        for source in self._sources:
            try:
                source.code(full)
            except (ImportError, KeyError):
                continue
            return self._namespace(source, full)["__module_object__"]
        return None

    def _execute(self, source, name):
        full = "thin.%s.%s" % (self._kind, name)
        try:
            module = self._namespace(source, full)
            virtual, reason = _virtual(module, name.rpartition(".")[2])
        except (Exception, SystemExit) as exc:  # a user's file may raise anything: other files must still be loaded
            reason = "%s: %s" % (type(exc).__name__, exc)
            said = "cannot load %s: %s" % (full, reason)
            if hasattr(source, "module_name"):
                from thin import custom

                reason = custom.explain(exc, source.path(full))
                said = "%s (its functions are missing)" % reason
            self._reasons[name] = reason
            for virtual, files in self._files().items():
                if (source, name) in files:
                    self._reasons[virtual] = reason
            self._note(said)
            return
        if virtual is None:
            self._reasons[name] = self._reasons[module.get("__virtualname__", name.rpartition(".")[2])] = reason
            return
        allowed = module.get("__controller__", False) if self._controller else True
        public = _public(module)
        module["__functions__"] = set()
        for virtual_name in (virtual,) + tuple(module.get("__virtual_aliases__", ())):
            self._modules.setdefault(virtual_name, []).append(module)
            for function in public:
                if allowed is True or (allowed and function in allowed):
                    dotted = "%s.%s" % (virtual_name, function)
                    module["__functions__"].add(dotted)
                    self._functions.setdefault(dotted, public[function])

    def _namespace(self, source, full):
        own = hasattr(source, "module_name")  # a user's file
        name = source.module_name(full) if own else full
        module = type(sys)(name)
        space = module.__dict__
        for dunder in EMPTY:
            space[dunder] = EMPTY[dunder]() if callable(EMPTY[dunder]) else EMPTY[dunder]
        space.update(self._pack)
        space["__opts__"] = self._opts
        space["__file__"] = source.path(full) if own else full.replace(".", "/") + ".py"
        space["__package__"] = source.home(full) if hasattr(source, "home") else name.rpartition(".")[0]
        space["__module_object__"] = module  # keeps the module alive as long as its functions
        if own:
            if source.is_package(full):
                space["__package__"], space["__path__"] = name, []
            sys.modules[name] = module  # what pickle, dataclasses and a package's own imports look for
        exec(source.code(full), space)  # noqa: S102  (this is what a loader does)
        if own:
            self._restore(space)
        log.adopt()
        if "__depends__" in space:
            sys.modules["salt.utils.decorators"].depends.enforce(space)
        init = space.get("__init__")
        if isinstance(init, _FUNCTION):
            init(self._opts)
        return space

    def _restore(self, space):
        """Set the dunders again: many modules have ``__salt__ = {}`` at their top. Their ``__opts__`` are defaults."""
        for dunder, value in self._pack.items():
            if space.get(dunder) is not value:
                space[dunder] = value
        given = space.get("__opts__")
        if given is not self._opts:
            if isinstance(given, dict):
                for name in given:
                    self._opts.setdefault(name, given[name])
            space["__opts__"] = self._opts

    def _note(self, text):
        log.getLogger(__name__).warning(text)


class ModuleView(object):
    """``loader.module``: its functions as attributes and items."""

    def __init__(self, loader, name):
        self.__dict__["_loader"] = loader
        self.__dict__["_name"] = name

    def __getattr__(self, function):
        if function == "__file__":
            return self._loader._modules[self._name][0]["__file__"]
        try:
            return self._loader["%s.%s" % (self._name, function)]
        except KeyError as exc:
            raise AttributeError(str(exc))

    def __getitem__(self, function):
        return self._loader["%s.%s" % (self._name, function)]


class Loaders(object):
    """The loaders of one target, tied together: each one's modules see the others as Salt's dunders.

    ``grains`` and ``pillar`` are dicts or functions that fetch one; ``extra`` are more dunders.
    """

    def __init__(
        self, opts, runtime, grains=None, pillar=None, context=None, overlays=None, controller=False, extra=None
    ):
        overlays = overlays or {}
        self.opts = opts
        self.context = {} if context is None else context
        self.grains = LazyDict(grains) if callable(grains) else {} if grains is None else grains
        self.pillar = LazyDict(pillar) if callable(pillar) else {} if pillar is None else pillar
        self.pack = {"__grains__": self.grains, "__pillar__": self.pillar, "__context__": self.context}
        self.pack.update(extra or {})
        self.modules, self.states, self.utils = [
            Loader(kind, self.pack, opts, runtime, overlays.get(kind, ()), controller and kind != "utils")
            for kind in ("modules", "states", "utils")
        ]
        self.modules._family = self
        self.pack.update(__salt__=self.modules, __states__=self.states, __utils__=self.utils)

    def refresh(self):
        """Load all modules again (``reload_modules``). The loader objects stay the same, since modules refer to them.

        Python packages that were installed since then are found, too.
        """
        for finder in sys.path_importer_cache.values():
            if hasattr(finder, "invalidate_caches"):
                finder.invalidate_caches()
        site = sys.modules.get("site")  # the first installed package may have created a folder that sys.path lacks
        if site is not None:
            sys.path.extend(folder for folder in site.getsitepackages() if folder not in sys.path)
        for loader in (self.modules, self.states, self.utils):
            loader.clear()

    def reconsider(self):
        """Try again to load modules that refused to load: a new package may provide what they need."""
        for loader in (self.modules, self.states, self.utils):
            loader.reconsider()

    def set_grains(self, grains):
        """Replace the grains by newly collected ones, in the same object."""
        self.grains.clear()
        self.grains.update(grains)


def _virtual(module, name):
    """``(virtual name or None, reason)`` of an executed module."""
    function = module.get("__virtual__")
    if not isinstance(function, _FUNCTION):
        return module.get("__virtualname__", name), None
    answer, reason = function(), None
    if isinstance(answer, tuple):
        answer, reason = answer[0], answer[1] if len(answer) > 1 else None
    if not answer:
        return None, reason
    return (module.get("__virtualname__", name) if answer is True else answer), None


def _public(module):
    """``{public name: function}`` without private and imported functions; ``__func_alias__`` renames them."""
    names = module.get("__load__") or module.get("__all__") or list(module)
    alias, own_name = module.get("__func_alias__", {}), module["__name__"]
    out = {}
    for name in names:
        value = module.get(name)
        if name.startswith("_") or not _is_function(value):
            continue
        if getattr(value, "__module__", own_name) != own_name and "__load__" not in module:
            continue
        out[alias.get(name, name)] = value
    return out
