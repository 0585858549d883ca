from __future__ import annotations

import pytest

from pushsalt.errors import ConfigError
from pushsalt.git.address import is_ref, is_sha, parse_address, without_credentials


@pytest.mark.parametrize(
    "url, want",
    [
        ("https://example.org/a/b.git", ("https://example.org/a/b.git", "https", "example.org", "", "b")),
        (
            "https://me:p%40ss@example.org:8443/b.git",
            ("https://example.org:8443/b.git", "https", "example.org", "me", "b"),
        ),
        ("http://example.org/b", ("http://example.org/b", "http", "example.org", "", "b")),
        ("git://example.org/b.git", ("git://example.org/b.git", "git", "example.org", "", "b")),
        (
            "ssh://git@example.org:2222/a/b.git",
            ("ssh://git@example.org:2222/a/b.git", "ssh", "example.org", "git", "b"),
        ),
        ("git@example.org:a/b.git", ("git@example.org:a/b.git", "ssh", "example.org", "git", "b")),
        ("example.org:b.git", ("example.org:b.git", "ssh", "example.org", "", "b")),
        ("file:///srv/b.git", ("file:///srv/b.git", "file", "", "", "b")),
        ("file://localhost/srv/b.git", ("file:///srv/b.git", "file", "", "", "b")),
        ("/srv/git/b.git", ("file:///srv/git/b.git", "file", "", "", "b")),
        ("https://[::1]:8443/b.git", ("https://[::1]:8443/b.git", "https", "::1", "", "b")),
    ],
)
def test_urls(url, want):
    found = parse_address(url, "gitfs_remotes")
    assert (found.url, found.scheme, found.host, found.user, found.name) == want


def test_a_password_is_taken_out_of_the_url():
    found = parse_address("https://me:p%40ss@example.org/b.git", "gitfs_remotes")
    assert found.password == "p@ss"
    assert "p@ss" not in repr(found) + found.shown + found.url


@pytest.mark.parametrize(
    "url",
    [
        "--upload-pack=touch /tmp/x",
        "-oProxyCommand=x",
        "ext::sh -c x",
        "ext::sh",
        "fd::17",
        "https::http://x/y",
        "ftp://example.org/b",
        "javascript://x/y",
        "https:///b.git",
        "https://example.org",
        "https://-host/b",
        "ssh://-oProxyCommand=x/b",
        "ssh://host/-x",
        "ssh://-user@host/b",
        "-host:b",
        "host:-path",
        "ssh://host/--x",
        "https://example.org/$HOME",
        "https://exa mple.org/b",
        "https://example.org/b\n",
        "file://host/b",
        "file:relative",
        "relative/path",
        "",
        5,
        None,
        ["x"],
        "https://example.org:99999/b",
        "ssh://me:secret@host/b",
        "C:\\repo",
        "https://u%0aname@example.org/b",
    ],
)
def test_what_git_is_never_given(url):
    with pytest.raises(ConfigError) as caught:
        parse_address(url, "gitfs_remotes")
    assert caught.value.hint
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "name, want",
    [
        ("master", True),
        ("feature/x", True),
        ("v1.2.3", True),
        ("é", True),
        ("a-b", True),
        ("-x", False),
        ("--upload-pack=x", False),
        ("a..b", False),
        ("a b", False),
        ("a~1", False),
        ("a^", False),
        ("a:b", False),
        ("a/-b", False),
        (".a", False),
        ("a/.b", False),
        ("a.lock", False),
        ("a/", False),
        ("/a", False),
        ("@", False),
        ("a@{1}", False),
        ("", False),
        ("a\\b", False),
        ("a?", False),
        ("a\n", False),
        ("a//b", False),
    ],
)
def test_ref_names(name, want):
    assert is_ref(name) is want


def test_hashes():
    assert [is_sha(text) for text in ("0" * 40, "abc1234", "ABC1234", "abc123", "base", "0" * 64, "0" * 65)] == [
        True,
        True,
        True,
        False,
        False,
        True,
        False,
    ]


@pytest.mark.parametrize(
    "text, want",
    [
        ("fatal: https://me:pw@host/x: no", "fatal: https://host/x: no"),
        ("http://token@host/x and https://a:b@c/d", "http://host/x and https://c/d"),
        ("me@example.org: no", "me@example.org: no"),
    ],
)
def test_credentials_never_reach_a_message(text, want):
    assert without_credentials(text) == want
