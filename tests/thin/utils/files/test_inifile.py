"""INI files: edits keep the other lines."""

import pytest

from thin.utils.files import inifile

TEXT = """\
; head
top=1

[a]
#x = 0
x = 1
#y = 2
  ; indented
long = one
    two
other

[b c]
k = v = w
"""


@pytest.fixture
def path(tmp_path):
    (tmp_path / "f.ini").write_text(TEXT)
    return tmp_path / "f.ini"


def test_values_are_parsed(path):
    assert inifile.File(str(path)).plain() == {
        "top": "1",
        "a": {"x": "1", "long": "one\n    two"},
        "b c": {"k": "v = w"},
    }


def test_a_commented_option_is_set_in_its_place(path):
    file = inifile.File(str(path))
    assert file.change({"a": {"y": 3, "z": 4}, "new": {}}) == {
        "a": {"y": {"before": None, "after": "3"}, "z": {"before": None, "after": "4"}},
        "new": {"before": None, "after": {}},
    }
    path.chmod(0o600)
    file.write()
    assert path.read_text() == (
        TEXT.replace("top=1", "top = 1").replace("#y = 2", "y = 3").replace("other\n", "other\nz = 4\n") + "\n[new]\n"
    )
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "separator, no_spaces, line", [("=", True, "a=1"), (":", False, "a : 1"), (" ", False, "a 1"), ("  ", True, "a 1")]
)
def test_separators_are_written_and_read(separator, no_spaces, line, tmp_path):
    file = inifile.File(str(tmp_path / "f"), separator, no_spaces=no_spaces)
    file.change({"s": {"a": 1}})
    file.write()
    assert (tmp_path / "f").read_text() == f"[s]\n{line}\n"
    assert inifile.File(str(tmp_path / "f"), separator[:1]).change({"s": {"a": 1}}) == {}


def test_a_file_has_its_encoding(tmp_path):
    (tmp_path / "f").write_bytes("[s]\na = é\n".encode("utf-16"))
    file = inifile.File(str(tmp_path / "f"), encoding="utf-16")
    assert file.plain() == {"s": {"a": "é"}}
    file.change({"s": {"a": "ü"}})
    file.write()
    assert (tmp_path / "f").read_bytes().decode("utf-16") == "[s]\na = ü\n"
    with pytest.raises(UnicodeError):
        inifile.File(str(tmp_path / "f"), encoding="ascii")
