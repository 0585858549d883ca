"""Builds drafts of OpenSSH certificates from Salt's arguments, with signing policies. Salt: ``utils/sshpki.py``."""

import os

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.pki import build, extensions, ssh

TIME = extensions.TIME


class Draft(object):
    """A certificate that is not signed yet: ``type``, ``public``, ``signing_key``, ``serial``, ``key_id`` (or None),
    ``principals`` ([]: all), ``valid_after`` and ``valid_before`` (seconds), ``critical_options``, ``extensions``."""

    def __init__(self, **values):
        self.__dict__.update(values)

    def sign(self):
        """The signed Certificate."""
        argv = ["-q", "-I", self.key_id or "", "-z", str(self.serial), "-O", "clear", "-V", self._validity()]
        argv += ["-h"] if self.type == "host" else []
        argv += ["-n", ",".join(self.principals)] if self.principals else []
        for kind, options in (("critical", self.critical_options), ("extension", self.extensions)):
            for name, value in options.items():
                argv += ["-O", "%s:%s%s" % (kind, name, "=" + value if value else "")]
        with ssh.Folder() as folder:
            key = folder.add("ca", self.signing_key.data.rstrip() + b"\n")
            line = folder.add("key.pub", self.public.text().encode("ascii") + b"\n")
            answers = [] if self.signing_key.passphrase is None else [self.signing_key.passphrase]
            ssh.checked(ssh.keygen(argv[:1] + ["-s", key] + argv[1:] + [line], answers), "sign")
            return ssh.load_certificate(folder.read("key-cert.pub"), verify=False)

    def _validity(self):
        import time

        return ":".join(
            time.strftime("%Y%m%d%H%M%S", time.gmtime(moment)) for moment in (self.valid_after, self.valid_before)
        )

    def changes(self, current, serial, signing_key):
        """The differences from the present Certificate, in the shape of the state's changes."""
        changes = {}
        if serial is not None and self.serial != current.serial:
            changes["serial_number"] = serial
        if self.public != current.public:
            changes["private_key"] = True
        if current.signing_key != signing_key:
            changes["signing_private_key"] = True
        if self.key_id is not None and self.key_id != current.key_id:
            changes["key_id"] = {"old": current.key_id, "new": self.key_id}
        if self.type != current.type:
            changes["cert_type"] = self.type
        for name in ("extensions", "critical_options"):
            before, after = getattr(current, name), getattr(self, name)
            different = {
                "added": [key for key in after if key not in before],
                "changed": [key for key in after if key in before and before[key] != after[key]],
                "removed": [key for key in before if key not in after],
            }
            if any(different.values()):
                changes[name] = different
        principals = _principals(current.principals, self.principals)
        if any(principals.values()):
            changes["principals"] = principals
        return changes


def _principals(before, after):
    added, removed = [], []
    if not after:
        added = "*ALL*" if before else []
    else:
        added = sorted(set(after) - set(before))
        removed = sorted(set(before) - set(after)) if before else "*ALL*"
    return {"added": added, "removed": removed}


def draft(
    signing_private_key=None,
    cert_type=None,
    valid_principals=None,
    all_principals=False,
    signing_private_key_passphrase=None,
    public_key=None,
    private_key=None,
    private_key_passphrase=None,
    serial_number=None,
    key_id=None,
    not_before=None,
    not_after=None,
    ttl=None,
    critical_options=None,
    extensions=None,
    signed_elsewhere=False,
    **unknown,
):
    """The Draft for the arguments of ``ssh_pki.create_certificate``. Raises SaltInvocationError."""
    import time

    unknown = sorted(set(unknown) - {"minions", "copypath"})
    if unknown:
        raise SaltInvocationError("These are no arguments of a certificate: %s" % ", ".join(unknown))
    if cert_type not in ("user", "host"):
        raise SaltInvocationError("Cert type needs to be either `user` or `host`, got '%s'" % cert_type)
    ttl = {"user": 86400, "host": 2592000}[cert_type] if ttl is None else ttl
    signing = None if signed_elsewhere else ssh.load_private(signing_private_key, signing_private_key_passphrase)
    if private_key:
        public = ssh.load_private(private_key, private_key_passphrase).public
    elif public_key:
        public = ssh.load_public(public_key)
    else:
        raise SaltInvocationError("Need public_key or private_key to derive public key to sign")
    if not valid_principals and not all_principals:
        raise SaltInvocationError("Must either set all_principals to true or specify principals to allow")
    principals = [_word(one) for one in valid_principals or []]
    if any("," in one for one in principals):
        raise SaltInvocationError("A principal cannot have a comma in its name")
    start = seconds(not_before) if not_before else time.time()
    end = seconds(not_after) if not_after else time.time() + duration(ttl)
    if end <= start:
        raise SaltInvocationError("The certificate would end before it begins")
    return Draft(
        type=cert_type,
        public=public,
        signing_key=signing,
        serial=serial(serial_number),
        key_id=None if key_id is None else _word(key_id),
        principals=principals,
        valid_after=int(start),
        valid_before=int(end),
        critical_options=_wanted(critical_options),
        extensions=_wanted(extensions),
    )


def _word(value):
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)


def _wanted(options):
    """{name: value} of options: True is an option without a value; false values are left out."""
    return {name: "" if value is True else str(value) for name, value in (options or {}).items() if value}


def serial(value=None):
    """A serial number of 64 bits from a number or text, or a random one. Raises CommandExecutionError."""
    if value is None:
        return int.from_bytes(os.urandom(8), "big") >> 1
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    try:
        return int(value.replace(":", ""), 16)
    except (AttributeError, ValueError):
        raise CommandExecutionError("Could not parse serial number %s" % value)


def seconds(text):
    """Seconds since 1970 from ``YYYY-mm-dd HH:MM:SS`` (UTC). Raises SaltInvocationError."""
    import calendar

    return calendar.timegm(build.moment(text).timetuple())


def duration(value):
    """Seconds from a number or a text such as 30m, 1.5h, 7d; None from None. Raises SaltInvocationError."""
    import re

    if value is None or isinstance(value, (int, float)):
        return value
    match = re.match(r"(\d+(?:\.\d+)?)([smhd]?)$", str(value))
    if not match:
        raise SaltInvocationError("Invalid time string format: %s" % value)
    return float(match.group(1)) * {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}[match.group(2)]


def with_policy(policy, kwargs):
    """The arguments of a certificate under a signing policy, as a new dict.

    Options and extensions of the policy override; requested ones are accepted if ``allowed_…`` lists them, and
    ``default_…`` apply to those that are not requested. Principals and lifetime are limited by the policy.
    """
    import time

    if not policy:
        return kwargs
    policy, kwargs = dict(policy), dict(kwargs)
    for name in ("critical_options", "extensions"):
        forced = policy.pop(name, None) or {}
        final = dict(policy.pop("default_" + name, None) or {})
        allowed = policy.pop("allowed_" + name, ["*"])
        for key, value in (kwargs.get(name) or {}).items():
            if "*" in allowed or key in allowed:
                final[key] = value
        final.update(forced)
        kwargs[name] = final or None
    limited = policy.pop("valid_principals", None)
    limited = policy.pop("allowed_valid_principals", limited)
    default = policy.pop("default_valid_principals", limited)
    if limited is not None:
        wanted = kwargs.get("valid_principals")
        if wanted:
            kwargs["valid_principals"] = [one for one in wanted if one in limited] or default
        else:
            kwargs["valid_principals"] = limited if kwargs.pop("all_principals", None) else default
    usual = duration(policy.pop("ttl", None))
    longest = duration(policy.pop("max_ttl", usual))
    asked = duration(kwargs.pop("ttl", None))
    start = seconds(kwargs["not_before"]) if kwargs.get("not_before") else time.time()
    if kwargs.get("not_after"):
        asked = seconds(kwargs.pop("not_after")) - start
    if asked is None:
        asked = usual if usual is not None else longest
    elif longest is not None:
        asked = min(asked, longest)
    kwargs["ttl"] = asked
    if asked is not None:
        for name, moment in (("not_before", start), ("not_after", start + asked)):
            kwargs[name] = time.strftime(TIME, time.gmtime(moment))
    kwargs.update(policy)
    return kwargs
