"""Chooses, fetches and verifies the archive of ``archive.extracted``. Salt: states/archive.py"""

import os

from thin import detail
from thin.exceptions import CommandExecutionError

FORMATS = ("tar", "rar", "zip")


class Done(Exception):
    """The state ends. ``args`` are its result and comment."""


class Source(object):
    """The source of an archive. The state's arguments and intermediate results are attributes.

    ``match``: the chosen source; ``shown``: its form for people; ``cached``: its path on this machine; ``local``:
    whether the source is a file of this machine; ``sum``: its digest as ``{"hsum", "hash_type"}``, if one was given;
    ``updated``: whether its digest differs from the one that was recorded at the last extraction.
    ``salt``, ``states``, ``opts`` and ``saltenv`` are the state's dunders. The methods raise Done to end the state.
    """

    def __init__(self, ret, arguments, salt, states, opts, saltenv):
        self.__dict__.update(arguments)
        self.ret = ret
        self.salt, self.states, self.opts, self.saltenv = salt, states, opts, saltenv

    def warn(self, words):
        self.ret.setdefault("warnings", []).append(words)

    def check(self):
        """Check the arguments. Errors have the order that Salt's have."""
        if self.skip_files_list_verify and self.skip_verify:
            raise Done(False, 'Only one of "skip_files_list_verify" and "skip_verify" can be set to True')
        if not _absolute(self.name):
            raise Done(False, "%s is not an absolute path" % self.name)
        if not self.name:
            raise Done(False, "Name of the directory path needs to be specified")
        bare = self.name.rstrip(os.sep)
        if os.path.isfile(bare):
            raise Done(False, "%s exists and is not a directory" % bare)
        self.name = bare + os.sep
        for key in ("if_missing", "enforce_ownership_on"):
            if not _absolute(getattr(self, key)):
                raise Done(False, "Value for '%s' is not an absolute path" % key)
        if self.enforce_ownership_on and os.path.relpath(self.enforce_ownership_on, self.name).startswith("../"):
            raise Done(False, "Value for 'enforce_ownership_on' must be within %s" % self.name)
        if self.if_missing is not None and os.path.exists(self.if_missing):
            raise Done(True, "Path %s exists" % self.if_missing)
        self.uid = self.salt["file.user_to_uid"](self.user) if self.user else -1
        if self.uid == "":
            raise Done(False, "User %s does not exist" % self.user)
        self.gid = self.salt["file.group_to_gid"](self.group) if self.group else -1
        if self.gid == "":
            raise Done(False, "Group %s does not exist" % self.group)
        if self.source_hash_update and not self.source_hash:
            self.warn("The 'source_hash_update' argument is ignored when 'source_hash' is not also specified.")
        if (self.signature or self.source_hash_sig) and self.sig_backend + ".verify" not in self.salt:
            words = "Cannot verify signatures because the %s module was not loaded"
            raise Done(False, words % self.sig_backend)

    def choose(self):
        """Choose the source, the archive's format and the method of extraction."""
        from thin.utils.files import sources

        self.match = self.salt["file.source_list"](self.source, self.source_hash, self.saltenv)[0]
        if not self.match:
            raise Done(False, 'Invalid source "%s"' % self.source)
        self.shown = sources.redact(str(self.match))
        self.local = sources.scheme(self.match) in ("", "file")
        if self.local:
            self.match = self.shown = os.path.realpath(os.path.expanduser(sources.local_path(self.match)))
            if not os.path.isfile(self.match):
                raise Done(False, "Source file '%s' does not exist" % self.shown)
        self._choose_format()
        if self.options is not None and not isinstance(self.options, str):
            self.options = str(self.options)
        self.strip = _stripped(self.options) if self.options and self.archive_format == "tar" else None
        if self.archive_format == "zip":
            self._choose_unzip()
        elif self.password:
            raise Done(False, "The 'password' argument is only supported for zip archives")
        if self.options and self.archive_format == "rar":
            words = "The 'options' argument is only compatible with the following archive formats: tar, zip"
            raise Done(False, words)
        if self.trim_output is True:
            self.trim_output = 100
        elif self.trim_output and not isinstance(self.trim_output, int):
            try:
                self.trim_output = int(self.trim_output)
            except (TypeError, ValueError):
                raise Done(False, "Invalid value for trim_output, must be True/False or an integer")
        self.sum = {}
        if self.source_hash:
            try:
                self.sum = self.salt["file.get_source_sum"](
                    source=self.match,
                    source_hash=self.source_hash,
                    source_hash_name=self.source_hash_name,
                    saltenv=self.saltenv,
                    source_hash_sig=self.source_hash_sig,
                    sig_backend=self.sig_backend,
                    **self._trust(),
                )
            except CommandExecutionError as exc:
                raise Done(False, str(exc))

    def _trust(self):
        """The arguments that say whose signatures are accepted."""
        return {name: getattr(self, name) for name in ("signed_by_any", "signed_by_all", "keyring", "gnupghome")}

    def _choose_format(self):
        form = self.archive_format or self.salt["archive.guess_format"](str(self.match).partition("?")[0].rstrip("/"))
        if form is None:
            words = (
                "Could not guess archive_format from the value of the 'source' argument. Please set this "
                "archive_format to one of the following: %s"
            )
            raise Done(False, words % ", ".join(FORMATS))
        self.archive_format = str(form).lower()
        if self.archive_format not in FORMATS:
            words = (
                "Invalid archive_format '%s'. Either set it to a supported value (%s) or remove this argument and the "
                "archive format will be guessed based on file extension."
            )
            raise Done(False, words % (self.archive_format, ", ".join(FORMATS)))

    def _choose_unzip(self):
        if self.options:
            if self.use_cmd_unzip is None:
                self.use_cmd_unzip = True
            elif not self.use_cmd_unzip:
                words = (
                    "'use_cmd_unzip' cannot be set to False if CLI options are being specified (via the 'options' "
                    "argument). Either remove 'use_cmd_unzip', or set it to True."
                )
                raise Done(False, words)
        if self.password and self.use_cmd_unzip:
            self.warn(
                "Using a password in combination with setting 'use_cmd_unzip' to True is considered insecure. It is "
                "recommended to remove the 'use_cmd_unzip' argument (or set it to False)."
            )

    def fetch(self):
        """Fetch the archive and check its signature. In a dry run a remote archive is not fetched: raises Done."""
        if self.skip_files_list_verify and self.sum and self._recorded() == self.sum["hsum"]:
            words = (
                "Archive %s existing source sum is the same as the expected one and skip_files_list_verify argument "
                "was set to True. Extraction is not needed"
            )
            detail.same()
            raise Done(None if self.opts["test"] else True, words % self.shown)
        if self.local:
            self.cached = self.match
        elif self.opts["test"]:
            detail.unsure("an archive that is not here is not fetched")
            words = "Archive %s would be cached (if necessary) and checked to discover if extraction is needed"
            raise Done(None, words % self.shown)
        else:
            done = self.states["file.cached"](
                self.match,
                source_hash=self.source_hash or "",
                source_hash_name=self.source_hash_name,
                skip_verify=self.skip_verify,
                saltenv=self.saltenv,
                use_etag=self.use_etag,
                source_hash_sig=self.source_hash_sig,
                sig_backend=self.sig_backend,
                **self._trust(),
            )
            if not done["result"]:
                self.ret["changes"] = done["changes"]
                raise Done(False, done["comment"])
            self.cached = self.salt["cp.is_cached"](self.match, saltenv=self.saltenv)
            self.cached = self.cached or self.salt["cp.cache_file"](self.match, saltenv=self.saltenv)
        if self.signature:
            from thin.utils.files import signatures

            check = signatures.checker(
                self.signature, self.salt, self.opts, self.saltenv, backend=self.sig_backend, **self._trust()
            )
            try:
                check(self.cached)
            except CommandExecutionError as exc:
                raise Done(False, "Failed verifying the source file's signature: %s" % exc)
        before = self._recorded()
        if self.source_hash and self.source_hash_update and not self.skip_verify:
            now = self.salt["file.get_hash"](self.cached, "sha256")
            self.updated = before is not None and before != now
            if before != now and not self.opts["test"]:
                self._record(now)

    def _record_path(self):
        from thin.utils.files import arguments, sources

        kind = "local" if self.local else os.path.join("extrn_files", self.saltenv)
        place = self.match.lstrip("/") if self.local else sources.redact(self.match).partition("://")[2]
        place = os.path.normpath("/" + place).lstrip("/") + ".sha256"
        return os.path.join(arguments.cachedir(self.opts), "archive_hash", kind, place)

    def _recorded(self):
        """The SHA-256 of the archive at its last extraction with ``source_hash_update``, or None."""
        try:
            with open(self._record_path(), encoding="utf-8") as stream:
                return stream.read().strip() or None
        except OSError:
            return None

    def _record(self, digest):
        from thin.utils.files import atomic

        atomic.makedirs(self._record_path(), mode="0700")
        atomic.write(self._record_path(), digest.encode("ascii"))


def _absolute(path):
    return path is None or (isinstance(path, str) and os.path.isabs(path))


def _stripped(options):
    import re

    match = re.search(r"--strip(?:-components)?(?:\s+|=)[\"']?(\d+)", options)
    return int(match.group(1)) if match else None
