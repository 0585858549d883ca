"""Public keys in GnuPG's keychains. Salt: states/gpg.py

Keys are received from a key server, from files (``source``) or from a text; expired ones, and those with subkeys that
expired lately, are refreshed from the same source.
"""

from thin.exceptions import CommandExecutionError, SaltInvocationError

TRUST = {
    "expired": "Expired",
    "unknown": "Unknown",
    "not_trusted": "Not Trusted",
    "marginally": "Marginally Trusted",
    "fully": "Fully Trusted",
    "ultimately": "Ultimately Trusted",
}


def present(
    name,
    keys=None,
    user=None,
    keyserver=None,
    gnupghome=None,
    trust=None,
    keyring=None,
    source=None,
    skip_keyserver=False,
    text=None,
    subkey_maxage=100,
    **kwargs,
):
    """The keys (``keys``, else ``name``) are in the keychain, and have the trust level ``trust``.

    ``source``: files or URLs to search if the key server does not have them; ``skip_keyserver``: only in these.
    ``text``: the keys themselves. ``subkey_maxage``: days after which expired subkeys are no longer refreshed, 0: never
    refresh them. changes: ``{key: {"added": True, "refresh": True, "subkeys": {"added", "extended"}, "trust":
    level}}``.
    """
    ret = {"name": name, "result": True, "changes": {}, "comment": ""}
    place = {"user": user, "gnupghome": gnupghome, "keyring": keyring}
    if skip_keyserver and not text and not source:
        return dict(ret, result=False, comment="When skipping keyservers, you must provide at least one source")
    if trust and trust not in TRUST:
        return dict(ret, result=False, comment="Invalid trust level %s" % trust)
    try:
        have = {key["keyid"]: key for key in __salt__["gpg.list_keys"](**place)}
    except (CommandExecutionError, SaltInvocationError) as exc:
        return dict(ret, result=False, comment=str(exc))
    sources = source if isinstance(source, list) else [source] if source else []
    job = _Job(place, keyserver, sources, skip_keyserver, text, subkey_maxage)
    lines = []
    for keyid in [keys or name] if isinstance(keys or name, str) else keys:
        comments, changes = [], {}
        try:
            result = job.ensure(keyid, have.get(keyid), comments, changes)
            if trust and (keyid in have or changes):
                result = _trusted(keyid, trust, place, comments, changes) and result
        except (CommandExecutionError, SaltInvocationError) as exc:
            result = False
            comments += str(exc).splitlines()
        if changes:
            ret["changes"][keyid] = changes
        if result is False or ret["result"] is True:
            ret["result"] = result
        lines.append("Key %s:\n  * %s" % (keyid, "\n  * ".join(comments)))
    return dict(ret, comment="\n".join(lines))


def absent(name, keys=None, user=None, gnupghome=None, keyring=None, keyring_absent_if_empty=False, **kwargs):
    """The keys (``keys``, else ``name``) are not in the keychain. changes: ``{"deleted": [key]}``.

    ``keyring_absent_if_empty``: neither is the keyring's file, when no key is left in it (``{"removed": path}``).
    """
    ret = {"name": name, "result": True, "changes": {}, "comment": ""}
    place = {"user": user, "gnupghome": gnupghome, "keyring": keyring}
    have = {key["keyid"] for key in __salt__["gpg.list_keys"](**place)}
    wanted = [keys or name] if isinstance(keys or name, str) else keys
    comments = []
    for keyid in wanted:
        if keyid not in have:
            comments.append("%s not found in GPG keychain" % keyid)
            continue
        if __opts__["test"]:
            ret["result"] = None
            comments.append("Would have deleted %s from GPG keychain" % keyid)
        else:
            done = __salt__["gpg.delete_key"](keyid=keyid, **place)
            if not done["res"]:
                ret["result"] = False
                comments.append(done["message"])
                continue
            comments.append("Deleted %s from GPG keychain" % keyid)
        ret["changes"].setdefault("deleted", []).append(keyid)
    if __opts__["test"] or not ret["result"]:
        return dict(ret, comment="\n".join(comments))
    left = {key["keyid"] for key in __salt__["gpg.list_keys"](**place)}
    remaining = sorted(left.intersection(wanted))
    if remaining:
        ret["result"] = False
        comments.append("State check revealed the following keys could not be deleted: " + ", ".join(remaining))
        ret["changes"]["deleted"] = [keyid for keyid in ret["changes"].get("deleted", ()) if keyid not in left]
    elif not left and keyring and keyring_absent_if_empty and __salt__["file.file_exists"](keyring):
        __salt__["file.remove"](keyring)
        comments.append("Removed empty keyring file %s" % keyring)
        ret["changes"]["removed"] = keyring
    return dict(ret, comment="\n".join(comments))


# Private functions


class _Missing(CommandExecutionError):
    """A source does not have the key, or only an expired one."""


class _Job(object):
    """The sources of keys."""

    def __init__(self, place, keyserver, sources, skip_keyserver, text, maxage):
        self.place, self.keyserver, self.sources = place, keyserver, sources
        self.skip_keyserver, self.text, self.maxage = skip_keyserver, text, maxage

    def ensure(self, keyid, old, comments, changes):
        """Ensure that the key is present and up to date; messages are appended to ``comments``.

        Returns the state's result.
        """
        expired = bool(old and old.get("expired"))
        stale = self._expired_subkeys(old)
        if old and not expired and not stale:
            comments.append("GPG Public Key %s already in keychain" % keyid)
            return True
        if __opts__["test"]:
            if not old:
                comments.append("Would have added %s to GPG keychain" % keyid)
                changes["added"] = True
                return None
            changes["refresh"] = True
            if expired:
                comments.append("Would have attempted to update %s because it is expired" % keyid)
            else:
                comments.append("Would have attempted to update %s because it has expired subkeys:" % keyid)
                comments += ["  - %s (expired on %s)" % (sub, stale[sub]["expires"]) for sub in sorted(stale)]
            return None
        try:
            new = self._fetched(keyid, bool(old), expired, changes)
        except (CommandExecutionError, SaltInvocationError):
            if expired:
                comments.append("Existing key is expired, tried to fetch updated one")
            elif stale:
                comments.append("Existing key has expired subkeys, tried to refresh")
            raise
        if not old:
            comments.append("Added %s to GPG keychain" % keyid)
            return True
        added = {sub["keyid"] for sub in new.get("subkeys", ())} - {sub["keyid"] for sub in old.get("subkeys", ())}
        extended = set(stale) - set(self._expired_subkeys(new))
        if expired:
            comments.append("Updated %s because it was expired" % keyid)
            changes["refresh"] = True
        elif added or extended:
            comments.append("Updated %s because it had expired subkeys." % keyid)
            parts = (("added", added), ("extended", extended))
            changes.update(refresh=True, subkeys={word: sorted(subs) for word, subs in parts if subs})
        else:
            words = "Attempted to update %s because it has expired subkeys, but no new signatures or keys were found"
            comments.append(words % keyid)
        return True

    def _fetched(self, keyid, refresh, expired, changes):
        """The key as it is afterwards. Raises CommandExecutionError."""
        done = self._from_anywhere(keyid, refresh, expired)
        if done["res"] is False:
            raise CommandExecutionError(done["message"])
        new = __salt__["gpg.get_key"](keyid=keyid, **self.place)
        if not new:
            raise CommandExecutionError("%s\nThe new key %s could not be retrieved though." % (done["message"], keyid))
        if not refresh:
            changes["added"] = True
        if new.get("expired"):
            raise CommandExecutionError("%s\nThe new key %s is expired though." % (done["message"], keyid))
        return new

    def _from_anywhere(self, keyid, refresh, expired):
        if self.text:
            return self._imported(keyid, refresh, text=self.text)
        done = None
        if not self.skip_keyserver:
            done = __salt__["gpg.receive_keys"](keyserver=self.keyserver, keys=keyid, **self.place)
            if refresh and done["res"] and not any("updated: new" in line for line in done["message"]):
                done["res"] = False if expired else None
            done["message"] = "\n".join(done["message"])
        if (done and done["res"]) or not self.sources:
            return done
        for source in self.sources:
            path = __salt__["cp.cache_file"](source)
            if not path:
                continue
            try:
                return self._imported(keyid, refresh, path=path)
            except _Missing:
                continue
        words = "none of the specified sources were found or contained the (unexpired) key %s." % keyid
        raise CommandExecutionError("%s\n%s" % (done["message"], words) if done else words)

    def _imported(self, keyid, refresh, text=None, path=None):
        home = {name: self.place[name] for name in ("user", "gnupghome")}
        keys = __salt__["gpg.read_key"](text=text, path=path, keyid=keyid, **home)
        if not keys:
            raise _Missing("Passed text did not contain the requested key %s" % keyid)
        if refresh and keys[0].get("expired"):
            raise _Missing("Passed text contained the key %s, but it's expired" % keyid)
        return __salt__["gpg.import_key"](text=text, filename=path, select=keyid, **self.place)

    def _expired_subkeys(self, key):
        """Subkeys that expired in the last ``subkey_maxage`` days, by id."""
        import datetime

        expired_subkeys = {}
        for sub in (key or {}).get("subkeys", ()) if self.maxage else ():
            if sub.get("expired"):
                day = datetime.datetime.strptime(sub["expires"], "%Y-%m-%d").date()
                if (datetime.date.today() - day).days <= self.maxage:
                    expired_subkeys[sub["keyid"]] = sub
        return expired_subkeys


def _trusted(keyid, trust, place, comments, changes):
    """Set the wanted trust in the key. Returns the state's result."""
    key = __salt__["gpg.get_key"](keyid=keyid, **place)
    if key and key.get("trust") == TRUST[trust]:
        comments.append("GPG Public Key %s already in correct trust state" % keyid)
        return True
    if __opts__["test"]:
        comments.append("Would have set trust level for %s to %s" % (keyid, trust))
        changes["trust"] = trust
        return None
    done = __salt__["gpg.trust_key"](keyid=keyid, trust_level=trust, **place)
    if done["res"] is False:
        raise CommandExecutionError(done["message"])
    comments.append("Set trust level for %s to %s" % (keyid, trust))
    changes["trust"] = trust
    return True
