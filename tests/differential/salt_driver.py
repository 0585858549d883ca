"""Runs in the Python of real Salt: answers calls of execution functions as `salt-call --local` does.

Arguments: a folder for Salt's files, and the file root. Reads one JSON object per line from stdin: ``fun``, ``args``,
``kwargs``, and ``opts``, minion options for that call. Writes one to stdout: ``ret``, or ``error`` with the class and
text of an exception.
"""

import json
import logging
import os
import sys


def caller(folder, root):
    import salt.client
    import salt.config

    opts = salt.config.minion_config(None)
    opts.update(
        id="it",
        file_client="local",
        local=True,
        root_dir=folder,
        cachedir=os.path.join(folder, "cache"),
        extension_modules=os.path.join(folder, "cache", "extmods"),
        pki_dir=os.path.join(folder, "pki"),
        sock_dir=os.path.join(folder, "sock"),
        conf_file=os.path.join(folder, "minion"),
        file_roots={"base": [root]},
        pillar_roots={"base": [os.path.join(folder, "pillar")]},
        fileserver_list_cache_time=0,
        state_events=False,
    )
    for name in ("cache", "pki", "sock", "pillar"):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
    logging.disable(logging.CRITICAL)
    return salt.client.Caller(mopts=opts)


def answer(salt, folder, request, usual):
    kwargs = dict(request.get("kwargs") or {})
    opts = request.get("opts") or {}
    for name in opts:
        usual.setdefault(name, salt.opts.get(name))
    if usual:  # values that one call sets remain in the copy for the next call
        kwargs["localconfig"] = os.path.join(folder, "localconfig")
        with open(kwargs["localconfig"], "w", encoding="utf-8") as handle:
            json.dump(dict(usual, **opts), handle)
    try:
        return {"ret": salt.cmd(request["fun"], *request.get("args") or (), **kwargs)}
    except Exception as exc:
        return {"error": type(exc).__name__, "message": str(exc)}


def main():
    folder, root = sys.argv[1:]
    channel, sys.stdout = os.fdopen(os.dup(1), "w", encoding="utf-8"), sys.stderr
    os.dup2(2, 1)  # output of Salt or of a command must not get between the answers
    salt, usual = caller(folder, root), {}
    for line in sys.stdin:
        print(json.dumps(answer(salt, folder, json.loads(line), usual), default=str), file=channel, flush=True)


main()
