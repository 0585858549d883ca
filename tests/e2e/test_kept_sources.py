"""Copies of sources on the target: which are cached, names with special characters, and signatures."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.beds.project import Project, values

pytestmark = pytest.mark.slow


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path, {"it": {"transport": "local", "thin_dir": str(tmp_path / "thin")}})
    project.write("salt/a/page", "a page\n")
    return project


def run_managed(project: Project, name: Path, source: str, *arguments: str) -> dict[str, object]:
    done = project.json("run", "it", "state.single", "file.managed", str(name), f"source={source}", *arguments)
    (state,) = values(done.data["it"])
    return state


def test_a_source_is_cached_unless_keep_source_is_false(project: Project, tmp_path: Path) -> None:
    def cached_path() -> str:
        return str(project.json("run", "it", "cp.is_cached", "salt://a/page").data["it"])

    assert not cached_path()
    assert run_managed(project, tmp_path / "one", "salt://a/page")["result"] is True
    assert Path(cached_path()).read_text() == "a page\n"
    project.write("salt/a/page", "another\n")
    assert not cached_path()
    assert run_managed(project, tmp_path / "two", "salt://a/page", "keep_source=false")["result"] is True
    assert (tmp_path / "two").read_text() == "another\n" and not cached_path()


@pytest.mark.parametrize("name", ["?f!le? n@=3&-blah-.file type", "what?saltenv", "a&b=c"])
def test_special_characters_of_a_name_are_literal(project: Project, tmp_path: Path, name: str) -> None:
    project.write(f"salt/odd/{name}", "odd\n")
    project.write(f"salt/{name}", "odd\n")
    assert run_managed(project, tmp_path / "made", f"salt://|{name}")["result"] is True
    assert (tmp_path / "made").read_text() == "odd\n"
    done = project.json("run", "it", "state.single", "file.recurse", str(tmp_path / "tree"), "source=salt://odd")
    assert done.code == 0 and (tmp_path / "tree" / name).read_text() == "odd\n"


@pytest.mark.parametrize("prefix", ["", "file://"])
def test_a_template_is_not_rendered_over_itself(project: Project, tmp_path: Path, prefix: str) -> None:
    name = project.write("source", "{{ 1 + 1 }}\n")
    state = run_managed(project, name, f"{prefix}{name}", "template=jinja")
    assert state["result"] is False and "cannot be the same as destination" in str(state["comment"])
    assert name.read_text() == "{{ 1 + 1 }}\n"


@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not there")
@pytest.mark.parametrize("argument", ["signature", "source_hash_sig"])
@pytest.mark.parametrize("valid", [True, False])
def test_signatures_of_sources_are_verified(project: Project, tmp_path: Path, argument: str, valid: bool) -> None:
    tree = project.folder / "salt"
    digest = hashlib.sha256((tree / "a/page").read_bytes()).hexdigest()
    project.write("salt/a/page.sha256", f"{digest}  page\n")
    signed = tree / ("a/page" if argument == "signature" else "a/page.sha256")
    commands = [
        ["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", "key"],
        ["pkey", "-in", "key", "-pubout", "-out", "pub"],
        ["dgst", "-sha256", "-sign", "key", "-out", f"{signed}.sig", str(signed)],
    ]
    for command in commands:
        subprocess.run(["openssl", *command], cwd=tmp_path, check=True, capture_output=True)
    if not valid:
        signed.write_bytes(signed.read_bytes() + b" ")
    arguments = [
        f"{argument}=salt://a/{signed.name}.sig",
        f"signed_by_any={tmp_path / 'pub'}",
        "sig_backend=asymmetric",
    ]
    if argument == "source_hash_sig":
        arguments += ["source_hash=salt://a/page.sha256"]
        source = str(project.write("copy/page", "a page\n"))
    else:
        source = "salt://a/page"
    state = run_managed(project, tmp_path / "made", source, *arguments)
    assert state["result"] is valid and (tmp_path / "made").exists() is valid
    if not valid:
        assert "signature could not be verified" in str(state["comment"])


@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not there")
@pytest.mark.parametrize("valid", [True, False])
def test_signatures_of_archives_are_verified(project: Project, tmp_path: Path, valid: bool) -> None:
    archive = project.folder / "salt/a/x.tar.gz"
    commands = [
        ["tar", "-C", str(project.folder / "salt/a"), "-czf", str(archive), "page"],
        ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", "key"],
        ["openssl", "pkey", "-in", "key", "-pubout", "-out", "pub"],
        ["openssl", "dgst", "-sha256", "-sign", "key", "-out", f"{archive}.sig", str(archive)],
    ]
    for command in commands if valid else [*commands, [*commands[0][:-1], "--mtime=@0", "page"]]:
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    arguments = ["signature=salt://a/x.tar.gz.sig", f"signed_by_any={tmp_path / 'pub'}", "sig_backend=asymmetric"]
    target = tmp_path / "out"
    done = project.json(
        "run",
        "it",
        "state.single",
        "archive.extracted",
        str(target),
        "source=salt://a/x.tar.gz",
        "enforce_toplevel=false",
        *arguments,
    )
    (state,) = values(done.data["it"])
    assert state["result"] is valid and (target / "page").exists() is valid, state["comment"]
    if not valid:
        assert "Failed verifying the source file's signature" in str(state["comment"])
