"""Names of functions that are similar to a missing one, for error messages."""

from thin.utils import matching


def functions(loader, name, count):
    """Up to ``count`` names of functions of a thin.loader.Loader, the most similar first.

    The names of all modules are compared, and modules with similar names are loaded.
    """
    module, _, function = str(name).partition(".")
    modules = matching.close(module, list(loader._files()), 5, 0.7)
    if module in loader._files() and module not in modules:
        modules.insert(0, module)
    for virtual in modules:
        loader._load(virtual)
    near = [full_name for full_name in loader._functions if full_name.split(".", 1)[0] in modules]
    matches = matching.close(str(name), near, count, 0.75)
    return (
        matches
        or ["%s.%s" % (virtual, function) for virtual in modules if "%s.%s" % (virtual, function) in loader._functions][
            :count
        ]
    )
