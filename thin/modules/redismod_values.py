"""Hashes, lists and sets of Redis: a part of ``redis``. Salt (until 3007): modules/redismod.py; then saltext-redis

See redismod.py for the defaults of ``host``, ``port``, ``db`` and ``password``.
"""

from thin.utils.programs import resp

__virtualname__ = "redis"
__reads__ = (
    "hexists",
    "hget",
    "hgetall",
    "hlen",
    "hmget",
    "hvals",
    "hscan",
    "llen",
    "lrange",
    "smembers",
    "zcard",
    "zrange",
)
__changes__ = ("hdel", "hincrby", "hincrbyfloat", "hmset", "hset", "hsetnx")


def __virtual__():
    return __virtualname__


def _call(connection, *words):
    with resp.configured(__salt__["config.option"], *connection) as server:
        return server(*words)


def hdel(key, *fields, **options):
    """
    Delete fields of a hash; returns the number of deleted ones

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.hdel user:ada phone pager
    """
    return _call(resp.named(options), "HDEL", key, *fields)


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
    return resp.pairs(_call((host, port, db, password), "HGETALL", key))


def hincrby(key, field, increment=1, host=None, port=None, db=None, password=None):
    """
    Add to the integer in a hash's field; returns the sum

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.hincrby user:ada logins 2
    """
    return _call((host, port, db, password), "HINCRBY", key, field, increment)


def hincrbyfloat(key, field, increment=1.0, host=None, port=None, db=None, password=None):
    """
    Add to the number in a hash's field; returns the sum

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.hincrbyfloat user:ada balance 0.75
    """
    return float(_call((host, port, db, password), "HINCRBYFLOAT", key, field, increment))


def hlen(key, host=None, port=None, db=None, password=None):
    """
    Return the number of fields of a hash

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
    return _call(resp.named(options), "HMGET", key, *fields)


def hmset(key, **fieldsvals):
    """
    Set fields of a hash; returns True

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.hmset user:ada phone=555-0131 room=B-204
    """
    connection = resp.named(fieldsvals)
    words = [word for name, value in fieldsvals.items() if not name.startswith("__") for word in (name, value)]
    return _call(connection, "HMSET", key, *words) == "OK"


def hset(key, field, value, host=None, port=None, db=None, password=None):
    """
    Set a field of a hash; returns 1 for a new field, otherwise 0

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.hset user:ada room B-204
    """
    return _call((host, port, db, password), "HSET", key, field, value)


def hsetnx(key, field, value, host=None, port=None, db=None, password=None):
    """
    Set a field of a hash if it does not exist; returns 1 if it was set, otherwise 0

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
    Return ``(next cursor, {field: text})``, a part of a hash; the cursor is 0 at its end

    match
        a glob of fields
    count
        the approximate number of fields to return

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.hscan user:ada match='last_*' count=50
    """
    words = (["MATCH", match] if match is not None else []) + (["COUNT", count] if count is not None else [])
    answer = _call((host, port, db, password), "HSCAN", key, cursor, *words)
    return int(answer[0]), resp.pairs(answer[1])


def llen(key, host=None, port=None, db=None, password=None):
    """
    Return the number of elements of a list

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.llen jobs
    """
    return _call((host, port, db, password), "LLEN", key)


def lrange(key, start, stop, host=None, port=None, db=None, password=None):
    """
    Return a part of a list, by positions

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.lrange jobs 0 24
    """
    return _call((host, port, db, password), "LRANGE", key, start, stop)


def smembers(key, host=None, port=None, db=None, password=None):
    """
    Return the members of a set as a list

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.smembers admins
    """
    return _call((host, port, db, password), "SMEMBERS", key)


def zcard(key, host=None, port=None, db=None, password=None):
    """
    Return the number of members of a sorted set

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.zcard ranking
    """
    return _call((host, port, db, password), "ZCARD", key)


def zrange(key, start, stop, host=None, port=None, db=None, password=None):
    """
    Return a part of a sorted set, by positions

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' redis.zrange ranking 0 4
    """
    return _call((host, port, db, password), "ZRANGE", key, start, stop)
