"""Reads a compressed tar archive once: lists and checks its members while tar extracts those that were checked.

    one = tarpass.fitting(shown, path, options, list_options, allowed, run_all)  # None if this method does not apply
    with one:
        one.read(dest, wanted)  # raises Harmful, and CommandExecutionError
        one.members             # all members
        one.done                # the return of ``cmd.run_all`` for tar; None if nothing was extracted
        one.finish(strip)       # moves what was extracted into ``dest``

No part of a member is written to tar before the member was checked, and nothing before ``wanted`` is true for a member.
Up to then the decompressed bytes are kept in memory. If they exceed HELD, they are dropped and nothing is extracted.
"""

from thin.exceptions import CommandExecutionError
from thin.utils import words
from thin.utils.archives import archivefiles, archivemembers, tarmembers, taroptions, unpacking

HELD = 8 << 20
_VERBOSE = ("v", "-v", "--verbose")


def fitting(shown, path, options, list_options, allowed, run_all):
    """A TarPass, or None if tar has to read the archive itself or needs the real target directory.

    Raises CommandExecutionError, OSError.
    """
    packed = archivefiles.Packed(path, path, list_options)
    if packed.command is None or allowed.get("allow_outside"):
        return None
    try:
        given = taroptions.Options(without_verbose(options), packer=packed.option)
    except ValueError:
        return None
    if given.packers or given.looking:
        return None
    command = all_of_tar("-") if options is None else tar_command(given, "-")
    return TarPass(shown, packed, command, options is None, allowed, run_all)


def without_verbose(options):
    return [word for word in words.split(options or "") if word not in _VERBOSE]


def all_of_tar(path, outside=False):
    return ["tar", "-x", "-p"] + (["-P"] if outside else []) + ["-f", path]


def tar_command(given, path, outside=False):
    """The command line of tar with the given options; ``x``, ``f`` and ``v`` are set in any case."""
    rest = list(given.words)
    short = "xv" + ("P" if outside else "")
    if rest and not rest[0].startswith("-"):
        short += rest.pop(0).replace("x", "").replace("f", "")
    return ["tar", short] + rest + ["-f", path]


def succeeded(shown, done):
    """Raises CommandExecutionError if tar failed."""
    if done["retcode"] != 0:
        raise CommandExecutionError("Failed to extract %s: %s" % (shown, done["stderr"] or done["stdout"]))


class TarPass(object):
    """See the module's docstring. ``strict``: a failure of tar is an error."""

    def __init__(self, shown, packed, command, strict, allowed, run_all):
        self.shown, self.packed, self.command, self.strict = shown, packed, command, strict
        self.allowed, self.run_all = allowed, run_all
        self.members, self.done, self.stage = [], None, None

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.stage is not None:
            self.stage.__exit__()
            self.stage = None

    def read(self, dest, wanted, anew=False):
        """Read the whole archive. ``wanted(member)``: whether to extract; it is called until it returns true.
        ``anew``: ``dest`` will be removed and created again."""
        flow = self._flow()
        with archivefiles.readable(self.packed.name):
            held = self._until(flow, wanted)
            if held is not None and self._staged(dest, anew):
                self._extract(held, flow)
            for _ in flow:
                pass  # the bytes that tar did not read; all of them if it was not run
        wrong = archivemembers.refusal(self.shown, self.members, **self.allowed)
        if not wrong and self.done is not None:
            wrong = self.stage.check(self.shown, **self.allowed)
        if wrong:
            raise archivemembers.Harmful(wrong)

    def _extract(self, held, flow):
        trouble = []

        def stream():
            try:
                while held:
                    yield held.pop(0)
                for piece in flow:
                    yield piece
            except Exception as exc:
                trouble.append(exc)  # an error of the archive, not of tar

        try:
            self.done = self.run_all(self.command, cwd=self.stage.inside, python_shell=False, stdin=stream())
        except CommandExecutionError:
            pass  # there is no tar: the later extraction reports it
        if trouble:
            raise trouble[0]

    def finish(self, strip=0):
        """Move what was extracted into its directory. Returns the return of ``cmd.run_all`` for tar, with ``members``:
        the names of all members. Raises CommandExecutionError."""
        try:
            self.stage.place(archivemembers.folders(self.members, strip))
        except OSError as exc:
            raise CommandExecutionError("Failed to extract %s: %s" % (self.shown, exc))
        if self.strict:
            succeeded(self.shown, self.done)
        return dict(self.done, members=[member.name for member in self.members])

    def _flow(self):
        """Yield the decompressed bytes up to the first member that is not allowed; record all members."""
        look, harmless = archivemembers.Look(), True
        for member, piece in tarmembers.passing(self.packed.pieces()):
            if member is not None:
                self.members.append(member)
                look.note(member)
                faults = [(0, 0, "allow_outside")] if look.leaving(member) else []
                faults += archivemembers.by_itself(member)
                harmless = harmless and all(self.allowed.get(fault[2]) for fault in faults)
            if harmless and piece:
                yield piece

    def _until(self, flow, wanted):
        """A list of the bytes up to and including the header of the first wanted member; None if no member is wanted,
        or the bytes exceed HELD."""
        held, size, asked = [], 0, 0
        for piece in flow:
            held.append(piece)
            size += len(piece)
            while asked < len(self.members):
                asked += 1
                if wanted(self.members[asked - 1]):
                    return held
            if size > HELD:
                return None
        return None

    def _staged(self, dest, anew):
        """Create the temporary folder. False if that fails: the later extraction reports the error."""
        stage = unpacking.Stage(dest, anew)
        try:
            self.stage = stage.__enter__()
        except OSError:
            return False
        return True
