"""The runtime archive: the same bytes for the same inputs, readable by any tar, with the index of virtual names."""

import ast
import hashlib
import io
import os
import re
import shutil
import tarfile
import zlib

import pytest

from pushsalt.bundle import pack
from thin import runtime

pytestmark = pytest.mark.slow


def test_equal_inputs_give_equal_bytes_whatever_their_times_and_modes(tmp_path):
    for name, umask in (("one", 0o022), ("two", 0o077)):
        os.umask(umask)
        shutil.copytree(pack.THIN, tmp_path / name / "thin", copy_function=shutil.copyfile)
    os.utime(tmp_path / "two" / "thin" / "wire.py", (1, 1))
    os.umask(0o022)
    assert pack.build(tmp_path / "one" / "thin") == pack.build(tmp_path / "two" / "thin") == pack.build()


def test_any_tar_reads_it_and_it_holds_plain_files_only():
    with tarfile.open(fileobj=io.BytesIO(pack.build()[0])) as tar:
        found = tar.getmembers()
        terms = tar.extractfile("thin/vendor/msgpack/COPYING").read()
    assert all(member.isreg() and member.mode == 0o644 and not member.mtime for member in found)
    names = [member.name for member in found]
    assert names[0] == pack.FIRST
    assert {"thin/vendor/msgpack/COPYING", "thin/_index.py", "thin/__main__.py"} <= set(names)
    assert not {"thin/boot.py", "thin/coldstart.py"} & set(names)
    assert not [name for name in names if "__pycache__" in name or name.endswith(".md")]
    assert terms == (pack.THIN / "vendor/msgpack/COPYING").read_bytes()


def test_the_index_is_the_one_that_is_found_on_disk(tmp_path):
    root = tmp_path / "thin"
    (root / "modules").mkdir(parents=True)
    (root / "store.py").write_text("")
    (root / "modules" / "aptpkg.py").write_text('X = 1\n__virtualname__ = "pkg"\n')
    (root / "modules" / "yumpkg.py").write_text("__virtualname__ = 'pkg'\n__virtual_aliases__ = ('rpmpkg', \"dnf\")\n")
    (root / "modules" / "test.py").write_text("def ping():\n    return True\n")
    space = {}
    with tarfile.open(fileobj=io.BytesIO(pack.build(root)[0])) as tar:
        exec(tar.extractfile("thin/_index.py").read(), space)
    want = {"dnf": ["yumpkg"], "pkg": ["aptpkg", "yumpkg"], "rpmpkg": ["yumpkg"], "test": ["test"]}
    assert space["INDEX"] == {"modules": want}
    assert runtime.Folder(str(tmp_path)).virtual_index("modules") == want


def test_busybox_provides_its_commands_before_other_linux_modules():
    """Both files support any Linux, and the first one with a function provides it; usual modules come first."""
    contents = {name: path.read_bytes() for name, path in pack.members()}
    made = {}
    exec(pack._index(contents, pack.usual(contents)), made)
    for virtual, other in (("user", "useradd"), ("group", "groupadd"), ("shadow", "linux_shadow")):
        files = made["INDEX"]["modules"][virtual]
        assert files.index(f"busybox_{virtual}") < files.index(other)


def test_usual_modules_need_only_the_first_archive():
    """No usual module imports anything from the other archive."""
    first, travelling = pack.build()
    more = zlib.decompress(travelling)
    names, texts, space = [], {}, {}
    for data in (first, more):
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            names.append(tar.getnames())
            texts.update({name: tar.extractfile(name).read() for name in tar.getnames() if name.endswith(".py")})
    assert not set(names[0]) & set(names[1])
    assert sorted(names[0] + names[1]) == sorted([name for name, _ in pack.members()] + ["thin/_index.py"])
    usual = {
        name
        for name, path in pack.members()
        if name.split("/")[1] in pack.LOADED and re.search("^__usual__ = True$", path.read_text(), re.M)
    }
    assert {"thin/modules/aptpkg.py", "thin/states/pkg.py"} < usual <= set(names[0])
    assert {"thin/modules/docker_exec.py", "thin/states/zone.py"}.isdisjoint(usual)
    assert {name.split("/")[1] for name in names[1]} == set(pack.APART)
    exec(texts["thin/_index.py"], space)
    table = space["MORE"]
    assert (table["sha"], table["size"]) == (hashlib.sha256(more).hexdigest(), len(more))
    assert table["digest"] == hashlib.sha256(travelling).hexdigest()
    packages = table["packages"].split()
    apart = [f"{name}.__init__" if name in packages else name for name in table["names"].split()]
    assert {name.replace(".", "/") + ".py" for name in apart} == set(names[1])
    assert "thin.resources.dummy" in packages
    assert space["INDEX"]["resources"]["dummy"] == ["dummy"]
    assert space["INDEX"]["resources.dummy.modules"]["pkg"] == ["pkg"]
    for kind in ("modules", "states"):
        for stems in space["INDEX"][kind].values():
            apart = [f"thin/{kind}/{stem}.py" in names[1] for stem in stems]
            assert apart == sorted(apart), f"{stems}: what is there anyway comes first"
    for name in names[0]:
        if name.endswith(".py"):
            for node in ast.walk(ast.parse(texts[name])):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("thin"):
                    base = node.module.replace(".", "/")
                    for path in (f"{base}.py", *(f"{base}/{alias.name}.py" for alias in node.names)):
                        assert path not in names[1], f"{name} imports {path}"


@pytest.mark.slow
def test_controller_functions_are_not_sent():
    """In the archive for targets these functions are replaced by empty lines: all other functions keep their lines."""
    words = {
        "__usual__",
        "__controller__",
        "__recorded__",
        "__reads__",
        "__reads_unless__",
        "__changes__",
        "__runs__",
        "__any_arguments__",
        "__known_arguments__",
    }
    first, travelling = pack.build()
    sent = {}
    for data in (first, zlib.decompress(travelling)):
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            sent.update({name: tar.extractfile(name).read() for name in tar.getnames()})
    declaring = 0
    for name, path in pack.members():
        if name.endswith(".py") and sent[name] != path.read_bytes():
            tree = ast.parse(path.read_bytes())
            tree.body = [
                node
                for node in tree.body
                if not isinstance(node, ast.Assign) or getattr(node.targets[0], "id", "") not in words
            ]
            assert _code(name, tree) == _code(name, ast.parse(sent[name])), name
            declaring += 1
        assert not any(f"\n{word} =".encode() in sent[name] for word in words), name
    assert declaring > 200


def _code(name, tree):
    """The code, without docstrings that targets never read."""
    public = name.split("/")[1] in ("modules", "states", "resources")
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            shown = public and node in tree.body and not node.name.startswith("_")
            if not shown and ast.get_docstring(node, clean=False) is not None:
                node.body[0].value = ast.Constant(value="")
                node.body[0] = ast.Expr(value=node.body[0].value, lineno=node.body[0].lineno)
    return ast.dump(tree), [node.lineno for node in ast.walk(tree) if isinstance(node, ast.stmt)]


def test_the_first_archive_stays_small():
    """It is sent to every target at first contact, so a larger archive needs a reason. It has 450,000 bytes."""
    assert len(zlib.compress(pack.build()[0], 9)) < 500_000


def test_the_fingerprint_changes_with_a_file_and_with_the_first_stage(tmp_path):
    root = tmp_path / "thin"
    shutil.copytree(pack.THIN, root)
    before = pack.fingerprint(root)
    assert pack.fingerprint(root) == before
    for name in ("wire.py", "boot.py"):
        (root / name).write_text((root / name).read_text() + "\n# changed\n")
        assert pack.fingerprint(root) != before
        before = pack.fingerprint(root)
