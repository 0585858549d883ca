"""The part of ``compile.py`` that runs in Salt's environment: ``state.show_low_sls`` in process, timed.

As on a masterless minion (``file_client: local``). Grains are collected, and Salt's loader is made, beforehand.
"""

import json
import resource
import sys
import time
from pathlib import Path


def main(request):
    import salt.config
    import salt.loader

    work = Path(request["work"])
    opts = salt.config.minion_config(None)
    opts.update(
        file_client="local",
        id="t0",
        file_roots={"base": [request["roots"]]},
        pillar_roots={"base": [f"{work}/pillar"]},
        root_dir=str(work),
        cachedir=f"{work}/salt",
        pki_dir=f"{work}/pki",
        sock_dir=f"{work}/sock",
        log_file=f"{work}/log",
        conf_file=f"{work}/minion",
        extension_modules=f"{work}/ext",
        __role="minion",
        __cli="salt-minion",
    )
    opts["grains"] = salt.loader.grains(opts)
    opts["grains"]["id"] = "t0"
    functions = salt.loader.minion_mods(opts, utils=salt.loader.utils(opts))
    call = functions["state.show_low_sls"]
    low = []

    def once():
        low[:] = call(request["sls"])

    first = [timed(once)]
    later = [timed(once) for _ in range(request["rounds"])]
    grains = json.loads(json.dumps(dict(opts["grains"]), default=str))
    print(json.dumps({"first": first, "later": later, "low": low, "grains": grains}, default=str))


def timed(work):
    began, cpu = time.perf_counter(), time.process_time()
    work()
    cost = {"wall": time.perf_counter() - began, "cpu": time.process_time() - cpu}
    return dict(cost, rss=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
