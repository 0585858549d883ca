"""The file of CA certificates for HTTPS requests. Salt: modules/http.py"""

import os

from thin.exceptions import CommandExecutionError
from thin.log import getLogger
from thin.utils.files import textfile

__virtualname__ = "http"
__changes__ = ("update_ca_bundle",)

log = getLogger(__name__)

_PLACES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/tls/certs/ca-bundle.trust.crt",
    "/etc/ssl/certs/ca-bundle.crt",
    "/var/lib/ca-certificates/ca-bundle.pem",
    "/usr/local/share/certs/ca-root-nss.crt",
    "/etc/ssl/cert.pem",
)
_SOURCE = "https://curl.se/ca/cacert.pem"


def update_ca_bundle(target=None, source=None, merge_files=None):
    """
    Download a bundle of CA certificates and replace the system's by it. Raises an error if that fails

    target
        The file; the system's if not given
    source
        The URL; the option ``ca_bundle_url``, by default Mozilla's bundle as published by curl
    merge_files
        Files to append to it, one or a list

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' http.update_ca_bundle
        pushsalt run '*' http.update_ca_bundle source=https://pki.example.org/roots.pem merge_files=/etc/pki/app.pem
    """
    target = target or __opts__.get("ca_bundle") or next((path for path in _PLACES if os.path.exists(path)), None)
    if target is None:
        log.error("this system has no CA bundle in any of the usual places")
        return
    source = source or __opts__.get("ca_bundle_url") or _SOURCE
    answer = __salt__["http.query"](source)
    text = answer.get("body") or ""
    if "error" in answer or "-----BEGIN CERTIFICATE-----" not in text:
        raise CommandExecutionError("%s is no bundle of certificates: %s" % (source, answer.get("error", "not one")))
    files = [merge_files] if isinstance(merge_files, str) else list(merge_files or ())
    for path in files:
        more = textfile.read(path)
        if more is None:
            raise CommandExecutionError("%s cannot be put behind it: there is no such file" % path)
        text = text.rstrip("\n") + "\n" + more
    textfile.write(target, text)
