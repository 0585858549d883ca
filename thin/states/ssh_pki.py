"""Keys and certificates of OpenSSH in files. Salt: ``salt/states/ssh_pki.py``.

Owner, mode and directories are those of ``file.managed``, whose arguments are accepted, too, and whose return is
reported as a further state.
"""

import os

from thin.call_state import INTERNAL
from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.files import safepath
from thin.utils.pki import given, ssh, sshdraft
from thin.utils.pki.managed import Found, Managed, split

__any_arguments__ = True  # arguments are data or options of a program: none is reported as misspelt

_FOR_ENGINE = INTERNAL - {"check_cmd"}


def certificate_managed(
    name,
    ttl_remaining=None,
    ca_server=None,
    backend=None,
    backend_args=None,
    signing_policy=None,
    copypath=None,
    cert_type=None,
    signing_private_key=None,
    signing_private_key_passphrase=None,
    public_key=None,
    private_key=None,
    private_key_passphrase=None,
    serial_number=None,
    not_before=None,
    not_after=None,
    ttl=None,
    critical_options=None,
    extensions=None,
    valid_principals=None,
    all_principals=False,
    key_id=None,
    **kwargs,
):
    """The certificate is in the file; it is renewed if less than ``ttl_remaining`` is left.

    The arguments are those of the function ``ssh_pki.create_certificate`` and of ``file.managed``.

    ttl_remaining
        Seconds, or text like 7d; an hour for users, 7 days for hosts by default
    backend, backend_args
        Another execution module of this kind that signs, and further arguments of its functions

    changes: ``created``, ``replaced``, ``expiration``, ``serial_number``, ``private_key``, ``signing_private_key``,
    ``key_id``, ``cert_type``, ``extensions``, ``critical_options``, ``principals``.
    """
    file, more = split(kwargs, _FOR_ENGINE)
    _no_more(more)
    backend, backend_args = backend or "ssh_pki", backend_args or {}
    wanted = {
        "cert_type": cert_type,
        "signing_private_key": signing_private_key,
        "signing_private_key_passphrase": signing_private_key_passphrase,
        "public_key": public_key,
        "private_key": private_key,
        "private_key_passphrase": private_key_passphrase,
        "serial_number": serial_number,
        "not_before": not_before,
        "not_after": not_after,
        "ttl": ttl,
        "critical_options": critical_options,
        "extensions": extensions,
        "valid_principals": valid_principals,
        "all_principals": all_principals,
        "key_id": key_id,
    }

    def examine(path):
        policy = __salt__[backend + ".get_signing_policy"](signing_policy, ca_server=ca_server, **backend_args)
        return _examined(path, policy, wanted, ttl_remaining, backend)

    def make(examined):
        line = __salt__[backend + ".create_certificate"](
            ca_server=ca_server, signing_policy=signing_policy, copypath=copypath, **dict(wanted, **backend_args)
        )
        return line if isinstance(line, bytes) else line.encode("ascii")

    return Managed(name, "certificate", file, True, globals()).run(examine, make)


def _examined(path, policy, wanted, ttl_remaining, backend):
    import time

    try:
        current = ssh.load_certificate(path)
    except CommandExecutionError as exc:
        if "Could not load" not in str(exc):
            raise
        return Found(replaced=True)
    if ttl_remaining is None:
        ttl_remaining = {"user": 3600, "host": 604800}.get(current.type, 0)
    changes = {}
    if current.valid_before < time.time() + sshdraft.duration(ttl_remaining):
        changes["expiration"] = True
    final = sshdraft.with_policy(policy, wanted)
    if backend == "ssh_pki":
        if not final.get("signing_private_key"):
            raise SaltInvocationError("signing_private_key is required - this is most likely a bug")
        final.pop("signing_public_key", None)
        draft = sshdraft.draft(**final)
        signing_key = draft.signing_key.public
    else:
        if "signing_public_key" not in final:
            raise SaltInvocationError("The remote CA server or backend module did not deliver the CA pubkey")
        signing_key = ssh.load_public(final.pop("signing_public_key"))
        draft = sshdraft.draft(signed_elsewhere=True, **final)
    changes.update(draft.changes(current, wanted["serial_number"], signing_key))
    return Found(current, changes)


def private_key_managed(name, algo="rsa", keysize=None, passphrase=None, new=False, overwrite=False, **kwargs):
    """A private key of this kind is in the file, which only its owner can read (``mode``: 0400).

    algo
        rsa, ec or ed25519, with a ``keysize`` as in the function ``ssh_pki.create_private_key``
    passphrase
        The key is encrypted with it
    new
        A new key each time the state runs (with ``prereq``: when a certificate is renewed)
    overwrite
        Replace content that is no key, or a key that the passphrase does not decrypt; otherwise this is a failure

    changes: ``created``, ``replaced``, ``algo``, ``keysize``, ``passphrase``.
    """
    file, more = split(kwargs, _FOR_ENGINE)
    _no_more(more)
    file["mode"] = file.get("mode") or "0400"
    managed = Managed(name, "private key", file, True, globals())
    if keysize and algo == "ed25519":
        managed.ret.update(result=False, comment="keysize is an invalid parameter for %s" % algo)
        return managed.ret

    def examine(path):
        if new:
            return Found(changes={"replaced": name})
        return _examined_key(path, name, algo, keysize, passphrase, overwrite)

    def make(examined):
        if set(examined.changes) == {"passphrase"} and examined.current:
            return __salt__["ssh_pki.encode_private_key"](examined.current, passphrase=passphrase, raw=True)
        return __salt__["ssh_pki.create_private_key"](algo=algo, keysize=keysize, passphrase=passphrase, raw=True)

    ret = managed.run(examine, make, exists_counts=True)
    if ret["changes"] == {"passphrase": True} and ret["result"] and not __opts__["test"]:
        ret["comment"] = "The private key has been encrypted"
    return ret


def _examined_key(path, name, algo, keysize, passphrase, overwrite):
    changes = {}
    try:
        current = ssh.load_private(path, passphrase)
    except given.SuperfluousPassword:
        changes["passphrase"] = True
        current = ssh.load_private(path)
    except given.PasswordError as exc:
        if not overwrite:
            raise CommandExecutionError(
                "The current key is encrypted with a passphrase. Pass overwrite: true to force regeneration"
                if isinstance(exc, given.MissingPassword)
                else "The provided passphrase cannot decrypt the private key. Pass overwrite: true to force "
                "regeneration"
            )
        return Found(changes={"passphrase": True, "replaced": name})
    except CommandExecutionError as exc:
        if "Could not load" not in str(exc):
            raise
        if not overwrite:
            raise CommandExecutionError(
                "The existing file does not seem to be a private key. Pass overwrite: true to force regeneration"
            )
        return Found(changes={"replaced": name})
    wanted = keysize or {"rsa": 3072, "ec": 256}.get(algo)
    if current.type != algo:
        changes["algo"] = algo
    elif wanted and current.size != wanted:
        changes["keysize"] = wanted
    return Found(current, changes)


def public_key_managed(name, public_key_source, passphrase=None, **kwargs):
    """The public key of a private key, a public key or a certificate is in the file.

    public_key_source
        Path or text
    passphrase
        That of an encrypted private key

    changes: ``created`` or ``updated``. The arguments of ``file.managed`` are taken too.
    """
    file, more = split(kwargs, _FOR_ENGINE)
    _no_more(more)
    managed = Managed(name, "public key", file, True, globals())
    try:
        return _public(managed, public_key_source, passphrase)
    except (CommandExecutionError, SaltInvocationError) as exc:
        managed.ret.update(result=False, comment=str(exc), changes={})
        return managed.ret


def _public(managed, source, passphrase):
    name, ret, path = managed.name, managed.ret, managed.name
    linked = os.path.islink(name) and not managed.file.get("follow_symlinks", True)
    if os.path.islink(name) and not linked:
        path = os.path.realpath(name)
    try:
        wanted = __salt__["ssh_pki.get_public_key"](source, passphrase=passphrase)
    except CommandExecutionError as exc:
        if not __opts__["test"] or "Could not load key as" not in str(exc):
            raise
        wanted = None
    current, verb = None, "created"
    if os.path.isfile(path) and not linked:
        current, verb = ssh.load_public(path), "updated"
    replace = not (wanted and current and ssh.load_public(wanted) == current)
    if replace:
        ret["changes"][verb] = name
        if __opts__["test"]:
            ret["result"], ret["comment"] = None, "The public key would have been " + verb
            if not wanted:
                ret["comment"] += (
                    ". Note that the source could not be loaded, so this assessment relies on the source being "
                    "created beforehand"
                )
            return ret
    if linked:
        safepath.unlink(name)
    done = managed.managed(contents=wanted, replace=True) if replace else managed.managed(replace=False)
    managed.with_sub(done)
    if done["result"] is False:
        return managed.failed(current)
    if replace:
        ret["comment"] = "The public key has been " + verb
    return ret


def _no_more(kwargs):
    bad = [key for key in kwargs if not key.startswith("_")]
    if bad:
        raise SaltInvocationError("The following keyword arguments are invalid: %s" % ", ".join(bad))
