"""Resources of type dummy: simulated machines with services and packages, each stored in a file in the manager's
``cachedir``.

Nothing but this file is changed: they are for trying out targeting, functions and states. Declared in pillar:

.. code-block:: yaml

    resources:
      dummy:
        resource_ids: [shelf-1, shelf-2]

Salt: ``salt/resources/dummy``.
"""

import os

from thin.exceptions import CommandExecutionError
from thin.utils.files import atomic
from thin.utils.files.arguments import cachedir

#: The services and packages of a new dummy.
SERVICES = {"apache": "running", "ntp": "running", "samba": "stopped"}
PACKAGES = {"apache": "2.4", "coreutils": "1.0", "redbull": "999.99", "tinc": "1.4"}
SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")


def init(opts):
    """Called once, before any other function."""
    __context__["dummy_resource"] = True


def initialized():
    """Whether ``init`` was called."""
    return __context__.get("dummy_resource", False)


def discover(opts):
    """The declared ids."""
    declared = opts["pillar"].get(opts.get("resource_pillar_key") or "resources", {}).get("dummy") or {}
    return declared.get("resource_ids") or []


def grains():
    """The same grains for each dummy, and its id."""
    return {"dummy_grain_1": "one", "dummy_grain_2": "two", "dummy_grain_3": "three", "resource_id": __resource__["id"]}


def grains_refresh():
    """The grains; they are not cached."""
    return grains()


def ping():
    """A dummy always answers."""
    return True


def shutdown(opts):
    """Called once, at the end."""
    __context__.pop("dummy_resource", None)


# the parts of a dummy


def service_list():
    """The names of its services."""
    return sorted(_load()["services"])


def service_status(name):
    """``{"comment": "running"}``, or "stopped", also for a service that does not exist."""
    return {"comment": _load()["services"].get(name, "stopped")}


def service_start(name):
    """Start a service; it is created if it does not exist."""
    return _change("services", name, "running")


def service_stop(name):
    """Stop a service."""
    return _change("services", name, "stopped")


def service_restart(name):
    """Restart a service; this has no effect."""
    return True


def package_list():
    """``{name: version}``"""
    return _load()["packages"]


def package_status(name):
    """``{name: version}`` of a package, None if there is none."""
    packages = _load()["packages"]
    return {name: packages[name]} if name in packages else None


def package_install(name, version="1.0", **kwargs):
    """Install a package. Returns ``{name: version}``."""
    return {name: _change("packages", name, str(version))}


def package_remove(name):
    """Remove a package. Returns the remaining ones."""
    state = _load()
    if state["packages"].pop(name, None) is not None:
        _save(state)
    return state["packages"]


def upgrade():
    """Give each package the next version. Returns all of them."""
    state = _load()
    for name, version in state["packages"].items():
        major, dot, rest = version.partition(".")
        state["packages"][name] = "%d%s%s" % (int(major) + 1, dot, rest) if major.isdigit() else version
    _save(state)
    return state["packages"]


def uptodate():
    """All packages; none of them is out of date."""
    return package_list()


def _change(kind, name, value):
    state = _load()
    if state[kind].get(name) != value:
        state[kind][name] = value
        _save(state)
    return value


def _path():
    """The file of the current resource; an id that cannot be a part of a file name is hashed."""
    from thin.boot import sha256

    id = __resource__["id"]
    if len(id) > 100 or not SAFE.issuperset(id):
        id = "=" + sha256(id.encode("utf-8", "surrogateescape")).hexdigest()
    return os.path.join(cachedir(__opts__), "dummy-resource-%s.cache" % id)


def _load():
    """``{"id", "services", "packages"}`` from the file; defaults if there is none that can be read."""
    from thin import wire

    msgpack = wire.msgpack()

    fresh = {"id": __resource__["id"], "services": dict(SERVICES), "packages": dict(PACKAGES)}
    try:
        with open(_path(), "rb") as handle:
            kept = msgpack.unpackb(handle.read(), raw=False)
    except Exception:  # it does not exist, or is damaged, which does not matter for a dummy
        return fresh
    return kept if isinstance(kept, dict) and set(fresh) <= set(kept) else fresh


def _save(state):
    from thin import wire

    msgpack = wire.msgpack()

    try:
        atomic.makedirs(_path(), mode="0700")
        atomic.write(_path(), [msgpack.packb(state, use_bin_type=True)], mode=0o600)
    except OSError as exc:
        raise CommandExecutionError("cannot keep the dummy %s in %s: %s" % (__resource__["id"], _path(), exc))
