"""Due reactions: a state made changes, and the run ended before the states that watch it had run.

A run may be interrupted (a lost machine, a kill, a time limit) or end by ``failhard`` between a change and the states
that react to it by ``watch``, ``onchanges`` or ``listen``. In the next run the changed state has nothing left to
change, so the reaction would be lost. Each change is therefore noted in the file ``due`` of the private directory
before the run continues, and the note is removed when the reaction has run. A later run that contains both states
reacts as if the change had been made in that run.

The file has lines of text: the first one is a salt, each other one ``+ SOURCE REACTION SECONDS`` or ``- REACTION``.
States are identified by salted hashes of their tags, since names of states may be secret. An incomplete line is
ignored.
"""

import os
import time

from thin.boot import read, sha256
from thin.requisites import tag_of

NAME = "due"
#: Maximum bytes of the file that are read, and maximum number of notes; the oldest are removed first.
_LIMIT = 1024 * 1024
_MOST = 4000


class Due(object):
    """The notes of one target. ``folder``: the private directory; ``name``: that of the file in it.

    A reaction is named by the tag of its chunk; that of a listener by ``listener(tag)``.
    """

    def __init__(self, folder, name=NAME):
        self._path = os.path.join(folder, name)
        self._notes = None  # [(hash of the source, hash of the reaction, seconds)], in the order of the file
        self._salt = ""
        self._hashes = {}
        self._fd = None
        self._new = set()  # pairs that this run has noted

    def begin(self):
        """Read the notes of earlier runs. Returns whether there are any."""
        data = read(self._path, None, _LIMIT)
        lines = data.decode("ascii", "replace").split("\n")[:-1] if data else []
        self._salt, self._notes = lines[0] if lines else os.urandom(16).hex(), []
        for line in lines[1:]:
            words = line.split(" ")
            if words[0] == "+" and len(words) == 4 and words[3].isdigit():
                self._notes.append((words[1], words[2], int(words[3])))
            elif words[0] == "-" and len(words) == 2:
                self._notes = [note for note in self._notes if note[1] != words[1]]
        return bool(self._notes)

    def sources(self, reaction, tags):
        """Those of ``tags`` to whose change the reaction is due since an earlier run: ``{tag: time, in seconds}``."""
        wanted = self._hash(reaction)
        since = {source: when for source, other, when in self._notes if other == wanted}
        since = {source: since[source] for source in since if (source, wanted) not in self._new}
        return {tag: since[self._hash(tag)] for tag in tags if self._hash(tag) in since} if since else {}

    def add(self, source, reactions):
        """Store on disk that these reactions to the change of a state are due; called before the run continues."""
        now, key = int(time.time()), self._hash(source)
        lines = ""
        for reaction in reactions:
            other = self._hash(reaction)
            self._notes.append((key, other, now))
            self._new.add((key, other))
            lines += "+ %s %s %d\n" % (key, other, now)
        self._append(lines, sync=True)

    def done(self, reaction, ran, tags):
        """Record that the reaction has its return, in a run of the chunks with these tags.

        If not ``ran``, the decision of its requisites is final for changes of this run; reactions to changes of earlier
        runs stay due.
        """
        if not self._notes:
            return
        key, sources = self._hash(reaction), {self._hash(tag) for tag in tags}

        def stays(note):
            return note[1] != key or note[0] not in sources or (not ran and note[:2] not in self._new)

        left = [note for note in self._notes if stays(note)]
        if len(left) == len(self._notes):
            return
        if any(note[1] == key for note in left):
            self._notes = left
            self._rewrite()
        else:
            self._notes = left
            self._append("- %s\n" % key, sync=False)

    def end(self):
        """At the end of the run: store the reactions that are still due, or remove the file."""
        if self._fd is not None:
            self._rewrite()

    def _hash(self, tag):
        digest = self._hashes.get(tag)
        if digest is None:
            data = (self._salt + tag).encode("utf-8", "surrogateescape")
            digest = self._hashes[tag] = sha256(data).hexdigest()[:32]
        return digest

    # the file; if it cannot be written, only the reactions after an interrupted run are lost

    def _append(self, lines, sync):
        try:
            if self._fd is None:
                self._open()
            os.write(self._fd, lines.encode("ascii"))
            if sync:
                os.fdatasync(self._fd) if hasattr(os, "fdatasync") else os.fsync(self._fd)
        except OSError:
            pass

    def _open(self):
        # path: our own folder, 0700
        self._fd = os.open(
            self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, 0o600
        )
        if os.fstat(self._fd).st_size == 0:
            os.write(self._fd, (self._salt + "\n").encode("ascii"))

    def _rewrite(self):
        """Replace the file by one with the notes that are left."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
        aside = "%s.%d-%s" % (self._path, os.getpid(), os.urandom(6).hex())
        try:
            if not self._notes:
                os.unlink(self._path)  # path: our own folder, 0700
                return
            text = self._salt + "\n" + "".join("+ %s %s %d\n" % note for note in self._notes[-_MOST:])
            # path: our own folder, 0700
            fd = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                os.write(fd, text.encode("ascii"))
                os.fsync(fd)
            finally:
                os.close(fd)
            os.rename(aside, self._path)  # path: our own folder, 0700
        except OSError:
            try:
                os.unlink(aside)  # path: our own folder, 0700
            except OSError:
                pass


def listener(tag):
    """The name of the reaction of a chunk that listens."""
    return "listen " + tag


def words(since):
    """The reason why a state reacts, for its comment; ``since``: the result of ``Due.sources``."""
    tag = min(since, key=since.get)
    state, id = tag.split("_|-")[:2]
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(since[tag]))
    more = " (and %d more)" % (len(since) - 1) if len(since) > 1 else ""
    return "It was due: %s: %s%s changed on %s, and that run ended before this state." % (state, id, more, when)


class Reactions(object):
    """The engine's interface to due reactions; ``due`` has the notes.

    A dry run reads the notes, so that it reports which states would react, and writes none.
    """

    def __init__(self, due):
        self._due = due
        self._engine = None
        self._any = False  # there are notes of earlier runs
        self._fired = {}  # reaction -> {tag of a source: time}, of reactions that are caused by a note alone
        self._listeners = None  # tag -> tags of the chunks that listen to it

    def begin(self, engine):
        self._engine = engine
        self._any = self._due.begin()

    def returns(self, low, wanted):
        """The returns so far, in which states to whose change this chunk's reaction is due have changes."""
        running = self._engine.running
        if not self._any or low.get("__prereq__"):
            return running
        tag = tag_of(low)
        sources = [tag_of(chunk) for word, chunk in wanted if word.startswith(("watch", "onchanges"))]
        since = self._due.sources(tag, [source for source in sources if _unchanged(running.get(source))])
        if not since:
            return running
        self._fired[tag] = since
        return dict(running, **{source: dict(running[source], changes={"due": since[source]}) for source in since})

    def listens(self, low, sources):
        """Whether the reaction of this chunk, which listens to these chunks, to a change of one of them is due."""
        if not self._any:
            return False
        since = self._due.sources(listener(tag_of(low)), [tag_of(source) for source in sources])
        if since:
            self._fired[listener(tag_of(low))] = since
        return bool(since)

    def reported(self, low, ret):
        """Record the return of a chunk: reactions to it become due, and its own reaction is not due any more.

        Adds the reason of a due reaction to its comment.
        """
        tag = tag_of(low)
        if low["fun"] == "mod_watch" and "sfun" in low:  # a listener
            tag = listener(tag_of(dict(low, fun=low["sfun"], __id__=low["__id__"][len("listener_") :])))
        ran = ret.get("__state_ran__", True)
        if tag in self._fired and ran:
            ret["comment"] = "%s\n%s" % (ret["comment"], words(self._fired[tag]))
        if self._engine.test:
            return
        self._due.done(tag, ran, self._engine.graph.chunks)
        if ret["changes"]:
            reactions = self._reactions(tag, ret)
            if reactions:
                self._due.add(tag, reactions)

    def end(self):
        if not self._engine.test:
            self._due.end()

    def _reactions(self, tag, ret):
        """The reactions to the change of a state that have not run."""
        engine = self._engine
        reactions = []
        if ret["result"] is not False and tag in engine.graph.chunks:
            reactions = [other for other in engine.graph.reactions(tag) if other not in engine.running]
        if self._listeners is None:
            self._listeners = self._all_listeners()
        return reactions + [listener(other) for other in self._listeners.get(tag, ())]

    def _all_listeners(self):
        listeners = {}
        by_key = {(low["state"], low["__id__"], low["name"]): tag_of(low) for low in self._engine.chunks}
        for (state, name), (other, text) in self._engine.listeners():
            reacting = [by_key[key] for key in by_key if key[0] == state and name in key]
            for key in by_key:
                if key[0] == other and text in key:
                    listeners.setdefault(by_key[key], []).extend(reacting)
        return listeners


def _unchanged(ret):
    return ret is not None and not ret["changes"] and ret["result"] is not False
