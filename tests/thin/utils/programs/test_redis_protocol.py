"""The protocol of Redis, with a server in this process whose answers the test sets."""

import socket
import threading

import pytest

from thin.utils.programs import resp


@pytest.fixture
def server():
    """A function that answers with the given bytes, then closes; the requests are in ``received``."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        received: list[bytes] = []
        threads: list[threading.Thread] = []

        def answer(data):
            def serve():
                connection, _ = listener.accept()
                with connection:
                    received.append(connection.recv(65536))
                    connection.sendall(data)

            threads.append(threading.Thread(target=serve))
            threads[-1].start()
            return resp.Client("127.0.0.1", listener.getsockname()[1])

        yield answer, received
        for thread in threads:
            thread.join()


@pytest.mark.parametrize(
    "data, expected",
    [
        (b"+OK\r\n", "OK"),
        (b":-7\r\n", -7),
        (b"$6\r\na\r\n\xc3\xa9b\r\n", "a\r\néb"),
        (b"$0\r\n\r\n", ""),
        (b"$-1\r\n", None),
        (b"*-1\r\n", None),
        (b"*0\r\n", []),
        (b"*3\r\n$1\r\na\r\n:1\r\n*1\r\n$-1\r\n", ["a", 1, [None]]),
    ],
)
def test_answers_are_parsed(server, data, expected):
    answer, received = server
    with answer(data) as client:
        assert client("GET", "é", 5) == expected
    assert received == [b"*3\r\n$3\r\nGET\r\n$2\r\n\xc3\xa9\r\n$1\r\n5\r\n"]


@pytest.mark.parametrize(
    "data, error",
    [
        (b"-ERR no such command\r\n", resp.ResponseError),
        (b"", resp.ConnectionError),
        (b"$6\r\nab", resp.ConnectionError),
        (b":many\r\n", resp.ConnectionError),
        (b"HTTP/1.1 400 Bad Request\r\n", resp.ConnectionError),
        (b"*1\r\n" * 99 + b":1\r\n", resp.ConnectionError),
    ],
)
def test_errors_name_the_server(server, data, error):
    answer, _ = server
    with answer(data) as client, pytest.raises(error, match=r"Redis at 127\.0\.0\.1:"):
        client("PING")


def test_a_server_that_is_not_reachable_is_an_error():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(resp.ConnectionError, match="cannot be reached"):
        resp.Client("127.0.0.1", port)


def test_the_output_of_info_is_parsed():
    text = "# Server\r\nredis_version:7.0.15\r\nport:6379\r\nload:0.5\r\ndb0:keys=1,expires=0\r\nx:a,b\r\n"
    assert resp.information(text) == {
        "redis_version": "7.0.15",
        "port": 6379,
        "load": 0.5,
        "db0": {"keys": 1, "expires": 0},
        "x": "a,b",
    }
