"""Keys and certificates of OpenSSH, with ssh-keygen(1). Salt: ``salt/modules/ssh_pki.py``.

Keys and certificates are given as text, as bytes, or as the path of a file. Passphrases reach ssh-keygen on its stdin.
"""

import os

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.files import safepath
from thin.utils.pki import policies, shown, ssh, sshdraft

__reads__ = (
    "encode_private_key",
    "expires",
    "get_private_key_size",
    "get_public_key",
    "get_signing_policy",
    "read_certificate",
    "verify_private_key",
    "verify_signature",
)
__changes__ = ("create_certificate", "create_certificate_ssh", "create_private_key", "sign_remote_certificate")

_OCCUPIED = "The file at %s exists and overwrite was set to false"


def create_certificate(ca_server=None, signing_policy=None, path=None, overwrite=False, raw=False, **kwargs):
    """
    Create an OpenSSH certificate; returns its line, or writes it to ``path``

    ca_server
        Not supported: it would need a request from one minion to another
    signing_policy
        Name of one of ``ssh_signing_policies`` (pillar or configuration), which fixes or limits the arguments
    path, overwrite
        Write it to this file; an existing file is replaced only with ``overwrite``
    raw
        Return bytes
    cert_type
        user or host
    signing_private_key
        The authority's key, in OpenSSH's format, with its ``signing_private_key_passphrase``
    private_key, public_key
        The key that is certified (``private_key_passphrase``)
    valid_principals, all_principals
        The names of users or hosts for which it is valid, or True for all
    serial_number, key_id
        Number or hexadecimal text, random by default; the text that logs show
    not_before, not_after, ttl
        ``YYYY-mm-dd HH:MM:SS`` in UTC; or how long from now, like 12h (a day for users, 30 for hosts by default)
    critical_options, extensions
        Dicts of names and values, True for those without a value
    copypath
        Also write it to this directory as ``SERIAL.crt``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ssh_pki.create_certificate cert_type=host signing_private_key=/etc/pki/ssh/ca \\
            public_key=/etc/ssh/ssh_host_ed25519_key.pub valid_principals='[a.example.org]'
    """
    kwargs = {key: value for key, value in kwargs.items() if not key.startswith("_")}
    if path and not overwrite and os.path.isfile(path):
        raise CommandExecutionError(_OCCUPIED % path)
    if ca_server:
        raise SaltInvocationError(policies.REMOTE)
    kwargs = sshdraft.with_policy(_policy(signing_policy), kwargs)
    if not kwargs.get("signing_private_key"):
        raise SaltInvocationError("Creating a certificate locally at least requires a signing private key.")
    out = _certificate(**kwargs).text.encode("ascii")
    if path is None:
        return out if raw else out.decode("ascii")
    _write(path, out, 0o644)
    return "Certificate written to %s" % path


def _certificate(copypath=None, **kwargs):
    certificate = sshdraft.draft(**kwargs).sign()
    if copypath:
        path = os.path.join(copypath, "%x.crt" % certificate.serial)
        _write(path, certificate.text.encode("ascii"), 0o644)
    return certificate


#: the name that salt-ssh uses
create_certificate_ssh = create_certificate


def create_private_key(
    algo="rsa", keysize=None, passphrase=None, path=None, pubkey_suffix=".pub", overwrite=False, raw=False
):
    """
    Create a key; returns ``{private_key, public_key}``, or writes both to files

    algo
        rsa, ec or ed25519
    keysize
        rsa: 2048, 3072 (default), 4096; ec: 256 (default), 384, 521
    passphrase
        Encrypts the key
    path, pubkey_suffix
        The file of the private key, and the suffix of the public key's file
    overwrite
        Replace an existing file
    raw
        Return the bytes of the private key

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ssh_pki.create_private_key algo=ed25519 path=/etc/ssh/keys/id_ed25519
    """
    if algo == "rsa" and keysize is None:
        keysize = 3072
    if path and not overwrite and os.path.isfile(path):
        raise CommandExecutionError(_OCCUPIED % path)
    key = ssh.generate(algo, keysize, passphrase)
    if path is None:
        if raw:
            return key.data
        return {"private_key": key.data.decode("ascii"), "public_key": key.public.text()}
    _write(path, key.data, 0o600)
    if pubkey_suffix:
        _write(path + pubkey_suffix, key.public.text().encode("ascii"), 0o644)
    return "Private key written to %s" % path


def encode_private_key(private_key, private_key_passphrase=None, passphrase=None, raw=False):
    """
    Return a private key with another passphrase, or none

    private_key_passphrase
        The present
    passphrase
        passphrase The new passphrase
    raw
        Return bytes

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ssh_pki.encode_private_key /etc/ssh/keys/id_ed25519
    """
    data = ssh.encrypted(ssh.load_private(private_key, private_key_passphrase), passphrase).data
    return data if raw else data.decode("ascii")


def expires(certificate, ttl=0):
    """
    Whether a certificate expires within a number of seconds, or a time like 7d

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ssh_pki.expires /etc/ssh/ssh_host_ed25519_key-cert.pub ttl=7d
    """
    import time

    return ssh.load_certificate(certificate).valid_before <= time.time() + sshdraft.duration(ttl)


def get_private_key_size(private_key, passphrase=None):
    """
    Return the size of a private key in bits; None for ed25519

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ssh_pki.get_private_key_size /etc/ssh/keys/id_rsa
    """
    return ssh.load_private(private_key, passphrase).size


def get_public_key(key, passphrase=None):
    """
    Return the public key of a private key, a public key or a certificate

    passphrase
        That of an encrypted private key

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ssh_pki.get_public_key /etc/ssh/keys/id_rsa
    """
    return ssh.public_key(key, passphrase).text()


def get_signing_policy(signing_policy, ca_server=None):
    """
    Return a signing policy, from ``ssh_signing_policies`` of pillar or configuration; {} without it

    ca_server
        Not supported

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ssh_pki.get_signing_policy hosts
    """
    if ca_server is not None:
        raise SaltInvocationError(policies.REMOTE)
    return dict(_policy(signing_policy))


def read_certificate(certificate):
    """
    Return the data of a certificate: ``cert_type``, ``valid_principals``, ``key_id``, ``key_type``, ``serial_number``,
    ``not_before``, ``not_after``, ``public_key``, ``issuer_public_key``, ``critical_options``, ``extensions`` …

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ssh_pki.read_certificate /etc/ssh/ssh_host_ed25519_key-cert.pub
    """
    import time

    loaded = ssh.load_certificate(certificate)
    ret = {
        "cert_type": loaded.type,
        "valid_principals": loaded.principals or "all",
        "key_id": loaded.key_id,
        "key_size": loaded.public.size,
        "key_type": loaded.public.type,
        "serial_number": shown.number(loaded.serial),
        "critical_options": {name: value or True for name, value in loaded.critical_options.items()},
        "extensions": {name: value or True for name, value in loaded.extensions.items()},
    }
    for name, moment in (("not_before", loaded.valid_after), ("not_after", loaded.valid_before)):
        ret[name] = time.strftime(sshdraft.TIME, time.gmtime(min(moment, 253402300799)))
    for name, key in (("issuer_public_key", loaded.signing_key), ("public_key", loaded.public)):
        ret[name] = key.text()
        ret[name + "_fingerprints"] = _fingerprints(key.blob)
    return ret


def _fingerprints(blob):
    import base64
    import hashlib

    fingerprints = {"sha256": base64.b64encode(hashlib.sha256(blob).digest()).decode("ascii")}
    if not __opts__.get("fips_mode"):
        fingerprints["md5"] = shown.hexed(hashlib.new("md5", blob).digest()).lower()  # noqa: S324 - a name
    return fingerprints


def sign_remote_certificate(signing_policy, kwargs, get_signing_policy_only=False, **more_kwargs):
    """
    Return ``{data: certificate (bytes), errors: [text]}``, signed according to a configured policy

    kwargs
        Arguments of ``ssh_pki.create_certificate``
    get_signing_policy_only
        Return the policy instead, with the public key of the signing key in place of the private one
    __pub_id
        The requesting target; a policy's ``minions`` (a glob, or a compound expression) must match it

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ssh_pki.sign_remote_certificate hosts kwargs="{public_key: /etc/ssh/ssh_host_ed25519_key.pub}"
    """
    policy, refusal = policies.allowed(_policy, signing_policy, more_kwargs, __salt__)
    if refusal:
        return {"data": None, "errors": [refusal]}
    ret = {"data": None, "errors": []}
    try:
        if get_signing_policy_only:
            key = policy.pop("signing_private_key", None)
            passphrase = policy.pop("signing_private_key_passphrase", None)
            if key is not None:
                public = ssh.load_private(key, passphrase).public
                policy["signing_public_key"] = public.text().encode("ascii")
            ret["data"] = policy
            return ret
        wanted = sshdraft.with_policy(policy, kwargs)
        wanted.pop("ca_server", None)
        ret["data"] = _certificate(**wanted).text.encode("ascii")
    except Exception as exc:
        ret["errors"].append(str(exc))
    return ret


def verify_private_key(private_key, public_key, passphrase=None):
    """
    Whether a private key belongs to a public key, or to the one in a certificate

    passphrase
        The private key's

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ssh_pki.verify_private_key /etc/ssh/keys/id_rsa /etc/ssh/keys/id_rsa.pub
    """
    return ssh.load_private(private_key, passphrase).public == ssh.public_key(public_key)


def verify_signature(certificate, signing_pub_key, signing_pub_key_passphrase=None):
    """
    Whether a certificate was signed by the owner of a key

    signing_pub_key
        Public or private key, or a certificate; ``signing_pub_key_passphrase`` for an encrypted one

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ssh_pki.verify_signature /etc/ssh/keys/id_rsa-cert.pub /etc/pki/ssh/ca.pub
    """
    loaded = ssh.load_certificate(certificate, verify=False)
    public = ssh.public_key(signing_pub_key, signing_pub_key_passphrase)
    return ssh.is_signed(loaded) and loaded.signing_key == public


def _policy(name):
    if name is None:
        return {}
    policy = __salt__["pillar.get"]("ssh_signing_policies", {}).get(name)
    return policy or __salt__["config.get"]("ssh_signing_policies", {}).get(name) or {}


def _write(path, data, mode):
    from thin.utils.files import atomic

    real = safepath.real(path)
    try:
        atomic.write(real, data, mode=None if os.path.exists(real) else mode)
    except OSError as exc:
        raise CommandExecutionError("Unable to write %s: %s" % (path, exc.strerror))
