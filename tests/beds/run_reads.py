"""Calls the functions that claim to read, in a throw-away root, and tells what each of them left on the disk.

Started by ``reads`` in a root whose writable layer can be looked at: ``SEEN/upper`` has all that was written since the
start, ``SEEN/lower`` what was there before. Reads ``calls.json`` beside it; prints a line of JSON for each function.
"""

import base64
import json
import os
import signal
import stat
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
UPPER, LOWER = os.path.join(HERE, "upper"), os.path.join(HERE, "lower")
#: what a function may take, in seconds, and all of a module
ONE, MODULE = 4, 60


class TooLong(BaseException):
    """No function of ours catches it."""


def look():
    """Path -> what it is, of all that differs from the root as it was. What is a cache by its place is left out."""
    found = {}
    for folder, folders, files in os.walk(UPPER):
        for name in folders + files:
            path = os.path.join(folder, name)
            shown = path[len(UPPER) :]
            if any(word in shown for word in IGNORED):
                continue
            new, old = _facts(path), _facts(LOWER + shown)
            if new != old:
                found[shown] = new
        folders[:] = [name for name in folders if not os.path.islink(os.path.join(folder, name))]
    return found


def _facts(path):
    try:
        about = os.lstat(path)
    except OSError:
        return None
    kind = stat.S_IFMT(about.st_mode)
    facts = [about.st_mode, about.st_uid, about.st_gid]
    if kind == stat.S_IFREG:
        with open(path, "rb") as stream:
            facts += [about.st_size, about.st_mtime_ns, hash(stream.read(1 << 20))]
    elif kind == stat.S_IFLNK:
        facts.append(os.readlink(path))
    return facts


def call(function, args, kwargs):
    """``returned``, or the class of what was raised."""

    def late(*_):
        raise TooLong

    signal.signal(signal.SIGALRM, late)
    signal.alarm(ONE)
    try:
        value = function(*args, **kwargs)
        if hasattr(value, "__next__"):
            list(value)
        return "returned"
    except TooLong:
        os.kill(-1, signal.SIGKILL)  # what it has started: nobody else is here but the first process, which is immune
        return "too long"
    except (Exception, SystemExit) as exc:
        return type(exc).__name__
    finally:
        signal.alarm(0)


def generic(function, known, more):
    """A value for each argument without default; with ``more`` for each that is empty by default, if one is known."""
    import inspect

    args, kwargs = [], {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.default is not parameter.empty:
            if more and not parameter.default and parameter.default is not False and parameter.name in known:
                kwargs[parameter.name] = known[parameter.name]
            continue
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            args.append(known.get(parameter.name, "sample"))
        elif parameter.kind == parameter.KEYWORD_ONLY:
            kwargs[parameter.name] = known.get(parameter.name, "sample")
    return args, kwargs


def module(full, names, asked, before):
    """Call the functions of one file; tell of each what came of its calls, and what is on the disk since."""
    from thin import grains, loader, runtime

    opts = {"test": True, "id": "reads", "user": "root", "grains": {}, "pillar": {}, "saltenv": "base"}
    loaders = loader.Loaders(opts, runtime, grains=lambda: grains.collect(opts), pillar={})
    public = loader._public(loaders.modules._namespace(runtime, full))
    file = full.rpartition(".")[2]
    for name in names:
        known, full_name = asked["generic"], ".".join((file, name))
        calls = [] if full_name in asked["samples_only"] else [generic(public[name], known, False)]
        told_apart = asked["unless"].get(full_name, ())
        filled = generic(public[name], {key: known[key] for key in known if key not in told_apart}, True)
        calls += [filled] if calls and filled not in calls else []
        for given in asked["samples"].get(full_name, ()):
            calls.append((given, {}) if isinstance(given, list) else ([], given))
        came = [call(public[name], args, kwargs) for args, kwargs in calls]
        after = look()
        left = sorted(path for path in set(before) | set(after) if before.get(path) != after.get(path))
        before = after
        print(json.dumps([full, name, came, left]), flush=True)
    print(json.dumps([full, None, [], []]), flush=True)


def prepare(samples):
    """Files that the samples name: texts, and what programs make of commands that may fail."""
    for path, text in sorted(samples["files"].items()):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as stream:
            stream.write(base64.b64decode(text[7:]) if text.startswith("base64:") else text.encode())
    for command in samples["commands"]:
        subprocess.call(
            command, shell=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )


def main():
    with open(os.path.join(HERE, "calls.json")) as stream:
        asked = json.load(stream)
    IGNORED.extend(asked["ignored"])
    prepare(asked)
    sys.path.insert(0, HERE)
    sys.stdin.close()
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 2)
    for full, names in asked["modules"]:
        before = look()
        child = os.fork()
        if child == 0:
            try:
                module(full, names, asked, before)
            finally:
                os._exit(0)
        end = time.time() + MODULE
        while os.waitpid(child, os.WNOHANG) == (0, 0):
            if time.time() > end:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                break
            time.sleep(0.01)


IGNORED = []

if __name__ == "__main__":
    main()
