"""The runtime works with the standard library of Debian's python3-minimal.

``MISSING`` has the modules that the python3-minimal of bullseye, bookworm or trixie cannot import.
"""

from __future__ import annotations

import ast
import io
import json
import os
import subprocess
import sys
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from pushsalt.bundle import pack

pytestmark = [pytest.mark.slow, pytest.mark.gate]

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
MISSING = """
    _asyncio _bz2 _codecs_cn _codecs_hk _codecs_iso2022 _codecs_jp _codecs_kr _codecs_tw _compression
    _contextvars _crypt _ctypes _curses _curses_panel _dbm _decimal _elementtree _gdbm _json _lsprof _lzma
    _markupbase _multibytecodec _multiprocessing _posixshmem _pydecimal _pyio _queue _sha256 _sha512 _sqlite3
    _uuid _zoneinfo aifc asynchat asyncio asyncore audioop bdb bz2 cProfile cgi cgitb chunk cmd code codeop
    colorsys compileall concurrent contextvars crypt ctypes curses dataclasses dbm decimal difflib distutils
    doctest ensurepip fileinput fractions ftplib getpass gettext graphlib gzip hmac html http imaplib imghdr imp
    json lib2to3 logging.handlers lzma mailbox mailcap mimetypes mmap modulefinder multiprocessing netrc nis
    nntplib ntpath nturl2path numbers ossaudiodev pathlib pdb pickletools pipes plistlib poplib pprint profile
    pstats pty pyclbr pydoc pydoc_data queue readline resource rlcompleter sched secrets shelve shlex shutil
    smtpd smtplib sndhdr socketserver spwd sqlite3 statistics sunau symtable tabnanny tarfile telnetlib tempfile
    termios timeit tomllib trace tty unittest urllib.request uu uuid venv wave webbrowser wsgiref xdrlib xml
    xmlrpc zipapp zipfile zoneinfo
""".split()  # noqa: SIM905 - the list would be a page

#: (file, module): why the file may try the import, and what it does if the module is missing
ALLOWED = {
    ("thin/boot.py", "_sha256"): "faster than hashlib, which is used otherwise",
    ("thin/boot.py", "resource"): "an error that names the limit without its number otherwise",
    ("thin/utf8.py", "ctypes"): "only for Python 3.6; otherwise names beyond ASCII are refused one by one",
    ("thin/grains/process.py", "_sha256"): "faster than hashlib, which is used otherwise",
    ("thin/utils/files/serial.py", "json"): "the controller reads and writes JSON otherwise",
    ("thin/utils/files/large.py", "mmap"): "large files are read whole otherwise",
    (
        "thin/utils/archives/archivefiles.py",
        "bz2",
    ): "where bzip2 is not installed; an error that names the package otherwise",
    (
        "thin/utils/archives/archivefiles.py",
        "lzma",
    ): "where xz is not installed; an error that names the package otherwise",
    ("thin/utils/files/data.py", "plistlib"): "the controller reads and writes property lists otherwise",
    ("thin/utils/files/data.py", "pprint"): "the controller writes Python data otherwise",
    ("thin/utils/files/web.py", "urllib.request"): "curl or wget otherwise",
    ("thin/modules/mac_service.py", "plistlib"): "macOS only, whose Python is complete",
    ("thin/modules/macdefaults.py", "plistlib"): "macOS only, whose Python is complete",
    ("thin/modules/xml.py", "xml"): "an error that names the package otherwise",
    ("thin/utils/pki/libcrypto.py", "ctypes"): "an error that says what is needed otherwise",
    ("thin/modules/http.py", "urllib.request"): "an error that names the package otherwise",
    ("thin/resources/http_api/__init__.py", "urllib.request"): "an error that names the package otherwise",
    ("thin/modules/http.py", "xml"): "an error that names the package otherwise",
    ("thin/modules/sqlite3.py", "sqlite3"): "the module refuses to load otherwise",
}


def imported(node: ast.AST) -> list[str]:
    """The modules of one import statement, and names that it may import as modules of them."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and not node.level:
        return [str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)]
    return []


def missing_module(name: str) -> str | None:
    """The entry of MISSING for a module's name."""
    parts = name.split(".")
    heads = (".".join(parts[:length]) for length in range(1, len(parts) + 1))
    return next((head for head in heads if head in MISSING), None)


def uses(tree: ast.AST, caught: bool = False) -> Iterator[tuple[str, bool]]:
    """(module of MISSING, whether the code handles its absence) of each import."""
    for name in filter(None, map(missing_module, imported(tree))):
        yield name, caught
    body = []
    if isinstance(tree, ast.Try):
        handled = " ".join(ast.unparse(handler.type) for handler in tree.handlers if handler.type)
        body = tree.body if "ImportError" in handled or "ModuleNotFoundError" in handled else []
    for child in ast.iter_child_nodes(tree):
        yield from uses(child, caught or child in body)


# Helpers that users' own modules import from Salt need Python's modules: their targets must have them.
OURS = [path for path in sorted((ROOT / "thin").rglob("*.py")) if ROOT / "thin" / "compat" / "salt" not in path.parents]


def test_imports_of_missing_modules_are_allowed_and_caught() -> None:
    errors = []
    for path in OURS:
        file = str(path.relative_to(ROOT))
        for name, caught in uses(ast.parse(path.read_text())):
            if (file, name) not in ALLOWED:
                errors.append(f"{file} imports {name}, which python3-minimal lacks")
            elif not caught:
                errors.append(f"{file} imports {name} without `except ImportError`")
    assert len(OURS) > 400 and not errors, "\n".join(errors)


def test_allowed_imports_exist() -> None:
    used = {(file, name) for file, _ in ALLOWED for name, _ in uses(ast.parse((ROOT / file).read_text()))}
    assert set(ALLOWED) <= used


@pytest.fixture(scope="module")
def unpacked_runtime(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The runtime in unpacked form, as on a target."""
    folder = tmp_path_factory.mktemp("packed")
    built = pack.build()
    for data in (*(archive.data for archive in built.firsts.values()), *built.packs.values()):
        with tarfile.open(fileobj=io.BytesIO(zlib.decompress(data))) as archive:
            archive.extractall(folder, filter="data")
    for name in ("warmstart.py", "folder.py"):  # on a target these are the first stage, and a store
        (folder / "thin" / name).write_bytes((ROOT / "thin" / name).read_bytes())
    return folder


def run(unpacked_runtime: Path, folder: Path, *argv: str, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-S", str(HERE / "minimal_python_run.py"), str(unpacked_runtime), *argv]
    return subprocess.run(
        command,
        input=" ".join(sorted(MISSING)),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=folder,
        env={**os.environ, **environ},
    )


def test_every_module_loads_and_works(unpacked_runtime: Path, tmp_path: Path) -> None:
    process = run(unpacked_runtime, tmp_path, "all", str(tmp_path / "bed"))
    assert process.returncode == 0, process.stdout + process.stderr
    assert json.loads(process.stdout.splitlines()[-1]) == "OK"


@pytest.mark.skipif(os.geteuid() != 0, reason="the recorded cases change owners")
@pytest.mark.parametrize("cases", sorted((HERE / "cases" / "file").glob("*.json")), ids=lambda path: path.stem)
def test_file_states_equal_salts(unpacked_runtime: Path, cases: Path, tmp_path: Path) -> None:
    process = run(unpacked_runtime, tmp_path, "play", str(cases), str(tmp_path / "bed"))
    assert process.returncode == 0, process.stdout + process.stderr
