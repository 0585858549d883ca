"""The files of a small certificate authority in a directory (``tls``): paths, names, and index.

The index has a line for each certificate, in the format of ``openssl ca``.
"""

# ruff: noqa: E741 - the name of an argument is Salt's
from thin.exceptions import CommandExecutionError
from thin.utils.files import safepath
from thin.utils.pki import names, oids

SHORT = "%y%m%d%H%M%SZ"
_ATTRIBUTES = (("C", "C"), ("ST", "ST"), ("L", "L"), ("O", "O"), ("OU", "OU"), ("CN", "CN"), ("emailAddress", "MAIL"))
_NAMES = {oids.NAME_ATTRS[mine]: name for name, mine in _ATTRIBUTES}


def authority(base, ca_name, ca_filename=None):
    """The path of an authority's files, without the suffix."""
    return "%s/%s/%s" % (base, ca_name, ca_filename or ca_name + "_ca_cert")


def signed(base, ca_name):
    """The folder of the certificates that an authority signed."""
    return "%s/%s/certs" % (base, ca_name)


def subject(C, ST, L, O, OU, CN, emailAddress):
    """A Name from these attributes, without the empty ones."""
    values = (C, ST, L, O, OU, CN, emailAddress)
    parts = [{mine: value} for (_, mine), value in zip(_ATTRIBUTES, values) if value]
    return names.Name([names.build(part).rdns[0] for part in parts])


def parts(name):
    """``{argument name: value}`` of the attributes of a Name."""
    return {_NAMES.get(number, number): value for rdn in name.rdns for number, value in rdn}


def write(path, data, mode):
    """Write a file atomically. Raises CommandExecutionError."""
    from thin.utils.files import atomic

    try:
        atomic.write(safepath.real(path), data, mode=mode)
    except OSError as exc:
        raise CommandExecutionError("Unable to write %s: %s" % (path, exc.strerror))


def lines(path):
    """The lines of an index; [] if it does not exist."""
    from thin.utils.files import textfile

    return textfile.lines(path)


def line(certificate, status="V", revoked=""):
    """A line of the index, in the format of ``openssl ca``."""
    subject = "/" + "/".join("%s=%s" % pair for pair in parts(certificate.subject).items())
    expires = certificate.not_after.strftime(SHORT)
    return "\t".join((status, expires, revoked, "%X" % certificate.serial_number, "unknown", subject)) + "\n"


def note(base, ca_name, certificate):
    """Add a certificate to the index of an authority."""
    path = "%s/%s/index.txt" % (base, ca_name)
    with open(path, "a", opener=safepath.opener, encoding="utf-8") as handle:
        handle.write(line(certificate))


def revoked(index):
    """[(serial number, date)] of the revoked certificates in the index."""
    import datetime

    result = [line.split("\t") for line in lines(index) if line.startswith("R\t")]
    return [(int(fields[3], 16), datetime.datetime.strptime(fields[2], SHORT)) for fields in result]
