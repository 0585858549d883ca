"""SSH certificates: a root key that signs the list of authorities of each environment, and their certificates.

OpenSSH has no certificate chains. So the root signs a list (``manifest``) of the environments' authorities and rules,
and nothing of an environment is signed or distributed unless the list's signature is valid. ``ssh-keygen`` does all
signing and verifying (``program``); private keys are in files with a passphrase, an agent or a PKCS#11 module
(``holder``). ``folder`` is the state on disk, ``issue`` signs, ``revoke`` maintains the revocation lists, ``publish``
makes the data for machines and clients. docs/ca.md is a tutorial, docs/adr/0006 has the reasons.
"""

from __future__ import annotations

from pushsalt.errors import CommandError


class CaError(CommandError):
    """Something cannot be signed, revoked or published."""
