"""An error of a pillar SLS contains no secrets near it."""

from __future__ import annotations

import pytest

from pushsalt.excerpt import excerpt
from pushsalt.model import Explained
from pushsalt.pillar.safe import safe_error
from pushsalt.redact import Redactor

KEY = "key: |\n  -----BEGIN KEY-----\n  MIIEpAIBAAKCAQEAx0123456789abcdef\n  tail\nafter: 1"


@pytest.mark.parametrize(
    "source, shown",
    [
        ("a: 1\npassword: @hunter2", "a: 1\npassword: **********"),
        ("{user: me, password: @hunter2}", "{user: me, password: **********"),
        ('{"api_key" : "x-y-z"}', '{"api_key" : **********'),
        ("- token: !tag\n  b: 2", "- token: **********\n  b: 2"),
        ("private_key: |\n  abc\n  def\nb: [", "private_key: |\n  **********\n  **********\nb: ["),
        ("secrets:\n  one: 1\n  two: 2\nother: 3", "secrets:\n  **********\n  **********\nother: 3"),
        (KEY, "key: |\n  **********\n  **********\n  **********\nafter: 1"),
        ("{% set passwd = 'xyzzy' %}", "{% set passwd = **********"),
        ("token: {{ nope.x }}", "token: {{ nope.x }}"),
        ("token: {{ nope.x('literal') }}", "token: **********"),
        ("tokens_per_day: 5\nname: web", "tokens_per_day: **********\nname: web"),
        ("path: /srv/something/rather/long/named", "path: /srv/something/rather/long/named"),
    ],
)
def test_lines_around_the_place(source, shown):
    line = 1 + source.count("\n") // 2
    text = f"Rendering SLS 'base:a' failed: no\n  in a.sls:2\n\n{excerpt(source, line)}"
    safe = safe_error(text, Redactor().is_secret_key)
    assert safe.splitlines()[3:] == excerpt(shown, line).splitlines()
    assert safe_error(Explained("short", text), Redactor().is_secret_key).explanation == safe


def test_messages_do_not_repeat_hidden_lines():
    text = f"no constructor for '!tag9' in\n{excerpt('pwd: !tag9', 1)}"
    assert safe_error(text, Redactor().is_secret_key) == "no constructor for '**********' in\n> 1 | pwd: **********"
