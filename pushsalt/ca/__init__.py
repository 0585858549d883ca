"""SSH certificates: a root that signs which authorities each environment has, and those authorities' certificates.

OpenSSH has no chains of certificates. So the root signs a list (``manifest``) of the environments' authorities and
rules, and nothing of an environment is signed or distributed unless that list verifies. ``ssh-keygen`` does all
signing and verifying (``program``); private keys stay in files with a passphrase, an agent or a PKCS#11 module
(``holder``). ``folder`` is the state on disk, ``issue`` signs, ``revoke`` keeps the revocation lists, ``publish`` is
what machines and clients get. docs/ca.md is the walk-through, docs/adr/0006 says why.
"""

from __future__ import annotations

from pushsalt.errors import CommandError


class CaError(CommandError):
    """Why something is not signed, revoked or given out."""
