"""Long texts: modules and templates get the whole text; output has its beginning and a remark."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.beds.project import Project

pytestmark = pytest.mark.slow

SIZE = 20_000_000
WRITES = f"head -c {SIZE // 4 * 3} /dev/zero | base64 -w 0"
LIMIT = 16 * 1024 * 1024


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, {"it": {"transport": "local"}})


def test_long_output_is_truncated_with_a_remark(project: Project) -> None:
    done = project.json("run", "it", "cmd.run", WRITES)
    assert done.data["it"] == "A" * LIMIT + f"\n[cut here: {LIMIT} of {SIZE} bytes]"
    project.write("salt/a.sls", f"it:\n  cmd.run:\n    - name: {WRITES}\n")
    [ret] = project.json("apply", "it", "a").data["it"].values()
    assert ret["changes"]["stdout"] == "A" * LIMIT + f"\n[cut here: {LIMIT} of {SIZE} bytes]"


def test_characters_of_several_bytes_are_not_split(project: Project) -> None:
    done = project.json("run", "it", "cmd.run", "yes aa\u20ac | head -n 3500000")
    text, _, remark = done.data["it"].rpartition("\n")
    assert text.endswith("aa\u20ac\naa") and len(text.encode()) == LIMIT - 2
    assert remark == f"[cut here: {LIMIT} of {3500000 * 6 - 1} bytes]"


def test_modules_and_templates_get_the_whole_text(project: Project) -> None:
    project.write(
        "salt/_modules/mine.py", "def size(cmd):\n    return len(__salt__['cmd.run'](cmd, python_shell=True))\n"
    )
    project.write("salt/a.sls", f"{{{{ salt['cmd.run'](\"{WRITES}\") | length }}}} bytes:\n  test.nop: []\n")
    assert project.json("run", "it", "mine.size", WRITES).data["it"] == SIZE
    low = project.json("run", "it", "state.show_low_sls", "a").data["it"]
    assert isinstance(low[0], dict) and low[0]["__id__"] == f"{SIZE} bytes", low


def test_diffs_of_large_contents_are_omitted(project: Project) -> None:
    project.write("salt/big.txt", "a line\n" * 500_000)
    project.write(
        "salt/a.sls",
        f"{project.folder}/one:\n  file.managed:\n    - source: salt://big.txt\n"
        f"{project.folder}/two:\n  file.managed:\n    - contents: {'b' * 3_000_000}\n"
        f"{project.folder}/three:\n  file.append:\n    - text: {'c' * 3_000_000}\n",
    )
    for name in ("one", "two", "three"):
        Path(project.folder, name).write_text("old\n")
    rets = list(project.json("apply", "it", "a").data["it"].values())
    assert [ret["result"] for ret in rets] == [True, True, True]
    for ret in rets:
        assert "too large to show what differs" in str(ret["changes"]) and len(str(ret)) < 5000, str(ret)[:1000]
