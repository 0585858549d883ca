"""Parsers of the output of rpm, and names of packages with several architectures. Pure: text in, values out.

Salt: utils/pkg/rpm.py
"""

_ARCHES_64 = ("x86_64", "x86_64_v2", "athlon", "amd64", "ia32e", "ia64", "geode")
_ARCHES_32 = ("i386", "i486", "i586", "i686")
_ARCHES_ARM_32 = ("armv5tel", "armv5tejl", "armv6l", "armv6hl", "armv7l", "armv7hl", "armv7hnl")
_X86_64 = ("x86_64", "x86_64_v2")

#: All architectures that can follow a package's name, except for noarch.
ARCHES = (
    _ARCHES_64
    + _ARCHES_32
    + _ARCHES_ARM_32
    + ("ppc", "ppc64", "ppc64le", "ppc64iseries", "ppc64pseries", "s390", "s390x", "aarch64", "sh3", "sh4", "sh4a")
    + ("alpha", "alphaev4", "alphaev45", "alphaev5", "alphaev56", "alphapca56", "alphaev6", "alphaev67", "alphaev68")
    + ("alphaev7", "riscv64", "loongarch64", "mips64el", "mipsel")
)

#: The rpm -q --queryformat that packages() and one() parse.
LIST_FORMAT = "%{NAME}\t%{EPOCH}\t%{VERSION}\t%{RELEASE}\t%{ARCH}\t%{INSTALLTIME}\n"

#: The places of rpm's database; its files change with every transaction.
DATABASES = tuple(
    folder + "/" + name
    for folder in ("/usr/lib/sysimage/rpm", "/var/lib/rpm")
    for name in ("rpmdb.sqlite", "rpmdb.sqlite-wal", "Packages.db", "Packages")
)


def both_32(arch, osarch):
    """Whether both are of one family of 32-bit architectures, so that the system can install packages of ``arch``."""
    return any(arch in family and osarch in family for family in (_ARCHES_32, _ARCHES_ARM_32))


def resolve_name(name, arch, osarch):
    """The package's name, with ``.arch`` unless that is the system's own."""
    own = arch in (osarch, "noarch") or (arch in _X86_64 and osarch in _X86_64) or both_32(arch, osarch)
    return name if own else "%s.%s" % (name, arch)


def split_arch(name):
    """``("glibc", "i686")`` of ``glibc.i686``; the second is None if the name has no architecture."""
    base, dot, arch = name.rpartition(".")
    return (base, arch) if dot and (arch in ARCHES or arch == "noarch") else (name, None)


def normalize(name, osarch):
    """The name without ``.arch`` if that is the system's own architecture or noarch."""
    base, arch = split_arch(name)
    return base if arch and resolve_name(base, arch, osarch) == base else name


def one(line, osarch):
    """``(name, {"epoch", "version", "release", "arch", "install_date", "install_date_time_t"})`` of a line with
    LIST_FORMAT, or None."""
    words = line.split("\t")
    if len(words) != 6:
        return None
    name, epoch, version, release, arch, seconds = words
    is_known = seconds.isdigit() and seconds != "0"
    return resolve_name(name, arch, osarch), {
        "epoch": None if epoch in ("(none)", "0", "") else epoch,
        "version": version,
        "release": release or None,
        "arch": arch,
        "install_date": date(int(seconds)) if is_known else None,
        "install_date_time_t": int(seconds) if is_known else None,
    }


def packages(text, osarch):
    """``{name: [attributes]}`` of all lines; each list goes from the oldest version to the newest."""
    from thin.utils.packages import rpmversion

    packages = {}
    for line in text.splitlines():
        parsed = one(line, osarch)
        if parsed is not None:
            packages.setdefault(parsed[0], []).append(parsed[1])
    for several in packages.values():
        if len(several) > 1:
            several.sort(key=lambda attributes: rpmversion.sort_key(full_version(attributes)))
    return packages


def full_version(attributes):
    """``epoch:version-release``, without the parts that are missing."""
    text = attributes["version"]
    if attributes.get("epoch"):
        text = "%s:%s" % (attributes["epoch"], text)
    return "%s-%s" % (text, attributes["release"]) if attributes.get("release") else text


def date(seconds):
    """A time in seconds as ``2026-01-31T12:00:00Z``."""
    import datetime

    return (datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)).isoformat() + "Z"


# rpm -V

_KINDS = {"c": "config", "d": "doc", "g": "ghost", "l": "license", "r": "readme"}
_VERIFIED = (
    ("S", "size", "size"),
    ("M", "mode", "mode"),
    ("5", "md5sum", "checksum"),
    ("D", "device major/minor number", "device"),
    ("L", "readlink path", "symlink"),
    ("U", "user", "owner"),
    ("G", "group", "group"),
    ("T", "mtime", "time"),
    ("P", "capabilities", "capabilities"),
)


def verified(text, ignore_types=()):
    """``{path: {"mismatch": [what differs], "type": "config"}}`` from ``rpm -V``; or ``{"missing": True}``."""
    result = {}
    for flags, kind, path in _verify_lines(text):
        entry = {}
        if flags is None:
            entry["missing"] = True
        else:
            entry["mismatch"] = [words for (letter, words, _), flag in zip(_VERIFIED, flags) if flag == letter]
        if kind in _KINDS:
            entry["type"] = _KINDS[kind]
        if entry.get("type") not in ignore_types:
            result[path] = entry
    return result


def modified(text):
    """``{path: ["size", "checksum", …]}`` from ``rpm -V``; with ``config`` for a configuration file."""
    result = {}
    for flags, kind, path in _verify_lines(text):
        words = ["missing"] if flags is None else [name for (_, _, name), flag in zip(_VERIFIED, flags) if flag != "."]
        result[path] = words + (["config"] if kind is not None else [])
    return result


def _verify_lines(text):
    """``(flags or None if the file is missing, letter of its kind or None, path)`` of each line about a file."""
    for line in text.splitlines():
        head, slash, path = line.partition("/")
        words = head.split()
        if not slash or not words:
            continue
        path = "/" + path
        kind = words[1] if len(words) > 1 and len(words[1]) == 1 else None
        if words[0] == "missing":
            yield None, kind, path.split(" (")[0]
        elif len(words[0]) >= 8:
            yield words[0], kind, path
