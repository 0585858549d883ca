"""Takes a module's functions from the file that a state or the configuration names (``provider``, ``providers``)."""


def provide(loader, virtual, name, public):
    """Take the functions of ``virtual`` from the file ``name``; returns the function that undoes this.

    ``loader`` is a thin.loader.Loader, ``public(namespace)`` returns ``{name: function}``. The files that the file
    names as its ``__parts__`` are used, too, as they are one file in Salt. Functions that all of them lack stay. A
    missing file is logged, and changes nothing.
    """
    loader._load(virtual)
    space = getattr(loader._file(name), "__dict__", None)
    if space is None:
        loader._note("there is no module %s that could be the provider of %s" % (name, virtual))
        return lambda: None
    spaces = [space] + [loader._file(part).__dict__ for part in space.get("__parts__", ())]
    given = {}
    for each in spaces:
        own = {"%s.%s" % (virtual, function): value for function, value in public(each).items()}
        each["__functions__"] = set(own)
        given.update(own)
    before = {function: loader._functions[function] for function in given if function in loader._functions}
    modules = loader._modules.setdefault(virtual, [])
    modules[:0] = spaces
    loader._functions.update(given)

    def undo():
        for each in spaces:
            modules.remove(each)
        for function in given:
            loader._functions.pop(function, None)
        loader._functions.update(before)

    return undo
