"""Random configurations of gitfs and git_pillar over a few repositories: files and pillar equal real Salt's."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pushsalt.ext_pillar import Outside, find_source
from pushsalt.fileserver import FileServer
from pushsalt.fileserver.trees import PillarTree
from pushsalt.git.remotes import Remotes
from pushsalt.options import OPTIONS
from pushsalt.pillar import compile_pillar
from pushsalt.render import RenderContext
from tests.beds.gitserver import Repo

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

DRIVER = Path(__file__).with_name("git_driver.py")
SALTENVS = ["base", "dev", "qa", "prod", "stage", "v1", "main", "nope"]
PATHS = ["a", "d/a", "m/a", "m/n/k", "g/k", "z/k", "l", "root/l", "d/e/c", "top.sls", "d"]


def draw_options(rng: random.Random, *rows: tuple[float, str, list[Any]]) -> list[dict[str, Any]]:
    """For each (chance, option, values) one value, or none."""
    return [{name: rng.choice(values)} for chance, name, values in rows if rng.random() < chance]


def state_files(rng: random.Random, tag: str) -> dict[str, Any]:
    paths = ["a", "d/a", "root/a", "k", "root/k"]
    paths += [path for path in ("b", "d/e/c", "root/d/b", "root/top.sls", "top.sls") if rng.random() < 0.7]
    return {**{path: f"{tag} {path}" for path in paths}, "l": ("120000", "d/a"), "root/l": ("120000", "a")}


def gitfs_case(rng: random.Random, repos: list[Repo]) -> dict[str, Any]:
    remotes: list[Any] = []
    for repo in rng.sample(repos, rng.randint(1, 3)):
        saltenv_options = draw_options(
            rng, (1, "ref", ["dev", "main", "v1"]), (0.4, "root", ["root"]), (0.3, "mountpoint", ["salt://z"])
        )
        remote_options = draw_options(
            rng,
            (0.3, "base", ["main", "dev", "v1"]),
            (0.3, "root", ["root", "root/d", "nowhere"]),
            (0.3, "mountpoint", ["salt://m", "m/n"]),
            (0.2, "all_saltenvs", ["master", "dev", "nope"]),
            (0.2, "fallback", ["master", "main"]),
            (0.2, "disable_saltenv_mapping", [True]),
            (0.2, "ref_types", [["tag"], ["branch"], ["tag", "branch"]]),
            (0.2, "saltenv_whitelist", [["base"], ["base", "d.*"], ["v*", "base"]]),
            (0.2, "saltenv_blacklist", [["dev"], ["v*"]]),
            (0.3, "saltenv", [[{rng.choice(["prod", "qa", "base"]): saltenv_options}]]),
        )
        remotes.append({repo.url: remote_options} if remote_options else repo.url)
    opts: dict[str, Any] = {"fileserver_backend": ["gitfs"], "gitfs_remotes": remotes}
    for options in draw_options(
        rng,
        (0.2, "gitfs_base", ["main", "dev"]),
        (0.2, "gitfs_root", ["root"]),
        (0.2, "gitfs_mountpoint", ["salt://g"]),
        (0.3, "gitfs_saltenv", [[{"stage": [{"ref": "dev"}, {"root": "root"}]}], [{"prod": [{"ref": "v1"}]}]]),
        (0.1, "gitfs_fallback", ["master"]),
    ):
        opts.update(options)
    return {"opts": opts, "saltenvs": SALTENVS, "paths": PATHS}


def pillar_files(rng: random.Random, tag: str, env: str) -> dict[str, Any]:
    names = ["a", *(["b"] if rng.random() < 0.5 else []), *(["m.c"] if rng.random() < 0.3 else [])]
    files = {
        "top.sls": f"'{rng.choice([env, env, '{{ saltenv }}'])}':\n  '*': [{', '.join(names)}]\n",
        "a.sls": f"who: {tag}\nl: [{tag}]\nd: {{{tag}: 1}}\n",
        "sub/top.sls": "base:\n  '*': [a]\n",
        "sub/a.sls": f"sub: {tag}\n",
    }
    optional = {"b.sls": f"b: {tag}\nd: {{b{tag}: 1}}\n", "c.sls": f"c: {tag}\n"}
    return {**files, **{path: text for path, text in optional.items() if rng.random() < 0.7}}


def pillar_case(rng: random.Random, repos: list[Repo]) -> dict[str, Any]:
    entries: list[Any] = []
    for repo in rng.sample(repos, rng.randint(1, 3)):
        branch = rng.choice(["master", "master", "dev", "qa", "__env__", "__env__", "v1", "nope"])
        remote_options = draw_options(
            rng,
            (0.2, "env", ["base", "dev"]),
            (0.2, "root", ["sub", "nowhere"]),
            (0.25, "mountpoint", ["m"]),
            (0.3 if branch == "__env__" else 0, "all_saltenvs", ["master"]),
            (0.2, "fallback", ["master"]),
            (0.2 if branch == "__env__" else 0, "base", ["dev"]),
        )
        entries.append({f"{branch} {repo.url}": remote_options} if remote_options else f"{branch} {repo.url}")
    opts = {
        "ext_pillar": [{"git": entries}],
        "git_pillar_includes": rng.random() < 0.7,
        "pillar_source_merging_strategy": rng.choice(["smart", "recurse", "overwrite"]),
        "pillar_merge_lists": rng.random() < 0.3,
    }
    saltenv, pillarenv = rng.choice([None, None, "dev"]), rng.choice([None, "dev", "base", "nope"])
    return {"opts": opts, "saltenv": saltenv, "pillarenv": pillarenv}


def our_files(case: dict[str, Any], remotes: Remotes) -> dict[str, Any]:
    server = FileServer({**case["opts"], "gitfs_update_interval": 10_000}, remotes)
    result: dict[str, Any] = {"envs": server.envs()}
    for saltenv in case["saltenvs"]:
        result[f"files {saltenv}"] = server.list_files(saltenv)
        for path in case["paths"]:
            data = server.read(path, saltenv)
            result[f"find {saltenv} {path}"] = None if data is None else data.decode()
    return result


def our_pillar(case: dict[str, Any], remotes: Remotes) -> dict[str, Any]:
    opts = {name: option.default for name, option in OPTIONS.items()}
    opts.update(case["opts"], saltenv=case["saltenv"], pillarenv=case["pillarenv"], id="web1")
    context = RenderContext("web1", opts, {"id": "web1"}, {}, {})
    outside = Outside(opts, context, None, lambda expr, kind: expr in ("*", "web1"), lambda: remotes)  # type: ignore[arg-type]
    nowhere = FileServer({"file_roots": {"base": ["/nonexistent"]}})
    result = compile_pillar(
        "web1",
        opts,
        PillarTree(nowhere, context),
        outside.matches,
        saltenv=case["saltenv"],
        pillarenv=case["pillarenv"],
        ext_pillars=partial(find_source, folders=(), outside=outside),
    )
    return {**result.pillar, **({"_errors": True} if result.errors else {})}


def test_git_files_and_pillar_equal_salts(salt_python: Path, examples: int, tmp_path: Path) -> None:
    if subprocess.run([salt_python, "-c", "import git"], check=False, capture_output=True).returncode:
        pytest.skip("that Salt has no GitPython")
    seed = int(os.environ.get("SEED") or 1)
    rng = random.Random(seed)
    states, pillars = [], []
    for number in range(3):
        state_repo, pillar_repo = Repo(tmp_path / f"s{number}.git"), Repo(tmp_path / f"p{number}.git")
        for branch in ("master", "dev", "qa", "main"):
            state_repo.commit(state_files(rng, f"{number} {branch}"), branch)
        for branch, env in (("master", "base"), ("dev", "dev"), ("qa", "qa")):
            pillar_repo.commit(pillar_files(rng, f"{branch}{number}", env), branch)
        state_repo.tag(rng.choice(["v1", "dev"]), annotated=True)
        pillar_repo.tag("v1")
        states.append(state_repo)
        pillars.append(pillar_repo)
    count = max(2, examples // 20)
    cases = {
        "gitfs": [gitfs_case(rng, states) for _ in range(count)],
        "pillar": [pillar_case(rng, pillars) for _ in range(count)],
    }
    (tmp_path / "cases").write_text(json.dumps(cases))
    subprocess.run(
        [salt_python, "-W", "ignore", DRIVER, tmp_path / "cases", tmp_path / "salt", tmp_path / "answers"], check=True
    )
    theirs = json.loads((tmp_path / "answers").read_text())
    remotes = Remotes(tmp_path / "ours")
    try:
        for kind, ours in (("gitfs", our_files), ("pillar", our_pillar)):
            for case, expected in zip(cases[kind], theirs[kind], strict=True):
                result = ours(case, remotes)
                if "_errors" in expected:
                    assert "_errors" in result, (seed, case, expected)
                else:
                    assert result == expected, (seed, case)
    finally:
        remotes.close()
