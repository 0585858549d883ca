"""Source lists of apt: parsed, changed and written."""

import pytest

from thin.exceptions import SaltInvocationError
from thin.modules import apt_keys
from thin.utils.files import aptsources

DEB822 = """\
# Debian
Types: deb deb-src
URIs: http://deb.invalid/debian
Suites: one
 two
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 abc
# inner

types: deb
uris: http://deb.invalid/other
suites: ./
enabled: no
"""
LIST = "# words\n\ndeb  http://deb.invalid/a   stable main # why\n#deb-src [ arch=amd64,arm64 lang=en ] http://b ./\n"


@pytest.fixture
def sources(tmp_path):
    parts = tmp_path / "sources.list.d"
    parts.mkdir()
    (tmp_path / "sources.list").write_text(LIST)
    (parts / "debian.sources").write_text(DEB822)
    (parts / "ignored.bak").write_text("deb http://deb.invalid/no stable main\n")
    (parts / "folder.list").mkdir()
    return lambda: aptsources.AptSources(str(tmp_path / "sources.list"), str(parts))


def test_sources_are_parsed(sources):
    comment, empty, line, source, first, second = sources().entries
    assert (comment.valid, empty.valid) == (False, False)
    assert (line.type, line.uri, line.dist, line.comps, line.comment) == (
        "deb",
        "http://deb.invalid/a",
        "stable",
        ["main"],
        " why",
    )
    assert (source.disabled, source.type, source.architectures, source.uri) == (
        True,
        "deb-src",
        ["amd64", "arm64"],
        "http://b",
    )
    assert source.shown() == "# deb-src [arch=amd64,arm64 lang=en] http://b ./"
    assert (first.types, first.suites, first.comment, first.footer) == (
        ["deb", "deb-src"],
        ["one", "two"],
        "# Debian",
        ["# inner"],
    )
    assert "BEGIN PGP" in first.signedby
    assert (second.types, second.disabled, second.trusted) == (["deb"], True, None)


def test_unchanged_sources_are_not_written(sources, tmp_path):
    (tmp_path / "sources.list").chmod(0o600)
    before = (tmp_path / "sources.list").stat().st_mtime_ns
    sources().save()
    assert (tmp_path / "sources.list").read_text() == LIST
    assert (tmp_path / "sources.list").stat().st_mtime_ns == before
    assert (tmp_path / "sources.list.d/debian.sources").read_text() == DEB822


def test_only_a_changed_stanza_is_written(sources, tmp_path):
    apt_sources = sources()
    apt_sources.entries[5].disabled = False
    apt_sources.entries[5].trusted = True
    apt_sources.entries[5].comment = "mine"
    apt_sources.save()
    head, _, tail = (tmp_path / "sources.list.d/debian.sources").read_text().partition("\n\n")
    assert head == DEB822.partition("\n\n")[0]
    assert tail == "#mine\ntypes: deb\nuris: http://deb.invalid/other\nsuites: ./\nTrusted: yes\n"
    assert (tmp_path / "sources.list").read_text() == LIST


def test_a_file_without_entries_is_empty(sources, tmp_path):
    apt_sources = sources()
    apt_sources.entries = [entry for entry in apt_sources.entries if entry.path.endswith(".sources")]
    apt_sources.save()
    assert (tmp_path / "sources.list").read_text() == ""


@pytest.mark.parametrize(
    "text", ["", "# words of a comment", "deb http://x", "deb [arch=amd64 http://x stable main", "rpmx http://x y z"]
)
def test_other_lines_are_no_entries(text):
    line = aptsources.Line(text)
    assert not line.valid
    assert line.shown() == text


def test_an_entry_without_distribution_is_an_error():
    with pytest.raises(SaltInvocationError, match="Invalid repository definition: deb http://x"):
        aptsources.Line("deb [arch=amd64 lang=en] http://x")


def test_slashes_are_removed_and_comments_joined():
    assert aptsources.without_slash("deb  http://x/y/ stable/ main") == "deb http://x/y stable/ main"
    assert aptsources.comments(["a", 1]) == "a 1"


def test_keys_listed_by_gpg_are_parsed():
    listing = (
        "tru:o:1:1795275711:1:3:1:5\n"
        "pub:u:255:22:C507FBC2092E0941:1795275711:::u:::scSC:::::ed25519:::0:\n"
        "fpr:::::::::B6176F4C995682022DA99EA5C507FBC2092E0941:\n"
        "uid:u::::1795275711::1ECF560CD276D5AA4A2AA59442F96ECD67DC8765::T <t@example.org>::::::::::0:\n"
        "sub:u:255:18:0123456789012345:1795275711::::::e:::::cv25519::\n"
        "fpr:::::::::0123:\n"
    )
    (key,) = apt_keys.parse_keys(listing).values()
    assert key["keyid"] == "C507FBC2092E0941"
    assert key["fingerprint"] == "B6176F4C995682022DA99EA5C507FBC2092E0941"
    assert (key["bits"], key["capability"], key["uid"]) == (255, "scSC", "T <t@example.org>")
    assert key["subkey"]["keyid"] == "123456789012345"
    assert key["subkey"]["fingerprint"] == 123
