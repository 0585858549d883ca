"""How to log in to the NATS server: TLS and credentials, which only a server on this machine may do without."""

from __future__ import annotations

import base64
import ssl
from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

from pushsalt.errors import UsageError
from pushsalt.workers import names, nkeys
from pushsalt.workers.keys import CONTROLLER, PRIVATE, load_worker, private_text

_SCHEMES: Final = ("nats", "tls")


def connect_options(url: str, folder: Path | None) -> dict[str, Any]:
    """Arguments of nats-py's ``connect``: servers, TLS, credentials, the prefix of inboxes.

    ``folder``: what ``pushsalt worker init`` made: that of a site's worker, or ``workers`` of a project; None without
    keys. Raises UsageError for a URL with a password, and, for a server on another machine, without TLS or credentials.
    """
    servers = [_checked(each.strip()) for each in url.split(",") if each.strip()]
    if not servers:
        raise UsageError("no NATS server is named", hint="for example `workers: tls://nats.example.com:4222`")
    remote = [each for each in servers if not is_loopback(each.hostname or "")]
    options: dict[str, Any] = {"servers": [_address(each, bool(remote)) for each in servers]}
    credentials, site, ca = _credentials(folder)
    if credentials is None and remote:
        raise UsageError(
            f"{remote[0].hostname} is another machine, and there are no credentials for it",
            hint="`pushsalt worker init SITE` in the project makes them",
        )
    if remote or any(each.scheme == "tls" for each in servers):
        options["tls"] = _context(ca)
    if credentials is not None:
        options.update(_login(credentials))
        options["inbox_prefix"] = names.inbox(site) if site else "_INBOX"
    return options


#: OpenSSL's codes for certificates that are not valid yet, that have expired, and that have another name or address.
_EARLY, _EXPIRED, _OTHER = 9, 10, (62, 64)


def is_final(exc: Exception) -> bool:
    """Whether it is the same if the server is asked again."""
    return isinstance(exc, ssl.SSLCertVerificationError) or type(exc).__name__ == "NoTLSError"


def trouble(exc: Exception) -> tuple[str, str]:
    """Why a server cannot be used, and what to do."""
    if isinstance(exc, ssl.SSLCertVerificationError):
        if exc.verify_code == _EXPIRED:
            return "its certificate has expired", "renew the certificate of the server, and restart it"
        if exc.verify_code == _EARLY:
            return "its certificate is not valid yet", "compare the clocks of both machines"
        if exc.verify_code in _OTHER:
            hint = "name the server as its certificate does, or give it one with this name"
            return f"its certificate is for another name: {exc.verify_message}", hint
        hint = (
            "put the certificate of its authority into workers/ca.pem, and into ca.pem in the folder of a worker's keys"
        )
        return f"its certificate is not trusted: {exc.verify_message}", hint
    if isinstance(exc, ssl.SSLError):
        return f"TLS fails: {exc.reason or exc}", "does the server at this port speak TLS? see its log"
    if type(exc).__name__ == "NoTLSError":  # of a module that needs nats-py
        return str(exc), "give it a certificate (`tls` in its configuration): without TLS nothing is sent to it"
    if "authorization" in str(exc).lower() or "expired" in str(exc).lower():
        hint = (
            "were the keys renewed or revoked (`pushsalt worker init --renew`)? use those of the server's configuration"
        )
        return f"it refuses the credentials: {exc}", hint
    return str(exc) or "no answer", "check `workers` of the configuration, and whether the server runs"


def domain_of(url: str) -> str:
    """The domain of JetStream that a URL names (``nats://HOST?domain=NAME``); empty if none. Raises UsageError."""
    found = {_domain(_checked(each.strip())) for each in url.split(",") if each.strip()}
    if len(found) > 1:
        raise UsageError("the NATS servers have different domains", hint="write the same `?domain=` at each of them")
    return found.pop() if found else ""


def _domain(server: SplitResult) -> str:
    """The domain in the query. Raises ValueError for anything else there."""
    if not server.query:
        return ""
    key, _, name = server.query.partition("=")
    if key != "domain" or not names.is_name(name):
        raise ValueError(server.query)
    return name


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, by its text."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _checked(text: str) -> SplitResult:
    """The parts of a server's URL. Raises UsageError."""
    try:
        found = urlsplit(text if "://" in text else f"nats://{text}")
        port, _ = found.port, _domain(found)
    except ValueError:
        found, port = urlsplit("nats://"), None
    shown = text.rpartition("@")[2]
    if found.username is not None or found.password is not None:
        hint = "leave it out: workers and controllers log in with the keys of `pushsalt worker init`"
        raise UsageError(f"the URL of {shown} has a login in it", hint=hint)
    if found.scheme not in _SCHEMES or not found.hostname or port == 0 or found.path.strip("/"):
        raise UsageError(f"{shown!r} is no URL of a NATS server", hint="for example tls://nats.example.com:4222")
    return found


def _address(server: SplitResult, is_remote: bool) -> str:
    """The URL for nats-py. A server on another machine is never asked without TLS."""
    if is_remote and server.scheme == "nats" and not is_loopback(server.hostname or ""):
        hint = f"give the server a certificate, and write tls://{server.hostname}"
        raise UsageError(f"nats://{server.hostname} would send the work over the network without TLS", hint=hint)
    host = f"[{server.hostname}]" if ":" in (server.hostname or "") else server.hostname
    return f"{server.scheme}://{host}:{server.port or 4222}"


def _credentials(folder: Path | None) -> tuple[Path | None, str, Path | None]:
    """(credentials, site of a worker, the certificate of the server's authority) in a folder."""
    if folder is None:
        return None, "", None
    if (folder / "worker.yaml").is_file():
        found = load_worker(folder)
        return found.credentials, found.site, found.ca
    path, ca = folder / PRIVATE / f"{CONTROLLER}.creds", folder / "ca.pem"
    return path if path.is_file() else None, "", ca if ca.is_file() else None


def _context(ca: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=str(ca) if ca is not None else None)
    except (OSError, ssl.SSLError) as exc:
        raise UsageError(f"{ca} is no certificate: {exc}", hint="it is a PEM file of the server's authority") from None


def _login(credentials: Path) -> dict[str, Callable[..., Any]]:
    """Callbacks that show the JWT and sign the server's nonce. Raises UsageError for a damaged file."""
    text = private_text(credentials)
    jwt, user = nkeys.jwt_of(text), nkeys.user_of(text)
    return {
        "user_jwt_cb": lambda: bytearray(jwt.encode()),
        "signature_cb": lambda nonce: base64.b64encode(user.sign(nonce.encode())),
    }
