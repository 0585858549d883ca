"""Users' own modules on the target: a runtime (see thin.loader) over files that the controller has.

The session begins with an index, ``{kind: {file name: {"digest", "virtual": [names]}}}``; kinds are ``modules``,
``states``, ``utils`` and ``grains``. A file's text is fetched when something of it is wanted, once for each digest:
it stays with the other files of the controller. What is run is what was hashed, whatever lies on the disk.
"""


class Custom(object):
    """``fetch(kind, name, digest)`` gives the verified bytes of one file; raises thin.link.LinkError."""

    def __init__(self, index, fetch):
        self._index = index or {}
        self._fetch = fetch
        self._codes = {}

    def __bool__(self):
        return any(self._index.values())

    def code(self, full):
        if full not in self._codes:
            self._codes[full] = compile(self._bytes(full), full.replace(".", "/") + ".py", "exec", dont_inherit=True)
        return self._codes[full]

    def source(self, full):
        from importlib.util import decode_source

        return decode_source(self._bytes(full))

    def names(self, prefix):
        kind = prefix.rpartition(".")[2]
        return ["%s.%s" % (prefix, name) for name in sorted(self._index.get(kind, ()))]

    def virtual_index(self, kind):
        found = {}
        for name, entry in sorted(self._index.get(kind, {}).items()):
            for virtual in entry["virtual"]:
                found.setdefault(virtual, []).append(name)
        return found

    def _bytes(self, full):
        _, kind, name = full.split(".")
        try:
            digest = self._index[kind][name]["digest"]
        except KeyError:
            raise ImportError("no module named %r" % full, name=full)
        return self._fetch(kind, name, digest)


class Nothing(object):
    """A runtime without modules, below overlays that have some."""

    def names(self, prefix):
        return []

    def virtual_index(self, kind):
        return {}


def grains(loader, so_far):
    """The grains that users' own functions give, each told what is known so far if it asks for ``grains``.

    A function that fails leaves its grains out and the others alone. Salt: ``salt.loader.grains``.
    """
    from thin import log
    from thin.utils import args

    found = {}
    for name, function in loader.items():
        try:
            ret = function(grains=dict(so_far, **found)) if "grains" in args.spec(function).args else function()
        except Exception as exc:
            log.getLogger(__name__).critical(
                "Failed to load grains defined in grain file %s, error: %s: %s", name, type(exc).__name__, exc)
            continue
        if isinstance(ret, dict):
            found.update(ret)
    return found
