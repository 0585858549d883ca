"""Options, looked up in the minion's options, the grains and the pillar, in this order.

Salt: ``salt/modules/config.py``.
"""

from thin.log import getLogger
from thin.utils import data, dictupdate

__controller__ = True
__recorded__ = ("backup_mode", "dot_vals", "get", "items", "manage_mode", "merge", "option", "valid_fileproto")
__usual__ = True
__reads__ = ("get", "option", "merge", "dot_vals", "items", "backup_mode", "manage_mode", "valid_fileproto")

log = getLogger(__name__)

#: Defaults of options.
DEFAULTS = {
    "mongo.db": "salt",
    "mongo.password": "",
    "mongo.port": 27017,
    "mongo.user": "",
    "redis.db": "0",
    "redis.host": "salt",
    "redis.port": 6379,
    "test.foo": "unconfigured",
    "ca.cert_base_path": "/etc/pki",
    "solr.cores": [],
    "solr.host": "localhost",
    "solr.port": "8983",
    "solr.baseurl": "/solr",
    "solr.type": "master",
    "solr.request_timeout": None,
    "solr.init_script": "/etc/rc.d/solr",
    "solr.dih.import_options": {"clean": False, "optimize": True, "commit": True, "verbose": False},
    "solr.backup_path": None,
    "solr.num_backups": 1,
    "poudriere.config": "/usr/local/etc/poudriere.conf",
    "poudriere.config_dir": "/usr/local/etc/poudriere.d",
    "ldap.uri": "",
    "ldap.server": "localhost",
    "ldap.port": "389",
    "ldap.tls": False,
    "ldap.no_verify": False,
    "ldap.anonymous": True,
    "ldap.scope": 2,
    "ldap.attrs": None,
    "ldap.binddn": "",
    "ldap.bindpw": "",
    "hosts.file": "/etc/hosts",
    "aliases.file": "/etc/aliases",
    "virt": {"tunnel": False, "images": "/srv/salt-images"},
    "docker.exec_driver": "docker-exec",
    "docker.compare_container_networks": {
        "static": ["Aliases", "Links", "IPAMConfig"],
        "automatic": ["IPAddress", "Gateway", "GlobalIPv6Address", "IPv6Gateway"],
    },
}

_PROTOCOLS = ("salt", "http", "https", "ftp", "file", "s3", "swift")
_MISSING = object()


def get(
    key,
    default="",
    delimiter=data.DELIMITER,
    merge=None,
    omit_opts=False,
    omit_pillar=False,
    omit_master=False,
    omit_grains=False,
):
    """
    Return the value at a path of the options, the grains or the pillar, the first that has it; otherwise the default

    With ``merge`` (``recurse`` or ``overwrite``) all of them are merged, and options have precedence.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' config.get app:listen
    """
    if merge is None:
        places = (
            (omit_opts, _options()),
            (omit_grains, __grains__),
            (omit_pillar, __pillar__),
            (omit_master, None),
            (False, DEFAULTS),
        )
        for omit, place in places:
            if omit:
                continue
            place = _master() if place is None else place
            value = data.traverse_dict_and_list(place, key, _MISSING, delimiter)
            if value is not _MISSING:
                return value
        return default
    if merge not in ("recurse", "overwrite"):
        log.warning("there is no merge strategy %s; recurse is used", merge)
        merge = "recurse"
    merged = dict(DEFAULTS)
    for place in (_master(), __pillar__, __grains__, _options()):
        merged = dictupdate.merge(merged, place, merge, merge_lists=__opts__.get("pillar_merge_lists", False))
    value = data.traverse_dict_and_list(merged, key, _MISSING, delimiter)
    return default if value is _MISSING else value


def option(
    value,
    default=None,
    omit_opts=False,
    omit_grains=False,
    omit_pillar=False,
    omit_master=False,
    omit_all=False,
    wildcard=False,
):
    """
    Return an option by its exact name, or ``{name: value}`` of those that fit a glob (``wildcard``)

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' config.option app.port
    """
    omit = [omit_all or one for one in (omit_opts, omit_grains, omit_pillar, omit_master)]
    places = [
        place for skip, place in zip(omit, (_options, lambda: __grains__, lambda: __pillar__, _master)) if not skip
    ] + [lambda: DEFAULTS]
    if not wildcard:
        for place in places:
            if value in place():
                return place()[value]
        return "" if default is None else default
    import fnmatch

    ret = {}
    for place in reversed(places):
        ret.update((name, place()[name]) for name in fnmatch.filter(place(), value))
    return ret or ({} if default is None else default)


def merge(value, default="", omit_opts=False, omit_master=False, omit_pillar=False):
    """
    Return an option merged from options, ``master`` and pillar: dicts and lists are merged, of texts the first is taken

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' config.merge app
    """
    ret = None
    for omit, place in ((omit_opts, _options()), (omit_master, None), (omit_pillar, __pillar__)):
        place = {} if omit else _master() if place is None else place
        if value not in place:
            continue
        configured = place[value]
        if ret is None:
            ret = configured
            if isinstance(ret, str):
                return ret
        elif isinstance(ret, dict) and isinstance(configured, dict):
            ret = dict(configured, **ret)
        elif isinstance(ret, (list, tuple)) and isinstance(configured, (list, tuple)):
            ret = list(ret) + list(configured)
    return DEFAULTS.get(value, default) if ret is None else ret


def dot_vals(value):
    """
    Return the options whose names begin with this and a dot

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' config.dot_vals redis
    """
    return {key: place[key] for place in (_master(), _options()) for key in place if key.startswith(value + ".")}


def items():
    """
    Return all options; of the pillar, which the options of a target contain, only the keys

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' config.items
    """
    options = dict(__opts__)
    if "pillar" in options:
        options["pillar"] = _masked(options["pillar"])
    return options


def backup_mode(backup=""):
    """
    Return the mode of backups of changed files

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' config.backup_mode
    """
    return backup or option("backup_mode")


def manage_mode(mode):
    """
    Return a file mode as text of four digits at least, without quotes

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' config.manage_mode 644
    """
    if mode is None:
        return None
    return str(mode).strip("\"'").lstrip("0Oo").zfill(4)


def valid_fileproto(uri):
    """
    Whether files can be fetched from URLs of this scheme

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' config.valid_fileproto salt://app/app.conf
    """
    scheme, colon, _ = str(uri).partition(":")
    return bool(colon) and scheme.lower() in _PROTOCOLS


def _master():
    master = __pillar__.get("master", {})
    return master if isinstance(master, dict) else {}


def _options():
    """The options without pillar, which is read and masked separately."""
    if "pillar" not in __opts__:
        return __opts__
    return {key: __opts__[key] for key in __opts__ if key != "pillar"}


def _masked(value):
    if hasattr(value, "items"):
        return {key: _masked(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_masked(item) for item in value]
    return "**********" if value else value
