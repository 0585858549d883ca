"""Secrets, hidden by their value wherever text is shown: logs, diffs, errors, job output.

A ``Redactor`` collects values during a run: what the inventory says is secret, what was decrypted, and pillar values
whose key matches ``secret_keys``. It then finds them in any text, also as JSON, URL, shell and base64 write them, and
multi-line ones (keys) line by line.

Left alone, because hiding them would make every other line unreadable: values shorter than SHORTEST, plain numbers,
and common words (``admin``, ``password``). Values of up to WHOLE_WORD characters are hidden as whole words only.
A *path* below a key like ``private_key`` says where a secret is, and is none; nor is a public key or a certificate,
or an ``sdb://`` URI anywhere.

The password of a URL (``https://user:password@host``) is hidden by its place, whoever wrote it.
"""

from __future__ import annotations

import base64
import json
import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import translate
from typing import Any
from urllib.parse import quote, quote_plus, unquote

from pushsalt.model import Explained

#: Keys of pillar whose values are secret, unless the configuration has ``secret_keys``, whose default this is. Globs;
#: neither letter case nor ``-`` for ``_`` makes a difference.
SECRET_KEYS = (
    "*passw*",
    "*passphrase*",
    "*passcode*",
    "pass",
    "*.pass",
    "*_pass",
    "pwd",
    "*.pwd",
    "*_pwd",
    "*bindpw*",
    "psk",
    "*_psk",
    "*secret*",
    "*token*",
    "*credential*",
    "*private_key*",
    "*privkey*",
    "*access_key*",
    "*account_key*",
    "*api_key*",
    "*apikey*",
    "*auth_key*",
    "*authkey*",
    "*encryption_key*",
    "*shared_key*",
    "*erlang_cookie*",
    "*.key",
)
#: Keys that fit one of the globs by chance, and are no secrets unless ``secret_keys`` has them as they are.
_NO_SECRETS = frozenset(f"{word}_pass" for word in ("proxy", "fastcgi", "uwsgi", "scgi", "grpc", "memcached"))
MASK = "**********"
SHORTEST = 6
WHOLE_WORD = 8
#: A line of a multi-line secret is hidden from this length on.
LINE_SHORTEST = 10
#: Texts of more characters are not remembered.
LONG = 64 * 1024
#: So many texts are remembered with what became of them.
CACHE_LIMIT = 100_000
#: base64 of a value within other text has other characters at its ends; what stays fixed must be this long.
_B64_SHORTEST = 12

_COMMON = frozenset(
    """true false none null yes no on off enabled disabled default undefined unset empty changeme change_me
    root admin administrator user username guest test testing example localhost nobody daemon system service server
    client password passwd passphrase secret token private public string present absent managed running installed latest
    disable enable required optional internal external production staging development""".split()  # noqa: SIM905 (a list of words reads better so)
)
_NUMBER = re.compile(r"[-+]?[0-9][0-9.,:_ -]*\Z")
_PATH = re.compile(r"(?:salt://|~/|/(?:etc|var|usr|opt|srv|home|root|run|tmp|mnt|data|boot|dev|sys|proc)/)[\w.@+/-]*\Z")
_PUBLIC = re.compile(
    r"(?:ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-\S+|sk-\S+) AAAA|-----BEGIN [A-Z0-9 ]*(?:PUBLIC KEY|CERTIFICATE)"
)
#: A URL up to its password, and that. It begins with what is rare: texts are long, and a target may have made them.
_LOGIN = re.compile(r"""(://[^\s/:@'"<>\\()\[\]{}]*:)([^\s/@'"<>\\]+)(?=@)""")
_ARMOUR = re.compile(r"-----(BEGIN|END) [A-Z0-9 ]+-----\Z")


class Redactor:
    """Values to hide, and the hiding. Costs nothing until a value is added, which any thread may do at any time."""

    def __init__(self, secret_keys: Iterable[str] = SECRET_KEYS) -> None:
        self._keys = frozenset(str(pattern).lower().replace("-", "_") for pattern in secret_keys)
        self._fits = re.compile("|".join(map(translate, sorted(self._keys))) or r"(?!)").match
        self._values: set[tuple[str, bool]] = set()
        #: first SHORTEST characters -> the forms that begin with them
        self._forms: dict[str, _Forms] = {}
        self._known: dict[str, str] = {}
        #: of how many beginnings the pattern of ``_likely`` was made, and the pattern
        self._seen: tuple[int, re.Pattern[str]] | None = None
        self._lock = threading.Lock()

    def __bool__(self) -> bool:
        return bool(self._forms)

    def is_secret_key(self, key: Any) -> bool:
        """Whether a value below that pillar key is secret."""
        name = str(key).lower().replace("-", "_")
        return name in self._keys or (name not in _NO_SECRETS and self._fits(name) is not None)

    def add(self, value: Any) -> None:
        """A secret: a text, or all texts within a structure (decrypted pillar). Other types are left alone."""
        for text in _texts(value):
            self._add(text)

    def add_secrets(self, *values: Any) -> None:
        """Several secrets; None counts as not given."""
        for value in values:
            self.add(value)

    def add_pillar(self, pillar: Any) -> None:
        """The values in ``pillar`` whose key matches ``secret_keys``, at any depth, and passwords of URLs."""
        match pillar:
            case Mapping():
                for key, value in pillar.items():
                    if self.is_secret_key(key):
                        self.add([text for text in _texts(value) if not _is_open(text.strip())])
                    else:
                        self.add_pillar(value)
            case list() | tuple():
                for value in pillar:
                    self.add_pillar(value)
            case str() if "://" in pillar:
                for login in _LOGIN.finditer(pillar):
                    self.add([login[2], unquote(login[2])])

    def _add(self, given: str) -> None:
        value = given.strip()
        anywhere = len(given) > WHOLE_WORD  # white space counts, which a program may have taken away
        if (value, anywhere) in self._values or not _worth_hiding(value):
            return
        pieces = [value]
        if "\n" in value:
            lines = (line.strip() for line in value.splitlines())
            pieces += [line for line in lines if len(line) >= LINE_SHORTEST and not _ARMOUR.match(line)]
        with self._lock:
            for form in {form for piece in pieces for form in _forms(piece)}:
                self._forms.setdefault(form[:SHORTEST], _Forms()).add(form, anywhere)
            self._values.add((value, anywhere))
            self._known = {}  # after the forms: who takes the new one sees them all

    def text(self, text: str) -> str:
        """``text`` with every secret replaced by MASK."""
        text = self._by_value(text)
        return _LOGIN.sub(rf"\1{MASK}", text) if "://" in text and "@" in text else text

    def _by_value(self, text: str) -> str:
        forms = self._forms
        if not forms:
            return text
        done: list[str] = []
        at = shown = 0
        last = len(text) - SHORTEST
        likely = self._likely() if len(text) > LONG else None
        while at <= last:
            if likely is not None:
                match = likely.search(text, at)
                if match is None:
                    break
                at = match.start()
            found = forms.get(text[at : at + SHORTEST])
            length = found.match(text, at) if found else 0
            if not length:
                at += 1
                continue
            done += (text[shown:at], MASK)
            at = shown = at + length
            if len(done) > CACHE_LIMIT:
                done = ["".join(done)]
        return "".join((*done, text[shown:])) if done else text

    def _likely(self) -> re.Pattern[str]:
        """Finds where a secret may begin, by the characters that any has at each of its first places."""
        prefixes = list(self._forms)
        if self._seen is None or self._seen[0] != len(prefixes):
            classes = ({prefix[place] for prefix in prefixes} for place in range(SHORTEST))
            pattern = "".join(f"[{''.join(map(re.escape, sorted(chars)))}]" for chars in classes)
            self._seen = len(prefixes), re.compile(pattern)
        return self._seen[1]

    def data(self, value: Any) -> Any:
        """``value`` with secrets replaced in all texts, keys included. What holds none is returned itself, no copy."""
        return self._data(value)

    def _data(self, value: Any) -> Any:
        match value:
            case Explained():
                text, explanation = self._remembered(value), self.text(value.explanation)
                return value if text == value and explanation == value.explanation else Explained(text, explanation)
            case str():
                return self._remembered(value)
            case bytes():
                text = value.decode("utf-8", "surrogateescape")
                hidden = self.text(text)
                return value if hidden == text else hidden.encode("utf-8", "surrogateescape")
            case Mapping():
                changed = False
                result: dict[Any, Any] = {}
                for key, item in value.items():
                    name, new = self._data(key), self._data(item)
                    changed = changed or name is not key or new is not item
                    while name in result:
                        name = f"{name}*"
                    result[name] = new
                return result if changed else value
            case list() | tuple() | set() | frozenset():
                items = [self._data(item) for item in value]
                same = all(new is old for new, old in zip(items, value, strict=True))
                return value if same else type(value)(items)
            case _:
                return value

    def _remembered(self, text: str) -> str:
        # The returns of a fleet repeat the same few texts; a long one is not kept longer than it has to be.
        if len(text) < SHORTEST:
            return text
        if len(text) > LONG:
            new = self.text(text)
            return text if new == text else new
        cache = self._known
        known = cache.get(text)
        if known is None:
            known = self.text(text)
            if len(cache) > CACHE_LIMIT:
                cache.clear()
            cache[text] = known
        return text if known == text else known


class _Forms:
    """Forms that begin alike, by length: ten thousand passwords of one scheme cost no more than a few."""

    def __init__(self) -> None:
        self._of_length: dict[int, set[str]] = {}
        #: those of up to WHOLE_WORD characters that are hidden within words too
        self._anywhere: set[str] = set()
        self._lengths: tuple[int, ...] = ()

    def add(self, form: str, anywhere: bool) -> None:
        length = len(form)
        if anywhere and length <= WHOLE_WORD:
            self._anywhere.add(form)
        known = self._of_length.get(length)
        if known is not None:
            known.add(form)
            return
        self._of_length[length] = {form}
        self._lengths = tuple(sorted(self._of_length, reverse=True))  # after the set: who reads it looks there

    def match(self, text: str, at: int) -> int:
        """The length of the longest secret that stands at ``at``, or 0."""
        for length in self._lengths:
            end = at + length
            form = text[at:end]
            if form in self._of_length[length] and (
                length > WHOLE_WORD or form in self._anywhere or not _is_part_of_a_word(text, at, end)
            ):
                return length
        return 0


def _is_part_of_a_word(text: str, at: int, end: int) -> bool:
    """Whether a letter or digit at one end of ``text[at:end]`` stands beside another one."""
    return (at > 0 and text[at - 1 : at + 1].isalnum()) or (end < len(text) and text[end - 1 : end + 1].isalnum())


def _is_open(value: str) -> bool:
    """Whether what stands below a secret's key is none: where one is, or what everybody may see."""
    return bool(_PATH.match(value) or (_PUBLIC.match(value) and "PRIVATE" not in value))


def _worth_hiding(value: str) -> bool:
    plain = value.lower() in _COMMON or _NUMBER.match(value) or value.startswith("sdb://")
    return len(value) >= SHORTEST and not plain


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case bytes():
            yield value.decode("utf-8", "surrogateescape")
        case Mapping():
            for item in value.values():
                yield from _texts(item)
        case list() | tuple() | set() | frozenset():
            for item in value:
                yield from _texts(item)


def _forms(value: str) -> Iterator[str]:
    """The ways in which programs write ``value`` into their output."""
    yield value
    data = value.encode("utf-8", "surrogateescape")
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    yield repr(value)[1:-1]
    yield quote(data, safe="")
    yield quote(data)
    yield quote_plus(data)
    yield value.replace("'", "'\"'\"'")  # sh
    yield value.replace("'", "'\\''")
    yield value.replace("'", "''")  # YAML, SQL
    for code in (base64.standard_b64encode, base64.urlsafe_b64encode):
        # At each of the three places within a group of three bytes, less what depends on the neighbours.
        for shift in range(3):
            encoded = code(b"\0" * shift + data).decode("ascii")
            start = -(-shift * 8 // 6)
            end = (shift + len(data)) * 8 // 6
            if end - start >= _B64_SHORTEST:
                yield encoded[start:end]
        if len(data) * 4 // 3 >= SHORTEST + 2:
            yield code(data).decode("ascii")
