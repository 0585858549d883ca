"""Redis: server and keys, over its own protocol, so no client needs to be installed.

Salt (until 3007): modules/redismod.py; then saltext-redis. Hashes, lists and sets are in redismod_values.py.

``host``, ``port``, ``db`` and ``password`` of all functions default to the options ``redis.host``, ``redis.port``,
``redis.db`` and ``redis.password`` (without them: the host ``salt``, its port 6379, database 0, no password); a path as
host is a Unix socket.
"""

from thin.utils.programs import resp

__virtualname__ = "redis"
__reads__ = (
    "config_get",
    "dbsize",
    "exists",
    "get_key",
    "info",
    "keys",
    "key_type",
    "lastsave",
    "ping",
    "time",
    "sentinel_get_master_ip",
    "get_master_ip",
)
__changes__ = (
    "bgrewriteaof",
    "bgsave",
    "config_set",
    "delete",
    "expire",
    "expireat",
    "flushall",
    "flushdb",
    "save",
    "set_key",
    "shutdown",
    "slaveof",
)


def __virtual__():
    return __virtualname__


def _call(connection, *words):
    with resp.configured(__salt__["config.option"], *connection) as server:
        return server(*words)


def bgrewriteaof(host=None, port=None, db=None, password=None):
    """
    Start to rewrite the log of changes; returns True

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.bgrewriteaof
    """
    return bool(_call((host, port, db, password), "BGREWRITEAOF"))


def bgsave(host=None, port=None, db=None, password=None):
    """
    Save the data in the background; returns True

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.bgsave
    """
    return bool(_call((host, port, db, password), "BGSAVE"))


def config_get(pattern="*", host=None, port=None, db=None, password=None):
    """
    Return ``{name: value}`` of the server's settings that fit a glob

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.config_get maxmemory
    """
    return resp.pairs(_call((host, port, db, password), "CONFIG", "GET", pattern))


def config_set(name, value, host=None, port=None, db=None, password=None):
    """
    Change a setting of the running server; returns True

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.config_set maxmemory 100mb
    """
    return _call((host, port, db, password), "CONFIG", "SET", name, value) == "OK"


def dbsize(host=None, port=None, db=None, password=None):
    """
    Return the number of keys in the database

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.dbsize
    """
    return _call((host, port, db, password), "DBSIZE")


def delete(*keys, **connection_args):
    """
    Delete keys; returns the number of deleted ones

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.delete session:7
    """
    return _call(resp.named(connection_args), "DEL", *keys)


def exists(key, host=None, port=None, db=None, password=None):
    """
    Return 1 if the key exists, otherwise 0

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.exists session:7
    """
    return _call((host, port, db, password), "EXISTS", key)


def expire(key, seconds, host=None, port=None, db=None, password=None):
    """
    Set the seconds after which a key is deleted; returns whether the key exists

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.expire session:7 1800
    """
    return bool(_call((host, port, db, password), "EXPIRE", key, seconds))


def expireat(key, timestamp, host=None, port=None, db=None, password=None):
    """
    Set the UNIX time at which a key is deleted; returns whether the key exists

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.expireat session:7 1798761600
    """
    return bool(_call((host, port, db, password), "EXPIREAT", key, timestamp))


def flushall(host=None, port=None, db=None, password=None):
    """
    Delete all keys of all databases; returns True

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.flushall
    """
    return _call((host, port, db, password), "FLUSHALL") == "OK"


def flushdb(host=None, port=None, db=None, password=None):
    """
    Delete all keys of the database; returns True

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.flushdb
    """
    return _call((host, port, db, password), "FLUSHDB") == "OK"


def get_key(key, host=None, port=None, db=None, password=None):
    """
    Return the text of a key, or None

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.get_key session:7
    """
    return _call((host, port, db, password), "GET", key)


def info(host=None, port=None, db=None, password=None):
    """
    Return ``{name: value}`` of the server's information about itself

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.info
    """
    return resp.information(_call((host, port, db, password), "INFO"))


def keys(pattern="*", host=None, port=None, db=None, password=None):
    """
    Return the keys that fit a glob

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.keys 'session:*'
    """
    return _call((host, port, db, password), "KEYS", pattern)


def key_type(key, host=None, port=None, db=None, password=None):
    """
    Return the type of a key: string, list, set, zset, hash, stream or none

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.key_type session:7
    """
    return _call((host, port, db, password), "TYPE", key)


def lastsave(host=None, port=None, db=None, password=None):
    """
    Return the UNIX time of the last save

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.lastsave
    """
    return _call((host, port, db, password), "LASTSAVE")


def ping(host=None, port=None, db=None, password=None):
    """
    Whether the server answers

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.ping
    """
    try:
        return _call((host, port, db, password), "PING") == "PONG"
    except resp.ConnectionError:
        return False


def save(host=None, port=None, db=None, password=None):
    """
    Save the data and wait for the end; returns True

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.save
    """
    return _call((host, port, db, password), "SAVE") == "OK"


def set_key(key, value, host=None, port=None, db=None, password=None):
    """
    Set the text of a key; returns True

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.set_key motd 'web01 restarts at noon'
    """
    return _call((host, port, db, password), "SET", key, value) == "OK"


def shutdown(host=None, port=None, db=None, password=None):
    """
    Save the data and stop the server; returns whether it has stopped, False if it did not run

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.shutdown
    """
    if not ping(host, port, db, password):
        return False
    try:
        _call((host, port, db, password), "SHUTDOWN")
    except resp.ConnectionError:
        pass  # the server stops without a reply
    return not ping(host, port, db, password)


def slaveof(master_host=None, master_port=None, host=None, port=None, db=None, password=None):
    """
    Make the server a replica of another one (default port: 6379), or without a host a master; returns True

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.slaveof db01.example.org 6380
    """
    words = (master_host, master_port or 6379) if master_host else ("NO", "ONE")
    return _call((host, port, db, password), "SLAVEOF", *words).startswith("OK")


def time(host=None, port=None, db=None, password=None):
    """
    Return the server's time, in Unix seconds

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.time
    """
    return int(_call((host, port, db, password), "TIME")[0])


def sentinel_get_master_ip(master, host=None, port=None, password=None):
    """
    Return the address of a master, ``{master_host, master_port}``, from a sentinel; {} if the sentinel does not know it

    host, port, password
        of the sentinel; the options ``redis_sentinel.host`` (localhost), ``.port`` (26379) and ``.password`` otherwise

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.sentinel_get_master_ip app
    """
    option = __salt__["config.option"]
    with resp.Client(
        host or option("redis_sentinel.host", "localhost"),
        port or option("redis_sentinel.port", 26379),
        None,
        password or option("redis_sentinel.password"),
    ) as server:
        address = server("SENTINEL", "get-master-addr-by-name", master)
    return {"master_host": address[0], "master_port": int(address[1])} if address else {}


def get_master_ip(host=None, port=None, db=None, password=None):
    """
    Return ``{master_host, master_port}`` of a replica; empty texts for a server that is no replica

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.get_master_ip
    """
    fields = info(host, port, db, password)
    return {name: fields.get(name, "") for name in ("master_host", "master_port")}
