"""The runtime archive: the same bytes for the same inputs, readable by any tar, with the index of virtual names."""

import ast
import hashlib
import io
import os
import shutil
import tarfile
import zlib

import pytest

from pushsalt.bundle import pack
from pushsalt.bundle.contents import FAMILIES, Tree, imports
from thin import folder

pytestmark = [pytest.mark.slow, pytest.mark.gate]


@pytest.fixture(scope="module")
def built():
    return pack.build()


@pytest.fixture(scope="module")
def tree():
    return Tree({name: path.read_bytes() for name, path in pack.members()})


def texts(data):
    """{name: text} of an archive."""
    with tarfile.open(fileobj=io.BytesIO(zlib.decompress(data))) as tar:
        return {name: tar.extractfile(name).read() for name in tar.getnames()}


def dotted(name):
    return name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def test_equal_inputs_give_equal_bytes_whatever_their_times_and_modes(tmp_path, built):
    for name, umask in (("one", 0o022), ("two", 0o077)):
        os.umask(umask)
        shutil.copytree(pack.THIN, tmp_path / name / "thin", copy_function=shutil.copyfile)
    os.utime(tmp_path / "two" / "thin" / "wire.py", (1, 1))
    os.umask(0o022)
    assert pack.build(tmp_path / "one" / "thin") == pack.build(tmp_path / "two" / "thin") == built


def test_any_tar_reads_it_and_it_holds_plain_files_only(built):
    with tarfile.open(fileobj=io.BytesIO(zlib.decompress(built.firsts["Debian"].data))) as tar:
        found = tar.getmembers()
        terms = tar.extractfile("thin/vendor/msgpack/COPYING").read()
    assert all(member.isreg() and member.mode == 0o644 and not member.mtime for member in found)
    names = [member.name for member in found]
    assert names[0] == pack.FIRST
    assert {"thin/vendor/msgpack/COPYING", "thin/_index.py", "thin/__main__.py", "thin/boot.py"} <= set(names)
    assert not {"thin/warmstart.py", "thin/coldstart.py", "thin/folder.py"} & set(names)
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
    exec(texts(pack.build(root).firsts[""].data)["thin/_index.py"], space)
    want = {"dnf": ["yumpkg"], "pkg": ["aptpkg", "yumpkg"], "rpmpkg": ["yumpkg"], "test": ["test"]}
    assert space["INDEX"] == {"modules": want}
    assert folder.Folder(str(tmp_path)).virtual_index("modules") == want


def test_busybox_provides_its_commands_before_other_linux_modules(tree):
    """Both files support any Linux, and the first one with a function provides it; usual modules come first."""
    made = {}
    exec(pack._index(tree.contents, tree.usual), made)
    for virtual, other in (("user", "useradd"), ("group", "groupadd"), ("shadow", "linux_shadow")):
        files = made["INDEX"]["modules"][virtual]
        assert files.index(f"busybox_{virtual}") < files.index(other)


def test_every_file_is_in_the_first_archive_or_in_a_pack(built):
    everything = {name for name, _ in pack.members()} | {"thin/_index.py", "thin/_packs.py"}
    packs = [set(texts(data)) for data in built.packs.values()]
    for archive in built.firsts.values():
        first = texts(archive.data)
        assert set(first) | set().union(*packs) == everything
        space = {}
        exec(first["thin/_packs.py"], space)
        tables = {digest: (size, names.split()) for digest, size, names in space["PACKS"]}
        assert tables.keys() == built.packs.keys()
        for digest, (size, names) in tables.items():
            data = built.packs[digest]
            assert (hashlib.sha256(data).hexdigest(), len(data)) == (digest, size)
            assert {dotted(name) for name in texts(data)} == set(names)
        assert [row[1] for row in space["PACKS"]] == sorted(row[1] for row in space["PACKS"])
        assert "thin.resources.dummy" in space["PACKAGES"]
        assert hashlib.sha256(zlib.decompress(archive.data)).hexdigest() == archive.sha


@pytest.mark.parametrize(
    ("family", "has", "lacks"),
    [
        ("Debian", {"modules/aptpkg", "modules/dpkg_lowpkg"}, {"modules/yumpkg", "modules/rpm_lowpkg", "grains/bsd"}),
        ("RedHat", {"modules/yumpkg", "modules/rpm_lowpkg"}, {"modules/aptpkg", "modules/zypperpkg"}),
        ("Suse", {"modules/zypperpkg", "modules/rpm_packages"}, {"modules/aptpkg", "modules/yumpkg"}),
        ("Alpine", {"modules/apkpkg"}, {"modules/aptpkg", "modules/yumpkg"}),
        ("Arch", {"modules/pacmanpkg"}, {"modules/aptpkg", "modules/yumpkg"}),
        ("FreeBSD", {"modules/pkgng", "modules/freebsdservice", "grains/bsd"}, {"modules/aptpkg", "grains/macos"}),
        ("MacOS", {"modules/mac_service", "grains/macos"}, {"modules/aptpkg", "grains/bsd"}),
        ("", set(), {"modules/aptpkg", "modules/yumpkg", "modules/apkpkg"}),
    ],
)
def test_a_first_archive_has_the_providers_of_its_family(built, family, has, lacks):
    names = {name.removeprefix("thin/").removesuffix(".py") for name in texts(built.firsts[family].data)}
    assert {"states/pkg", "states/file", "modules/cmdmod", "store"} | has <= names
    assert not lacks & names


def test_usual_modules_need_no_pack(built, tree):
    """No file of a first archive imports anything that only a pack has, except for another family of systems."""
    for family, known in FAMILIES.items():
        first = texts(built.firsts[family].data)
        for name, text in first.items():
            if name.endswith(".py"):
                for node in ast.walk(ast.parse(text)):
                    if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("thin"):
                        base = node.module.replace(".", "/")
                        for path in (f"{base}.py", *(f"{base}/{alias.name}.py" for alias in node.names)):
                            missing = path in tree.contents and path not in first
                            assert not missing or not tree.may_fit(path, known), f"{family}: {name} imports {path}"


def test_a_pack_has_all_that_its_files_import(built, tree):
    first = set.intersection(*(set(texts(archive.data)) for archive in built.firsts.values()))
    for data in built.packs.values():
        names = texts(data)
        for name, text in names.items():
            found = {one for one in imports(text.decode()) if one in tree.contents}
            assert found <= names.keys() | first, name


def test_one_pack_is_enough_for_a_subject(tree):
    packs = tree.packs(set.intersection(*(tree.first(known) for known in FAMILIES.values())))
    for names in (
        {"thin/modules/zypperpkg.py", "thin/modules/zypper_repos.py"},
        {"thin/states/docker_container.py", "thin/modules/dockermod.py"},
        {"thin/resources/dummy/__init__.py", "thin/resources/dummy/modules/pkg.py"},
        {"thin/states/lvm.py", "thin/modules/linux_lvm.py"},
    ):
        assert any(names <= files for files in packs.values()), names


@pytest.mark.slow
def test_declarations_docstrings_and_comments_are_not_sent(built):
    """In archives they are replaced by empty lines: all code keeps its lines."""
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
    sent = {}
    for data in (*(archive.data for archive in built.firsts.values()), *built.packs.values()):
        sent.update(texts(data))
    for name, path in pack.members():
        if name.endswith(".py"):
            tree = ast.parse(path.read_bytes())
            if name.split("/")[1] in ("modules", "states", "resources"):
                tree.body = [
                    node
                    for node in tree.body
                    if not isinstance(node, ast.Assign) or getattr(node.targets[0], "id", "") not in words
                ]
            assert _code(tree) == _code(ast.parse(sent[name])), name
            assert '"""Return' not in sent[name].decode(), name
        assert not any(f"\n{word} =".encode() in sent[name] for word in words), name
    assert sum(line.lstrip().startswith(b"#") for text in sent.values() for line in text.split(b"\n")) < 100


def _code(tree):
    """The code, without docstrings that targets never read."""
    if ast.get_docstring(tree, clean=False):
        del tree.body[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node, clean=False) is not None:
            node.body[0].value = ast.Constant(value="")
            node.body[0] = ast.Expr(value=node.body[0].value, lineno=node.body[0].lineno)
    return ast.dump(tree), [node.lineno for node in ast.walk(tree) if isinstance(node, ast.stmt)]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_first_archive_stays_small(built, family):
    """It is sent to every target at first contact, so a larger archive needs a reason."""
    assert len(built.firsts[family].data) <= 252 * 1024


def test_packs_stay_small(built):
    assert max(map(len, built.packs.values())) < 100_000


def test_the_fingerprint_changes_with_a_file_and_with_the_first_stage(tmp_path):
    root = tmp_path / "thin"
    shutil.copytree(pack.THIN, root)
    before = pack.fingerprint(root)
    assert pack.fingerprint(root) == before
    for name in ("wire.py", "boot.py"):
        (root / name).write_text((root / name).read_text() + "\n# changed\n")
        assert pack.fingerprint(root) != before
        before = pack.fingerprint(root)
