"""The worker's implementation of the link: answers from the plan of the run, or asks over the channel.

thin.link documents the methods.
"""

import os

from thin import blobs, detail, wire
from thin.link import LinkError

#: Limits of one request for foreseen files.
AHEAD_FILES = 500
AHEAD_BYTES = 16 * 1024 * 1024


def _has(path, digest, size):
    """Whether a file has these bytes; a file of another size (None: unknown) is not read."""
    try:
        return size in (None, os.path.getsize(path)) and blobs.digest_of(path) == digest
    except OSError:
        return False


class Controller(object):
    """``channel`` sends questions, ``store`` (thin.blobs.Blobs) has the blobs; ``begin`` and ``end`` enclose a run."""

    def __init__(self, channel, store):
        self._channel = channel
        self._store = store
        self.end()

    # the plan

    def begin(self, files=None, templates=None, wants=()):
        """Start a run with its plan. Returns ``[digest, received part or None]`` for each blob that has to be sent.

        ``wants`` are ``[digest, destination or None]``: if the destination has these bytes already, none are sent.
        """
        self._files = dict(files or {})
        self._templates = dict(templates or {})
        self._trees = {}
        secret = set(self._templates.values())
        need, seen = [], set()
        for digest, destination in wants:
            if digest in seen:
                continue
            if self._store.hold(digest):
                if not self._store.is_used(digest):  # an earlier run brought it, as a dry run does
                    self._unasked.add(digest)
                continue
            if destination and blobs.digest_of(destination) == digest:
                self._elsewhere[digest] = destination
                continue
            self._store.expect(digest, digest in secret)
            self._unasked.add(digest)
            seen.add(digest)
            need.append([digest, self._store.part(digest)])
        return need

    def end(self):
        self._files, self._templates, self._trees = {}, {}, {}
        self._elsewhere = {}  # digest -> path outside of the store that had these bytes when the run began
        self._unasked = set()  # digests of the plan for whose file no state has asked, in this run or before
        self._ahead = []  # foreseen files: (URL, digest, size, destination), the next one last
        self._store.forget_secrets()

    # the functions of thin.link

    def file(self, url, saltenv="base", have=()):
        digest = self.file_digest(url, saltenv)
        if digest is None:
            return None
        self._unasked.discard(digest)
        path = self._file(url, saltenv, digest, have)
        self._store.use(digest)
        return path

    def _file(self, url, saltenv, digest, have):
        for path in list(have) + [self._elsewhere.get(digest)]:
            if path and blobs.digest_of(path) == digest:
                return path
        path = self.arrived(digest)
        if path is None and self._fetch_ahead(digest, saltenv):
            path = self.arrived(digest)
        if path is None:
            self._store.expect(digest, secret=False)
            part = self._store.part(digest)
            answer = self._ask({"k": "file", "url": url, "saltenv": saltenv, "have": [], "part": part})
            if answer.get("digest") != digest:  # the file that was registered will not be sent
                self._store.forget(digest)
            path = self.arrived(digest)
        if path is None:
            raise LinkError("the file %s changed on the controller during the run" % url)
        return path

    def foresee(self, files, saltenv="base"):
        self._ahead = list(files)[::-1]

    def _fetch_ahead(self, digest, saltenv):
        """Request a foreseen file, together with the following ones that are missing."""
        if not any(entry[1] == digest for entry in self._ahead):
            return False
        wanted, size = {}, 0
        while self._ahead and len(wanted) < AHEAD_FILES and size < AHEAD_BYTES:
            url, other, bytes_, destination = self._ahead.pop()
            if not wanted and other != digest:
                continue  # no missing file has been found so far
            if other in wanted or self._store.hold(other) or self._store.waiting(other):
                continue
            if other != digest and _has(destination, other, bytes_):
                continue
            self._store.expect(other, secret=False)
            wanted[other] = [url, self._store.part(other)]
            size += bytes_ or 0
        if not wanted:
            return False
        answer = self._ask({"k": "files", "files": list(wanted.values()), "saltenv": saltenv})
        coming = set(answer.get("digests") or ())
        for other in wanted:
            if other not in coming:  # it has changed meanwhile: code that needs it requests it separately
                self._store.forget(other)
        return True

    def file_digest(self, url, saltenv="base"):
        key = wire.file_key(url, saltenv)
        if key not in self._files:
            answer = self._ask({"k": "file", "url": url, "saltenv": saltenv, "have": [], "stat": True})
            self._files[key] = None if answer.get("missing") else answer["digest"]
        return self._files[key]

    def cached(self, url, saltenv="base"):
        digest = self.file_digest(url, saltenv)
        # the plan brings files before states run, or while they run: only a state's request makes a file a cached one
        return None if digest is None or digest in self._unasked else self._store.path(digest)

    def drop(self, url, saltenv="base"):
        digest = self.file_digest(url, saltenv)
        if digest is not None and digest not in self._unasked:
            self._store.remove(digest)

    def tree(self, url, saltenv="base"):
        key = wire.file_key(url, saltenv)
        if key not in self._trees:
            self._trees[key] = self._ask({"k": "tree", "url": url, "saltenv": saltenv}).get("entries")
        entries = self._trees[key]
        base, question, query = url.partition("?saltenv=")
        for entry in entries or ():
            if entry[1] == "f":
                child = "%s/%s%s%s" % (base.rstrip("/"), entry[0], question, query)
                self._files.setdefault(wire.file_key(child, saltenv), entry[2])
        return entries

    def template(
        self, source, saltenv="base", engine="jinja", context=None, defaults=None, tag="", sls="", text=None, names=None
    ):
        key = wire.template_key(text if source is None else source, saltenv, engine, context, defaults, tag, names)
        digest = self._templates.get(key)
        if digest is not None:
            data = self._text(digest)
            if data is not None:
                return data
        detail.asked()
        answer = self._ask(
            {
                "k": "template",
                "key": key,
                "url": source,
                "text": text,
                "saltenv": saltenv,
                "engine": engine,
                "context": context,
                "defaults": defaults,
                "tag": tag,
                "sls": sls,
                "names": names,
            }
        )
        data = answer["text"]
        return data.encode("utf-8", "surrogateescape") if isinstance(data, str) else bytes(data)

    def packs(self, digests):
        # kept until the run ends: children of parallel states ask for them again
        missing = [digest for digest in digests if self._store.data(digest) is None]
        # one that was requested already is on its way: the worker serves a child while it waits
        wanted = [digest for digest in missing if not self._store.waiting(digest)]
        for digest in wanted:
            self._store.expect(digest, secret=True)
        if wanted:
            self._channel.send({"k": "need", "re": None, "digests": wanted})
        self._channel.wait(lambda: not any(self._store.waiting(digest) for digest in missing))
        packs = [self._store.data(digest) for digest in digests]
        for digest, data in zip(digests, packs):
            if data is None:
                raise LinkError("a part of the runtime did not arrive: %s" % self._store.failure(digest))
        return packs

    def salt(self, question):
        return self._ask(dict(question, k="salt"))

    def salt_files(self, digests):
        missing = [digest for digest in digests if not self._store.hold(digest)]
        for digest in missing:
            self._store.expect(digest, secret=False)
        if missing:
            coming = self._ask({"k": "salt", "digests": [[digest, self._store.part(digest)] for digest in missing]})
            for digest in missing:
                if digest not in coming["digests"]:
                    self._store.forget(digest)
        return {digest: self.arrived(digest) for digest in digests}

    def pillar(self):
        return self._ask({"k": "pillar"})["pillar"]

    def event(self, tag, data):
        self._channel.send({"k": "event", "tag": tag, "data": data})

    def ask(self, fun, args=(), kwargs=None):
        try:
            return self._ask({"k": "ask", "fun": fun, "args": list(args), "kwargs": kwargs or {}}).get("ret")
        except LinkError as exc:
            from thin.rareexceptions import named

            kind = named(exc.exception)
            if kind is not None:
                try:
                    raise kind(exc.message)
                except TypeError:
                    pass
            raise

    def ask_later(self, fun, args, kwargs, done):
        question = {"k": "ask", "fun": fun, "args": list(args), "kwargs": kwargs or {}}
        self._channel.ask_later(question, done)

    def descriptor(self):
        return self._channel.fileno() if self._channel.pending() else None

    def step(self):
        self._channel.step()

    def arrived(self, digest):
        """Path of the blob when it is complete; None if it is neither available nor being sent."""
        self._channel.wait(lambda: not self._store.waiting(digest))
        if self._store.failure(digest):
            raise LinkError(self._store.failure(digest))
        return self._store.path(digest)

    # below

    def _ask(self, question):
        answer = self._channel.ask(question)
        if answer.get("error") is not None:
            raise LinkError(answer["error"], answer.get("exception") or "SaltException")
        return answer

    def _text(self, digest):
        self._channel.wait(lambda: not self._store.waiting(digest))
        data = self._store.data(digest)
        path = self._elsewhere.get(digest)
        if data is None and path and blobs.digest_of(path) == digest and os.path.isfile(path):
            with open(path, "rb") as handle:
                data = handle.read()
        return data
