"""Compiled templates between runs: stored in a folder that only the user can write to, and otherwise not loaded."""

from __future__ import annotations

import logging
import os
import stat
from pathlib import Path

import pytest

from pushsalt.cache.templates import MAGIC, TemplateStore, folder
from pushsalt.render import RenderContext, compile_source
from pushsalt.render import jinja as jinja_module
from pushsalt.render.code import Codes, codes, digest
from pushsalt.trust import Trusted

NAME = "ab" * 32


@pytest.fixture
def store(tmp_path):
    return TemplateStore(tmp_path / "a" / "templates")


def test_stored_values_are_read_by_the_next_run(store):
    assert store.get(NAME) is None
    store.put(NAME, b"code")
    assert TemplateStore(store.path).get(NAME) == b"code"
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o700
    [file] = store.path.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_modes_do_not_depend_on_the_umask(store, umask):
    before = os.umask(umask)
    try:
        store.path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        store.path.parent.chmod(0o755)
        store.put(NAME, b"code")
    finally:
        os.umask(before)
    for path in (store.path, *store.path.glob("*")):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.write_bytes(path.read_bytes()[:-1]),
        lambda path: path.write_bytes(path.read_bytes() + b"x"),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(MAGIC),
        lambda path: path.write_bytes(b"#" + path.read_bytes()[1:]),
        lambda path: path.chmod(0o620),
        lambda path: path.chmod(0o602),
        lambda path: (path.rename(path.with_name("other")), path.symlink_to("other")),
        lambda path: (path.unlink(), path.mkdir()),
        lambda path: (path.unlink(), os.mkfifo(path, 0o600)),
    ],
    ids=["cut", "longer", "empty", "head", "magic", "group", "others", "link", "folder", "fifo"],
)
def test_a_file_that_is_not_sound_is_none(store, spoil):
    store.put(NAME, b"code")
    spoil(store.path / NAME)
    assert store.get(NAME) is None
    if not (store.path / NAME).is_dir():
        store.put(NAME, b"new")
        assert store.get(NAME) == b"new"


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o1777, 0o720])
def test_a_folder_that_others_can_write_to_is_refused(store, mode, caplog):
    store.put(NAME, b"code")
    store.path.chmod(mode)
    again = TemplateStore(store.path)
    assert again.get(NAME) is None
    again.put("cd" * 32, b"code")
    assert [path.name for path in store.path.iterdir()] == [NAME]
    assert caplog.text.count("compiled templates are not cached") == 1 and "chmod 700" in caplog.text


def test_a_link_is_refused(store, caplog):
    store.put(NAME, b"code")
    link = store.path.with_name("link")
    link.symlink_to(store.path)
    assert TemplateStore(link).get(NAME) is None
    assert "is not a folder" in caplog.text


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize("which", ["folder", "file"])
def test_what_belongs_to_another_is_refused(store, which):
    store.put(NAME, b"code")
    os.chown(store.path if which == "folder" else store.path / NAME, 4711, 4711)
    assert TemplateStore(store.path).get(NAME) is None


def test_a_folder_exchanged_later_does_not_count(store, tmp_path):
    store.put(NAME, b"code")
    store.path.rename(tmp_path / "moved")
    store.path.mkdir()
    (store.path / NAME).write_bytes((tmp_path / "moved" / NAME).read_bytes().replace(b"code", b"evil"))
    assert store.get(NAME) == b"code"


def test_a_full_or_missing_disk_costs_nothing(tmp_path, caplog):
    file = tmp_path / "file"
    file.write_text("")
    store = TemplateStore(file / "templates")
    store.put(NAME, b"code")
    assert store.get(NAME) is None
    assert not [record for record in caplog.records if record.levelno > logging.WARNING]


def test_the_oldest_go_when_there_are_too_many(store, monkeypatch):
    monkeypatch.setattr("pushsalt.cache.templates.MAX_FILES", 3)
    for number in range(5):
        store.put(f"{number:064x}", b"code")
        os.utime(store.path / f"{number:064x}", (number + 1, number + 1))
    (store.path / ".aside").write_text("left of a run that died")
    os.utime(store.path / ".aside", (1, 1))
    TemplateStore(store.path).put("ff" * 32, b"code")
    assert sorted(path.name for path in store.path.iterdir()) == [f"{3:064x}", f"{4:064x}", "ff" * 32]


def test_size_is_bounded(store, monkeypatch):
    monkeypatch.setattr("pushsalt.cache.templates.MAX_BYTES", 200)
    monkeypatch.setattr("pushsalt.cache.templates.MAX_FILE", 150)
    store.put("aa" * 32, b"x" * 149)
    assert list(store.path.iterdir()) == []
    store.put("bb" * 32, b"x" * 100)
    os.utime(store.path / ("bb" * 32), (1, 1))
    TemplateStore(store.path).put("cc" * 32, b"x" * 100)
    assert [path.name for path in store.path.iterdir()] == ["cc" * 32]


@pytest.mark.parametrize(
    "env, want",
    [
        ({"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/x/pushsalt/templates"),
        ({"XDG_CACHE_HOME": "x", "HOME": "/h"}, "/h/.cache/pushsalt/templates"),
        ({"HOME": "/h", "PUSHSALT_CACHE": "/shared"}, "/h/.cache/pushsalt/templates"),
        ({"HOME": ""}, None),
        ({}, None),
    ],
)
def test_where(env, want):
    assert folder(env) == (None if want is None else Path(want))


# use by rendering ----------------------------------------------------------------------------------------------------


class Counting:
    """A store in memory that counts its calls."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.got = 0

    def get(self, name: str) -> bytes | None:
        self.got += name in self.kept
        return self.kept.get(name)

    def put(self, name: str, data: bytes) -> None:
        self.kept[name] = data


@pytest.fixture
def counting(monkeypatch):
    store = Counting()
    monkeypatch.setattr(jinja_module, "codes", Codes())
    jinja_module.codes.store = store
    return store


def rendered(text: str, *, keep: bool = True, path: str = "/t.sls", **opts):
    context = RenderContext("it", opts, {}, {}, {}, keep_code=keep)
    return compile_source(Trusted(text, "test"), path=path, sls="t", saltenv="base", context=context).data


def test_the_next_run_compiles_nothing(counting, monkeypatch):
    assert rendered("a: {{ [1, 2]|max }}") == {"a": 2}
    assert (len(counting.kept), counting.got) == (1, 0)
    jinja_module.codes.clear()
    monkeypatch.setattr(jinja_module.Environment, "compile", lambda *args, **kwargs: pytest.fail("compiled again"))
    assert rendered("a: {{ [1, 2]|max }}") == {"a": 2}
    assert (len(counting.kept), counting.got) == (1, 1)


def test_errors_have_their_lines_from_there_too(counting):
    for _ in range(2):
        with pytest.raises(Exception, match=r"in /t.sls:2\n"):
            rendered("a: 1\nb: {{ nothing }}")
        jinja_module.codes.clear()
    assert counting.got == 1


def test_every_difference_counts(counting):
    rendered("a: 1\n")
    for more in ({"path": "/u.sls"}, {"jinja_sls_env": {"trim_blocks": True}}, {"allow_undefined": True}):
        number = len(counting.kept)
        assert rendered("a: 1\n", **more) == {"a": 1}
        assert len(counting.kept) == number + 1
    assert rendered("a: 2\n") == {"a": 2}


@pytest.mark.parametrize("data", [b"", b"junk", b"\x00" * 40, b"i\x01\x00\x00\x00", b"c\x00"])
def test_damaged_code_is_compiled_anew(counting, data):
    rendered("a: 1")
    jinja_module.codes.clear()
    [name] = counting.kept
    counting.kept[name] = data
    assert rendered("a: 1") == {"a": 1}
    assert counting.kept[name] != data


def test_what_may_have_secrets_is_not_kept(counting):
    rendered("password: hunter2", keep=False)
    assert counting.kept == {}


def test_the_digest_depends_on_the_compiler(monkeypatch):
    before = digest(("x",))
    monkeypatch.setattr("pushsalt.render.code.compiler", lambda: ("another",))
    assert digest(("x",)) != before


def test_a_run_keeps_states_and_not_the_pillar(tmp_path, monkeypatch):
    from pushsalt.api import Client, Selection, Settings

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setattr(codes, "store", None)
    codes.clear()
    for name, text in {
        "salt/web.sls": "a: {{ pillar.word }}\n",
        "pillar/top.sls": "base: {'*': [p]}",
        "pillar/p.sls": "word: {{ 'hunter' ~ 2 }}\npw: opensesame\n",
        "pushsalt.yaml": "file_roots: {base: [salt]}\npillar_roots: {base: [pillar]}\n",
        "inventory.yaml": "hosts: {it: {transport: offline}}",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    settings = Settings([tmp_path / "inventory.yaml"], tmp_path / "pushsalt.yaml", cache_dir=tmp_path / "shared")
    Client(settings).run(Selection("it"), "state.show_sls", ["web"])
    files = [path for path in (tmp_path / "xdg").rglob("*") if path.is_file()]
    assert files and {path.parent for path in files} == {tmp_path / "xdg" / "pushsalt" / "templates"}
    content = b"".join(path.read_bytes() for path in files)
    assert b"word" in content and b"hunter" not in content and b"opensesame" not in content
    shared = [path.read_bytes() for path in (tmp_path / "shared").rglob("*") if path.is_file()]
    assert not any(data.startswith(MAGIC) for data in shared)

    codes.clear()
    (tmp_path / "pushsalt.yaml").write_text((tmp_path / "pushsalt.yaml").read_text() + "template_cache: false\n")
    (tmp_path / "salt/web.sls").write_text("b: {{ 1 }}\n")
    Client(settings).run(Selection("it"), "state.show_sls", ["web"])
    assert len(files) == len([path for path in (tmp_path / "xdg").rglob("*") if path.is_file()])
