"""Calls the drivers: each URI is read once per command, and its value is added to the redactor.

After a failed request, a profile is not used for a while, so that many URIs of many targets do not wait for it one
after the other.
"""

from __future__ import annotations

import copy
import inspect
import logging
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NoReturn

from pushsalt import plugins
from pushsalt.errors import ConfigError, FunctionError, PushsaltError, TargetError
from pushsalt.nearest import nearest
from pushsalt.sdb import Outside, Trouble
from pushsalt.sdb.uri import is_uri, replaced, split

log = logging.getLogger(__name__)

#: Seconds for which a failed request is not repeated.
RETRY: Final = 30.0
#: The default characters of ``get_or_set_hash``, as in Salt.
CHARS: Final = "abcdefghijklmnopqrstuvwxyz0123456789!@#$%^&*(-_=+)"

_NEEDS_PROFILE: Final = "SDB uri must have a profile name as a first part of the uri before the /"


class _Failed:
    """A failed request: its error, and its time."""

    def __init__(self, message: str, hint: str) -> None:
        self.message, self.hint = message, hint
        self.until = time.monotonic() + RETRY


class Sdb:
    """The profiles of one configuration, and the values that were read. Thread-safe."""

    def __init__(
        self,
        opts: Mapping[str, Any],
        outside: Outside,
        *,
        folders: Sequence[Path] = (),
        hide: Callable[[Any], None] = lambda value: None,
    ) -> None:
        """``folders``: folders of users' drivers; ``hide`` is called with each value."""
        self._opts = opts
        self._outside = outside
        self._folders = tuple(folders)
        self._hide = hide
        self._locks: dict[str, threading.RLock] = {}
        self._guard = threading.Lock()
        self._mine = threading.local()
        self._drivers: dict[str, ModuleType] = {}
        self._context: dict[str, Any] = {}
        self.forget()

    def forget(self) -> None:
        """Forget the values, since a new job begins."""
        self._kept: dict[str, Any] = {}
        self._down: dict[str, _Failed] = {}
        self._profiles: dict[str, dict[str, Any]] = {}

    def has(self, name: str) -> bool:
        """Whether the configuration has this profile."""
        profile = self._opts.get(name)
        return isinstance(profile, Mapping) and isinstance(profile.get("driver"), str)

    # Salt's functions ------------------------------------------------------------------------------------------------

    def get(self, uri: Any, strict: bool = False) -> Any:
        """The value of a URI; None if the driver has none. Any other ``uri`` is returned unchanged.

        If ``strict``, it raises FunctionError instead. Raises TargetError if the driver cannot answer.
        """
        missing = self._missing(uri)
        if missing is None:
            return copy.deepcopy(self._value(uri))
        if strict:
            raise FunctionError("exception", missing, "sdb://profile/key", "SaltInvocationError")
        return uri

    def set(self, uri: Any, value: Any) -> Any:
        """Set a value; returns the driver's result, or False for a text that is not a URI of a profile.

        Raises TargetError, FunctionError.
        """
        if self._missing(uri) is not None:
            return False
        self._hide(value)
        return self._changed(uri, "set", value)

    def delete(self, uri: Any) -> Any:
        """Delete a value; returns and raises as ``set`` does."""
        return False if self._missing(uri) is not None else self._changed(uri, "delete")

    def get_or_set_hash(self, uri: Any, length: int = 8, chars: str = CHARS) -> Any:
        """The value of a URI; if there is none, a random text is set and returned, the same for concurrent targets."""
        missing = self._missing(uri)
        if missing is not None:
            return uri if is_uri(uri) else False
        with self._lock(split(uri)[0]):
            value = self.get(uri)
            if value is not None:
                return value
            secret = "".join(secrets.choice(chars) for _ in range(length))
            self.set(uri, secret)
            return secret

    # URIs of configuration and inventory ------------------------------------------------------------------------------

    def value(self, uri: str) -> Any:
        """The value of a URI that must have one. Raises TargetError."""
        missing = self._missing(uri)
        if missing is not None:
            profile = split(uri)[0]
            names = [name for name in self._opts if self.has(name)]
            near = nearest(profile, names, n=3)
            hint = f"did you mean {' or '.join(near)}?" if near else f"profiles are: {', '.join(names) or 'none'}"
            raise _unavailable(f"{uri}: the configuration has no sdb profile {profile!r}", hint)
        value = copy.deepcopy(self._value(uri))
        if value is None:
            raise _unavailable(f"{uri}: there is no value", "set the value in the store, or correct the URI")
        return value

    def resolve(self, value: Any) -> Any:
        """``value`` with the values in place of all URIs in it. Raises TargetError."""
        return replaced(value, is_uri, self.value)

    # calling drivers -------------------------------------------------------------------------------------------------

    def _missing(self, uri: Any) -> str | None:
        """Why a value is not a URI of a profile, in Salt's words; None if it is one."""
        if not is_uri(uri):
            return 'SDB uri must start with "sdb://"'
        name, key = split(uri)
        if not key:
            return _NEEDS_PROFILE
        return None if self.has(name) else f'SDB profile "{name}" wasnt found in the minion configuration'

    def _value(self, uri: str) -> Any:
        name, key = split(uri)
        profile = self._profile(name)  # before the lock is taken, since this may call other profiles' drivers
        with self._lock(name):
            kept = self._kept.get(uri, self._down.get(name))
            if isinstance(kept, _Failed):
                if time.monotonic() < kept.until:
                    raise _unavailable(kept.message, kept.hint)
                self._down.pop(name, None)
            elif uri in self._kept:
                return kept
            try:
                value = self._ask(uri, name, profile, "get", key)
            except TargetError as exc:
                self._kept[uri] = _Failed(exc.message, exc.hint)
                raise
            self._hide(value)
            self._kept[uri] = value
            return value

    def _changed(self, uri: str, function: str, *values: Any) -> Any:
        name, key = split(uri)
        profile = self._profile(name)
        with self._lock(name):
            for cached in [cached for cached in self._kept if split(cached)[0] == name]:  # one entry may have many keys
                del self._kept[cached]
            return self._ask(uri, name, profile, function, key, *values)

    def _ask(self, uri: str, name: str, profile: dict[str, Any], function: str, key: str, *values: Any) -> Any:
        driver = str(profile["driver"])
        call = self._function(uri, driver, function)
        wanted = inspect.signature(call).parameters
        anything = any(each.kind is each.VAR_KEYWORD for each in wanted.values())
        options = {"service": None, "profile": profile, "outside": self._outside}
        if not ({"service", "outside"} & wanted.keys()):
            options.pop("service")
        given = {word: value for word, value in options.items() if word in wanted or (anything and word == "profile")}
        try:
            return call(key, *values, **given)
        except Trouble as exc:
            text = f"{uri}: the driver {driver} cannot answer: {exc.message}"
            if exc.down:
                self._down[name] = _Failed(text, exc.hint)
            raise _unavailable(text, exc.hint) from None
        except PushsaltError as exc:
            raise _unavailable(f"{uri}: {exc}", exc.hint or "see the message") from None
        except (Exception, SystemExit) as exc:  # a user's driver may raise anything
            log.debug("%s: the driver %s raised", uri, driver, exc_info=True)
            text = f"{uri}: the driver {driver} cannot answer: {type(exc).__name__}: {exc}{plugins.blamed(exc)}"
            raise _unavailable(text, f"see the profile {name}, and the driver's file") from None

    def _function(self, uri: str, driver: str, function: str) -> Callable[..., Any]:
        module = self._driver(uri, driver)
        aliases = {public: name for name, public in getattr(module, "__func_alias__", {}).items()}
        attribute = getattr(module, aliases.get(function, function), None)
        if not callable(attribute):
            text = f"{uri}: the driver {driver} has no `{function}`"
            raise FunctionError("exception", text, "change the value in the store itself", "CommandExecutionError")
        call: Callable[..., Any] = attribute
        return call

    def _driver(self, uri: str, name: str) -> ModuleType:
        driver = self._drivers.get(name)
        if driver is not None:
            return driver
        dunders = {
            "__opts__": self._outside.opts,
            "__salt__": self._outside.salt,
            "__utils__": {},
            "__grains__": {},
            "__pillar__": {},
            "__context__": self._context,
        }
        try:
            driver = plugins.load_virtual("sdb", name, self._folders, dunders)
            if driver is None:  # list the available ones, without files whose ``__virtual__`` returns false
                own = any(plugins.own_files(name, self._folders))
                driver = plugins.load("sdb", name, () if own else self._folders)
        except ConfigError as exc:
            raise _unavailable(f"{uri}: {exc}", exc.hint) from None
        self._drivers[name] = driver
        return driver

    def _profile(self, name: str) -> dict[str, Any]:
        """The options of a profile, which may be URIs of other profiles themselves."""
        profile = self._profiles.get(name)
        if profile is None:
            profile = dict(self._opts[name])
            driver = profile["driver"]
            if driver == "vault" and isinstance(self._opts.get("vault"), Mapping):
                profile = {**profile, "vault": self._opts["vault"]}
            under_way: list[str] = self._mine.__dict__.setdefault("under_way", [])
            if name in under_way:
                circle = " -> ".join([*under_way[under_way.index(name) :], name])
                raise _unavailable(f"the sdb profiles need each other: {circle}", "one of them must do without URIs")
            under_way.append(name)
            try:
                profile = self.resolve(profile)
            finally:
                under_way.pop()
            self._profiles[name] = profile
        return profile

    def _lock(self, name: str) -> threading.RLock:
        with self._guard:
            return self._locks.setdefault(name, threading.RLock())


class NoSdb(Sdb):
    """For commands without access to secrets (``pushsalt check``): URIs are not resolved, and no value can be set."""

    def __init__(self, opts: Mapping[str, Any]) -> None:
        super().__init__(opts, Outside(_no_program))

    def _value(self, uri: str) -> Any:
        return uri

    def _changed(self, uri: str, function: str, *values: Any) -> Any:
        return True


def _no_program(argv: Sequence[str], *, input: bytes = b"") -> NoReturn:
    raise OSError("no program is run here")


def _unavailable(message: str, hint: str) -> TargetError:
    return TargetError("secret_unavailable", message, hint or "see the message")
