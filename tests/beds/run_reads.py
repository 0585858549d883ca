"""Calls functions that are declared as reading, in a temporary root, and reports which files each of them left.

``reads`` starts it in a root whose writable layer is readable: ``SEEN/upper`` has everything written since the start,
``SEEN/lower`` the state before. It reads ``calls.json`` next to it, and prints a line of JSON for each function.
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
#: time limit of a function in seconds, and of a whole module
FUNCTION_SECONDS, MODULE_SECONDS = 4, 180


class TooLong(BaseException):
    """Raised at the time limit; no function of pushsalt catches it."""


def changed_paths():
    """Path -> its kind and content, for everything that differs from the original root. Cache folders are left out."""
    changed = {}
    for folder, folders, files in os.walk(UPPER):
        for name in folders + files:
            path = os.path.join(folder, name)
            shown = path[len(UPPER) :]
            if any(word in shown for word in IGNORED):
                continue
            new, old = _properties(path), _properties(LOWER + shown)
            if new != old:
                changed[shown] = new
        folders[:] = [name for name in folders if not os.path.islink(os.path.join(folder, name))]
    return changed


def _properties(path):
    try:
        status = os.lstat(path)
    except OSError:
        return None
    kind = stat.S_IFMT(status.st_mode)
    properties = [status.st_mode, status.st_uid, status.st_gid]
    if kind == stat.S_IFREG:
        with open(path, "rb") as stream:
            properties += [status.st_size, status.st_mtime_ns, hash(stream.read(1 << 20))]
    elif kind == stat.S_IFLNK:
        properties.append(os.readlink(path))
    return properties


def call(function, args, kwargs):
    """Call a function; returns ``returned``, or the class of the exception."""

    def late(*_):
        raise TooLong

    signal.signal(signal.SIGALRM, late)
    signal.alarm(FUNCTION_SECONDS)
    try:
        value = function(*args, **kwargs)
        if hasattr(value, "__next__"):
            list(value)
        return "returned"
    except TooLong:
        # end the processes that it started: this namespace has only them and its first process, which signals do not
        # end
        os.kill(-1, signal.SIGKILL)
        return "too long"
    except (Exception, SystemExit) as exc:
        return type(exc).__name__
    finally:
        signal.alarm(0)


def sample_arguments(function, values, more):
    """A value for each argument without a default; with ``more`` also for each with an empty default, where one is
    known.
    """
    import inspect

    args, kwargs = [], {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.default is not parameter.empty:
            if more and not parameter.default and parameter.default is not False and parameter.name in values:
                kwargs[parameter.name] = values[parameter.name]
            continue
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            args.append(values.get(parameter.name, "sample"))
        elif parameter.kind == parameter.KEYWORD_ONLY:
            kwargs[parameter.name] = values.get(parameter.name, "sample")
    return args, kwargs


def module(full, names, request, before):
    """Call the functions of one file, and report the outcome of each call and the files that changed since."""
    from thin import grains, loader, runtime

    opts = {"test": True, "id": "reads", "user": "root", "grains": {}, "pillar": {}, "saltenv": "base"}
    loaders = loader.Loaders(opts, runtime, grains=lambda: grains.collect(opts), pillar={})
    public = loader._public(loaders.modules._namespace(runtime, full))
    file = full.rpartition(".")[2]
    for name in names:
        values, full_name = request["generic"], ".".join((file, name))
        calls = [] if full_name in request["samples_only"] else [sample_arguments(public[name], values, False)]
        excluded = request["unless"].get(full_name, ())
        filled = sample_arguments(public[name], {key: values[key] for key in values if key not in excluded}, True)
        calls += [filled] if calls and filled not in calls else []
        for given in request["samples"].get(full_name, ()):
            calls.append((given, {}) if isinstance(given, list) else ([], given))
        outcomes = [call(public[name], args, kwargs) for args, kwargs in calls]
        after = changed_paths()
        changed = sorted(path for path in set(before) | set(after) if before.get(path) != after.get(path))
        before = after
        print(json.dumps([full, name, outcomes, changed]), flush=True)
    print(json.dumps([full, None, [], []]), flush=True)


def prepare(samples):
    """Create the files that the samples name: texts, and outputs of commands, which may fail."""
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
        request = json.load(stream)
    IGNORED.extend(request["ignored"])
    prepare(request)
    sys.path.insert(0, HERE)
    sys.stdin.close()
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 2)
    for full, names in request["modules"]:
        before = changed_paths()
        child = os.fork()
        if child == 0:
            try:
                module(full, names, request, before)
            finally:
                os._exit(0)
        end = time.time() + MODULE_SECONDS
        while os.waitpid(child, os.WNOHANG) == (0, 0):
            if time.time() > end:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                break
            time.sleep(0.01)


IGNORED = []

if __name__ == "__main__":
    main()
