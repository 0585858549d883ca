"""Addresses of ``serve``, and what its answers are made of."""

from __future__ import annotations

import pytest
from starlette.requests import Request

from pushsalt.errors import UsageError
from pushsalt.serve import feed
from pushsalt.serve.answers import wants_page
from pushsalt.serve.settings import ServeSettings, address, is_loopback


@pytest.mark.parametrize(
    "text, wanted",
    [
        (":8000", ("127.0.0.1", 8000)),
        ("127.0.0.1:0", ("127.0.0.1", 0)),
        ("[::1]:8000", ("::1", 8000)),
        ("example.org:443", ("example.org", 443)),
    ],
)
def test_addresses(text, wanted):
    assert address(text) == wanted


@pytest.mark.parametrize(
    "text", ["", "8000", "host", "host:", "host:x", "host:-1", "host:65536", "http://x/:1", "a:1 "]
)
def test_invalid_addresses(text):
    with pytest.raises(UsageError):
        address(text)


@pytest.mark.parametrize(
    "host, wanted",
    [("127.0.0.1", True), ("127.8.0.1", True), ("::1", True), ("localhost", True)]
    + [(host, False) for host in ("0.0.0.0", "::", "10.0.0.1", "example.org", "", "localhost.example.org")],
)
def test_loopback(host, wanted):
    assert is_loopback(host) is wanted


def test_urls():
    assert ServeSettings(host="::1", port=80).url == "http://[::1]:80/"


@pytest.mark.parametrize(
    "accept, wanted",
    [
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", True),
        ("text/html", True),
        ("application/json", False),
        ("*/*", False),
        ("", False),
        ("application/json, text/html", False),
        ("text/html;q=0.1, application/json", False),
        ("text/html;q=x", False),
        ("text/html;q=0", False),
        ("," * 5000, False),
    ],
)
def test_who_gets_a_page(accept, wanted):
    request = Request({"type": "http", "headers": [(b"accept", accept.encode())]})
    assert wants_page(request) is wanted


@pytest.mark.parametrize(
    "header, wanted", [("12", 12), ("0", 0), (None, None), ("", None), ("-1", None), ("1x", None), ("9" * 30, None)]
)
def test_the_event_after_which_a_stream_continues(header, wanted):
    assert feed.last_seen(header) == wanted
