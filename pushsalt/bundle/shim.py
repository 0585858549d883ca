"""The first stage: the command that starts Python on a target, and the program that it reads from stdin.

The command is one line that any login shell (sh, bash, zsh, fish, csh) passes unchanged to /bin/sh. There a loop finds
a Python and starts it with a tiny loader, which reads the real program, ``thin/warmstart.py`` with this session's
parameters, from stdin: so argv is short and contains no secrets, and only one interpreter is started. Where the
interpreter is known from an earlier session, it is started without /bin/sh (``direct``).

Possible output before the first frame of that program:

- the nonce, ``G`` and four zero bytes, if requested: Python runs and reads stdin. Before that, the controller only
writes passwords for prompts of sudo and similar programs to stdin (``bundle.become``);
- a line ``pushsalt NONCE8 no_python|too_old OS_ID FOUND`` (the first half of the nonce) from /bin/sh or an old Python.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pushsalt.bundle.become import Become
from pushsalt.errors import TargetError
from pushsalt.model import Target

#: Interpreters to try, best first, unless the inventory names one.
CANDIDATES = (
    "python3",
    *(f"python3.{minor}" for minor in range(14, 5, -1)),
    "/usr/libexec/platform-python",
    "/usr/local/bin/python3",
    "/opt/homebrew/bin/python3",
    "/usr/pkg/bin/python3",
)
NO_PYTHON = 81
#: The texts of the first stage, as ``program`` takes them.
PROGRAMS = ("warmstart.py", "boot.py", "coldstart.py")

# Neither text has single quotes, backslashes or exclamation marks: some login shell would change them. Nor are there
# two spaces in a row: a forced command that ends in an unquoted `eval $SSH_ORIGINAL_COMMAND` would make one of them.
_SCRIPT = (
    "b=$1; n=$2; s=$3; shift 3; for p; do shift; "
    'command -v "$p" >/dev/null 2>&1 && exec "$p" -I -S -c "$b" "$n" "$s" "$@"; done; '
    "f=none; for p in python python2; do command -v $p >/dev/null 2>&1 && f=$($p -V 2>&1) && break; done; "
    "i=unknown; [ -r /etc/os-release ] && i=$(. /etc/os-release; echo $ID); k=no_python; "
    '[ "$f" = none ] || k=too_old; '
    f"echo pushsalt ${{n%????????}} $k $i $f; exit {NO_PYTHON}"
)
# The end of both loaders: reads z bytes, and executes them.
_READ = """r=b""
while len(r)<z:
 d=os.read(0,z-len(r))
 if not d:sys.exit(76)
 r+=d
exec(r)
"""
# Runs on the Pythons that know -I, 3.4 and later. One that is too old gives way to the next candidate; its own
# command line is in /proc, so that the words need not be repeated in it.
_LOADER = f"""import os,sys
n,s,*c=sys.argv[1:]
o=sys.version_info<(3,6)
while o and c:
 p=c.pop(0)
 try:os.execvp(p,[p]+open("/proc/self/cmdline","rb").read().split(bytes(1))[1:7]+c)
 except OSError:pass
if o:
 print("pushsalt",n[:8],"too_old -",sys.version.split()[0])
 sys.exit({NO_PYTHON})
if s[0]=="g":os.write(1,n.encode()+b"G"+bytes(4))
z=int(s.lstrip("g"))
{_READ}"""
# The same for an interpreter that is known; it is compiled at each start, so it has nothing else.
_DIRECT_LOADER = f"""import os,sys
z=int(sys.argv[2])
{_READ}"""


def _one_line(program: str) -> str:
    """A program of lines as one line."""
    return f'exec("""{program.strip()}""".replace("~",chr(10)))'.replace("\n", "~")


_ONE_LINE = _one_line(_LOADER)
_DIRECT_LINE = _one_line(_DIRECT_LOADER)

_BARE = re.compile(r"[A-Za-z0-9_./:=,@%+-]+")
_UNQUOTABLE = re.compile(r"['\\!\x00-\x1f\x7f]")
_REPORT = re.compile(rb"pushsalt (\w{8}) (no_python|too_old) ([\w.-]+) ([\w. +-]{1,60})")


def command(target: Target, nonce: str, size: int, *, go: bool = False, become: Become | None = None) -> list[str]:
    """The words of the command that starts the first stage.

    ``size``: bytes of the program; ``go``: request the G frame. For a resource, the words that enter it come first.
    Raises TargetError if the inventory's ``python`` or ``sudo_user`` has forbidden characters.
    """
    candidates = [_plain(target, "python", target.python)] if target.python else list(CANDIDATES)
    words = ["/bin/sh", "-c", _SCRIPT, "pushsalt", _ONE_LINE, nonce, f"{'g' if go else ''}{size}", *candidates]
    return as_user(target, [*target.enter, *words], become)


def direct(exe: str, nonce: str, size: int) -> list[str] | None:
    """The words that start the first stage by this interpreter, whose path the target has reported; None for a path
    that is not a plain absolute one. Where it has vanished the command fails, and ``command`` finds another.
    """
    if not exe.startswith("/") or not _BARE.fullmatch(exe):
        return None
    return [exe, "-I", "-S", "-c", _DIRECT_LINE, nonce, str(size)]


def as_user(target: Target, words: list[str], become: Become | None) -> list[str]:
    """The words of a command that runs these as another user; without ``become`` the words themselves. Raises
    TargetError.
    """
    if become is None:
        return words
    _plain(target, "sudo_user", become.user)
    return become.command(words)


def _plain(target: Target, setting: str, value: str) -> str:
    if value.startswith("-") or _UNQUOTABLE.search(value):
        raise TargetError(
            "bootstrap_failed",
            f"{target.id}: {setting} {value!r} cannot be given to a command safely",
            f"set {setting} to a name without quotes, backslashes, exclamation marks or a leading dash",
        )
    return value


def shell_line(words: Sequence[str]) -> str:
    """The words quoted as one line for any login shell. Raises ValueError for a word that some shells would change."""
    return "exec " + " ".join(_quoted(word) for word in words)


def _quoted(word: str) -> str:
    if _BARE.fullmatch(word):
        return word
    if _UNQUOTABLE.search(word):
        raise ValueError(f"{word!r} cannot be quoted for every shell")
    return f"'{word}'"


def program(texts: Sequence[str], parameters: Mapping[str, object]) -> bytes:
    """The program for stdin: the text of ``thin/warmstart.py`` and the call that starts it.

    ``texts`` are those of PROGRAMS as ``strip`` leaves them; the others are compiled if needed.
    """
    warm, boot, cold = texts
    # ascii() of plain values is a Python literal that any version reads the same.
    return f"{warm}\nbegin({dict(parameters)!a}, {boot!a}, {cold!a})\n".encode("ascii")


def strip(path: Path) -> str:
    """The source text of a module without comments and docstrings, since targets compile it at each start."""
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)


@dataclass(frozen=True)
class Refusal:
    """The reason why no Python was started: ``no_python`` or ``too_old``; the os-release ID; the Pythons found."""

    kind: str
    os_id: str
    found: str


def refusal(output: bytes, nonce: str) -> Refusal | None:
    """The Refusal in this output; None if there is none."""
    for match in _REPORT.finditer(output):
        if match[1].decode() == nonce[:8]:
            return Refusal(match[2].decode(), match[3].decode(), match[4].decode().strip())
    return None
