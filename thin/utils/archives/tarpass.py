"""A compressed tar archive read once: its members are listed and checked while tar extracts what has passed.

    one = tarpass.fitting(shown, path, options, list_options, allowed, run_all)  # None where it takes two readings
    with one:
        one.read(dest, wanted)  # raises Harmful, and CommandExecutionError
        one.members             # all of them
        one.done                # what ``cmd.run_all`` said of tar, None when nothing was extracted
        one.finish(strip)       # only now anything of it is in ``dest``

Nothing of a member gets to tar before that member was looked at, and nothing at all before a first one is ``wanted``:
up to then the plain bytes are held, HELD of them. If there are more, they are let go, and nothing is extracted.
"""

from thin.exceptions import CommandExecutionError
from thin.utils import words
from thin.utils.archives import archivefiles, archivemembers, tarmembers, taroptions, unpacking

HELD = 8 << 20
_VERBOSE = ("v", "-v", "--verbose")


def fitting(shown, path, options, list_options, allowed, run_all):
    """A TarPass, or None if tar reads the archive itself, or works in the directory itself.

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
    """tar with the options as they are written; those that this is about (x, f, v) are given anyway."""
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
    """See above. ``strict``: it is an error if tar fails."""

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
        """Read all of it. ``wanted(member)``: whether to extract, asked until it is said once; ``anew``: ``dest`` is
        going to be another directory than the one that is there."""
        flow = self._flow()
        with archivefiles.readable(self.packed.name):
            held = self._until(flow, wanted)
            if held is not None and self._staged(dest, anew):
                self._extract(held, flow)
            for _ in flow:
                pass  # what tar did not want to read, and all of it when it was not run
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
                trouble.append(exc)  # it is the archive's, not tar's

        try:
            self.done = self.run_all(self.command, cwd=self.stage.inside, python_shell=False, stdin=stream())
        except CommandExecutionError:
            pass  # there is no tar: whoever extracts afterwards says so
        if trouble:
            raise trouble[0]

    def finish(self, strip=0):
        """Move what was extracted into its directory: what ``cmd.run_all`` returned of tar, with the names of all
        ``members``. Raises CommandExecutionError."""
        try:
            self.stage.place(archivemembers.folders(self.members, strip))
        except OSError as exc:
            raise CommandExecutionError("Failed to extract %s: %s" % (self.shown, exc))
        if self.strict:
            succeeded(self.shown, self.done)
        return dict(self.done, members=[member.name for member in self.members])

    def _flow(self):
        """Yield the plain bytes up to a member that is not allowed; all members are noted."""
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
        """The bytes before the first member that is wanted, and that one's; None when none is, or they are too many."""
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
        """Whether a temporary folder exists. If none can be made, the later extraction reports it."""
        stage = unpacking.Stage(dest, anew)
        try:
            self.stage = stage.__enter__()
        except OSError:
            return False
        return True
