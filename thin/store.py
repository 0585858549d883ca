"""On a target: the runtime's code, from the image of compiled code or the archive, and the storage of both.

Byte layout of an image::

    8 bytes  b"PSIMAGE2"       32 bytes  MAC of the header (thin.boot.digest)
    4 bytes  big-endian length of the header, then the header, then the code of the modules (marshal)

The header is a marshalled dict: ``stamp``, the inode, size and times of the archive file when its hash was verified;
and ``modules``, ``{name: (is package, offset, length, digest)}`` with offset 0 for a module that was never compiled
here. The MAC's key is the controller's and is never on this disk; each module's bytes are checked by their digest when
they are loaded. So a warm start hashes only code that it uses, compiles nothing, and executes nothing unverified.
"""

import marshal
import os
import sys

from thin.boot import body, digest, limit, read, read_image, sha256, stamp

_BLOCK = 512
#: file of stored outputs of programs, which is kept when archives and images are removed (thin.grains.answers)
ANSWERS = "thin-answers"
_OURS = ("thin-", ".thin-", "user-", ".user-", "pack-", ".pack-", "more-", ".more-")


def start(state):
    """Called by the first stage: installs the store, then runs the session."""
    store = Store(state)
    sys.meta_path.insert(0, store)
    from thin import runtime

    runtime.install(store)
    from thin import __main__ as supervisor

    supervisor.main(state, store)


class Store(object):
    """Serves thin.runtime's functions, and the ``import`` of everything below ``thin``."""

    #: Prefixes of the names of its files; the stores of thin.custom have others.
    FAMILY = "thin-"
    #: How many archives of this prefix are kept, and how many images of each.
    KEEP_ARCHIVES = 3
    KEEP_IMAGES = 8

    def __init__(self, state):
        self._state = state
        self._data = state["data"]
        self._archive = state["archive"]
        self._members = None
        self._fresh = state["fresh"]
        #: returns the stores of packs (see pushsalt.bundle.contents); set by the worker
        self.fetch = None
        self._packs = {}  # number -> store
        self._held = {}  # name -> code that later workers inherit
        self._used = set()  # names of the code that was read from the image
        self._elsewhere = None
        self._seen = None  # the stamp of the image's file when it was last read again
        header = state["header"]
        if header is None:
            header = {"modules": {name: (package, 0, 0, b"") for name, (package, _, _) in self._tar().items()}}
        self.modules = header["modules"]

    # --- the functions of thin.runtime

    def code(self, name):
        if self._is_elsewhere(name):
            return self._pack(name).code(name)
        code = self._fresh.get(name) or self._held.get(name)
        if code is None:
            code = body(self._data, self._entry(name))
            self._used.add(name)
        if code is None:
            code = compile(self._text(name), self.path(name), "exec", 0, True)
            self._fresh[name] = code
        return code

    def used(self):
        """The names of the code that this process has read or compiled."""
        found = self._used.union(self._fresh)
        return found.union(*[pack.used() for pack in self._packs.values()])

    def hold(self, name):
        """Read the code of a module, for processes that are forked from now on."""
        if self._is_elsewhere(name):
            for number in self._others()[name]:
                if number in self._packs:
                    self._packs[number].hold(name)
        elif name not in self._held and name in self.modules:
            code = body(self._data, self._entry(name))
            if code is not None:
                self._held[name] = code

    def source(self, name):
        if self._is_elsewhere(name):
            return self._pack(name).source(name)
        return self._text(name).decode("utf-8")

    def names(self, prefix):
        prefix += "."
        cut = len(prefix)
        modules = set(self.modules).union(self._others())
        return sorted(name for name in modules if name.startswith(prefix) and "." not in name[cut:])

    def virtual_index(self, kind):
        from thin import _index

        return _index.INDEX.get(kind, {})

    def fits(self, kind):
        from thin import _index

        return _index.FITS.get(kind, {})

    def path(self, name):
        return name.replace(".", "/") + ("/__init__.py" if self._entry(name)[0] else ".py")

    def _entry(self, name):
        try:
            return self.modules[name]
        except KeyError:
            if self._is_elsewhere(name):
                from thin import _packs

                return (name in _packs.PACKAGES, 0, 0, b"")
            raise ImportError("no module named %r" % name, name=name)

    # --- the packs

    def _others(self):
        """{module in a pack: the numbers of its packs}, the smallest one first."""
        if self._elsewhere is None:
            self._elsewhere = {}  # the next lines ask for a name, too
            if "thin._packs" in self.modules:
                from thin import _packs

                for number, (_, _, names) in enumerate(_packs.PACKS):
                    for name in names.split():
                        self._elsewhere.setdefault(name, []).append(number)
        return self._elsewhere

    def _is_elsewhere(self, name):
        return name not in self.modules and name.startswith("thin.") and name in self._others()

    def _pack(self, name):
        """The store of a pack that has this module. Raises ImportError."""
        numbers = self._others()[name]
        if not any(number in self._packs for number in numbers):
            self.load_packs(numbers[:1])
        return next(self._packs[number] for number in numbers if number in self._packs)

    def loaded_packs(self):
        """The numbers of the packs that are loaded."""
        return list(self._packs)

    def load_packs(self, numbers):
        """Load packs; those that are not on this target are requested together. Raises ImportError."""
        from thin import _packs

        if self.fetch is None:
            raise ImportError("this part of the runtime is not here, and there is no controller to ask")
        numbers = [number for number in numbers if number not in self._packs]
        self._packs.update(zip(numbers, self.fetch([_packs.PACKS[number][:2] for number in numbers])))

    def foresee(self, names):
        """Load the packs of these modules with one question, if it can be asked."""
        result = [self._others()[name] for name in names if self._is_elsewhere(name)]
        wanted = {numbers[0] for numbers in result if not any(number in self._packs for number in numbers)}
        if wanted and self.fetch is not None:
            try:
                self.load_packs(sorted(wanted))
            except ImportError:
                pass  # whoever needs one of them will see it

    # --- the import system's side

    def find_spec(self, name, path=None, target=None):
        entry = self.modules.get(name)
        if entry is None:
            if not self._is_elsewhere(name):
                return None
            entry = self._entry(name)
        return type(sys.__spec__)(name, self, origin=self.path(name), is_package=bool(entry[0]))

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        name = module.__name__
        module.__file__ = self.path(name)
        exec(self.code(name), module.__dict__)  # noqa: S102

    get_code = code
    get_source = source

    def is_package(self, name):
        return bool(self._entry(name)[0])

    # --- the archive

    def _text(self, name):
        _, at, size = self._tar()[name]
        return self._files[at : at + size]

    def _tar(self):
        """{module: (is package, offset, size)} of the archive, which is read and verified on the first call."""
        if self._members is None:
            if self._archive is None:
                state = self._state
                archive = read(state["tar"], state["dir_fd"], state["size"])
                if archive is None or sha256(archive).hexdigest() != state["sha"]:
                    self._remove(state["tar"])
                    raise ImportError("the runtime on this target was damaged and has been removed: run again")
                self._archive = archive
            self._files = self.opened(self._archive)
            self._members = dict(members(self._files))
        return self._members

    def opened(self, archive):
        """The tar of a stored archive."""
        return archive

    # --- storage of both on disk; an error there only makes the next start slower

    def keep_archive(self):
        """Write a received archive into the private directory. Returns the reason of a failure, or an empty text."""
        state = self._state
        if not state["received"] or state["dir_fd"] < 0:
            return ""
        try:
            self._write(state["tar"], [self._archive], sync=True)
            self._prune()
        except OSError as exc:
            words = [exc.strerror or str(exc), limit(exc)]
            return "cannot keep the runtime in %s: %s" % (state["path"], ": ".join(filter(None, words)))
        return ""

    def keep_image(self):
        """Add the code that this process compiled to the image, if it or the archive is new."""
        for pack in self._packs.values():
            pack.keep_image()
        state = self._state
        if state["dir_fd"] < 0:
            return
        verified = stamp(state["tar"], state["dir_fd"])
        if verified is None or not (self._fresh or state["header"] is None or state["header"]["stamp"] != verified):
            return
        if "thin.boot" in self.modules and not self.modules["thin.boot"][1]:
            self.code("thin.boot")  # thin.warmstart takes it from the image
        bodies = {}
        for name, (_, at, size, expected) in self.modules.items():
            if name in self._fresh:
                bodies[name] = marshal.dumps(self._fresh[name])
            elif at and digest(self._data[at : at + size]) == expected:
                bodies[name] = self._data[at : at + size]
        try:
            self._write(state["image"], self._image(verified, bodies), sync=False)
            if state["header"] is None:  # a new image, for another controller's key or another Python
                self._prune()
        except OSError:
            pass

    def look_again(self):
        """Read the image again: code that other processes compiled need not be compiled in this one."""
        for pack in self._packs.values():
            pack.look_again()
        state = self._state
        current = stamp(state["image"], state["dir_fd"]) if state["dir_fd"] >= 0 else None
        if current is None or current == self._seen:
            return
        self._seen = current
        header, data = read_image(state["image"], state["dir_fd"], state["key"])
        if header is not None and header["stamp"] == stamp(state["tar"], state["dir_fd"]):
            state["header"], state["data"] = header, data
            self._data, self.modules = data, header["modules"]
            for name in [name for name in self._fresh if self.modules.get(name, (0, 0))[1]]:
                del self._fresh[name]

    def _image(self, verified, bodies):
        # Offsets depend on the header's length, and that on the offsets: marshal writes small integers in 5 bytes each,
        # so a first round with any such numbers gives the length.
        def header(base):
            table, at = {}, base
            for name, entry in self.modules.items():
                code = bodies.get(name)
                table[name] = (entry[0], at, len(code), digest(code)) if code else (entry[0], 0, 0, b"")
                at += len(code or b"")
            # Version 2 has no references: equal values must not make the length depend on identity.
            return marshal.dumps({"stamp": verified, "modules": table}, 2)

        head = header(44 + len(header(0)))
        yield b"PSIMAGE2" + digest(head, self._state["key"]) + len(head).to_bytes(4, "big") + head
        for name in self.modules:
            if name in bodies:
                yield bodies[name]

    def _write(self, name, pieces, sync):
        dir_fd = self._state["dir_fd"]
        aside = ".%s.%d-%s" % (name[:120], os.getpid(), os.urandom(6).hex())
        fd = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=dir_fd)
        try:
            try:
                for piece in pieces:
                    view = memoryview(piece)
                    while view:
                        view = view[os.write(fd, view) :]
                if sync:
                    os.fsync(fd)
            finally:
                os.close(fd)
            os.rename(aside, name, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
        except BaseException:
            self._remove(aside)
            raise

    def _remove(self, name):
        try:
            os.unlink(name, dir_fd=self._state["dir_fd"])
        except OSError:
            pass

    def _prune(self):
        """Keep the newest archives, the newest images of these, and no leftovers of an hour ago."""
        import time

        dir_fd, result = self._state["dir_fd"], {}
        for name in os.listdir(dir_fd):
            if name.startswith((self.FAMILY, "." + self.FAMILY)) and name != ANSWERS:
                state = stamp(name, dir_fd)
                if state:
                    result[name] = state[2]
        newest = sorted(result, key=result.get, reverse=True)
        keep = [name for name in newest if name.endswith(".tar") and name != self._state["tar"]][
            : self.KEEP_ARCHIVES - 1
        ]
        keep.append(self._state["tar"])
        for stem in [name[:-4] for name in keep]:
            keep += [name for name in newest if name.endswith(".img") and name.startswith(stem)][: self.KEEP_IMAGES]
        hour_ago = (time.time() - 3600) * 1e9
        keep += [name for name in newest if name.startswith(".") and result[name] > hour_ago]
        for name in set(result) - set(keep):
            self._remove(name)

    def clean(self):
        """Remove all files of pushsalt in the private directory, including backups, the lock last.

        Returns their names.
        """
        from thin.utils.files import osutil

        path, dir_fd, removed = self._state["path"], self._state["dir_fd"], []
        if dir_fd < 0:
            return removed
        for name in sorted(os.listdir(dir_fd), key=lambda name: (name.startswith("lock"), name)):
            if name.startswith(_OURS):
                os.unlink(name, dir_fd=dir_fd)
            elif name in ("files", "minion", "jobs", "done") or name.startswith("run-"):
                osutil.rmtree("%s/%s" % (path, name))
            elif name in ("lock", "due") or name.startswith(("lock-", "due-", "due.")):
                os.unlink(name, dir_fd=dir_fd)
            else:
                continue
            removed.append("%s/%s" % (path, name))
        try:
            os.rmdir(path)  # path: our own folder, 0700
            removed.append(path)
        except OSError:
            pass  # the file is not ours
        return removed


def members(archive):
    """(module, (is package, offset, size)) of each Python file in the archive: plain files with sound names only."""
    at = 0
    while at + _BLOCK <= len(archive) and archive[at]:
        name = archive[at : archive.index(b"\0", at, at + 101)].decode("ascii")
        size = int(archive[at + 124 : at + 135], 8)
        if archive[at + 156 : at + 157] != b"0" or not name.startswith("thin/") or ".." in name:
            raise ValueError("%r does not belong into a runtime" % name)
        if name.endswith(".py"):
            parts = name[:-3].split("/")
            package = parts[-1] == "__init__"
            yield ".".join(parts[:-1] if package else parts), (package, at + _BLOCK, size)
        at += _BLOCK + (size + _BLOCK - 1) // _BLOCK * _BLOCK
