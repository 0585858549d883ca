"""The copy of a remote in the cache: a bare repository that is never pruned, and a note (a record) of its refs.

::

    <cache>/git/<key>/lock          flock of the process that fetches and its git; released when the last of them ends
    <cache>/git/<key>/<n>.git       the repository; a rebuilt one gets a new <n>
    <cache>/git/notes/              refs, time of the fetch and <n>, by key (pushsalt.cache.store)

Readers take no lock. They use the note, whose commits always stay in the repository: it is never pruned, so a
force-push only changes the refs. A rebuilt repository replaces the old one when it is complete.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import logging
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from errno import EACCES
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pushsalt.cache.store import Bank, private_dir
from pushsalt.git import DamagedError, GitError, UnreachableError
from pushsalt.git.access import Ssh, access
from pushsalt.git.address import is_ref, is_sha
from pushsalt.git.note import BRANCHES, TAGS, Note, Update, difference, is_ours, read_refs
from pushsalt.git.objects import Objects
from pushsalt.git.process import Done, Running, StoppedError, git_argv, run
from pushsalt.git.trouble import check

if TYPE_CHECKING:
    from pushsalt.git.settings import Remote

log = logging.getLogger(__name__)

#: Number of packs at which a repository is repacked, with all objects.
_MANY_PACKS: Final = 40
#: Time limit in seconds of git commands that do not use the network.
_LOCAL: Final = 600.0

_FETCH: Final = ("--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules")
_NO_SHALLOW = re.compile(r"does not support shallow|dumb http transport", re.IGNORECASE)


class Mirror:
    """The copy of one or more remotes. ``remote``: the one whose options are used for fetching."""

    def __init__(
        self,
        cache: Path,
        remote: Remote,
        *,
        running: Running | None = None,
        silence: float = 60.0,
        ssh: Ssh | None = None,
    ) -> None:
        self.remote = remote
        self.key = hashlib.sha256("\0".join(map(str, remote.key)).encode()).hexdigest()[:32]
        self.folder = cache / "git" / self.key
        self._private = cache / "git"
        self._notes = Bank(self._private, "notes")
        self._running = running or Running()
        self._silence = silence
        self._ssh = ssh or Ssh()
        self._objects: Objects | None = None
        self._trees: dict[str, str | None] = {}
        self._note: Note | None = None

    # --- reading

    @property
    def note(self) -> Note | None:
        """The refs of the copy, read at first use and after each fetch of this process; None if there is no copy."""
        if self._note is None:
            self._note = self._read_note()
        return self._note

    def _read_note(self) -> Note | None:
        if not all(map(is_ours, (self._private.parent, self._private, self.folder, self._notes.path))):
            return None
        stored = self._notes.get(self.key)
        try:
            if stored is not None:
                refs = {str(name): (str(pair[0]), str(pair[1])) for name, pair in stored["refs"].items()}
                note = Note(int(stored["number"]), float(stored["fetched"]), refs)
                if is_ours(self._path(note.number)):
                    return note
        except (KeyError, TypeError, ValueError, IndexError):
            log.warning("git: the record of the refs of %s is damaged; it will be written again", self.remote.shown)
        return None

    @property
    def objects(self) -> Objects:
        """The copy's objects. Raises GitError if there is no copy."""
        if self._objects is None:
            note = self.note
            if note is None:
                raise GitError(f"there is no copy of {self.remote.shown} in the cache")
            self._objects = Objects(self._path(note.number))
        return self._objects

    def is_due(self, interval: float) -> bool:
        """Whether the copy is older than ``interval`` seconds, or its time is in the future."""
        note = self.note
        return note is None or not 0 <= time.time() - note.fetched < interval

    def commit(self, ref: str, ref_types: tuple[str, ...]) -> tuple[str, str, str] | None:
        """(name for the lock file, commit, tree) of a branch, tag or hash, tried in this order; None if unknown."""
        note = self.note
        if note is None:
            return None
        for kind in ref_types:
            if kind == "sha":
                sha = self._sha(ref) if is_sha(ref) else None
                if sha:
                    return ref, sha[0], sha[1]
            else:
                local, public = (BRANCHES, "refs/heads/") if kind == "branch" else (TAGS, TAGS)
                if local + ref in note.refs:
                    return public + ref, *note.refs[local + ref]
        return None

    def _sha(self, ref: str) -> tuple[str, str] | None:
        sha = ref.lower()
        if len(sha) not in (40, 64):
            done = self._local("rev-parse", "--verify", "--quiet", "--end-of-options", f"{sha}^{{commit}}")
            sha = done.out.decode("ascii", "replace").strip()
            if done.code or not sha:
                return None
        tree = self.tree_of(sha)
        return None if tree is None else (sha, tree)

    def tree_of(self, commit: str) -> str | None:
        """The tree of a commit; None if it is not in the copy."""
        if self._trees.get(commit) is None:
            self._trees[commit] = self.objects.commit_tree(commit)
        return self._trees[commit]

    def close(self) -> None:
        if self._objects is not None:
            self._objects.close()
        self._objects = None

    def log(self, old: str, new: str, limit: int = 20) -> list[str]:
        """Commits of ``new`` that are not in ``old``: "hash subject", newest first; a shallow copy may lack some."""
        done = self._local(
            "log", f"--max-count={limit}", "--format=%h %s", "--no-show-signature", "--end-of-options", f"{old}..{new}"
        )
        return done.out.decode("utf-8", "replace").splitlines() if done.code == 0 else []

    def changed(self, old: str, new: str) -> list[str]:
        """Paths that differ between two commits, each with git's letter: ``M  nginx/init.sls``."""
        done = self._local("diff-tree", "-r", "--name-status", "--no-renames", "-z", "--end-of-options", old, new)
        words = done.out.decode("utf-8", "surrogateescape").split("\0")
        if done.code:
            return []
        return [f"{kind}  {path}" for kind, path in zip(words[::2], words[1::2], strict=False)]

    def _local(self, *words: str) -> Done:
        note = self.note
        if note is None:
            raise GitError(f"there is no copy of {self.remote.shown} in the cache")
        return run(git_argv(f"--git-dir={self._path(note.number)}", *words), silence=_LOCAL, running=self._running)

    # --- fetching

    def update(
        self,
        interval: float = 0.0,
        progress: Callable[[str], None] | None = None,
        wanted: str = "",
        whole: bool = True,
    ) -> Update:
        """Fetch, unless another controller has fetched within ``interval`` seconds while this one waited for the lock.

        ``wanted`` is a required commit: if no ref contains it, it is fetched by its hash; with ``whole``, the whole
        history is fetched if the server does not serve single commits.
        Raises UnreachableError if the remote cannot be fetched: the copy is unchanged. OSError for the cache.
        """
        before = self.note
        with self._locked(progress):
            self._note = self._read_note()
            if wanted and self._note is not None and self.tree_of(wanted) is not None:
                return Update()
            if not wanted and interval > 0 and not self.is_due(interval):
                return difference(before, self._note)
            rebuilt = False
            note = self._note
            if note is not None:
                path = self._path(note.number)
                _remove_leftovers(path)
                try:
                    self._fetch(path, progress, wanted, whole)
                except StoppedError:
                    raise
                except UnreachableError:
                    if wanted or self._is_sound(path, note):
                        raise
                    log.warning("git: the copy of %s in the cache is damaged; it is rebuilt", self.remote.shown)
                    note, rebuilt = None, True
            if note is None:
                self._make_anew(progress, wanted)
            else:
                self._finish(note.number)
            return Update(difference(before, self._note).moved, first=before is None, rebuilt=rebuilt)

    def head_branch(self) -> str | None:
        """The default branch of the remote (HEAD). Raises UnreachableError, OSError."""
        remote = self.remote
        with access(remote.address, remote.login, self._ssh) as way:
            argv = git_argv("ls-remote", "--symref", "--", remote.address.url, "HEAD", config=way.config)
            done = run(argv, env=way.env, silence=self._silence, pass_fds=way.pass_fds, running=self._running)
        check(done, self.remote.address, UnreachableError)
        match = re.match(rb"ref: refs/heads/(\S+)\tHEAD", done.out)
        branch = match[1].decode("utf-8", "replace") if match else ""
        return branch if is_ref(branch) else None

    def deepen(self, commit: str, depth: int) -> None:
        """Fetch ``depth`` commits before a commit, into a shallow copy. Raises UnreachableError, OSError."""
        note = self.note
        if note is None or not self.remote.depth:
            return
        with self._locked(None):
            self._fetch_once(self._path(note.number), [f"+{commit}:refs/pushsalt/{commit}"], depth, None, prune=False)

    def rebuild(self, number: int, progress: Callable[[str], None] | None = None, wanted: str = "") -> None:
        """Rebuild the copy with this number, because an object is damaged. Raises UnreachableError, OSError."""
        with self._locked(progress):
            note = self._read_note()
            if note is not None and note.number != number:
                self._forget(note)  # another thread or controller has rebuilt it
                return
            log.warning("git: the copy of %s in the cache is damaged; it is rebuilt", self.remote.shown)
            self._make_anew(progress, wanted)

    def _make_anew(self, progress: Callable[[str], None] | None, wanted: str) -> None:
        """Fetch into a new repository next to the old one, then replace the old one."""
        numbers = [int(path.stem) for path in self.folder.glob("*.git") if path.stem.isdigit()]
        number = max(numbers, default=0) + 1
        aside = self.folder / f"new-{os.getpid()}.git"
        shutil.rmtree(aside, ignore_errors=True)
        try:
            self._init(aside)
            try:
                self._fetch(aside, progress, wanted)
            except UnreachableError as exc:
                if "mismatched algorithms" not in exc.message:
                    raise
                shutil.rmtree(aside)
                self._init(aside, "--object-format=sha256")
                self._fetch(aside, progress, wanted)
            aside.rename(self._path(number))
        finally:
            shutil.rmtree(aside, ignore_errors=True)
        self._finish(number)

    def _init(self, path: Path, *words: str) -> None:
        argv = git_argv("init", "--quiet", "--bare", "--template=", *words, "--", str(path))
        done = run(argv, silence=_LOCAL, pass_fds=self._lock_fds, running=self._running)
        check(done, self.remote.address, UnreachableError)

    def _fetch(self, path: Path, progress: Callable[[str], None] | None, wanted: str, whole: bool = True) -> None:
        remote = self.remote
        refspecs = list(remote.refspecs)
        if wanted:
            refspecs.append(f"+{wanted}:refs/pushsalt/{wanted}")
        try:
            try:
                self._fetch_once(path, refspecs, remote.depth, progress)
            except UnreachableError as exc:
                if not remote.depth or not _NO_SHALLOW.search(str(exc)):
                    raise
                log.info("git: %s does not support partial fetches, so everything is fetched", remote.shown)
                self._fetch_once(path, refspecs, 0, progress)
        except StoppedError:
            raise
        except UnreachableError:
            if not wanted or not whole:
                raise
            # The server does not serve commits by hash: the whole history may contain it.
            self._fetch_once(path, list(remote.refspecs), 0, progress, whole=True)

    def _fetch_once(
        self,
        path: Path,
        refspecs: list[str],
        depth: int,
        progress: Callable[[str], None] | None,
        whole: bool = False,
        prune: bool = True,
    ) -> None:
        from pushsalt.git.progress import Listener

        remote = self.remote
        words = ["--progress", *(["--prune"] if prune else []), *_FETCH]
        shallow = (path / "shallow").exists()
        if depth:
            words.append(f"--depth={depth}")
        elif shallow and (whole or not remote.depth):
            words.append("--unshallow")
        listener = Listener(progress)
        with access(remote.address, remote.login, self._ssh) as way:
            config = dict(way.config)
            if remote.filter:
                # Objects that were filtered out are fetched together when they are needed; see `complete`.
                config |= {"extensions.partialClone": "origin", "remote.origin.url": remote.address.url}
                words.append(f"--filter={remote.filter}")
            source = "origin" if remote.filter else remote.address.url
            if remote.filter:
                _make_promisor(path)
            argv = git_argv(f"--git-dir={path}", "fetch", *words, "--", source, *refspecs, config=config)
            done = run(
                argv,
                env=way.env,
                silence=self._silence,
                pass_fds=(*way.pass_fds, *self._lock_fds),
                running=self._running,
                on_line=listener.line,
            )
        if done.code == 1 and depth and not done.words:
            return  # an empty repository cannot be shallow
        check(done, self.remote.address, UnreachableError)

    def _finish(self, number: int) -> None:
        """Write the note for the repository; remove all other repositories, also those of killed controllers."""
        path = self._path(number)
        refs = read_refs(path)
        note = Note(number, time.time(), refs)
        self._forget(note)
        self._notes.put(
            self.key,
            {
                "number": number,
                "fetched": note.fetched,
                "refs": {name: list(pair) for name, pair in refs.items()},
                "url": self.remote.address.url,
            },
        )
        if len(list((path / "objects" / "pack").glob("*.pack"))) > _MANY_PACKS and not self.remote.filter:
            argv = git_argv(f"--git-dir={path}", "repack", "-a", "-d", "-k", "-q")
            run(argv, silence=_LOCAL, pass_fds=self._lock_fds, running=self._running)
        for other in self.folder.glob("*.git"):
            if other != path:
                shutil.rmtree(other, ignore_errors=True)

    def look_again(self) -> None:
        """Read the note again: another process may have fetched."""
        note = self._read_note()
        if note is not None:
            self._forget(note)

    def _forget(self, note: Note) -> None:
        """Replace the note, and drop objects that were opened for the old one."""
        if self._note is None or self._note.number != note.number:
            self.close()
        self._trees = {commit: tree for commit, tree in self._trees.items() if tree is not None}
        self._note = note

    def _is_sound(self, path: Path, note: Note) -> bool:
        """Whether the repository has all commits of the note, with all their objects."""
        done = run(
            git_argv(f"--git-dir={path}", "rev-list", "--objects", "--quiet", "--stdin", *self._missing_ok()),
            stdin="".join(f"{commit}\n" for commit, _ in note.refs.values()).encode(),
            silence=_LOCAL,
            running=self._running,
        )
        if done.code:
            return False
        try:
            return set(read_refs(path)) >= set(note.refs)
        except DamagedError:
            return False

    def _missing_ok(self) -> list[str]:
        return ["--exclude-promisor-objects"] if self.remote.filter else []

    def complete(self, tree: str) -> None:
        """Fetch the missing objects of a tree into a partial copy, with one request."""
        if not self.remote.filter:
            return
        done = self._local("rev-list", "--objects", "--missing=print", "--no-object-names", "--end-of-options", tree)
        missing = [line[1:] for line in done.out.decode("ascii", "replace").splitlines() if line.startswith("?")]
        if not missing:
            return
        note = self.note
        assert note is not None
        remote = self.remote
        with self._locked(None), access(remote.address, remote.login, self._ssh) as way:
            config = {
                **way.config,
                "extensions.partialClone": "origin",
                "remote.origin.url": remote.address.url,
                "fetch.negotiationAlgorithm": "noop",
            }
            argv = git_argv(
                f"--git-dir={self._path(note.number)}",
                "fetch",
                *_FETCH,
                "--filter=blob:none",
                "--stdin",
                "origin",
                config=config,
            )
            done = run(
                argv,
                env=way.env,
                stdin="".join(f"{oid}\n" for oid in missing).encode(),
                silence=self._silence,
                pass_fds=(*way.pass_fds, *self._lock_fds),
                running=self._running,
            )
        check(done, self.remote.address, UnreachableError)
        self.close()

    def _path(self, number: int) -> Path:
        return self.folder / f"{number}.git"

    #: Descriptors that every git that writes inherits, so that the lock is held until it ends, even if the controller
    #: is killed.
    _lock_fds: tuple[int, ...] = ()

    @contextlib.contextmanager
    def _locked(self, progress: Callable[[str], None] | None) -> Iterator[None]:
        """A context with the lock for fetching. Waits for another controller without a time limit."""
        private_dir(self._private)
        if not is_ours(self._private.parent):
            raise PermissionError(EACCES, "others can write to that folder")
        private_dir(self.folder)
        descriptor = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            is_reported = False
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if self._running.stopped:
                        raise StoppedError("stopped") from None
                    if not is_reported and progress:
                        progress("another pushsalt command is fetching it")
                    is_reported = True
                    time.sleep(0.05)
            self._lock_fds = (descriptor,)
            yield
        finally:
            self._lock_fds = ()
            os.close(descriptor)


def _remove_leftovers(path: Path) -> None:
    """Remove lock and temporary files of a killed git; the caller holds the lock."""
    places = [path.glob("*.lock"), (path / "refs").rglob("*.lock"), (path / "objects" / "pack").glob("tmp_*")]
    for place in places:
        for leftover in place:
            leftover.unlink(missing_ok=True)


def _make_promisor(path: Path) -> None:
    """Write the configuration that marks a partial clone, without URL and credentials."""
    config = path / "config"
    text = config.read_text("utf-8")
    if "partialclone" not in text.lower():
        text = text.replace("repositoryformatversion = 0", "repositoryformatversion = 1")
        text = f'{text}[extensions]\n\tpartialClone = origin\n[remote "origin"]\n\tpromisor = true\n'
        config.write_text(text, "utf-8")
