"""``pushsalt worker init``: keys, NATS credentials and permissions of a site, and a server configuration.

The operator, the account and its users follow NATS's model: the operator's key signs the account, the account's key
signs users. One account has all sites of a project. ``keys.py`` has the layout of the folders.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pushsalt.cache.store import private_dir, write_atomic
from pushsalt.errors import UsageError
from pushsalt.workers import names, nkeys
from pushsalt.workers.keys import CONTROLLER, PRIVATE, private_text
from pushsalt.workers.nkeys import NKey
from pushsalt.workers.seal import PrivateKeys

#: What controllers may use; the account has nothing else.
CONTROLLER_SUBJECTS: Final = ("pushsalt.>", "$JS.>", "$KV.>", "$O.>", "_INBOX.>")

_SERVER: Final = """\
# A nats-server for pushsalt's workers: `nats-server -c {file}`. Only users with a JWT of this account may log in;
# `pushsalt worker init` and `worker revoke` write this file again (then restart the server).
#
# Beyond this machine: set `listen` to an address of the network, and TLS. Clients refuse a server without TLS there.
listen: "127.0.0.1:4222"
# tls {{
#   cert_file: "/etc/nats/server.pem"
#   key_file: "/etc/nats/server-key.pem"
# }}
server_name: pushsalt
# leafnodes {{                     # for leaf nodes: servers near the workers of a site, see worker-SITE/leaf.conf
#   listen: "0.0.0.0:7422"
#   tls {{ cert_file: "/etc/nats/server.pem", key_file: "/etc/nats/server-key.pem" }}
# }}
jetstream {{
  store_dir: "{store}"
  domain: {domain}
}}
{accounts}"""
#: The domain of JetStream in the generated configurations.
DOMAIN: Final = "pushsalt"

_LEAF: Final = """\
# A nats-server near the workers of the site {site}, as a leaf of the project's server: `nats-server -c {file}`.
# They connect with it: `pushsalt worker --workers 'nats://127.0.0.1:4222?domain={domain}'`.
listen: "127.0.0.1:4222"
server_name: "pushsalt-{site}"
leafnodes {{
  remotes: [
    # where `leafnodes` of workers/nats.conf listens; beyond this machine tls://HOST:7422
    {{ url: "nats-leaf://127.0.0.1:7422", credentials: "{credentials}", account: {account} }}
  ]
}}
{accounts}"""

_ACCOUNTS: Final = """\
operator: "{operator}"
system_account: {system}
resolver: MEMORY
resolver_preload {{
  {system}: "{system_jwt}"
  {account}: "{account_jwt}"
}}
"""


@dataclass(frozen=True)
class Made:
    """What ``init`` made. ``told``: the file in the project with the site's public keys, or None."""

    site: str
    folder: Path
    told: Path | None
    server: Path
    files: list[Path] = field(default_factory=list)


class Authority:
    """The keys that sign: operator, account, system account, and those of the controllers.

    ``home``: ``workers`` of a project, or, outside of a project, the same in the site's folder.
    """

    def __init__(self, home: Path) -> None:
        self.home = home
        self.private = home / PRIVATE

    def make(self) -> None:
        """Make what is missing. Raises UsageError if the folder is not private."""
        try:
            self.home.mkdir(mode=0o755, parents=True, exist_ok=True)
            private_dir(self.private)
            write_atomic(self.private / ".gitignore", b"*\n")
        except OSError as exc:
            text = f"{self.private} cannot be used: {exc.strerror or exc}"
            raise UsageError(text, hint="it must be your own folder, with mode 0700") from None
        kinds = {"operator": nkeys.OPERATOR, "account": nkeys.ACCOUNT, "system": nkeys.ACCOUNT}
        for name, kind in kinds.items():
            if not self._seed(name).exists():
                write_atomic(self._seed(name), f"{NKey.new(kind).seed}\n".encode())
        key = self.private / f"{CONTROLLER}.key"
        if not key.exists():
            write_atomic(key, PrivateKeys.new().text().encode())
        public = PrivateKeys.parse(private_text(key), key).public
        self.public = public.text("public keys of the project's controllers").encode()
        write_atomic(self.home / f"{CONTROLLER}.pub", self.public, 0o644)
        credentials = self.private / f"{CONTROLLER}.creds"
        if not credentials.exists():
            text, _ = self.user(CONTROLLER, list(CONTROLLER_SUBJECTS), list(CONTROLLER_SUBJECTS))
            write_atomic(credentials, text.encode())

    def _seed(self, name: str) -> Path:
        return self.private / f"{name}.nk"

    def key(self, name: str) -> NKey:
        """The key ``operator``, ``account`` or ``system``. Raises UsageError."""
        path = self._seed(name)
        try:
            return NKey.parse(private_text(path))
        except ValueError as exc:
            raise UsageError(f"{path} is damaged: {exc}", hint="restore it from a backup") from None

    def user(self, name: str, publish: list[str], subscribe: list[str]) -> tuple[str, str]:
        """(text of a credentials file, public key) of a new user of the account."""
        user = NKey.new(nkeys.USER)
        jwt = nkeys.user_jwt(self.key("account"), user.public, name, publish, subscribe)
        return nkeys.credentials(jwt, user), user.public

    # --- users of sites, and those that were revoked

    def users(self, site: str) -> list[str]:
        """The public keys of the users of a site that were issued and not revoked."""
        path = self.private / f"{site}.users"
        return path.read_text().split() if path.is_file() else []

    def issued(self, site: str, *users: str) -> None:
        """Record users of a site."""
        write_atomic(self.private / f"{site}.users", "\n".join([*self.users(site), *users, ""]).encode())

    def revoke(self, site: str) -> int:
        """Revoke all users of a site. Returns their number."""
        found, now = self.users(site), int(time.time()) + 1  # also users of this second
        lines = [f"{public} {now}" for public in found]
        path = self.private / "revoked"
        before = path.read_text().splitlines() if path.is_file() else []
        write_atomic(path, "\n".join([*before, *lines, ""]).encode())
        (self.private / f"{site}.users").unlink(missing_ok=True)
        return len(found)

    def revoked(self) -> dict[str, int]:
        """Public keys of revoked users -> Unix time."""
        path = self.private / "revoked"
        lines = path.read_text().splitlines() if path.is_file() else []
        return {words[0]: int(words[1]) for line in lines if len(words := line.split()) == 2}

    def write_server(self, file: Path) -> None:
        """Write the configuration of a server, with the account as it is now."""
        store, accounts = file.parent.absolute() / "jetstream", _ACCOUNTS.format(**self._claims())
        text = _SERVER.format(file=file, store=store, domain=DOMAIN, accounts=accounts)
        write_atomic(file, text.encode(), 0o600)

    def write_leaf(self, site: str, folder: Path) -> None:
        """Write the configuration of a leaf node for a site, and the credentials with which it logs in to the hub."""
        file, credentials = folder / "leaf.conf", folder.absolute() / "leaf.creds"
        publishes, subscribes = names.leaf_publishes(site, DOMAIN), names.worker_subscribes(site)
        text, user = self.user(f"{site} leaf", publishes, subscribes)
        self.issued(site, user)
        write_atomic(credentials, text.encode())
        claims = self._claims()
        accounts = _ACCOUNTS.format(**claims)
        places = {"site": site, "file": file, "credentials": credentials, "account": claims["account"]}
        write_atomic(file, _LEAF.format(**places, domain=DOMAIN, accounts=accounts).encode(), 0o600)

    def _claims(self) -> dict[str, str]:
        operator, account, system = (self.key(name) for name in ("operator", "account", "system"))
        return {
            "operator": nkeys.operator_jwt(operator, "pushsalt", system.public),
            "system": system.public,
            "system_jwt": nkeys.account_jwt(operator, system.public, "system", {}, jetstream=False),
            "account": account.public,
            "account_jwt": nkeys.account_jwt(operator, account.public, "pushsalt", self.revoked(), jetstream=True),
        }


def init(site: str, folder: Path, project: Path | None, url: str | None, *, renew: bool = False) -> Made:
    """Make the keys of a site in ``folder``; tell the project, if there is one.

    ``renew``: replace the site's keys, and revoke the former ones. Raises UsageError if the folder or keys of the site
    are there already.
    """
    names.check_site(site)
    told = project / "workers" / f"{site}.pub" if project is not None else None
    if site == CONTROLLER:
        raise UsageError(f"{site} cannot be the name of a site", hint="choose another name")
    if not renew and (os.path.lexists(folder) or (told is not None and told.exists())):
        there = folder if os.path.lexists(folder) else told
        text = f"{there} is there already"
        raise UsageError(text, hint="--renew makes new keys for the site, and revokes the former ones")
    authority = Authority(project / "workers" if project is not None else folder / "authority")
    if project is None:
        _private(folder)
    authority.make()
    if renew:
        authority.revoke(site)
        if folder.is_dir() and not (folder / "worker.yaml").is_file():
            raise UsageError(f"{folder} is no folder of `worker init`", hint="name the folder of the site")
    _private(folder)
    private = PrivateKeys.new()
    publishes, subscribes = names.worker_publishes(site), names.worker_subscribes(site)
    text, user = authority.user(site, publishes, subscribes)
    authority.issued(site, user)
    public = private.public.text(f"public keys of the workers of the site {site}").encode()
    yaml = f"site: {site}\n" + (f"workers: {url}\n" if url else "")
    files = {
        "site.key": private.text().encode(),
        "site.creds": text.encode(),
        "site.pub": public,
        "controller.pub": authority.public,
        "worker.yaml": yaml.encode(),
    }
    for name, data in files.items():
        write_atomic(folder / name, data)
    (folder / "ssh").mkdir(mode=0o700, exist_ok=True)
    server = authority.home / "nats.conf"
    authority.write_server(server)
    authority.write_leaf(site, folder)
    if project is not None:
        authority.write_server(folder / "nats.conf")
    if told is not None:
        write_atomic(told, public, 0o644)
    return Made(site, folder, told, server, [folder / name for name in files])


def revoke(site: str, project: Path) -> int:
    """Revoke the keys of a site: its workers get no more work, and the server refuses them once it has reloaded.

    Returns the number of revoked users. Raises UsageError if the project does not know the site.
    """
    names.check_site(site)
    authority = Authority(project / "workers")
    told = authority.home / f"{site}.pub"
    if not told.exists() and not authority.users(site):
        raise UsageError(f"the project has no keys of a site {site}", hint=f"{authority.home} has the sites")
    count = authority.revoke(site)
    told.unlink(missing_ok=True)
    authority.write_server(authority.home / "nats.conf")
    return count


def _private(folder: Path) -> None:
    try:
        private_dir(folder)
    except OSError as exc:
        text = f"{folder} cannot be used: {exc.strerror or exc}"
        raise UsageError(text, hint="name another folder, or make it your own with mode 0700") from None
