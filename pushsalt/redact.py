"""Redacts secrets by their value in all shown text: logs, diffs, errors, job output.

A ``Redactor`` collects values during a run: secrets of the inventory, decrypted values, and pillar values whose key
matches ``secret_keys``. It finds them in any text, also in the notations of JSON, URLs, shells and base64 (also with
line breaks), and each line of multi-line values (keys). On the other side of a diff, the former secret is hidden, too
(``counterparts``).

Some values are not hidden, since too much text would become unreadable: values shorter than SHORTEST, numbers, common
words (``admin``, ``password``), and values that are also a key or a user name in the same pillar. Values of up to
WHOLE_WORD characters are hidden as whole words only. Programs use the keys, ids and names of returns, so secrets in
these are only hidden if the key, id or name is a command or a URL. There, short words without a digit stay, since they
may be names of users or packages. A *path* below a key like ``private_key`` is the place of a secret, and is not
hidden; nor are public keys, certificates and ``sdb://`` URIs.

The password in a URL (``https://user:password@host``) and the body of a private key in PEM are always hidden, whatever
their value. Only in a text that is the whole return of a function a private key is shown (``answer``), since it was
requested.
"""

from __future__ import annotations

import base64
import contextlib
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import translate
from typing import Any
from urllib.parse import unquote

from pushsalt.counterparts import MASK, PAIRS, hide_counterparts, hide_pair, texts
from pushsalt.model import Explained
from pushsalt.privatekeys import IN_KEYS, KEY, hide_keys
from pushsalt.secretforms import SHORTEST, base64_parts, forms

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
#: Keys that match one of the globs by accident; they are secret only if ``secret_keys`` names them exactly.
_NO_SECRETS = frozenset(f"{word}_pass" for word in ("proxy", "fastcgi", "uwsgi", "scgi", "grpc", "memcached"))
WHOLE_WORD = 8
#: A line of a multi-line secret is hidden from this length on.
LINE_SHORTEST = 10
#: In base64, the lines of longer secrets are found by decoding, not by their forms.
MANY_LINES = 100
#: Redacted texts with more characters are not cached.
LONG = 64 * 1024
#: Number of cached texts.
CACHE_LIMIT = 100_000

_COMMON = frozenset(
    """true false none null yes no on off enabled disabled default undefined unset empty changeme change_me
    root admin administrator user username guest test testing example localhost nobody daemon system service server
    nginx apache httpd tomcat haproxy mysql mariadb postgres postgresql mongodb redis memcached rabbitmq elastic kibana
    grafana prometheus zabbix nagios icinga jenkins gitlab backup deploy deployer ansible vagrant ubuntu debian centos
    fedora oracle tester manager monitor support default_user www-data sysadmin webmaster postmaster
    client password passwd passphrase secret token private public string present absent managed running installed latest
    disable enable required optional internal external production staging development""".split()  # noqa: SIM905 (a list of words reads better so)
)
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"[-+]?[0-9][0-9.,:_ -]*\Z")
_PATH = re.compile(r"(?:salt://|~/|/(?:etc|var|usr|opt|srv|home|root|run|tmp|mnt|data|boot|dev|sys|proc)/)[\w.@+/-]*\Z")
_PUBLIC = re.compile(
    r"(?:ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-\S+|sk-\S+) AAAA|-----BEGIN [A-Z0-9 ]*(?:PUBLIC KEY|CERTIFICATE)"
)
#: The part of a URL before its password, and the password. The pattern begins with rare characters, since texts from
#: targets may be long.
_LOGIN = re.compile(r"""(://[^\s/:@'"<>\\()\[\]{}]*:)([^\s/@'"<>\\]+)(?=@)""")
#: base64, also if programs break it into lines; no such character precedes it
_B64 = re.compile(
    r"(?<![\w+/=])[A-Za-z0-9+/]{16,}={0,2}(?:(?:[ \t\r]*\n|\\n)[ \t]*[+-]?[A-Za-z0-9+/]+={0,2}(?=\s|\\n|\Z))*"
)
#: most levels of nested base64
_DEEPEST = 3
#: text before a short secret that ends with a letter or digit and is not part of a word
_ESCAPE = re.compile(r"(?:\\[abefnrtv]|%[0-9A-Fa-f]{2}|\\x[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\x1b\[[0-9;]*[mK])\Z")
#: names of users, packages and SLS; and keys, ids and paths, but not commands and URLs
_NAME = re.compile(r"[A-Za-z_][\w.@-]{0,31}\Z")
_IDENTIFIER = re.compile(r"(?!.*://)[\w.@/:+~,-]*\Z")
#: changes between lower case, upper case and digits; a random value has many
_TURN = re.compile(r"(?<=[a-z])[A-Z0-9]|(?<=[A-Z])[0-9]|(?<=[0-9])[A-Za-z]")
_MOST_TURNS = 3
#: keys of a state's return whose values are names
_NAMED = frozenset(("__id__", "__sls__", "name"))
#: keys of pillar whose values are names
_NAMES = frozenset(("user", "username", "users", "name", "login", "owner", "group", "groups", "account", "role"))
#: separates module, id, name and function in the key of a state's return
TAG_SEPARATOR = "_|-"
_ARMOUR = re.compile(r"-----(BEGIN|END) [A-Z0-9 ]+-----\Z")

#: types that contain no text; most values in returns have one of them
_WITHOUT_TEXT = frozenset((type(None), bool, int, float))


class Redactor:
    """Replaces secret values. Without values it takes no time; any thread may add values at any time."""

    def __init__(self, secret_keys: Iterable[str] = SECRET_KEYS) -> None:
        self._keys = frozenset(str(pattern).lower().replace("-", "_") for pattern in secret_keys)
        self._fits = re.compile("|".join(map(translate, sorted(self._keys))) or r"(?!)").match
        self._values: set[tuple[str, bool]] = set()
        #: first SHORTEST characters -> the forms that begin with them
        self._forms: dict[str, _Forms] = {}
        #: the same for secrets that are hidden in names that are commands or URLs
        self._in_commands: dict[str, _Forms] = {}
        self._known: dict[str, str] = {}
        self._known_names: dict[str, str] = {}
        #: the number of keys of ``_forms`` when the pattern of ``_likely`` was made, and the pattern
        self._seen: tuple[int, re.Pattern[str]] | None = None
        self._lock = threading.Lock()

    def __bool__(self) -> bool:
        return bool(self._forms)

    def is_secret_key(self, key: Any) -> bool:
        """Whether a value below that pillar key is secret."""
        name = str(key).lower().replace("-", "_")
        return name in self._keys or (name not in _NO_SECRETS and self._fits(name) is not None)

    def add(self, value: Any) -> None:
        """Add a secret: a text, or all texts in a structure (decrypted pillar). Other types are ignored."""
        for text in texts(value):
            self._add(text)

    @property
    def version(self) -> int:
        """A number that grows with each secret. Data that was redacted at this version need not be redacted again."""
        return len(self._values)

    def secrets(self) -> list[str]:
        """The secrets that were added, for a plan file."""
        return sorted({value for value, _ in self._values})

    def add_secrets(self, *values: Any) -> None:
        """Add several secrets; None is ignored."""
        for value in values:
            self.add(value)

    def add_pillar(self, pillar: Any) -> None:
        """Add the values in ``pillar`` whose key matches ``secret_keys``, at any depth, and passwords in URLs."""
        self.add(self.secrets_of(pillar))

    def secrets_of(self, pillar: Any) -> list[str]:
        """The secrets that ``add_pillar`` adds."""
        secrets = list(self._secrets(pillar))
        if any(map(is_name, secrets)):
            names = set(_names(pillar))
            secrets = [text for text in secrets if text not in names]
        return secrets

    def _secrets(self, pillar: Any) -> Iterator[str]:
        match pillar:
            case Mapping():
                for key, value in pillar.items():
                    if self.is_secret_key(key):
                        yield from (text for text in texts(value) if not _is_open(text.strip()))
                    else:
                        yield from self._secrets(value)
            case list() | tuple():
                for value in pillar:
                    yield from self._secrets(value)
            case str() if IN_KEYS in pillar:
                yield from (match[0] for match in KEY.finditer(pillar))
            case str() if "://" in pillar:
                for login in _LOGIN.finditer(pillar):
                    yield from (login[2], unquote(login[2]))

    def _add(self, given: str) -> None:
        value = given.strip()
        anywhere = len(given) > WHOLE_WORD  # lengths include white space, which a program may have stripped
        if (value, anywhere) in self._values or not _worth_hiding(value):
            return
        pieces = [value]
        if "\n" in value:
            lines = (line.strip() for line in value.splitlines())
            pieces += [line for line in lines if len(line) >= LINE_SHORTEST and not _is_ordinary(line)]
        with self._lock:
            for table in (self._forms,) if _is_short_name(value) else (self._forms, self._in_commands):
                for piece in pieces:
                    for form in set(forms(piece)):
                        table.setdefault(form[:SHORTEST], _Forms()).add(form, anywhere)
                    for form in set(base64_parts(piece)) if len(pieces) <= MANY_LINES else ():
                        table.setdefault(form[:SHORTEST], _Forms()).add(form, True)
            self._values.add((value, anywhere))
            self._known, self._known_names = {}, {}  # after the forms, so that new entries use all of them

    def text(self, text: str) -> str:
        """``text`` in which MASK replaces each secret."""
        hidden = self._encoded(text, _DEEPEST) if self._forms else text
        hidden = hide_keys(_hide_logins(hidden))
        return text if hidden == text else hide_counterparts(hidden)

    def _encoded(self, text: str, depth: int) -> str:
        """The text without secrets, also without those in its base64 parts."""
        hidden = hide_keys(self._by_value(text, self._forms))
        return _B64.sub(lambda found: self._block(found[0], depth), hidden)

    def _block(self, block: str, depth: int) -> str:
        """A part in base64, completely hidden if it has a secret. In a diff, each of its lines begins with a sign."""
        lines = [line.strip() for line in block.replace("\\n", "\n").split("\n")]
        for joined in dict.fromkeys(("".join(lines), "".join(line[line[:1] in "+-" :] for line in lines))):
            plain = ""
            with contextlib.suppress(ValueError):  # in a diff, with its signs
                plain = base64.b64decode(joined[: len(joined) // 4 * 4]).decode("utf-8", "replace")
            is_secret = len(lines) > 1 and self._by_value(joined, self._forms) != joined
            if is_secret or (depth and self._encoded(plain, depth - 1) != plain):
                return "\n".join((line[:1] if line[:1] in "+-" else "") + MASK for line in lines)
        return block

    def name(self, text: str) -> str:
        """A key, an id or a name. Only in commands and URLs secrets are replaced, except short words."""
        if _IDENTIFIER.match(text):
            return text
        return _cached(self._known_names, text, self._hidden_name)

    def _hidden_name(self, text: str) -> str:
        parts = (
            part if _IDENTIFIER.match(part) else _hide_logins(self._by_value(part, self._in_commands))
            for part in text.split(TAG_SEPARATOR)
        )
        return TAG_SEPARATOR.join(parts)

    def _by_value(self, text: str, forms: dict[str, _Forms]) -> str:
        if not forms:
            return text
        done: list[str] = []
        at = shown = 0
        last = len(text) - SHORTEST
        likely = self._likely() if len(text) > LONG else None  # from all secrets: for names some places too many
        while at <= last:
            if likely is not None:
                match = likely.search(text, at)
                if match is None:
                    break
                at = match.start()
            candidates = forms.get(text[at : at + SHORTEST])
            length = candidates.match(text, at) if candidates else 0
            if not length:
                at += 1
                continue
            done += (text[shown:at], MASK)
            at = shown = at + length
            if len(done) > CACHE_LIMIT:
                done = ["".join(done)]
        return "".join((*done, text[shown:])) if done else text

    def _likely(self) -> re.Pattern[str]:
        """A pattern for the possible beginnings of secrets, from the characters at each of their first positions."""
        prefixes = list(self._forms)
        if self._seen is None or self._seen[0] != len(prefixes):
            classes = ({prefix[place] for prefix in prefixes} for place in range(SHORTEST))
            pattern = "".join(f"[{''.join(map(re.escape, sorted(chars)))}]" for chars in classes)
            self._seen = len(prefixes), re.compile(pattern)
        return self._seen[1]

    def data(self, value: Any) -> Any:
        """``value`` with secrets replaced in all texts, in keys as by ``name``; other parts are not copied."""
        return self._data(value)

    def answer(self, value: Any) -> Any:
        """The return of a function, redacted as by ``data``; a text may show private keys, which were requested."""
        if not isinstance(value, str) or IN_KEYS not in value:
            return self._data(value)
        parts, at = [], 0
        for match in KEY.finditer(value):
            body = match[0] if self._by_value(match[0], self._forms) == match[0] else self.text(match[0])
            parts += [self.text(value[at : match.start()]), body]
            at = match.end()
        return "".join((*parts, self.text(value[at:])))

    def _data(self, value: Any) -> Any:
        kind = value.__class__
        if kind is str:
            return self._remembered(value)
        if kind in _WITHOUT_TEXT:
            return value
        if kind is dict:
            return self._mapping(value)
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
                return self._mapping(value)
            case list() | tuple() | set() | frozenset():
                items = [self._data(item) for item in value]
                same = all(new is old for new, old in zip(items, value, strict=True))
                return value if same else type(value)(items)
            case _:
                return value

    def _mapping(self, value: Mapping[Any, Any]) -> Mapping[Any, Any]:
        changed = False
        result: dict[Any, Any] = {}
        is_state = "__id__" in value or "__run_num__" in value
        for key, item in value.items():
            name = self.name(key) if isinstance(key, str) else self._data(key)
            named = is_state and key in _NAMED and isinstance(item, str)
            new = self.name(item) if named else self._data(item)
            changed = changed or name is not key or new is not item
            while name in result:
                name = f"{name}*"
            result[name] = new
        if not changed:
            return value
        for pair in PAIRS:
            if all(side in result for side in pair):
                result.update(zip(pair, hide_pair(*(result[side] for side in pair)), strict=True))
        return result

    def _remembered(self, text: str) -> str:
        return text if len(text) < SHORTEST else _cached(self._known, text, self.text)


def _cached(cache: dict[str, str], text: str, hide: Callable[[str], str]) -> str:
    """The redacted text, cached.

    Returns of many targets repeat a few texts. Long texts are not cached.
    """
    hidden = None if len(text) > LONG else cache.get(text)
    if hidden is None:
        hidden = hide(text)
        if len(text) <= LONG:
            if len(cache) > CACHE_LIMIT:
                cache.clear()
            cache[text] = hidden
    return text if hidden == text else hidden


class _Forms:
    """Forms with the same beginning, as sets by length, so that many similar passwords take no longer than a few."""

    def __init__(self) -> None:
        self._of_length: dict[int, set[str]] = {}
        #: forms of up to WHOLE_WORD characters that are also hidden inside words
        self._anywhere: set[str] = set()
        self._lengths: tuple[int, ...] = ()

    def add(self, form: str, anywhere: bool) -> None:
        length = len(form)
        if anywhere and length <= WHOLE_WORD:
            self._anywhere.add(form)
        forms = self._of_length.get(length)
        if forms is not None:
            forms.add(form)
            return
        self._of_length[length] = {form}
        self._lengths = tuple(sorted(self._of_length, reverse=True))  # after the set, since readers use both

    def match(self, text: str, at: int) -> int:
        """The length of the longest secret at ``at``, or 0."""
        for length in self._lengths:
            end = at + length
            form = text[at:end]
            if form in self._of_length[length] and (
                length > WHOLE_WORD or form in self._anywhere or not _is_part_of_a_word(text, at, end)
            ):
                return length
        return 0


def _is_part_of_a_word(text: str, at: int, end: int) -> bool:
    """Whether ``text[at:end]`` is part of a longer word, not counting letters of escape sequences."""
    if end < len(text) and text[end - 1 : end + 1].isalnum():
        return True
    return at > 0 and text[at - 1 : at + 1].isalnum() and not _ESCAPE.search(text[max(0, at - 12) : at])


def is_name(value: str) -> bool:
    """Whether a text may be the name of a user, a package or an SLS."""
    return bool(_NAME.match(value)) and len(_TURN.findall(value)) <= _MOST_TURNS


def _is_short_name(value: str) -> bool:
    """Whether a value may be an ordinary word in a command; few passwords are."""
    return len(value) <= WHOLE_WORD and is_name(value) and not any(map(str.isdigit, value))


def has_mask(data: Any) -> bool:
    """Whether a structure contains a mask, of pushsalt or of another program."""
    return any(MASK in text for text in texts(data))


def _names(pillar: Any, named: bool = False) -> Iterator[str]:
    """All keys of a pillar, and the values of keys such as ``user``."""
    match pillar:
        case Mapping():
            for key, value in pillar.items():
                yield str(key)
                yield from _names(value, str(key).lower() in _NAMES)
        case list() | tuple():
            for value in pillar:
                yield from _names(value, named)
        case str() if named:
            yield pillar


def _hide_logins(text: str) -> str:
    return _LOGIN.sub(rf"\1{MASK}", text) if "://" in text and "@" in text else text


def _is_open(value: str) -> bool:
    """Whether a value below a secret key is not secret: a path, or public data."""
    return bool(_PATH.match(value) or (_PUBLIC.match(value) and "PRIVATE" not in value))


def _is_ordinary(line: str) -> bool:
    """Whether a line of a secret also occurs in many other texts: ``enabled = true``, the first line of a key."""
    return bool(_ARMOUR.match(line)) or all(_NUMBER.match(w) or w.lower() in _COMMON for w in _WORD.findall(line))


def _worth_hiding(value: str) -> bool:
    plain = value.lower() in _COMMON or _NUMBER.match(value) or value.startswith("sdb://")
    return len(value) >= SHORTEST and not plain
