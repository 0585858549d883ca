"""Redis, by its own protocol: no client need be installed. Salt (until 3007): modules/redismod.py; then saltext-redis

``host``, ``port``, ``db`` and ``password`` of all functions default to the options ``redis.host``, ``redis.port``,
``redis.db`` and ``redis.password`` (without them: the host ``salt``, its port 6379, database 0, no password); a path as
host is a Unix socket.
"""

from thin.utils import resp

__virtualname__ = "redis"
__reads__ = (
    "config_get",
    "dbsize",
    "exists",
    "get_key",
    "hexists",
    "hget",
    "hgetall",
    "hlen",
    "hmget",
    "hvals",
    "hscan",
    "info",
    "keys",
    "key_type",
    "lastsave",
    "llen",
    "lrange",
    "ping",
    "smembers",
    "time",
    "zcard",
    "zrange",
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
    "hdel",
    "hincrby",
    "hincrbyfloat",
    "hmset",
    "hset",
    "hsetnx",
    "save",
    "set_key",
    "shutdown",
    "slaveof",
)


def __virtual__():
    return __virtualname__


def _connect(host=None, port=None, db=None, password=None):
    option = __salt__["config.option"]
    return resp.Client(
        host or option("redis.host"),
        port or option("redis.port"),
        db or option("redis.db"),
        password or option("redis.password"),
    )


def _call(connection, *words):
    with _connect(*connection) as server:
        return server(*words)


def _named(options):
    """The connection out of keyword arguments, which it takes away."""
    return tuple(options.pop(name, None) for name in ("host", "port", "db", "password"))


def _pairs(answer):
    return dict(zip(answer[::2], answer[1::2]))


def bgrewriteaof(host=None, port=None, db=None, password=None):
    """
    Start to write the log of changes anew; returns True

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
    return _pairs(_call((host, port, db, password), "CONFIG", "GET", pattern))


def config_set(name, value, host=None, port=None, db=None, password=None):
    """
    Change a setting of the server until it ends; returns True

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.config_set maxmemory 100mb
    """
    return _call((host, port, db, password), "CONFIG", "SET", name, value) == "OK"


def dbsize(host=None, port=None, db=None, password=None):
    """
    Return how many keys the database has

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.dbsize
    """
    return _call((host, port, db, password), "DBSIZE")


def delete(*keys, **connection_args):
    """
    Delete keys; returns how many there were

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.delete session:7
    """
    return _call(_named(connection_args), "DEL", *keys)


def exists(key, host=None, port=None, db=None, password=None):
    """
    Return 1 when there is a key, or 0

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.exists session:7
    """
    return _call((host, port, db, password), "EXISTS", key)


def expire(key, seconds, host=None, port=None, db=None, password=None):
    """
    Delete a key after so many seconds; returns whether there is one

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.expire session:7 1800
    """
    return bool(_call((host, port, db, password), "EXPIRE", key, seconds))


def expireat(key, timestamp, host=None, port=None, db=None, password=None):
    """
    Delete a key at this UNIX time; returns whether there is one

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


def hdel(key, *fields, **options):
    """
    Delete fields of a hash; returns how many there were

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.hdel user:ada phone pager
    """
    return _call(_named(options), "HDEL", key, *fields)


def hexists(key, field, host=None, port=None, db=None, password=None):
    """
    Whether a hash has a field

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.hexists user:ada phone
    """
    return bool(_call((host, port, db, password), "HEXISTS", key, field))


def hget(key, field, host=None, port=None, db=None, password=None):
    """
    Return the text of a hash's field, or None

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.hget user:ada phone
    """
    return _call((host, port, db, password), "HGET", key, field)


def hgetall(key, host=None, port=None, db=None, password=None):
    """
    Return ``{field: text}`` of a hash

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.hgetall user:ada
    """
    return _pairs(_call((host, port, db, password), "HGETALL", key))


def hincrby(key, field, increment=1, host=None, port=None, db=None, password=None):
    """
    Add to the whole number of a hash's field; returns the sum

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.hincrby user:ada logins 2
    """
    return _call((host, port, db, password), "HINCRBY", key, field, increment)


def hincrbyfloat(key, field, increment=1.0, host=None, port=None, db=None, password=None):
    """
    Add to the number of a hash's field; returns the sum

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.hincrbyfloat user:ada balance 0.75
    """
    return float(_call((host, port, db, password), "HINCRBYFLOAT", key, field, increment))


def hlen(key, host=None, port=None, db=None, password=None):
    """
    Return how many fields a hash has

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.hlen user:ada
    """
    return _call((host, port, db, password), "HLEN", key)


def hmget(key, *fields, **options):
    """
    Return the texts of a hash's fields, None for those that are missing

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.hmget user:ada phone pager
    """
    return _call(_named(options), "HMGET", key, *fields)


def hmset(key, **fieldsvals):
    """
    Set fields of a hash; returns True

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.hmset user:ada phone=555-0131 room=B-204
    """
    connection = _named(fieldsvals)
    words = [word for name, value in fieldsvals.items() if not name.startswith("__") for word in (name, value)]
    return _call(connection, "HMSET", key, *words) == "OK"


def hset(key, field, value, host=None, port=None, db=None, password=None):
    """
    Set a field of a hash; returns 1 for a new one, or 0

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.hset user:ada room B-204
    """
    return _call((host, port, db, password), "HSET", key, field, value)


def hsetnx(key, field, value, host=None, port=None, db=None, password=None):
    """
    Set a field of a hash that has none of that name; returns 1, or 0 when it has

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.hsetnx user:ada room B-204
    """
    return _call((host, port, db, password), "HSETNX", key, field, value)


def hvals(key, host=None, port=None, db=None, password=None):
    """
    Return the texts of all fields of a hash

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.hvals user:ada
    """
    return _call((host, port, db, password), "HVALS", key)


def hscan(key, cursor=0, match=None, count=None, host=None, port=None, db=None, password=None):
    """
    Return ``(cursor to go on with, {field: text})``, a part of a hash; the cursor is 0 at its end

    match
        a glob of fields
    count
        about how many to return

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.hscan user:ada match='last_*' count=50
    """
    words = (["MATCH", match] if match is not None else []) + (["COUNT", count] if count is not None else [])
    found = _call((host, port, db, password), "HSCAN", key, cursor, *words)
    return int(found[0]), _pairs(found[1])


def info(host=None, port=None, db=None, password=None):
    """
    Return ``{name: value}`` of what the server says of itself

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


def llen(key, host=None, port=None, db=None, password=None):
    """
    Return how many elements a list has

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.llen jobs
    """
    return _call((host, port, db, password), "LLEN", key)


def lrange(key, start, stop, host=None, port=None, db=None, password=None):
    """
    Return a part of a list, by places

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.lrange jobs 0 24
    """
    return _call((host, port, db, password), "LRANGE", key, start, stop)


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
    Save the data, and wait for that; returns True

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
    Save the data and end the server; returns whether it is gone then, False when it was not there

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.shutdown
    """
    if not ping(host, port, db, password):
        return False
    try:
        _call((host, port, db, password), "SHUTDOWN")
    except resp.ConnectionError:
        pass  # it goes without an answer
    return not ping(host, port, db, password)


def slaveof(master_host=None, master_port=None, host=None, port=None, db=None, password=None):
    """
    Make the server a replica of another one (port 6379 unless given), or without one a master; returns True

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.slaveof db01.example.org 6380
    """
    words = (master_host, master_port or 6379) if master_host else ("NO", "ONE")
    return _call((host, port, db, password), "SLAVEOF", *words).startswith("OK")


def smembers(key, host=None, port=None, db=None, password=None):
    """
    Return the members of a set as a list

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.smembers admins
    """
    return _call((host, port, db, password), "SMEMBERS", key)


def time(host=None, port=None, db=None, password=None):
    """
    Return what time the server has, as Unix seconds

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.time
    """
    return int(_call((host, port, db, password), "TIME")[0])


def zcard(key, host=None, port=None, db=None, password=None):
    """
    Return how many members a sorted set has

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.zcard ranking
    """
    return _call((host, port, db, password), "ZCARD", key)


def zrange(key, start, stop, host=None, port=None, db=None, password=None):
    """
    Return a part of a sorted set, by places

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.zrange ranking 0 4
    """
    return _call((host, port, db, password), "ZRANGE", key, start, stop)


def sentinel_get_master_ip(master, host=None, port=None, password=None):
    """
    Return ``{master_host, master_port}`` that a sentinel has for a master; {} when it knows none

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
        found = server("SENTINEL", "get-master-addr-by-name", master)
    return {"master_host": found[0], "master_port": int(found[1])} if found else {}


def get_master_ip(host=None, port=None, db=None, password=None):
    """
    Return ``{master_host, master_port}`` of a replica; empty texts when it is none

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.get_master_ip
    """
    found = info(host, port, db, password)
    return {name: found.get(name, "") for name in ("master_host", "master_port")}
