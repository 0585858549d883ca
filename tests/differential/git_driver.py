"""Runs in the Python of real Salt, with GitPython: the results of its gitfs and git_pillar for configurations.

Arguments: a file with ``{"gitfs": [{"opts", "saltenvs", "paths"}], "pillar": [{"opts", "saltenv", "pillarenv"}]}``, a
folder for Salt's caches, and a file for the answers, in the same order.
"""

import json
import logging
import os
import sys


def gitfs(case, cache):
    import salt.config
    import salt.fileserver
    import salt.utils.gitfs

    opts = salt.config.master_config(None)
    opts.update(case["opts"], cachedir=cache, __role="master", gitfs_provider="gitpython", fileserver_list_cache_time=0)
    salt.utils.gitfs.GitFS.instance_map.clear()
    server = salt.fileserver.Fileserver(opts)
    server.init()
    server.update()
    found = {"envs": sorted(server.envs())}
    for saltenv in case["saltenvs"]:
        found["files " + saltenv] = sorted(server.file_list({"saltenv": saltenv}))
        for path in case["paths"]:
            place = server.find_file(path, saltenv)["path"]
            found[f"find {saltenv} {path}"] = None
            if place:
                with open(place) as stream:
                    found[f"find {saltenv} {path}"] = stream.read()
    return found


def pillar(case, cache):
    import salt.config
    import salt.pillar

    opts = salt.config.master_config(None)
    nowhere = {"base": ["/nonexistent"]}
    opts.update(case["opts"], cachedir=cache, git_pillar_provider="gitpython", pillar_roots=nowhere, file_roots=nowhere)
    opts.update(file_client="local", id="web1", __role="minion")
    compiler = salt.pillar.Pillar(opts, {"id": "web1"}, "web1", case["saltenv"], pillarenv=case["pillarenv"])
    found = compiler.compile_pillar()
    return {key: bool(value) if key == "_errors" else value for key, value in found.items()}


def main(questions, cache, answers):
    logging.disable(logging.CRITICAL)
    with open(questions) as stream:
        document = json.load(stream)
    found = {
        kind: [work(case, os.path.join(cache, kind + str(number))) for number, case in enumerate(document[kind])]
        for kind, work in (("gitfs", gitfs), ("pillar", pillar))
    }
    with open(answers, "w") as stream:
        json.dump(found, stream)


if __name__ == "__main__":
    main(*sys.argv[1:])
