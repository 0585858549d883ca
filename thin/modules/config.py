"""Options, grains and pillar searched as one. Salt: salt.modules.config."""

import copy
import fnmatch

from thin import log
from thin.utils import data, dictupdate

__grains__ = {}
__opts__ = {}
__pillar__ = {}

__controller__ = True

_log = log.getLogger(__name__)
_NOTHING = object()

#: What modules fall back to. Salt: salt.modules.config.DEFAULTS
DEFAULTS = {
    "mongo.db": "salt", "mongo.password": "", "mongo.port": 27017, "mongo.user": "", "redis.db": "0", "redis.host": "salt",
    "redis.port": 6379, "test.foo": "unconfigured", "ca.cert_base_path": "/etc/pki", "hosts.file": "/etc/hosts",
    "aliases.file": "/etc/aliases", "virt": {"tunnel": False, "images": "/srv/salt-images"},
    "docker.exec_driver": "docker-exec",
}


def backup_mode(backup=""):
    """The backup mode: the one given, else the option's. Salt: config.backup_mode."""
    return backup or option("backup_mode")


def manage_mode(mode):
    """A mode as text of at least four digits, leading zero included. Salt: config.manage_mode."""
    if mode is None:
        return None
    text = str(mode).lower().lstrip("0o").strip('"').strip("'").lstrip("0") or "0"
    return text if text == "keep" else text.zfill(4)


def valid_fileproto(uri):
    """Whether a source is of a kind that files can come from. Salt: config.valid_fileproto."""
    return str(uri).split("://", 1)[0] in ("salt", "http", "https", "swift", "s3", "ftp", "file") and "://" in str(uri)


def option(value, default=None, omit_opts=False, omit_grains=False, omit_pillar=False, omit_master=False,
           omit_all=False, wildcard=False):
    """The value of a top-level key in options, grains, pillar, master options or defaults, in this order.

    With ``wildcard`` a dict of all keys that fit. Salt: config.option.
    """
    stores = [] if omit_all else _stores(omit_opts, omit_grains, omit_pillar, omit_master)
    if wildcard:
        found = {}
        for store in [DEFAULTS] + stores[::-1]:
            found.update((key, store[key]) for key in fnmatch.filter(store, value))
        return found or ({} if default is None else default)
    for store in stores + [DEFAULTS]:
        if value in store:
            return store[value]
    return "" if default is None else default


def get(key, default="", delimiter=":", merge=None, omit_opts=False, omit_pillar=False, omit_master=False,
        omit_grains=False):
    """The value of a key (``a:b`` descends) in the first store that has it; with ``merge`` in all of them merged.

    ``merge`` is ``recurse`` or ``overwrite``; options win over grains, those over pillar. Salt: config.get.
    """
    if merge is None:
        stores = _stores(omit_opts, omit_grains, omit_pillar, omit_master) + [DEFAULTS]
    else:
        if merge not in ("recurse", "overwrite"):
            _log.warning("Unsupported merge strategy '%s'. Falling back to 'recurse'.", merge)
            merge = "recurse"
        merged = copy.deepcopy(DEFAULTS)
        for store in _stores(False, False, False, False)[::-1]:
            merged = dictupdate.merge(merged, store, strategy=merge, merge_lists=False)
        stores = [merged]
    for store in stores:
        found = data.traverse_dict_and_list(store, key, _NOTHING, delimiter)
        if found is not _NOTHING:
            return found
    return default


def _stores(omit_opts, omit_grains, omit_pillar, omit_master):
    """The stores to look in, the strongest first; each is asked for only when it counts."""
    stores = []
    if not omit_opts:
        stores.append(__opts__)
    if not omit_grains:
        stores.append(__grains__)
    if not omit_pillar:
        stores.append(__pillar__)
    if not omit_master:
        stores.append(_Master())
    return stores


class _Master(dict):
    """Pillar's ``master`` entry (``pillar_opts``), looked up when it is read."""

    def __init__(self):
        super(_Master, self).__init__(__pillar__.get("master") or {})


def merge(value, default="", omit_opts=False, omit_master=False, omit_pillar=False):
    """The value of a top-level key, put together from options, master options and pillar. Salt: config.merge."""
    found = None
    for store in _stores(omit_opts, True, True, True) + ([] if omit_master else [_Master()]):
        found = _joined(found, store.get(value))
    if not omit_pillar:
        found = _joined(found, __pillar__.get(value))
    return found or default or ""


def _joined(found, more):
    """A dict with another's missing keys, a list with another's items; else the first that is there."""
    if not more:
        return found
    if not found:
        return copy.deepcopy(more)
    if isinstance(found, dict) and isinstance(more, dict):
        return dict(copy.deepcopy(more), **found)
    if isinstance(found, (list, tuple)) and isinstance(more, (list, tuple)):
        return list(found) + list(more)
    return found


def dot_vals(value):
    """All options and pillar keys that begin with ``value.``. Salt: config.dot_vals."""
    found = {}
    for store in (__pillar__.get("master", {}), __pillar__, __opts__):
        found.update((key, store[key]) for key in store if str(key).startswith(value + "."))
    return found


def items():
    """All options. Salt: config.items."""
    return {key: value for key, value in __opts__.items() if key not in ("grains", "pillar")}
