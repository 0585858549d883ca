"""Validity of certificates. Salt: ``salt/states/tls.py``."""

from thin.exceptions import SaltException
from thin.log import getLogger

log = getLogger(__name__)


def valid_certificate(name, weeks=0, days=0, hours=0, minutes=0, seconds=0):
    """
    The certificate in this file is valid, and remains so for a number of days

    .. code-block:: yaml

        /etc/ssl/certs/www.pem:
          tls.valid_certificate:
            - days: 30
    """
    import datetime
    import time

    ret = {"name": name, "changes": {}, "result": False, "comment": ""}
    try:
        info = __salt__["tls.cert_info"](name)
    except (OSError, SaltException) as exc:
        log.error("%s", exc)
        return dict(ret, comment=str(exc))
    now = time.time()
    if now < info["not_before"]:
        return dict(ret, comment="Certificate is not yet valid")
    if now > info["not_after"]:
        return dict(ret, comment="Certificate is expired")
    left = datetime.timedelta(seconds=info["not_after"] - now)
    wanted = datetime.timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds)
    if left < wanted:
        return dict(ret, comment="Certificate will expire in %s, which is less than %s" % (left, wanted))
    return dict(ret, result=True, comment="Certificate is valid for %s" % left)
