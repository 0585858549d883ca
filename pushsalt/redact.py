"""Secrets, hidden by their value wherever text is shown: logs, diffs, errors, job output.

A ``Redactor`` collects values during a run: what the inventory says is secret, what was decrypted, and pillar values
whose key matches ``secret_keys``. It then finds them in any text, also as JSON, URL, shell and base64 write them, and
multi-line ones (keys) line by line.

Left alone, because hiding them would make every other line unreadable: values shorter than SHORTEST, plain numbers,
and common words (``admin``, ``password``). Values of up to WHOLE_WORD characters are hidden as whole words only.
A *path* below a key like ``private_key`` says where a secret is, and is none; neither is an ``sdb://`` URI anywhere.
"""

from __future__ import annotations

import base64
import json
import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import quote, quote_plus

from pushsalt.model import Explained

#: Keys of pillar whose values are secret, unless the configuration has ``secret_keys``. Globs; neither letter case
#: nor ``-`` for ``_`` makes a difference.
SECRET_KEYS = (
    "*passw*",
    "*passphrase*",
    "*secret*",
    "*token*",
    "*private_key*",
    "*privkey*",
    "*api_key*",
    "*apikey*",
    "*access_key*",
    "*credential*",
    "pwd",
    "*_pwd",
)
MASK = "**********"
SHORTEST = 6
WHOLE_WORD = 8
#: A line of a multi-line secret is hidden from this length on.
LINE_SHORTEST = 10
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
_ARMOUR = re.compile(r"-----(BEGIN|END) [A-Z0-9 ]+-----\Z")


class Redactor:
    """Values to hide, and the hiding. Costs nothing until a value is added, which any thread may do at any time."""

    def __init__(self, secret_keys: Iterable[str] = SECRET_KEYS) -> None:
        self._patterns = tuple(pattern.lower().replace("-", "_") for pattern in secret_keys)
        self._values: set[str] = set()
        #: first SHORTEST characters -> the forms that begin with them
        self._forms: dict[str, _Forms] = {}
        self._known: dict[str, str] = {}
        self._lock = threading.Lock()

    def __bool__(self) -> bool:
        return bool(self._forms)

    def is_secret_key(self, key: Any) -> bool:
        """Whether a value below that pillar key is secret."""
        name = str(key).lower().replace("-", "_")
        return any(fnmatchcase(name, pattern) for pattern in self._patterns)

    def add(self, value: Any) -> None:
        """A secret: a text, or all texts within a structure (decrypted pillar). Other types are left alone."""
        for text in _texts(value):
            self._add(text)

    def add_secrets(self, *values: Any) -> None:
        """Several secrets; None counts as not given."""
        for value in values:
            self.add(value)

    def add_pillar(self, pillar: Any) -> None:
        """The values in ``pillar`` whose key matches ``secret_keys``, at any depth."""
        match pillar:
            case Mapping():
                for key, value in pillar.items():
                    if self.is_secret_key(key):
                        self.add([text for text in _texts(value) if not _PATH.match(text.strip())])
                    else:
                        self.add_pillar(value)
            case list() | tuple():
                for value in pillar:
                    self.add_pillar(value)

    def _add(self, value: str) -> None:
        value = value.strip()
        if value in self._values or not _worth_hiding(value):
            return
        pieces = [value]
        if "\n" in value:
            lines = (line.strip() for line in value.splitlines())
            pieces += [line for line in lines if len(line) >= LINE_SHORTEST and not _ARMOUR.match(line)]
        with self._lock:
            for form in {form for piece in pieces for form in _forms(piece)}:
                self._forms.setdefault(form[:SHORTEST], _Forms()).add(form)
            self._values.add(value)
            self._known = {}  # after the forms: who takes the new one sees them all

    def text(self, text: str) -> str:
        """``text`` with every secret replaced by MASK."""
        forms = self._forms
        if not forms:
            return text
        done: list[str] = []
        at = shown = 0
        last = len(text) - SHORTEST
        while at <= last:
            found = forms.get(text[at : at + SHORTEST])
            length = found.match(text, at) if found else 0
            if not length:
                at += 1
                continue
            done += (text[shown:at], MASK)
            at = shown = at + length
        return "".join((*done, text[shown:])) if done else text

    def data(self, value: Any) -> Any:
        """``value`` with secrets replaced in all texts, keys included. What holds none is returned itself, no copy."""
        return self._data(value) if self._forms else value

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
        # The returns of a fleet repeat the same few texts.
        if len(text) < SHORTEST:
            return text
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
        self._lengths: tuple[int, ...] = ()

    def add(self, form: str) -> None:
        length = len(form)
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
            if text[at:end] in self._of_length[length]:
                inside = length <= WHOLE_WORD and (text[at - 1 : at].isalnum() or text[end : end + 1].isalnum())
                if not inside:
                    return length
        return 0


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
