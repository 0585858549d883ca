"""Real Salt in a machine, started by its Python: answers as `salt-call --local` would.

The first line of stdin is a JSON object with minion options. Each further line is a question: ``fun``, ``args``,
``kwargs``, and ``opts`` for that call. Each answer is one line: ``ret``, or ``error`` and ``message``; and ``low``, the
chunks that were run. Each call runs in a fork of this process, which has imported Salt: its state is as fresh as that
of a command, grains included, and it takes a fraction of the time.
"""

import json
import logging
import os
import sys
import traceback

import salt.client
import salt.config
import salt.state
import salt.utils.args

channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)
sys.stdout = sys.stderr
logging.disable(logging.CRITICAL)
chunks_run = []


def caller(opts):
    return salt.client.Caller(mopts=opts)


def answer(base, request):
    opts = dict(base, **(request.get("opts") or {}))
    try:
        client = caller(opts)
        kwargs = salt.utils.args.clean_kwargs(**(request.get("kwargs") or {}))
        result = {"ret": client.cmd(request["fun"], *(request.get("args") or ()), **kwargs)}
    except BaseException as exc:  # SystemExit is an answer, too
        result = {"error": type(exc).__name__, "message": str(exc), "traceback": traceback.format_exc()}
    result["low"] = chunks_run
    return result


def record_chunks(self, chunks, *args, **kwargs):
    chunks_run.extend(chunks)
    return run(self, chunks, *args, **kwargs)


run, salt.state.State.call_chunks = salt.state.State.call_chunks, record_chunks


def main():
    base = salt.config.minion_config(None)
    base.update(json.loads(sys.stdin.readline()))
    for name in ("cachedir", "pki_dir", "sock_dir"):
        os.makedirs(base[name], exist_ok=True)
    caller(dict(base)).cmd("test.ping")  # imports that every call needs
    print(json.dumps({"ret": "ready"}), file=channel, flush=True)
    while True:
        line = sys.stdin.readline()
        if not line:
            return
        pid = os.fork()
        if not pid:
            text = json.dumps(answer(base, json.loads(line)), default=str)
            print(text, file=channel, flush=True)
            os._exit(0)
        status = os.waitpid(pid, 0)[1]
        if status:
            print(json.dumps({"error": "died", "message": f"wait status {status}"}), file=channel, flush=True)


main()
