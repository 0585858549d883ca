"""The source of this package's code: its own files, or on a target the archive that was verified there.

On a target the first stage installs a `thin.store.Store` (archive and compiled image); everywhere else, on the
controller and in tests, `thin.folder.Folder` reads the package's files and Python's own bytecode cache. Both have::

    code(name)          the code object of a module: code("thin.modules.cmdmod")
    source(name)        its text
    names(prefix)       full names of the modules directly in a package, sorted: names("thin.modules")
    virtual_index(kind) {virtual name: [file names]}: virtual_index("modules")["pkg"] == ["aptpkg", "yumpkg", ...]
    fits(kind)          {file name: {grain: (values)}} of the files that are only for some systems

and a store also ``foresee(names)``, which has modules sent that will be needed.

Raises ImportError for a module that does not exist.
"""

_backend = None


def backend():
    """The store in use."""
    global _backend
    if _backend is None:
        from thin.folder import Folder

        _backend = Folder()
    return _backend


def install(store):
    """Set the store that code is loaded from."""
    global _backend
    _backend = store


def code(name):
    return backend().code(name)


def source(name):
    return backend().source(name)


def names(prefix):
    return backend().names(prefix)


def virtual_index(kind):
    return backend().virtual_index(kind)


def fits(kind):
    return backend().fits(kind)


def defaults():
    """The defaults of the options that the controller does not send."""
    from thin import _index

    return _index.DEFAULTS


def foresee(names):
    """Announce modules that will be needed."""
    if hasattr(backend(), "foresee"):
        backend().foresee(names)
