"""The parts of a project that are sent to the workers of a site, and the project that a worker makes from them."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from pushsalt.errors import PushsaltError
from pushsalt.events import Reporter
from pushsalt.run.project import Project
from pushsalt.workers import objects, parts, setup, unpack
from pushsalt.workers.parts import Collector
from thin import wire


def sent(project, site="a"):
    """The parts of a project for a site, packed and unpacked again."""
    found = Collector(project).parts(site)
    return wire.unpack(wire.pack(found.manifest)), found.sources


def arrived(project, cache, site="a", keys=None):
    """The project that a worker of the site makes from the parts, in the folder ``cache``."""
    manifest, sources = sent(project, site)
    store = unpack.Store(cache)
    for digest, size in unpack.wanted(unpack.checked(manifest, site)).items():
        with store.writing(digest, size) as write, sources[digest]() as stream:
            write(stream.read())
    folder = store.build(hashlib.sha256(wire.pack(manifest)).hexdigest(), manifest)
    received = Project.open(objects.settings_of(folder, cache), Reporter())
    objects.furnish(received, keys)
    return received


def test_trees_arrive_with_modes_links_and_empty_folders(site, tmp_path):
    site.write("salt/bin/run.sh", "#!/bin/sh\n").chmod(0o750)
    (site.folder / "salt/empty/below").mkdir(parents=True)
    os.symlink("web", site.folder / "salt/again")
    os.symlink("init.sls", site.folder / "salt/web/other.sls")
    original, received = site.open().files, arrived(site.open(), tmp_path / "w").files
    assert received.list_files() == original.list_files() and "again/init.sls" in original.list_files()
    assert received.list_dirs() == original.list_dirs()
    assert received.list_emptydirs() == original.list_emptydirs() == ["empty/below"]
    assert received.symlinks() == original.symlinks()
    assert received.symlinks()["again"] == "web" and received.symlinks()["web/other.sls"] == "init.sls"
    for path in original.list_files():
        assert received.read(path) == original.read(path)
        assert received.find(path).mode == original.find(path).mode


def test_links_out_of_a_tree_arrive_as_the_file_server_serves_them(site, tmp_path):
    site.configure(file_roots={"base": ["salt", "more"]})
    site.write("more/other.sls", "y: {test.nop: []}")
    site.write("outside/secret", "not served")
    os.symlink("../more/other.sls", site.folder / "salt/linked.sls")
    os.symlink(site.folder / "salt/web", site.folder / "salt/absolute")
    os.symlink("../outside", site.folder / "salt/gone")
    original, received = site.open().files, arrived(site.open(), tmp_path / "w").files
    assert received.list_files() == original.list_files()
    assert received.read("linked.sls") == b"y: {test.nop: []}" and received.read("absolute/init.sls") == original.read(
        "web/init.sls"
    )
    assert received.read("gone/secret") is None
    assert not received.symlinks()


def test_saltenvs_and_the_order_of_roots_are_kept(site, tmp_path):
    site.configure(file_roots={"base": ["salt", "more"], "dev": ["more"], "__env__": ["envs/__env__"]})
    site.write("more/top.sls", "second")
    site.write("more/only.txt", "more")
    site.write("envs/qa/q.txt", "qa")
    original, received = site.open().files, arrived(site.open(), tmp_path / "w").files
    for files in (original, received):
        assert files.read("top.sls") == b"base: {'*': [web]}" and files.read("top.sls", "dev") == b"second"
        assert files.read("only.txt") == b"more" and files.read("q.txt", "qa") == b"qa"
    assert received.envs()[:2] == ["base", "dev"]


def test_pillar_modules_and_ignored_files(site, tmp_path):
    site.configure(file_ignore_glob=["*.swp"], module_dirs=["own"])
    site.write("salt/x.swp", "editor")
    site.write("salt/_modules/mine.py", "def one():\n    return 1\n")
    site.write("own/_states/two.py", "def two(name):\n    return {}\n")
    received = arrived(site.open(), tmp_path / "w")
    assert received.pillar_files.read("secret.sls") == b"password: of-the-pillar\n"
    assert received.files.read("x.swp") is None
    custom = received.custom("base").by_kind
    assert "mine" in custom["modules"] and "two" in custom["states"]


def test_only_the_inventory_of_the_site_travels(site, tmp_path):
    manifest, sources = sent(site.open())
    with sources[manifest["inventory"]]() as stream:
        rows = stream.read()
    assert b"only-of-a1" in rows and b"only-of-b1" not in rows
    received = arrived(site.open(), tmp_path / "w").inventory
    assert received.ids == ("a1", "a2", "gate")  # with the jump host
    original = site.open().inventory
    assert received.targets["a2"] == original.targets["a2"] and received.targets["a2"].jump == ("gate",)
    assert received.targets["a1"].passwd == "only-of-a1" and "only-of-a1" not in repr(received.targets["a1"])
    assert received.groups == frozenset({"all"})


def test_private_keys_are_those_of_the_worker(site, tmp_path):
    site.write("keys/deploy", "-----BEGIN OPENSSH PRIVATE KEY-----\n")
    _, sources = sent(site.open())
    for source in sources.values():
        with source() as stream:
            assert b"PRIVATE KEY" not in stream.read()
    received = arrived(site.open(), tmp_path / "w", keys=tmp_path / "worker-a")
    assert received.inventory.targets["a1"].priv == (str(tmp_path / "worker-a/ssh/deploy"),)


def test_keys_of_the_projects_sites_never_travel(site, tmp_path):
    setup.init("a", tmp_path / "worker-a", site.folder, None)
    site.configure(file_roots={"base": ["."]})
    os.symlink("workers/private/controller.key", site.folder / "link")
    manifest, _ = sent(site.open())
    paths = [row[0] for tree in manifest["trees"].values() for row in tree["files"]]
    assert "workers/a.pub" in paths and "link" not in paths
    assert not [path for path in paths if "private" in path]


def test_options_of_the_command_line_are_sent_and_those_of_the_controller_are_not(site, tmp_path):
    site.configure(**{"return": ["redis"], "sharedsecret": "s3cret", "ssh_user": "me", "failhard": True, "own.key": 1})
    more = site.folder / "more"
    site.write("more/extra.sls", "{}")
    received = arrived(site.open(file_roots=[more], options={"render_cache": False}), tmp_path / "w")
    opts = received.config.opts
    assert (opts["failhard"], opts["own.key"], opts["render_cache"]) == (True, 1, False)
    assert opts["return"] == [] and opts["sharedsecret"] == "" and opts["ssh_user"] == ""
    assert received.inventory.targets["a1"].user == "me"
    assert received.files.read("extra.sls") == b"{}"


def test_files_that_options_and_external_pillars_name_are_sent(site, tmp_path):
    site.write("known_hosts", "host ssh-ed25519 AAAA\n")
    site.write("stack/stack.cfg", "core.yml\n")
    site.write("stack/core.yml", "from: stack\n")
    site.configure(known_hosts_file="known_hosts", ext_pillar=[{"stack": str(site.folder / "stack/stack.cfg")}])
    opts = arrived(site.open(), tmp_path / "w").config.opts
    for path, text in ((opts["known_hosts_file"], "host ssh"), (opts["ext_pillar"][0]["stack"], "core.yml")):
        assert Path(path).is_relative_to(tmp_path / "w") and Path(path).read_text().startswith(text)
    assert (Path(opts["ext_pillar"][0]["stack"]).parent / "core.yml").read_text() == "from: stack\n"


def test_what_a_program_wrote_is_not_read_as_a_secret_to_fetch(site, tmp_path):
    """A text that begins with sdb:// is fetched only where the operator's own file has it."""
    site.write("inventory.yaml", "hosts: {a1: {site: a, passwd: 'sdb://vault/x', pillar: {y: 'sdb://vault/y'}}}")
    original, received = (
        site.open().inventory.targets["a1"],
        arrived(site.open(), tmp_path / "w").inventory.targets["a1"],
    )
    assert type(received.passwd) is type(original.passwd) and type(received.pillar["y"]) is type(original.pillar["y"])


def test_the_same_project_gives_the_same_parts(site):
    first, second = sent(site.open())[0], sent(site.open())[0]
    assert wire.pack(first) == wire.pack(second)


def test_the_folder_of_a_worker_is_private(site, tmp_path):
    old = os.umask(0)
    try:
        arrived(site.open(), tmp_path / "w")
    finally:
        os.umask(old)
    for path in [tmp_path / "w/workers", *(tmp_path / "w/workers").rglob("*")]:
        if "trees" not in path.parts and not path.is_symlink():
            assert path.stat().st_mode & 0o077 == 0, path


@pytest.mark.parametrize(
    "path", ["../x", "/etc/passwd", "a/../../x", "", ".", "a//b", "a/./b", "x\0y", "n" * 300, "a/" + "b" * 256]
)
def test_paths_that_leave_the_tree_are_refused(path):
    digest = "0" * 64
    for tree in (
        {"files": [[path, 0o644, 1, digest]], "dirs": [], "links": {}, "limit": None},
        {"files": [], "dirs": [path], "links": {}, "limit": None},
        {"files": [], "dirs": [], "links": {path: "x"}, "limit": None},
    ):
        with pytest.raises(unpack.DamagedProject, match="path"):
            unpack.checked({"site": "a", "options": {}, "inventory": digest, "trees": {"t": tree}}, "a")


@pytest.mark.parametrize("links", [{"a": "/etc"}, {"a": ".."}, {"d/a": "../../x"}, {"a": "."}])
def test_links_that_leave_the_tree_are_refused(links):
    tree = {"files": [], "dirs": [], "links": links, "limit": None}
    with pytest.raises(unpack.DamagedProject, match="link"):
        unpack.checked({"site": "a", "options": {}, "inventory": "0" * 64, "trees": {"t": tree}}, "a")


def test_links_that_leave_the_tree_by_another_link_are_refused(tmp_path):
    """``b`` is ``d`` by its text, but ``a`` leads two folders down, so that ``a/../../..`` is above the tree."""
    tree = {"files": [], "dirs": ["d"], "links": {"x/y/a": "../../d", "x/y/b": "a/../../z"}, "limit": None}
    store = unpack.Store(tmp_path)
    with pytest.raises(unpack.DamagedProject, match="leaves its tree"):
        store._write_tree(tmp_path / "tree", tree)


@pytest.mark.parametrize("files", [["x", "x"], ["x", "x/y"], ["x/y", "x"]])
def test_a_duplicate_path_is_refused(tmp_path, files):
    store = unpack.Store(tmp_path)
    digest = hashlib.sha256(b"").hexdigest()
    with store.writing(digest, 0):
        pass
    tree = {"files": [[path, 0o600, 0, digest] for path in files], "dirs": [], "links": {}, "limit": None}
    with pytest.raises(unpack.DamagedProject, match="twice"):
        store._write_tree(tmp_path / "tree", tree)


def test_other_bytes_than_the_digest_says_are_refused(tmp_path):
    store = unpack.Store(tmp_path)
    digest = hashlib.sha256(b"right").hexdigest()
    with pytest.raises(unpack.DamagedProject, match="does not have its digest"), store.writing(digest, 5) as write:
        write(b"wrong")
    with pytest.raises(unpack.DamagedProject, match="larger"), store.writing(digest, 5) as write:
        write(b"right and more")
    assert not store.has(digest)


def test_a_file_that_was_changed_in_the_cache_is_not_used(tmp_path):
    store = unpack.Store(tmp_path)
    digest = hashlib.sha256(b"right").hexdigest()
    with store.writing(digest, 5) as write:
        write(b"right")
    store._object(digest).write_bytes(b"wrong")
    tree = {"files": [["x", 0o600, 5, digest]], "dirs": [], "links": {}, "limit": None}
    with pytest.raises(unpack.DamagedProject, match="damaged"):
        store._write_tree(tmp_path / "tree", tree)
    assert not store.has(digest)


def test_a_project_for_another_site_is_refused(site):
    manifest, _ = sent(site.open())
    with pytest.raises(unpack.DamagedProject, match="for the site"):
        unpack.checked(manifest, "b")


def test_too_many_files_are_an_error(site, monkeypatch):
    monkeypatch.setattr(parts, "MAX_FILES", 2)
    with pytest.raises(PushsaltError, match="more than 2 files"):
        Collector(site.open())
