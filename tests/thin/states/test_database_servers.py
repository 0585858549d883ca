"""MariaDB and Redis, with real servers: results, changes, test mode, second runs, drift and data, as recorded."""

from __future__ import annotations

import pytest

from tests.beds import servers, steps

pytestmark = [pytest.mark.machines, pytest.mark.slow, pytest.mark.timeout(600)]

START = """
echo 127.0.0.1 localhost > /etc/hosts
install -d -o mysql /run/mysqld
mariadbd --user=mysql --skip-log-error >/tmp/mariadbd.log 2>&1 &
for port in 6379 6380; do
    redis-server --port $port --requirepass geheim --masterauth geheim --save '' --dir /tmp >/tmp/redis-$port.log 2>&1 &
done
echo 'port 26379
sentinel monitor mymaster 127.0.0.1 6379 1
sentinel auth-pass mymaster geheim' > /tmp/sentinel.conf
redis-server /tmp/sentinel.conf --sentinel >/tmp/sentinel.log 2>&1 &
for port in 6379 6380 26379; do
    timeout 30 sh -c 'until redis-cli -p $0 ping >/dev/null 2>&1; do sleep 0.1; done' $port
done
timeout 60 sh -c 'until mariadb-admin ping >/dev/null 2>&1; do sleep 0.1; done' || { cat /tmp/mariadbd.log; false; }
"""


@pytest.fixture(scope="module")
def root():
    if servers.missing():
        pytest.skip(servers.missing())
    with servers.servers(["mariadb-server", "redis-server"], START) as started:
        yield started


@pytest.mark.parametrize("case", ["mysql", "redis"])
def test_returns_equal_recorded_ones(root, case):
    recorded = steps.load(case)
    returned = root.take(recorded)
    differences = [
        f"{number}: {step}\n  returned {ret}"
        for number, (step, ret) in enumerate(zip(recorded, returned, strict=True))
        if "want" in step and ret != step["want"]
    ]
    assert not differences, "\n".join(differences)


def test_passwords_are_in_no_arguments(root):
    """A slow client runs with the secrets of a state: no process list contains them."""
    root.shell(
        'printf \'#!/bin/sh\\nsleep 0.2; tr "\\\\0" " " < /proc/$$/cmdline >> /tmp/seen; echo >> /tmp/seen\\n'
        'exec /usr/bin/mariadb "$@"\\n\' > /usr/local/bin/mariadb; chmod +x /usr/local/bin/mariadb'
    )
    user = {"name": "otto", "host": "localhost", "password": "hidden-one"}
    connection = {"connection_user": "otto", "connection_pass": "hidden-one"}
    calls = [{"state": "mysql_user.present", "args": user}, {"call": "mysql.query", "args": ["mysql", "select 1"]}]
    calls[1]["kwargs"] = connection
    returned = root.take(calls)
    process_list = root.shell("cat /tmp/seen; rm /tmp/seen /usr/local/bin/mariadb")
    assert returned[0]["result"] is True
    assert "mariadb" in process_list
    assert "--user=otto" in process_list
    assert "hidden" not in process_list
