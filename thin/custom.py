"""Users' own modules on the target: one archive, kept and verified in the private directory as the runtime is.

The session's ``init`` names it by its SHA-256 and size. ``user-SHA.tar`` has the files of the kinds ``modules``,
``states``, ``utils`` and ``grains`` as ``thin/<kind>/<file>.py``, types of resources as packages in ``thin/resources/``
(see thin.resourcetypes), and ``thin/users.py`` with ``INDEX = {kind: {virtual name: [file names]}}``, where the kinds
of a type's own files are ``resources.<type>.modules`` and so on. An image of compiled code (see thin.store),
authenticated with a separate key, is stored with it. Only code whose hash was verified is executed.
"""

import sys

from thin.boot import digest, names, read, read_image, sha256, stamp
from thin.store import Store

#: In place of the private directory if there is none: nothing is kept.
NOWHERE = {"dir_fd": -1, "path": "", "key": b""}
#: Salt's name of a kind in the names of loaded modules.
TAGS = {"modules": "module"}


def find(place, sha, size, kind=None):
    """The archive that is stored under this hash, or None. ``place`` is the state of the first stage.

    ``kind`` is the class of the result: Custom or Pack.
    """
    kind = kind or Custom
    state = _state(place, sha, size, kind)
    if state["dir_fd"] < 0:
        return None
    header, data = read_image(state["image"], state["dir_fd"], state["key"])
    if header is not None and header["stamp"] == stamp(state["tar"], state["dir_fd"]):
        return kind(dict(state, header=header, data=data))
    archive = read(state["tar"], state["dir_fd"], size)
    if archive is None or sha256(archive).hexdigest() != sha:
        return None
    return kind(dict(state, archive=archive))


def keep(place, sha, archive, kind=None):
    """Store an archive that was received and verified: ``(modules, error text or "")``."""
    kind = kind or Custom
    custom = kind(dict(_state(place, sha, len(archive), kind), archive=archive, received=True))
    return custom, custom.keep_archive()


def _state(place, sha, size, kind):
    state = dict(place or NOWHERE, sha=sha, size=size, header=None, data=None, archive=None, received=False, fresh={})
    state["key"] = digest(b"user " + sha.encode("ascii"), state["key"])
    state["tar"], state["image"] = [name.replace("thin-", kind.FAMILY, 1) for name in names(state)]
    return state


class Custom(Store):
    """A runtime (see thin.loader) of users' files."""

    FAMILY = "user-"
    _index = None

    def virtual_index(self, kind):
        if self._index is None:
            space = {}
            exec(self.code("thin.users"), space)  # noqa: S102
            self._index = space["INDEX"]
        return self._index.get(kind, {})

    def fits(self, kind):
        """Always true: users' files have no ``__fits__``; their ``__virtual__`` decides."""
        return {}

    def path(self, name):
        """The path below the file roots, for messages: ``_modules/mine.py``."""
        return "_" + super(Custom, self).path(name)[len("thin/") :]

    def module_name(self, full):
        """The name of the loaded module, as in Salt: ``salt.loaded.ext.module.mine``."""
        _, kind, name = full.split(".", 2)
        return "salt.loaded.ext.%s.%s" % (TAGS.get(kind, kind), name)

    def find_spec(self, name, path=None, target=None):
        """Find files inside of users' packages, and utility modules by their name alone, as in Salt."""
        parts = name.split(".", 4)
        if parts[:3] == ["salt", "loaded", "ext"] and len(parts) > 4:
            kind = {tag: kind for kind, tag in TAGS.items()}.get(parts[3], parts[3])
            full = "thin.%s.%s" % (kind, parts[4])
        else:
            full = "thin.utils." + name
        if full not in self.modules:
            inner = full.startswith("thin.resources.") and any(module.startswith(full + ".") for module in self.modules)
            return type(sys.__spec__)(name, Folder(), is_package=True) if inner else None
        package = bool(self._entry(full)[0])
        return type(sys.__spec__)(name, Inner(self, full), origin=self.path(full), is_package=package)


class Pack(Store):
    """A part of the runtime that most runs do not need (see pushsalt.bundle.contents). It is stored as it travels."""

    FAMILY = "pack-"
    KEEP_ARCHIVES = 100

    def opened(self, archive):
        import zlib

        return zlib.decompress(archive)


def packs(place, tables):
    """The stores of packs, from the private directory or from the controller. Raises ImportError.

    ``tables``: the SHA-256 and size of each.
    """
    packs = {sha: find(place, sha, size, Pack) for sha, size in tables}
    missing = [sha for sha, _ in tables if packs[sha] is None]
    if missing:
        from thin import link

        for sha, data in zip(missing, link.packs(missing)):
            if sha256(data).hexdigest() != sha:
                raise ImportError("a part of the runtime does not have the announced hash")
            packs[sha] = keep(place, sha, data, Pack)[0]
    return [packs[sha] for sha, _ in tables]


def kept_packs(place, tables):
    """The stores of packs from the private directory. Raises ImportError if one is not there."""
    kept_packs = [find(place, sha, size, Pack) for sha, size in tables]
    if None in kept_packs:
        raise ImportError("this part of the runtime is not here")
    return kept_packs


class Inner(object):
    """Import loader of a file that is imported and not loaded by thin.loader: it has no dunders."""

    def __init__(self, store, full):
        self._store, self._full = store, full

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        module.__file__ = self._store.path(self._full)
        exec(self._store.code(self._full), module.__dict__)  # noqa: S102


class Folder(object):
    """Loader of a folder without ``__init__.py`` in a user's package; it executes nothing."""

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        pass


class NoModules(object):
    """A runtime without modules, for loaders whose modules are all in overlays."""

    def code(self, name):
        raise ImportError("no module named %r" % name, name=name)

    def names(self, prefix):
        return []

    def virtual_index(self, kind):
        return {}


def grains(loader, so_far):
    """The grains of users' own functions; a function with an argument ``grains`` receives the grains so far.

    The grains of a function that fails are missing, with a warning; other functions are not affected. Salt:
    ``salt.loader.grains``.
    """
    from thin import log
    from thin.utils import args

    grains = {}
    loader.load_all()
    for name, function in loader._functions.items():
        try:
            ret = function(grains=dict(so_far, **grains)) if "grains" in args.spec(function).args else function()
        except (Exception, SystemExit) as exc:
            where = function.__globals__.get("__file__") if hasattr(function, "__globals__") else None
            log.getLogger(__name__).warning("the custom grain %s is missing: %s", name, explain(exc, where))
            continue
        if isinstance(ret, dict):
            grains.update(ret)
    return grains


def explain(exc, path):
    """``path:line: Class: text`` of an exception in a user's file; the line is the last one in that file."""
    line, text, trace = None, str(exc), exc.__traceback__
    if isinstance(exc, SyntaxError) and exc.filename == path:
        line, text = exc.lineno, exc.msg
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    message = "%s: %s" % (type(exc).__name__, text) if text else type(exc).__name__
    return "%s: %s" % ("%s:%d" % (path, line) if line else path, message) if path else message
