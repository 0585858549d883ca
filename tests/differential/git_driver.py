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
    result = {"envs": sorted(server.envs())}
    for saltenv in case["saltenvs"]:
        result["files " + saltenv] = sorted(server.file_list({"saltenv": saltenv}))
        for path in case["paths"]:
            path_on_disk = server.find_file(path, saltenv)["path"]
            result[f"find {saltenv} {path}"] = None
            if path_on_disk:
                with open(path_on_disk) as stream:
                    result[f"find {saltenv} {path}"] = stream.read()
    return result


def pillar(case, cache):
    import salt.config
    import salt.pillar

    opts = salt.config.master_config(None)
    nowhere = {"base": ["/nonexistent"]}
    opts.update(case["opts"], cachedir=cache, git_pillar_provider="gitpython", pillar_roots=nowhere, file_roots=nowhere)
    opts.update(file_client="local", id="web1", __role="minion")
    compiler = salt.pillar.Pillar(opts, {"id": "web1"}, "web1", case["saltenv"], pillarenv=case["pillarenv"])
    result = compiler.compile_pillar()
    return {key: bool(value) if key == "_errors" else value for key, value in result.items()}


def main(cases_file, cache, results_file):
    logging.disable(logging.CRITICAL)
    with open(cases_file) as stream:
        document = json.load(stream)
    results = {
        kind: [work(case, os.path.join(cache, kind + str(number))) for number, case in enumerate(document[kind])]
        for kind, work in (("gitfs", gitfs), ("pillar", pillar))
    }
    with open(results_file, "w") as stream:
        json.dump(results, stream)


if __name__ == "__main__":
    main(*sys.argv[1:])
