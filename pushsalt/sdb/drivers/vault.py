"""Secrets of HashiCorp Vault or OpenBao, key/value engines of both versions. Salt: saltext.vault (salt.sdb.vault).

::

    vault:                                      as in Salt; a profile may override its options
      server: {url: "https://vault.example:8200", namespace: team, verify: /etc/ssl/vault-ca.pem}
      auth: {method: approle, role_id: ..., secret_id: sdb://osenv/VAULT_SECRET_ID}
    myvault: {driver: vault}

    sdb://myvault/secret/web/db?password        the key `password` of secret/web/db
    sdb://myvault/secret/web/db/password        the same, or else all keys of that path

The path has no ``data/`` of version 2. ``auth`` is ``method: token`` with ``token``, or ``approle`` with
``role_id``, ``secret_id`` and ``approle_mount``. With ``patch: true`` setting a key keeps the other keys of its secret.
Tokens of AppRoles are kept in memory until they expire.
"""

from __future__ import annotations

import json
import time
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pushsalt.sdb import Trouble, seconds
from pushsalt.sdb.http import Answer, checked, request, without_password

__func_alias__ = {"set_": "set"}

#: A token is not used in the last seconds before it expires.
_MARGIN: Final = 10.0

#: (server, namespace, mount, role, secret id) -> (token, time when it expires)
_tokens: dict[tuple[str, ...], tuple[str, float]] = {}
#: (server, namespace) -> mount of a key/value engine -> its version
_mounts: dict[tuple[str, str], dict[str, int]] = {}


def get(key: str, service: str | None = None, profile: Mapping[str, Any] | None = None) -> Any:
    path, name, given = _split(key)
    vault = _Vault.of(profile or {})
    secret = vault.read(path)
    if secret is not None:
        return secret[0].get(name)
    values = None if given else vault.read(f"{path}/{name}")
    return None if values is None else values[0]


def set_(key: str, value: Any, service: str | None = None, profile: Mapping[str, Any] | None = None) -> bool:
    path, name, _ = _split(key)
    vault = _Vault.of(profile or {})
    before = vault.read(path) if (profile or {}).get("patch") else None
    vault.write(path, {**(before[0] if before else {}), name: value}, before[1] if before else None)
    return True


def delete(key: str, service: str | None = None, profile: Mapping[str, Any] | None = None) -> bool:
    """Delete a key; with the last key, the secret is deleted."""
    path, name, _ = _split(key)
    vault = _Vault.of(profile or {})
    secret = vault.read(path)
    if secret is None or name not in secret[0]:
        return False
    rest = {each: value for each, value in secret[0].items() if each != name}
    if rest:
        vault.write(path, rest, secret[1])
    else:
        vault.remove(path)
    return True


def _split(key: str) -> tuple[str, str, bool]:
    """The path of a secret, the key in it, and whether a ``?`` preceded the key."""
    given = "?" in key
    path, _, name = key.rpartition("?" if given else "/")
    parts = path.strip("/").split("/")
    if not path or not name or not all(parts) or not {".", ".."}.isdisjoint([*parts, name]):
        raise Trouble(f"{key!r} is no path and key", "write sdb://PROFILE/MOUNT/PATH?KEY")
    return path.strip("/"), name, given


@dataclass(frozen=True)
class _Vault:
    """One server with the options of one profile."""

    url: str
    namespace: str
    verify: Any
    limit: float
    auth: Mapping[str, Any] = field(repr=False)

    @classmethod
    def of(cls, profile: Mapping[str, Any]) -> _Vault:
        """The server with the options of a profile. Raises Trouble for invalid options."""
        general = profile.get("vault")
        general = general if isinstance(general, Mapping) else {}
        places = (profile, profile.get("server"), general.get("server"), general)
        maps = [place for place in places if isinstance(place, Mapping)]

        def option(name: str, default: Any) -> Any:
            return next((place[name] for place in maps if place.get(name) not in (None, "")), default)

        auth = profile.get("auth") or general.get("auth")
        if not isinstance(auth, Mapping):
            raise Trouble("there is no `auth`", "set `vault: {auth: {method: token, token: …}}`, or it in the profile")
        url = checked(option("url", ""), "`url` of vault").rstrip("/")
        verify = option("verify", True)
        if verify == "default":
            verify = True
        return cls(url, str(option("namespace", "")).strip("/"), verify, seconds(profile), auth)

    # secrets ---------------------------------------------------------------------------------------------------------

    def read(self, path: str) -> tuple[dict[str, Any], int | None] | None:
        """(secret, version if there is one); None for a missing secret."""
        mount, version = self._mount(path)
        answer = self._request("GET", _at(path, mount, "data") if version == 2 else path)
        if answer.status == 404:
            return None
        data = self._content(answer, path).get("data")
        if version == 2 and isinstance(data, Mapping):
            number = (data.get("metadata") or {}).get("version")
            inner = data.get("data")
            return (dict(inner), number) if isinstance(inner, Mapping) else None
        return (dict(data), None) if isinstance(data, Mapping) else None

    def write(self, path: str, data: dict[str, Any], before: int | None) -> None:
        """Write a secret. ``before``: the version to replace; if the current one differs, Vault refuses."""
        mount, version = self._mount(path)
        body: dict[str, Any] = data
        if version == 2:
            body = {"data": data} if before is None else {"data": data, "options": {"cas": before}}
        self._content(self._request("POST", _at(path, mount, "data") if version == 2 else path, body), path)

    def remove(self, path: str) -> None:
        mount, version = self._mount(path)
        self._content(self._request("DELETE", _at(path, mount, "data") if version == 2 else path), path)

    def _mount(self, path: str) -> tuple[str, int]:
        """(mount, version) of the engine of a path; the version is 1 if Vault does not tell it."""
        mounts = _mounts.setdefault((self.url, self.namespace), {})
        for mount, version in mounts.items():
            if f"{path}/".startswith(mount):
                return mount, version
        answer = self._request("GET", f"sys/internal/ui/mounts/{path}")
        if answer.status != 200:
            return "", 1
        data = self._content(answer, path).get("data")
        data = data if isinstance(data, Mapping) else {}
        mount = str(data.get("path") or "")
        version = 2 if str((data.get("options") or {}).get("version")) == "2" else 1
        if mount and f"{path}/".startswith(mount):
            mounts[mount] = version
        return mount, version

    def _content(self, answer: Answer, path: str) -> Mapping[str, Any]:
        """The data of a successful answer. Raises Trouble for any other."""
        if answer.status == 204:
            return {}
        try:
            data = json.loads(answer.data)
        except (ValueError, RecursionError):
            data = None
        if answer.status == 200 and isinstance(data, Mapping):
            return data
        errors = data.get("errors") if isinstance(data, Mapping) else None
        words = "; ".join(str(each).strip() for each in errors)[:300] if isinstance(errors, list) else ""
        where = without_password(self.url) + (f", namespace {self.namespace}" if self.namespace else "")
        hint = {
            403: f"does a policy of this login allow it on {path}?",
            503: "the server is sealed or not ready: unseal it",
        }.get(answer.status, "see the server's log")
        down = answer.status >= 500
        raise Trouble(f"vault at {where}: HTTP {answer.status}: {words or 'no reason given'}", hint, down=down)

    # the login -------------------------------------------------------------------------------------------------------

    def _request(self, method: str, path: str, body: Any = None) -> Answer:
        """Send a request. If an AppRole's token is no longer accepted, a new one is fetched, once."""
        answer = self._sent(method, path, body, self._token())
        if answer.status == 403 and self._is_approle and self._name in _tokens:
            del _tokens[self._name]
            answer = self._sent(method, path, body, self._token())
        return answer

    @property
    def _is_approle(self) -> bool:
        return self.auth.get("method") == "approle"

    @property
    def _name(self) -> tuple[str, ...]:
        words = ("approle_mount", "role_id", "secret_id")
        return self.url, self.namespace, *(str(self.auth.get(word) or "") for word in words)

    def _token(self) -> str:
        method = self.auth.get("method") or "token"
        if method == "token":
            token = self.auth.get("token")
            if not isinstance(token, str) or not token.strip():
                raise Trouble("`auth` has no `token`", "token: sdb://osenv/VAULT_TOKEN, for instance")
            return token.strip()
        if method != "approle":
            raise Trouble(f"`auth: method: {method}` is not supported", "method: token or approle")
        kept = _tokens.get(self._name)
        if kept is None or time.monotonic() > kept[1]:
            kept = _tokens[self._name] = self._login()
        return kept[0]

    def _login(self) -> tuple[str, float]:
        mount = str(self.auth.get("approle_mount") or "approle").strip("/")
        body = {name: str(self.auth[name]) for name in ("role_id", "secret_id") if self.auth.get(name)}
        if "role_id" not in body:
            raise Trouble("`auth` has no `role_id`", "set role_id, and secret_id where the role needs one")
        try:
            data = self._content(self._sent("POST", f"auth/{mount}/login", body, ""), f"auth/{mount}/login")
            auth = data["auth"]
            token, lease = auth["client_token"], float(auth.get("lease_duration") or 0)
        except Trouble as exc:
            hint = exc.hint if exc.down else "are role_id and secret_id right, and still good?"
            raise Trouble(f"the login fails: {exc.message}", hint, down=True) from None
        except (KeyError, TypeError, ValueError, AttributeError):
            raise Trouble("the login returned no token", "is it a Vault server?", down=True) from None
        return str(token), time.monotonic() + (max(lease - _MARGIN, lease / 2) if lease else 86400.0)

    def _sent(self, method: str, path: str, body: Any, token: str) -> Answer:
        if any(not 0x20 < ord(char) < 0x7F for char in token + self.namespace):
            raise Trouble("a token or namespace has a space or control character in it", "correct it")
        headers = {"X-Vault-Request": "true", "Accept": "application/json"}
        if token:
            headers["X-Vault-Token"] = token
        if self.namespace:
            headers["X-Vault-Namespace"] = self.namespace + "/"
        data = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            data = json.dumps(body).encode()
        url = f"{self.url}/v1/{urllib.parse.quote(path, safe='/')}"
        return request(method, url, headers=headers, body=data, limit=self.limit, verify=self.verify)


def _at(path: str, mount: str, kind: str) -> str:
    return f"{mount}{kind}/{path.removeprefix(mount)}"
