"""Debian's dnf, zypper and pacman with repositories of small packages: the same steps as recorded."""

import pytest

from tests.beds import foreign, steps
from thin.utils.packages import pacmanversion, rpmversion

pytestmark = [pytest.mark.machines, pytest.mark.slow]

VERSIONS = (  # noqa: SIM905
    "1 1.0 1.0.0 1.0a 1.0~rc1 1.0~rc1^git 1.0^ 1.0^git1 2 10 1.a 1.1.a a 1a 001 1..0 1_0 1.0+ 1.0.1 xyz10 10xyz 1~ 1~~"
    " 5.5p1 5.5p10 1.0beta 1.0.beta 1.0rc 1.5.b 1.5.1 1.0. r100.abc r99"
).split()


@pytest.fixture(scope="module", autouse=True)
def possible():
    if foreign.lacking():
        pytest.skip(foreign.lacking())


@pytest.mark.parametrize("kind", ["dnf", "zypper", "pacman"])
def test_recorded_steps(kind):
    with foreign.foreign(kind) as bed:
        steps.check(bed, kind, foreign.CASES)


def test_versions_are_ordered_as_the_programs_order_them():
    pairs = [(left, right) for left in VERSIONS for right in VERSIONS]
    with foreign.foreign("pacman") as bed:
        (bed.root / "tmp/pairs").write_text("".join(f"{left} {right}\n" for left, right in pairs))
        script = "".join(f'print(rpm.vercmp("{left}", "{right}") .. " ")' for left, right in pairs)
        (bed.root / "tmp/script").write_text("%{lua:" + script + "}")
        arch = bed.shell("while read a b; do vercmp $a $b; done < /tmp/pairs").split()
        rpm = bed.shell('rpm --eval "$(cat /tmp/script)"').split()
    assert [int(order) for order in rpm] == [rpmversion.compare_parts(*pair) for pair in pairs]
    assert [int(order) for order in arch] == [pacmanversion.compare(*pair) for pair in pairs]


def test_a_held_lock_is_waited_for():
    """Another process has rpm's lock, then pacman's: the install waits, and runs once it is free."""
    holder = (
        "import fcntl, os, time; f = open('/var/lib/rpm/.rpm.lock', 'w'); fcntl.lockf(f, fcntl.LOCK_EX); "
        "open('/run/locked', 'w').close(); time.sleep(2)"
    )
    start = f'nohup python3 -c "{holder}" >/dev/null 2>&1 & while ! test -e /run/locked; do sleep 0.1; done'
    with foreign.foreign("zypper") as bed:
        came = bed.take([{"sh": start}, {"state": "pkg.installed", "args": {"name": "gamma"}}])
        assert came[1]["result"] is True, came
    lock = "/var/lib/pacman/db.lck"
    with foreign.foreign("pacman") as bed:
        came = bed.take(
            [
                {"call": "pkg.refresh_db"},
                {"sh": f"touch {lock}; (sleep 2; rm {lock}) >/dev/null 2>&1 &"},
                {"state": "pkg.installed", "args": {"name": "gamma"}},
            ]
        )
        assert came[2]["result"] is True, came
