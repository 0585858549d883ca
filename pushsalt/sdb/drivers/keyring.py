"""The user's key ring, by the Python package keyring: Secret Service, KWallet, macOS ... Salt: salt.sdb.keyring_db.

::

    ring: {driver: keyring, service: pushsalt}        sdb://ring/web1
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pushsalt.sdb import Trouble, seconds
from pushsalt.sdb.bounded import within

__func_alias__ = {"set_": "set"}


def get(key: str, service: str | None = None, profile: Mapping[str, Any] | None = None) -> str | None:
    password: str | None = _call("get_password", profile, _service(profile, service), key)
    return password


def set_(key: str, value: Any, service: str | None = None, profile: Mapping[str, Any] | None = None) -> bool:
    if not isinstance(value, str):
        raise Trouble("a key ring keeps text", "set it to text")
    _call("set_password", profile, _service(profile, service), key, value)
    return True


def delete(key: str, service: str | None = None, profile: Mapping[str, Any] | None = None) -> bool:
    if get(key, service, profile) is None:
        return False
    _call("delete_password", profile, _service(profile, service), key)
    return True


def _service(profile: Mapping[str, Any] | None, service: str | None) -> str:
    named = (profile or {}).get("service") or service
    if not named:
        raise Trouble("the profile names no `service`", "service: the name under which the key ring has the entries")
    return str(named)


def _call(function: str, profile: Mapping[str, Any] | None, *args: str) -> Any:
    """Call a function of keyring. Raises Trouble for any exception, since its backends have their own classes."""
    try:
        import keyring
    except ImportError:
        raise Trouble("there is no Python package keyring", "pip install 'pushsalt[keyring]'", down=True) from None
    call: Callable[..., Any] = getattr(keyring, function)
    hint = "unlock the key ring; `keyring --list-backends` says which there are"
    try:
        return within(seconds(profile or {}), lambda: call(*args), "the key ring", hint)
    except Trouble:
        raise
    except Exception as exc:
        raise Trouble(f"the key ring: {type(exc).__name__}: {exc}", hint, down=True) from None
