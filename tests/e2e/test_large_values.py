"""Long texts: programs get the whole text, people its beginning and a remark."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.beds.project import Project

pytestmark = pytest.mark.slow

SIZE = 20_000_000
WRITES = f"head -c {SIZE // 4 * 3} /dev/zero | base64 -w 0"
LIMIT = 16 * 1024 * 1024


@pytest.fixture
def made(tmp_path: Path) -> Project:
    return Project(tmp_path, {"it": {"transport": "local"}})


def test_what_people_see_is_cut_and_says_so(made: Project) -> None:
    done = made.json("run", "it", "cmd.run", WRITES)
    assert done.data["it"] == "A" * LIMIT + f"\n[cut here: {LIMIT} of {SIZE} bytes]"
    made.write("salt/a.sls", f"it:\n  cmd.run:\n    - name: {WRITES}\n")
    [ret] = made.json("apply", "it", "a").data["it"].values()
    assert ret["changes"]["stdout"] == "A" * LIMIT + f"\n[cut here: {LIMIT} of {SIZE} bytes]"


def test_characters_of_several_bytes_are_not_cut_in_two(made: Project) -> None:
    done = made.json("run", "it", "cmd.run", "yes aa\u20ac | head -n 3500000")
    text, _, words = done.data["it"].rpartition("\n")
    assert text.endswith("aa\u20ac\naa") and len(text.encode()) == LIMIT - 2
    assert words == f"[cut here: {LIMIT} of {3500000 * 6 - 1} bytes]"


def test_modules_and_templates_have_all_of_it(made: Project) -> None:
    made.write("salt/_modules/mine.py", "def size(cmd):\n    return len(__salt__['cmd.run'](cmd, python_shell=True))\n")
    made.write("salt/a.sls", f"{{{{ salt['cmd.run'](\"{WRITES}\") | length }}}} bytes:\n  test.nop: []\n")
    assert made.json("run", "it", "mine.size", WRITES).data["it"] == SIZE
    low = made.json("run", "it", "state.show_low_sls", "a").data["it"]
    assert isinstance(low[0], dict) and low[0]["__id__"] == f"{SIZE} bytes", low


def test_one_limit_for_the_diffs_of_contents(made: Project) -> None:
    made.write("salt/big.txt", "a line\n" * 500_000)
    made.write(
        "salt/a.sls",
        f"{made.folder}/one:\n  file.managed:\n    - source: salt://big.txt\n"
        f"{made.folder}/two:\n  file.managed:\n    - contents: {'b' * 3_000_000}\n"
        f"{made.folder}/three:\n  file.append:\n    - text: {'c' * 3_000_000}\n",
    )
    for name in ("one", "two", "three"):
        Path(made.folder, name).write_text("old\n")
    rets = list(made.json("apply", "it", "a").data["it"].values())
    assert [ret["result"] for ret in rets] == [True, True, True]
    for ret in rets:
        assert "too large to show what differs" in str(ret["changes"]) and len(str(ret)) < 5000, str(ret)[:1000]
