"""Output of rpm, dnf, yum and zypper, and files of repositories, parsed."""

import pytest

from thin.exceptions import CommandExecutionError
from thin.utils.files import repofile
from thin.utils.outputs import dnfout, rpmout
from thin.utils.packages import rpmversion
from thin.utils.programs import zypprun

YUM_LIST = """Available Packages
bash.x86_64                      4.2.46-35.el7_9                      updates
a-package-with-a-very-long-name-that-is-folded.noarch
                                 2:1.0-1.el7                          @epel
"""

GROUPS = """Available Environment Groups:
   Minimal Install
Installed Groups:
   System Tools
Available Groups:
   Development Tools
Available Language Groups:
   Arabic Support [ar]
Done
"""

VERIFIED = """S.5....T.  c /etc/httpd/conf/httpd.conf
missing     /usr/share/httpd/icons/a.gif
missing   d /usr/share/doc/httpd/README (Permission denied)
.M.......    /usr/sbin/suexec with a blank
..?......    /var/lib/x
Unsatisfied dependencies for foo
"""

LOCKS = """
type: package
match_type: glob
case_sensitive: on
solvable_name: foo
version: == 1.2-3

type: package
match_type: glob
case_sensitive: on
solvable_name: kernel*
"""

REPOSITORY = """# the file's own words
[one]
name=One
baseurl = https://example.org/a
          https://example.com/a
# why
gpgcheck=1

[two]
name: Two
Enabled=0
"""


@pytest.mark.parametrize(
    ("function", "output", "expected"),
    [
        (
            dnfout.listed,
            YUM_LIST,
            [
                ("bash", "x86_64", "4.2.46-35.el7_9", "updates"),
                ("a-package-with-a-very-long-name-that-is-folded", "noarch", "2:1.0-1.el7", "epel"),
            ],
        ),
        (
            dnfout.offered,
            "a\t0\t1.0\t1\tnoarch\tbase\n\nb\t2\t1\t3\tx86_64\textra\nnoise\n",
            [("a", "noarch", "1.0-1", "base"), ("b", "x86_64", "2:1-3", "extra")],
        ),
        (
            dnfout.groups,
            GROUPS,
            {
                "installed": ["System Tools"],
                "available": ["Development Tools"],
                "installed environments": [],
                "available environments": ["Minimal Install"],
                "available languages": {"Arabic Support [ar]": {"name": "Arabic Support", "language": "ar"}},
            },
        ),
        (
            dnfout.advisories,
            "i RHSA-1 Important/Sec. a-1-1.x86_64\n  RHSA-1 Important/Sec. b-1-1.x86_64\n"
            "i RHBA-2 bugfix c-1-1.noarch\n",
            {
                "RHSA-1": {"installed": False, "summary": ["a-1-1.x86_64", "b-1-1.x86_64"]},
                "RHBA-2": {"installed": True, "summary": ["c-1-1.noarch"]},
            },
        ),
        (
            dnfout.locks,
            "Last metadata expiration check: 0:00:01 ago\nalpha-0:1.0-1.*\n0:zlib-devel-1.2.7-18.el7.*\n"
            "versionlock list done\n",
            [("alpha", "alpha-0:1.0-1.*"), ("zlib-devel", "0:zlib-devel-1.2.7-18.el7.*")],
        ),
        (
            dnfout.locks_of_dnf5,
            'version = "1.0"\n[[packages]]\nname = "a"\n[[packages.conditions]]\nkey = "evr"\ncomparator = "="\n'
            'value = "1-1"\n[[packages]]\nname = "b"\n[[packages.conditions]]\nkey = "evr"\ncomparator = "<"\n'
            'value = "2"\n',
            [("a", "a-0:1-1.*"), ("b", None)],
        ),
        (dnfout.restarting, "1 : /usr/lib/systemd/systemd\n712 : /usr/sbin/sshd -D\nnothing\n", ["1", "712"]),
        (
            rpmout.modified,
            VERIFIED,
            {
                "/etc/httpd/conf/httpd.conf": ["size", "checksum", "time", "config"],
                "/usr/share/httpd/icons/a.gif": ["missing"],
                "/usr/share/doc/httpd/README": ["missing", "config"],
                "/usr/sbin/suexec with a blank": ["mode"],
                "/var/lib/x": ["checksum"],
            },
        ),
        (
            zypprun.locks,
            LOCKS,
            {
                "foo": {"type": "package", "match_type": "glob", "case_sensitive": "on", "version": "== 1.2-3"},
                "kernel*": {"type": "package", "match_type": "glob", "case_sensitive": "on"},
            },
        ),
        (
            zypprun.refreshed,
            "Repository 'main' is up to date.\nBuilding repository 'extra' cache ....[done]\nAll repositories done\n",
            {"main": False, "extra": True},
        ),
        (
            zypprun.messages,
            '<stream><message type="info">a &amp; b</message>\n<message type="error">&lt;c&#33;</message></stream>',
            [("info", "a & b"), ("error", "<c!")],
        ),
    ],
)
def test_output_of_programs_is_parsed(function, output, expected):
    assert function(output) == expected


def test_problems_of_verified_files_and_ignored_types():
    problems = rpmout.verified(VERIFIED)
    assert problems["/etc/httpd/conf/httpd.conf"] == {"mismatch": ["size", "md5sum", "mtime"], "type": "config"}
    assert problems["/usr/share/doc/httpd/README"] == {"missing": True, "type": "doc"}
    assert "/etc/httpd/conf/httpd.conf" not in rpmout.verified(VERIFIED, ["config"])


def test_only_elements_of_the_name_are_returned():
    text = '<solvable-list a="0"><solvable name="x" kind="package"/><solvable name=\'y\'></solvable></solvable-list>'
    assert zypprun.elements(text, "solvable") == [{"name": "x", "kind": "package"}, {"name": "y"}]


def test_a_repository_file_is_read_and_written():
    header, repos = repofile.parse(REPOSITORY)
    assert header == "# the file's own words\n"
    assert repos == {
        "one": {
            "name": "One",
            "baseurl": "https://example.org/a\nhttps://example.com/a",
            "comments": ["why"],
            "gpgcheck": "1",
        },
        "two": {"name": "Two", "enabled": "0"},
    }
    assert repofile.parse(repofile.shown(header, repos)) == (header, repos)


def test_a_repeated_option_is_an_error_with_its_line_if_strict():
    twice = "[a]\nname=1\nname=2\n"
    with pytest.raises(CommandExecutionError, match=r"x\.repo:3: option 'name' is there twice"):
        repofile.parse(twice, "x.repo")
    assert repofile.parse(twice, strict=False)[1] == {"a": {"name": "2"}}


@pytest.mark.parametrize(
    ("left", "right", "order"),
    [
        ("1.0-1", "1.0", 0),
        ("1:1.0", "2.0", 1),
        ("1.0~rc1-1", "1.0-1", -1),
        ("1.0^git1", "1.0.1", -1),
        ("1.0-2", "1.0-10", -1),
    ],
)
def test_versions_are_compared(left, right, order):
    assert (rpmversion.compare(left, right), rpmversion.compare(right, left)) == (order, -order)


@pytest.mark.parametrize(
    ("name", "plain", "split"),
    [
        ("bash.x86_64", "bash", ("bash", "x86_64")),
        ("glibc.i686", "glibc.i686", ("glibc", "i686")),
        ("python3.11", "python3.11", ("python3.11", None)),
        ("tzdata.noarch", "tzdata", ("tzdata", "noarch")),
    ],
)
def test_names_are_split_from_architectures(name, plain, split):
    assert (rpmout.normalize(name, "x86_64"), rpmout.split_arch(name)) == (plain, split)
