"""Figures in README.md equal those of the pages that the benchmarks and the comparison with Salt generate."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "RESULTS.md"
#: row of README -> section of RESULTS.md
SECTIONS = [
    "`cmd.run hostname` on 1 loopback targets",
    "`cmd.run hostname` on 10 loopback targets",
    "`cmd.run hostname` on 100 loopback targets",
    "50 unchanged files on 1 booted machines",
    "50 unchanged files on 8 booted machines",
]
#: column of README -> beginnings of rows of RESULTS.md
COLUMNS = [
    ("pushsalt ",),
    ("asyncssh loop, python3",),
    ("xargs",),
    ("pyinfra",),
    ("ansible -m", "ansible"),
    ("ansible + mitogen",),
    ("salt-ssh",),
]


def measured(section):
    """``{contender: wall seconds}``"""
    text = RESULTS.read_text("utf-8").partition(f"## {section}\n")[2].partition("\n## ")[0]
    return {name: float(wall) for name, wall in re.findall(r"^\| ([^|]*[^ |]) \| ([\d.]+) \|", text, re.M)}


def test_times(page):
    rows = [row for row in page("README.md").rows("## How it compares") if row[0]]
    assert len(rows) == len(SECTIONS)
    for row, section in zip(rows, SECTIONS, strict=True):
        walls = measured(section)
        for shown, begins in zip(row[1:], COLUMNS, strict=True):
            found = [
                wall
                for name, wall in walls.items()
                if any(
                    name == one or name.startswith(one + " ") or (one != "ansible" and name.startswith(one))
                    for one in begins
                )
                and ("mitogen" in name) == ("mitogen" in begins[0])
            ]
            assert bool(found) == bool(shown), (section, begins)
            assert not shown or abs(found[0] - float(shown)) <= 0.00501, (section, begins, found)


def test_dates_and_versions(page):
    text = page("README.md").section("## How it compares")
    for name in ("RESULTS.md", "INDEX.md"):
        date = re.search(r"^- date: (\S+)$", (ROOT / "benchmarks" / name).read_text("utf-8"), re.M).group(1)
        assert date in text
    peers = re.search(r"^- peers: (.+)$", RESULTS.read_text("utf-8"), re.M).group(1)
    for version in (re.findall(r"(?:salt|pyinfra|mitogen) ([\d.]+)", peers), re.findall(r"2\.19\.\d+", peers)):
        assert version and all(one in text for one in version)


def test_outcomes_compared_with_salt(page):
    text = " ".join(page("README.md").section("## How it compares").split())
    compared = page("docs/states-compared.md")
    shipped = next(row for row in compared.rows("## Totals") if row[0] == "all shipped")
    said = re.search(r"Of (\d+) that can be compared: .* equal (\d+) .* without any exception (\d+)", compared.text)
    wanted = (
        rf"of {shipped[1]} state functions {said.group(1)} can be compared, {said.group(2)} are equal "
        rf"\({said.group(3)} without any exception\) and {shipped[3]} differ"
    )
    assert re.search(wanted, text), wanted
    assert re.search(r"Compared .*?(\d{4}-\d\d-\d\d)", compared.text).group(1) in text
    assert re.search(r"by real Salt \(([\d.]+)\)", compared.text).group(1) in text
