"""The text of crontabs, the matching of jobs, and cron.file with a script in place of crontab."""

import os
import pwd

import pytest

from tests.thin import filebed
from thin import link
from thin.utils.formats import crontab

TEXT = """MAILTO=x
5 5 * * * /bin/old
# Lines below here are managed by Salt, do not edit
PATH="/bin"
# two
# lines SALT_CRON_IDENTIFIER:B
* * * * MON /bin/b -x 'y z'
1 2 3 4 5 /bin/plain
# SALT_CRON_IDENTIFIER:off
#DISABLED#* * * * * /bin/off
# SALT_CRON_IDENTIFIER:/bin/c
@daily /bin/c
"""


def test_a_crontab_is_parsed_and_written_unchanged():
    tab = crontab.parse(TEXT)
    assert crontab.text(tab) == TEXT
    assert tab["pre"] == ["MAILTO=x", "5 5 * * * /bin/old"]
    assert [(job["cmd"], job["identifier"], job["comment"], job["commented"]) for job in tab["crons"]] == [
        ("/bin/b -x 'y z'", "B", "two\nlines", False),
        ("/bin/plain", None, None, False),
        ("/bin/off", "off", "", True),
    ]


@pytest.mark.parametrize(
    "job, command, identifier, same",
    [
        ((None, "/a"), "/a", None, True),
        ((None, "/a"), "/a", "x", True),  # a job without an identifier gets it
        ((None, "/a"), "/b", "x", False),
        (("x", "/a"), "/b", "x", True),
        (("x", "/a"), "/a", "y", False),
        (("x", "/a"), "/a", None, False),
        (("5", "/a"), "/a", 5, True),
    ],
)
def test_jobs_are_matched_by_identifier_or_command(job, command, identifier, same):
    assert crontab.matched(dict(zip(("identifier", "cmd"), job, strict=True)), command, identifier) is same


def test_random_times_are_chosen_once():
    desired = crontab.wanted(("random", "3:5", "random", 2, "*"), None, "/a", None, False, "/a")
    job = crontab.drawn(desired)
    assert 0 <= int(job["minute"]) <= 59 and int(job["hour"]) in (3, 4, 5) and 1 <= int(job["daymonth"]) <= 28
    desired["hour"] = None
    assert not crontab.drift(job, desired)
    assert crontab.merged(job, desired) == job
    assert crontab.drift(dict(job, minute="*"), desired)


PROGRAM = """#!/bin/sh
[ "$1" = -u ] && shift 2
if [ "$1" = -l ]; then cat {0} 2>/dev/null; else cat "$1" > {0}; fi
"""


@pytest.fixture
def bed(tmp_path, monkeypatch):
    program = tmp_path / "bin" / "crontab"
    program.parent.mkdir()
    program.write_text(PROGRAM.format(tmp_path / "tab"))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    bed = filebed.Bed(tmp_path / "bed")
    before = link.connect(bed.link)
    yield bed
    link.connect(before)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files for others")
def test_the_user_cannot_replace_the_file_for_crontab(bed, tmp_path):
    program = tmp_path / "bin/crontab"
    status_file = tmp_path / "seen"
    script = f'[ -f "$1" ] && stat -c "%U %a" "$1" "$(dirname "$1")" > {status_file}\nexit 0\n'
    program.write_text(f'#!/bin/sh\n[ "$1" = -u ] && shift 2\n[ "$1" = -l ] && exit 0\n{script}')
    ret = bed.loaders.states["cron.file"](bed.source("tab", "1 2 3 4 5 /bin/x\n"), user="daemon")
    assert ret["result"] is True
    assert status_file.read_text().splitlines() == ["daemon 600", "root 711"]


def test_a_file_becomes_the_crontab(bed, tmp_path):
    user = pwd.getpwuid(os.geteuid()).pw_name
    source = bed.source("tab", "1 2 3 4 5 /bin/x\n")
    state = bed.loaders.states["cron.file"]
    bed.opts["test"] = True
    assert state(source, user=user)["result"] is None
    assert not (tmp_path / "tab").exists()
    bed.opts["test"] = False
    ret = state(source, user=user)
    assert (ret["result"], ret["comment"]) == (True, f"Crontab for user {user} was updated")
    assert "+1 2 3 4 5 /bin/x" in ret["changes"]["diff"]
    assert (tmp_path / "tab").read_text() == "1 2 3 4 5 /bin/x\n"
    second = state(source, user=user)
    comment = f"Crontab for user {user} is in the correct state"
    assert (second["result"], second["changes"], second["comment"]) == (True, {}, comment)
    existing = state(bed.source("other", "x"), user=user, replace=False)
    assert (existing["changes"], existing["comment"]) == ({}, f"User {user} already has a crontab. No changes made")
