"""Finds the options of a tar command line that affect what is extracted, and to which place."""

#: Short options that take an argument.
_TAKING = "bCfFgHIKLNTVX"
#: Options that read the content of the directory, or change to another one: short, long.
_LOOKING = {
    "C": "directory",
    "k": "keep-old-files",
    "T": "files-from",
    "X": "exclude-from",
    "g": "listed-incremental",
    "G": "incremental",
    "": "skip-old-files keep-newer-files recursive-unlink keep-directory-symlink",
}
_ABSOLUTE = "absolute-names"
#: Options for compression: short, long.
_PACKERS = {
    "j": "bzip2",
    "J": "xz",
    "z": "gzip",
    "Z": "compress",
    "a": "auto-compress",
    "I": "use-compress-program",
    "": "gunzip ungzip uncompress lzma lzip lzop zstd",
}
#: Other long options. An abbreviation can be the beginning of one of them and of one of the above.
_OTHERS = "exclude exclude-backups exclude-caches exclude-tag exclude-vcs file format full-time force-local absolute"


class Options(object):
    """A parsed tar command line.

    ``extracts``: whether it extracts; ``looking``: its options that need the real target directory; ``words``: the
    command line without ``-P`` and the option ``packer``; ``absolute``: whether it has ``-P``; ``packers``: its options
    for compression other than ``packer``.
    """

    def __init__(self, words, bundled=True, packer=("", "")):
        """``bundled``: the first word may be letters without a dash, as in ``tar xzf``. ``packer``: (short, long)."""
        self.words, self.looking, self.packers, self.packer = [], [], [], packer
        self.extracts = self.absolute = False
        taken = False
        for number, word in enumerate(words):
            if taken:  # the argument of the previous option
                taken = False
                self.words.append(word)
            elif word.startswith("--"):
                self._long(word)
            elif word.startswith("-") or (bundled and number == 0):
                taken = self._short(word, word.startswith("-"))
            else:
                self.words.append(word)

    def _short(self, word, dashed):
        """Parse short options; returns whether the next word is the argument of one.

        The arguments of letters without a dash are among the later words, and are not parsed.
        """
        kept = "-" if dashed else ""
        for place, letter in enumerate(word[1:] if dashed else word, len(kept)):
            if letter == "P":
                self.absolute = True
                continue
            if letter == self.packer[0]:
                continue
            if letter in _PACKERS:
                self.packers.append("-" + letter)
            kept += letter
            self.extracts = self.extracts or letter == "x"
            if letter and letter in _LOOKING:
                self.looking.append("-" + letter)
            if dashed and letter in _TAKING:
                rest = word[place + 1 :]
                self.words.append(kept + rest)
                return not rest
        if kept != "-":
            self.words.append(kept)
        return False

    def _long(self, word):
        name = word[2:].partition("=")[0]
        options = [long for longs in _LOOKING.values() for long in longs.split()]
        if name and _ABSOLUTE.startswith(name):
            self.absolute = True
            return
        if name and name == self.packer[1]:
            return
        if name and any(long.startswith(name) for longs in _PACKERS.values() for long in longs.split()):
            self.packers.append("--" + name)
        if name and any(long.startswith(name) for long in options) and name not in _OTHERS.split():
            self.looking.append("--" + name)
        self.extracts = self.extracts or (len(name) > 3 and ("extract".startswith(name) or name == "get"))
        self.words.append(word)
