"""A small controller for the tests of the file modules, and a player of recorded steps. Only the standard library.

``Bed`` serves a folder of sources through thin.link, and has loaders that use it. Started as a program, ``python
filebed.py REPOSITORY CASES.json FOLDER``, it plays recorded cases by any Python and prints the differences.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys

#: the files of the file server in recorded cases: name -> (mode, content); a text after "->" is a link
SOURCES = {
    "f.txt": (0o640, b"hello\nworld\n"),
    "t.j2": (0o644, b"hi {{ who }} {{ grains.role }}\n"),
    "bin.dat": (0o644, b"\0" * 300),
    "tree/one": (0o755, b"one\n"),
    "tree/sub/two": (0o644, b"two\n"),
    "tree/sub/deep/three": (0o644, b"three\n"),
    "tree/lnk": "one",
    "tree/empty": None,
}


class Sources:
    """Replaces the worker's link to the controller: serves a folder and records the requests."""

    def __init__(self, root, values=None):
        self.root = root
        self.values = values or {}
        self.requests = []

    def _path(self, url):
        assert url.startswith("salt://"), url
        return os.path.join(self.root, url[len("salt://") :].partition("?")[0].strip("/"))

    def file(self, url, saltenv="base", have=()):
        self.requests.append(("file", url))
        path = self._path(url)
        return path if os.path.isfile(path) else None

    def foresee(self, files, saltenv="base"):
        pass

    def file_digest(self, url, saltenv="base"):
        path = self._path(url)
        if not os.path.isfile(path):
            return None
        with open(path, "rb") as source:
            return hashlib.sha256(source.read()).hexdigest()

    def cached(self, url, saltenv="base"):
        return None  # not cached: it replaces the controller

    def drop(self, url, saltenv="base"):
        self.requests.append(("drop", url))

    def tree(self, url, saltenv="base"):
        top = self._path(url)
        if not os.path.isdir(top):
            return None
        entries = []
        for folder, dirs, files in os.walk(top, followlinks=True):
            for name in sorted(dirs + files):
                path = os.path.join(folder, name)
                relpath, mode = os.path.relpath(path, top), os.lstat(path).st_mode & 0o7777
                if os.path.islink(path):
                    entries.append([relpath, "l", os.readlink(path), mode, 0])
                elif os.path.isdir(path):
                    entries.append([relpath, "d", None, mode, 0])
                else:
                    digest = self.file_digest(f"{url.rstrip('/')}/{relpath}")
                    entries.append([relpath, "f", digest, mode, os.path.getsize(path)])
        return entries

    def template(
        self, source, saltenv="base", engine="jinja", context=None, defaults=None, tag="", sls="", text=None, names=None
    ):
        """Renders ``{{ name }}`` and ``{{ grains.name }}``, and nothing else."""
        from thin import link

        self.requests.append(("template", source))
        if source is not None:
            path = self._path(source)
            if not os.path.isfile(path):
                raise link.LinkError("no such template")
            with open(path) as handle:
                text = handle.read()
        values = {**self.values, **(names or {}), **(defaults or {}), **(context or {})}

        def value(match):
            if match.group(1) not in values:
                raise link.LinkError(f"Jinja variable '{match.group(1)}' is undefined")
            return str(values[match.group(1)])

        return re.sub(r"\{\{ ([\w.]+) \}\}", value, text).encode("utf-8")

    def ask(self, fun, args=(), kwargs=None):
        assert fun == "cp.stat_file", fun
        return format(os.stat(self._path(args[0])).st_mode & 0o7777, "04o")


class Bed:
    """``bed.state("managed", name=..., test=True)`` runs a file state, ``bed.call("file.stats", ...)`` a function."""

    def __init__(self, folder):
        from thin import loader, runtime

        self.folder = str(folder)
        self.target = os.path.join(self.folder, "target")
        self.grains = {"os": "Debian", "kernel": "Linux", "role": "web", "shell": "/bin/sh"}
        self.pillar = {"a": {"text": "pillar text", "list": ["x", "y"]}}
        self.link = Sources(os.path.join(self.folder, "sources"), {"grains.role": "web"})
        self.opts = {
            "test": False,
            "user": None,
            "cachedir": os.path.join(self.folder, "cache"),
            "saltenv": "base",
            "id": "x",
        }
        self.low = {"state": "file", "fun": "x", "__id__": "the id", "__sls__": "the.sls", "name": "x"}
        extra = {"__low__": self.low, "__lowstate__": [], "__env__": "base", "__instance_id__": "1"}
        self.loaders = loader.Loaders(self.opts, runtime, self.grains, self.pillar, extra=extra)
        # Other modules' tests cover these values.
        self.loaders.modules._functions["pillar.get"] = self._get(self.pillar)
        self.loaders.modules._functions["grains.get"] = self._get(self.grains)
        for path in (self.target, self.link.root):
            os.makedirs(path)

    @staticmethod
    def _get(data):
        def get(key, default="", delimiter=":", **kwargs):
            value = data
            for part in key.split(delimiter):
                value = value[part] if isinstance(value, dict) and part in value else default
            return value

        return get

    def path(self, name):
        return os.path.join(self.target, name)

    def file(self, name, text="", mode=0o644):
        return self._write(self.path(name), text, mode)

    def source(self, name, text, mode=0o644):
        self._write(os.path.join(self.link.root, name), text, mode)
        return "salt://" + name

    def _write(self, path, text, mode):
        if not os.path.isdir(os.path.dirname(path)):
            os.makedirs(os.path.dirname(path))
        with open(path, "wb") as target:
            target.write(text if isinstance(text, bytes) else text.encode("utf-8"))
        os.chmod(path, mode)
        return path

    def state(self, fun, test=False, **kwargs):
        self.opts["test"] = test
        try:
            return self.loaders.states["file." + fun](**kwargs)
        finally:
            self.opts["test"] = False

    def call(self, fun, *args, **kwargs):
        return self.loaders.modules[fun](*args, **kwargs)

    def snapshot(self):
        """{path: [mode, uid, gid, content or target of a link]} of everything in the target's folder."""
        entries = {}
        for folder, dirs, files in os.walk(self.target):
            for name in dirs + files:
                path = os.path.join(folder, name)
                st, content = os.lstat(path), None
                if os.path.islink(path):
                    content = os.readlink(path).replace(self.target, "@")
                elif os.path.isfile(path):
                    # Reading must not change the times that file.tidied uses.
                    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOATIME", 0))
                    with os.fdopen(handle, "rb") as source:
                        content = source.read().decode("latin-1")
                entries[os.path.relpath(path, self.target)] = [format(st.st_mode, "o"), st.st_uid, st.st_gid, content]
        return entries


def _with_folder(value, folder):
    """``value`` with ``@`` replaced by the target's folder."""
    if isinstance(value, str):
        return value.replace("@", folder)
    if isinstance(value, list):
        return [_with_folder(item, folder) for item in value]
    if isinstance(value, dict):
        return {_with_folder(key, folder): _with_folder(item, folder) for key, item in value.items()}
    return value


def write_sources(bed):
    """Write SOURCES to the bed's file server."""
    for name, entry in SOURCES.items():
        path = os.path.join(bed.link.root, name)
        if entry is None:
            os.makedirs(path)
        elif isinstance(entry, str):
            os.symlink(entry, path)
        else:
            bed.source(name, entry[1], entry[0])


def play(case, folder):
    """The differences between a recorded case and the current results, as texts.

    A case is ``{"title", "setup": shell, "steps": [{"fun", "args", "test", "ret", "after"}]}``; ``@`` is the target's
    folder, ``after`` its differences from the previous step (null: removed). A dry run has none.
    """
    from thin import link

    bed = Bed(folder)
    write_sources(bed)
    before = link.connect(bed.link)
    os.umask(0o022)
    differences = []
    try:
        if case["setup"]:
            subprocess.check_call(["/bin/sh", "-c", case["setup"].replace("@", bed.target)])
        expected = bed.snapshot()
        for number, step in enumerate(case["steps"]):
            expected.update(step["after"])
            expected = {path: entry for path, entry in expected.items() if entry is not None}
            ret = bed.state(step["fun"], step["test"], **_with_folder(step["args"], bed.target))
            ret.pop("warnings", None)
            ret = json.loads(json.dumps(ret).replace(bed.target, "@"))
            for kind, wanted, actual in (("ret", step["ret"], ret), ("files", expected, bed.snapshot())):
                if wanted != actual:
                    texts = [json.dumps(data, sort_keys=True) for data in (wanted, actual)]
                    title = f"{case['title']}, step {number} ({step['fun']}): {kind}"
                    differences.append("\n  ".join([title, *texts]))
    finally:
        link.connect(before)
    return differences


def main(repository, cases, folder):
    sys.path.insert(0, repository)
    with open(cases, encoding="utf-8") as source:
        recorded = json.load(source)
    differences = []
    for case in recorded:
        differences += play(case, folder)
        shutil.rmtree(folder)
    print(f"{len(recorded)} cases, {len(differences)} differences (expected, then actual)")
    for text in differences[:20]:
        print(text)
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
