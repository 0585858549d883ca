"""A module's functions from the file that a state or the configuration names (``provider``, ``providers``)."""


def provide(loader, virtual, name, public):
    """Take the functions of ``virtual`` from the file ``name``; returns the function that undoes this.

    ``loader`` is a thin.loader.Loader, ``public(namespace)`` gives ``{name: function}``. What the file lacks stays, and
    a file that is not there changes nothing but is logged.
    """
    loader._load(virtual)
    space = getattr(loader._file(name), "__dict__", None)
    if space is None:
        loader._note("there is no module %s that could be the provider of %s" % (name, virtual))
        return lambda: None
    given = {"%s.%s" % (virtual, function): value for function, value in public(space).items()}
    space["__functions__"] = set(given)
    before = {function: loader._functions[function] for function in given if function in loader._functions}
    modules = loader._modules.setdefault(virtual, [])
    modules.insert(0, space)
    loader._functions.update(given)

    def undo():
        modules.remove(space)
        for function in given:
            loader._functions.pop(function, None)
        loader._functions.update(before)

    return undo
