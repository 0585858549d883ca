"""``salt.*`` for users' own modules: the helpers that such modules import from Salt, with Salt's names.

``install`` only adds a finder: nothing is loaded before a module imports it. If Salt is installed, it is used (a folder
called ``salt`` does not count). Files are in ``thin/compat/salt/``; other names raise ImportError as usual.
``salt.modules.x`` and ``salt.states.x`` are our files of this name (or the user's), with their dunders, and with the
functions that our other files have for the same module of Salt.
"""

import sys

PREFIX = "thin.compat."
#: Packages that only contain modules that thin.custom loads.
LOADED = ("salt.loaded", "salt.loaded.ext") + tuple(
    "salt.loaded.ext." + tag for tag in ("module", "states", "beacons", "utils", "grains", "resources")
)

_finder = None


def install(loaders=None, custom=None):
    """Make ``salt.*`` importable in this process.

    On a target, ``loaders`` serve ``salt.modules`` and ``salt.states``, ``custom`` (thin.custom) finds users' files to
    import, and imports find packages of the system's Python; the runtime starts without these.
    """
    global _finder
    if _finder is None:
        _finder = Finder()
        sys.meta_path.insert(0, _finder)
    if loaders is not None:
        _finder.loaders = loaders
        sys.meta_path += [custom, SiteFinder()]


def loaders():
    """The loaders that were passed to ``install``, or None."""
    return _finder and _finder.loaders


class Finder(object):
    """The finder of ``salt.*``, and the loader of the modules that it finds."""

    loaders = None

    def find_spec(self, name, path=None, target=None):
        if not name.startswith("salt") or name.partition(".")[0] != "salt":
            return None
        if _is_real() if name == "salt" else not getattr(sys.modules.get("salt"), "__compat__", False):
            return None
        from thin import runtime

        if name in LOADED:
            return _spec(name, CompatFile(compile("", name, "exec")), True)
        kind, _, rest = name[5:].partition(".")
        try:
            code = runtime.code(PREFIX + name)
        except ImportError:
            if kind not in ("modules", "states") or not rest or self.loaders is None:
                return None
            loader = getattr(self.loaders, kind)
            file = loader._file(rest)
            return file and _spec(name, ShippedFile(file, loader), False)
        package = name in ("salt.modules", "salt.states") or bool(runtime.names(PREFIX + name))
        return _spec(name, CompatFile(code), package)


def _is_real():
    """Whether Salt is installed for this Python."""
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec("salt")
    return spec is not None and spec.loader is not None and spec.has_location


def _spec(name, loader, package):
    origin = (PREFIX + name).replace(".", "/")
    return type(sys.__spec__)(name, loader, origin=origin, is_package=package)


class CompatFile(object):
    """Loads a file of ``thin/compat``."""

    def __init__(self, code):
        self._code = code

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        module.__file__ = self._code.co_filename
        exec(self._code, module.__dict__)  # noqa: S102


class ShippedFile(object):
    """Import loader that returns a module that a ``thin.loader.Loader`` has executed."""

    def __init__(self, module, loader):
        self._module = module
        self._loader = loader

    def create_module(self, spec):
        namespace = self._module.__dict__
        namespace["__more__"] = (self._loader, namespace.get("__virtualname__", spec.name.rpartition(".")[2]))
        self._module.__class__ = Whole
        if spec.name == "salt.modules.cmdmod":
            _quiet(self._module)
        return self._module

    def exec_module(self, module):
        pass


class Whole(type(sys)):
    """A shipped module with the other functions of its virtual name, which the loader has."""

    def __getattr__(self, name):
        if not name.startswith("_"):
            loader, virtual = self.__dict__["__more__"]
            try:
                return loader["%s.%s" % (virtual, name)]
            except KeyError:
                pass
        raise AttributeError("module %r has no attribute %r" % (self.__name__, name))


def _quiet(cmdmod):
    """The private functions of Salt's cmdmod that grains modules use."""

    def _run_quiet(cmd, *args, **kwargs):
        kwargs.setdefault("python_shell", False)
        return cmdmod.run_stdout(cmd, *args, output_loglevel="quiet", ignore_retcode=True, **kwargs)

    def _run_all_quiet(cmd, *args, **kwargs):
        kwargs.setdefault("python_shell", False)
        return cmdmod.run_all(cmd, *args, output_loglevel="quiet", ignore_retcode=True, **kwargs)

    cmdmod.__dict__.setdefault("_run_quiet", _run_quiet)
    cmdmod.__dict__.setdefault("_run_all_quiet", _run_all_quiet)


class SiteFinder(object):
    """Adds the folders of installed packages to ``sys.path``, once, when an import fails without them.

    Only the system's own folders, not a user's, and without running their ``.pth`` files.
    """

    def find_spec(self, name, path=None, target=None):
        if path is not None or name.startswith(("salt", "thin")):
            return None
        sys.meta_path.remove(self)
        import os
        import site

        sys.path.extend(one for one in site.getsitepackages() if one not in sys.path and os.path.isdir(one))
        from importlib.machinery import PathFinder

        return PathFinder.find_spec(name, None, target)
