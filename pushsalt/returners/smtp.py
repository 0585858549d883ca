"""A mail for each return. Salt: salt.returners.smtp_return.

::

    returner.smtp:
      from: pushsalt@example.org
      to: [ops@example.org]
      host: mail.internal
      port: 587
      tls: true                     # STARTTLS; `ssl: true` for TLS from the beginning (port 465)
      username: pushsalt
      password: sdb://vault/mail
      subject: 'pushsalt:'
      fields: id,fun                # of the return, behind the subject

Certificates are verified, by the authorities in ``cafile`` or those of the system. A password is sent over TLS only,
or to this machine itself. Salt's ``gpgowner``, ``template`` and ``renderer`` are not done: no mail is sent with them.
"""

from __future__ import annotations

import pprint
import smtplib
import ssl
from collections.abc import Mapping
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate, make_msgid
from typing import Any, Final

from pushsalt.returners import Outside, Trouble

OPTIONS: Final = {
    "from": str,
    "to": list,
    "host": str,
    "port": 25,
    "username": "",
    "password": "",
    "tls": False,
    "ssl": False,
    "cafile": "",
    "subject": "Salt return",
    "fields": [],
    "gpgowner": "",
    "template": "",
    "renderer": "",
}
SECRETS: Final = ("password",)

_NOT_DONE: Final = ("gpgowner", "template", "renderer")
_HERE: Final = ("localhost", "127.0.0.1", "::1")
#: maximum characters of a subject, and of a mail
_LONGEST_SUBJECT: Final = 200
_LONGEST: Final = 1_000_000


def returner(ret: Mapping[str, Any], *, outside: Outside) -> None:
    options = outside.options
    for name in _NOT_DONE:
        if options[name]:
            raise Trouble(f"smtp: `{name}` is not done here, and no mail is sent without it", "take it out")
    message = mail(ret, options, outside.key)
    try:
        with _server(options, outside.limit) as server:
            if options["username"]:
                server.login(options["username"], options["password"])
            server.send_message(message)
    except smtplib.SMTPAuthenticationError as exc:
        raise Trouble(
            f"smtp: the login is not taken ({exc.smtp_code})", "are `username` and `password` right?"
        ) from None
    except smtplib.SMTPRecipientsRefused as exc:
        raise Trouble(f"smtp: refused for {', '.join(exc.recipients)}", "is `to` right?") from None
    except (smtplib.SMTPException, OSError, UnicodeError) as exc:
        raise Trouble(f"smtp: {options['host']}: {_why(exc)}", "are `host`, `port` and `tls` right?") from None


def mail(ret: Mapping[str, Any], options: Mapping[str, Any], key: str = "") -> EmailMessage:
    """The message. Raises Trouble for invalid addresses."""
    message = EmailMessage(policy=SMTP)
    words = [options["subject"], *(str(ret[name]) for name in options["fields"] if name in ret)]
    headers = {
        "From": options["from"],
        "To": ", ".join(options["to"]),
        "Subject": line(" ".join(words))[:_LONGEST_SUBJECT],
        "Date": formatdate(localtime=True),
        "Message-ID": f"<{key}@pushsalt.invalid>" if key else make_msgid(domain="pushsalt.invalid"),
        "Auto-Submitted": "auto-generated",
    }
    for name, value in headers.items():
        if any(ord(char) < 0x20 for char in value):
            raise Trouble(f"smtp: `{name.lower()}` has a line break in it", "write addresses in one line")
        message[name] = value
    shown = pprint.pformat(ret.get("return"), width=120)
    if len(shown) > _LONGEST:
        shown = f"{shown[:_LONGEST]}\n… and {len(shown) - _LONGEST} characters more"
    rows = {
        "id": ret.get("id"),
        "function": ret.get("fun"),
        "function args": ret.get("fun_args"),
        "jid": ret.get("jid"),
        "success": ret.get("success"),
    }
    text = "".join(f"{name}: {line(str(value))}\n" for name, value in rows.items()) + f"return: {shown}\n"
    message.set_content(text.encode("utf-8", "replace").decode())
    return message


def line(text: str) -> str:
    """A text without control characters and line breaks of any kind, which would begin a new header."""
    kept = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(kept.encode("utf-8", "replace").decode().split())


def _server(options: Mapping[str, Any], limit: float) -> smtplib.SMTP:
    """A connection. Raises Trouble, OSError and SMTPException."""
    host, port = options["host"], options["port"]
    if options["username"] and not (options["tls"] or options["ssl"] or host in _HERE):
        raise Trouble(f"smtp: the password would be sent to {host} in the clear", "set `tls: true`")
    if options["ssl"]:
        return smtplib.SMTP_SSL(host, port, timeout=limit, context=_context(options))
    server = smtplib.SMTP(host, port, timeout=limit)
    if options["tls"]:
        try:
            server.starttls(context=_context(options))
            server.ehlo()
        except BaseException:
            server.close()
            raise
    return server


def _context(options: Mapping[str, Any]) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=options["cafile"] or None)
    except (OSError, ssl.SSLError) as exc:
        raise Trouble(
            f"smtp: the authorities in {options['cafile']} cannot be read: {exc}", "correct `cafile`"
        ) from None


def _why(exc: BaseException) -> str:
    if isinstance(exc, ssl.SSLCertVerificationError):
        return f"its certificate cannot be verified: {exc.verify_message}"
    if isinstance(exc, smtplib.SMTPResponseException):
        error = exc.smtp_error
        text = error.decode("utf-8", "replace") if isinstance(error, bytes) else str(error)
        return line(f"{exc.smtp_code} {text}")
    return line(str(getattr(exc, "strerror", None) or exc) or type(exc).__name__)
