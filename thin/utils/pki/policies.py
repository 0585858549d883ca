"""Decides whether a signing policy allows a target's request, for x509 and ssh_pki.

Salt: ``sign_remote_certificate`` of both modules.
"""

from thin.log import getLogger

log = getLogger(__name__)

REMOTE = (
    "ca_server is not supported: a certificate signed by another target takes Salt's peer publishing, which needs "
    "agents. Create it there and pass it on, or keep the signing key where the state runs."
)


def allowed(find, name, given, salt):
    """``(a copy of the policy, "")`` if the target may use it, else ``(None, reason)``.

    ``find(name)`` returns the policy, {} if there is none. ``given``: the arguments of the request, with ``__pub_id``,
    which the policy's ``minions``, a glob or compound expression, must match. Details of errors are only logged.
    """
    try:
        policy = dict(find(name))
        if not policy:
            return None, "signing_policy must be specified and defined on signing minion"
        if "minions" in policy:
            if "__pub_id" not in given:
                return None, "minion sending this request could not be identified"
            match = policy.pop("minions")
            function = "match.compound" if "@" in match else "match.glob"
            if not salt[function](match, minion_id=given["__pub_id"]):
                return None, "minion not permitted to use specified signing policy"
        return policy, ""
    except Exception as exc:  # any error refuses the request
        log.error("%s", exc)
        return None, "Failed building the signing policy. See CA server log for details."
