"""Archives extracted into a directory. Salt: states/archive.py

thin/utils/archives/archivesource.py chooses, fetches and verifies an archive.
"""

import errno
import os
import stat

from thin.exceptions import CommandExecutionError
from thin.utils.archives import archivemembers
from thin.utils.archives.archivesource import Done, Source


def __virtual__():
    return "archive"


def extracted(
    name,
    source,
    source_hash=None,
    source_hash_name=None,
    source_hash_update=False,
    skip_files_list_verify=False,
    skip_verify=False,
    password=None,
    options=None,
    list_options=None,
    force=False,
    overwrite=False,
    clean=False,
    clean_parent=False,
    user=None,
    group=None,
    if_missing=None,
    trim_output=False,
    use_cmd_unzip=None,
    extract_perms=True,
    enforce_toplevel=True,
    enforce_ownership_on=None,
    archive_format=None,
    use_etag=False,
    signature=None,
    source_hash_sig=None,
    signed_by_any=None,
    signed_by_all=None,
    keyring=None,
    gnupghome=None,
    sig_backend="gpg",
    allow_devices=False,
    allow_setid=False,
    allow_outside=False,
    **kwargs,
):
    """The content of the archive is in the directory ``name``, which is created if it is missing.

    It is extracted if one of its paths is missing there; with ``overwrite`` always; with ``source_hash_update`` if the
    archive's digest has changed; never if ``if_missing`` exists. If a path exists as another type of file, ``force``
    removes it first. ``clean`` removes all paths of the archive first, ``clean_parent`` the whole directory.
    ``enforce_toplevel``: the archive must have exactly one top-level entry, a directory. ``options`` are for the
    command tar or unzip, ``list_options`` is the command that decompresses, ``password`` is for zip.

    An archive is refused as a whole, in a dry run too, if it has device nodes, FIFOs or sockets (``allow_devices``),
    set-user-ID, set-group-ID or sticky bits (``allow_setid``), or members that would be put outside of the directory,
    through a link of the archive, or are hard links to something else (``allow_outside``: only into a directory that
    no other user can change). No link of another user in the directory is followed.

    changes: ``extracted_files``, ``directories_created``, ``removed``, ``updated ownership``.
    """
    ret = {"name": name, "result": False, "changes": {}, "comment": ""}
    job = _Job(ret, locals(), kwargs)
    try:
        job.check()
        job.choose()
        job.fetch()
        job.look()
        if job.needed:
            job.extract()
        job.own()
        job.conclude()
    except Done as exc:
        ret["result"], ret["comment"] = exc.args
    except CommandExecutionError as exc:
        ret["result"], ret["comment"] = False, str(exc)
    finally:
        job.release()
    return ret


class _Job(Source):
    """One extraction: the arguments and intermediate results as attributes."""

    def __init__(self, ret, arguments, kwargs):
        super(_Job, self).__init__(ret, arguments, __salt__, __states__, __opts__, __env__)
        self.keep = kwargs.get("keep_source", kwargs.get("keep", True))
        if "keep_source" in kwargs and "keep" in kwargs:
            self.warn(
                "Both 'keep_source' and 'keep' were used. Since these both do the same thing, 'keep' was ignored."
            )
        self.needed = self.missing = self.updated = self.created = False
        self.files, self.contents, self.copy, self.ahead = [], None, None, None
        self.allowed = {name: getattr(self, name) for name in archivemembers.ARGUMENTS}

    def release(self):
        if self.ahead is not None:
            self.ahead.__exit__()
        if self.copy:
            from thin.utils.files import safepath

            try:
                safepath.unlink(self.copy)
            except OSError:
                pass

    def look(self):
        """Read the content of the archive, compare it with the directory, and decide whether to extract."""
        if self.archive_format == "zip" and not self.password:
            try:
                locked = __salt__["archive.is_encrypted"](self.cached, saltenv=__env__)
            except CommandExecutionError:
                locked = False  # no zip file; the listing will report this
            if locked:
                words = (
                    "Archive %s is password-protected, but no password was specified. Please set the 'password' "
                    "argument."
                )
                raise Done(False, words % self.shown)
        self.contents = self._listed()
        top = self.contents["top_level_dirs"], self.contents["top_level_files"]
        if self.enforce_toplevel and (len(top[0]) > 1 or top[1]):
            words = (
                "Archive does not have a single top-level directory. To allow this archive to be extracted, set "
                "'enforce_toplevel' to False. To avoid a '%s-bomb' it may also be advisable to set a top-level "
                "directory by adding it to the 'name' value (for example, setting 'name' to %s instead of %s)."
            )
            raise Done(False, words % (self.archive_format, os.path.join(self.name, "some_dir"), self.name))
        if self.clean and self.clean_parent:
            raise Done(False, "Only one of 'clean' and 'clean_parent' can be set to True")
        self.needed = bool(self.overwrite)
        wrong = self._compare()
        if wrong:
            self._make_way(wrong)
        self.updated = self.updated and not self.needed
        self.needed = self.needed or self.updated

    def _listed(self):
        try:
            return self._contents()
        except archivemembers.Harmful as exc:
            raise Done(False, str(exc))
        except CommandExecutionError as exc:
            words = str(exc)
        errors = [] if self.if_missing else ["'if_missing' must be set"]
        if not self.enforce_ownership_on and (self.user or self.group):
            errors.append("Ownership cannot be managed without setting 'enforce_ownership_on'.")
        if errors:
            words += "\n\n"
            if self.archive_format == "tar":
                words += (
                    "If the source archive is a tar archive compressed using a compression type not natively supported "
                    "by the tar command, then setting the 'list_options' argument may allow the contents to be listed. "
                    "Otherwise, if Salt is unable to determine the files/directories in the archive, the following "
                    "workaround(s) would need to be used for this state to proceed"
                )
            else:
                words += "The following workarounds must be used for this state to proceed"
            words += " (assuming the source file is a valid %s archive):\n" % self.archive_format
            words += "".join("\n- " + error for error in errors)
        raise Done(False, words)

    def _contents(self):
        if self.archive_format == "tar" and not __opts__["test"]:
            contents = self._contents_ahead()
            if contents is not None:
                return contents
        return __salt__["archive.check_members"](
            self.cached, self.archive_format, self.list_options, self.strip, self.shown, **self.allowed
        )

    def _contents_ahead(self):
        """The contents of an archive that is read once: if it will be extracted, this is done at the same time, into a
        separate folder (thin/utils/archives/tarpass.py). None for other archives.
        """
        from thin.utils.archives import archivefiles, tarpass

        with archivefiles.located(self.cached, self.cached):
            one = tarpass.fitting(
                self.shown, self.cached, self.options, self.list_options, self.allowed, __salt__["cmd.run_all"]
            )
            if one is None:
                return None
            if self.local and self.source_hash and not self.skip_verify and self._hold():
                one.packed.path = self.cached  # the digest of an archive that is read once is computed afterwards
            if self.ahead is not None:
                self.ahead.__exit__()
            self.ahead = one
            one.read(self.name, self._is_to_come, bool(self.clean_parent))
            return __salt__["archive.listed"](one.members, self.strip or 0, True)

    def _is_to_come(self, member):
        """Whether this member alone is a reason to extract the archive."""
        path = archivemembers.placed(member, self.strip or 0)
        if not path:
            return False
        if self.overwrite or self.updated:
            return True
        kind = "file" if member.kind == "hardlink" else member.kind
        try:
            of_kind = self._kind(path)
        except OSError:
            return False  # reported later
        return of_kind is None or bool(of_kind and of_kind != kind and (self.force or self.clean))

    def _kind(self, path):
        """The type of file at a path of the archive: dir, file, link; None if there is none, "" if it cannot be
        determined.

        Raises OSError."""
        try:
            mode = os.lstat(os.path.join(self.name, path).rstrip(os.sep)).st_mode
        except OSError as exc:
            if exc.errno in (errno.ENOENT, errno.ENOTDIR):
                return None if exc.errno == errno.ENOENT else ""
            raise
        return "dir" if stat.S_ISDIR(mode) else "link" if stat.S_ISLNK(mode) else "file"

    def _compare(self):
        """Find paths of the archive that exist as another type of file; ``needed`` is set if a path is missing."""
        wrong = []
        for key, kind in (("dirs", "dir"), ("files", "file"), ("links", "link")):
            for path in self.contents[key]:
                try:
                    of_kind = self._kind(path)
                except OSError as exc:
                    raise Done(False, str(exc))
                if of_kind is None:
                    self.needed = self.missing = True
                elif of_kind and of_kind != kind:
                    wrong.append(path)
        return wrong

    def _make_way(self, wrong):
        listed = "\n\n" + "\n".join("- " + path for path in wrong)
        words = (
            "The below paths (relative to %s) exist, but are the incorrect type (file instead of directory, symlink "
            "instead of file, etc.)." % self.name
        )
        if __opts__["test"] and self.clean:
            more = " Since the 'clean' option is enabled, the destination paths would be cleared and the archive would "
            raise Done(None, words + more + "be extracted." + listed)
        if __opts__["test"] and self.clean_parent:
            more = (
                " Since the 'clean_parent' option is enabled, the destination parent directory would be removed first "
                "and then re-created and the archive would be extracted"
            )
            raise Done(None, words + more)
        if self.clean:
            self.needed = True
            return
        if not self.force:
            more = " To proceed with extraction, set 'force' to True. Note that this will remove these paths before "
            raise Done(False, words + more + "extracting." + listed)
        self.needed = True
        if __opts__["test"]:
            self.ret["changes"]["removed"] = [os.path.join(self.name, path) for path in wrong]
        else:
            self._take_away(
                wrong,
                "One or more paths existed by were the incorrect type (i.e. file instead of directory or "
                "vice-versa), but could not be removed.",
            )

    def _take_away(self, paths, words):
        from thin.utils.files import walk

        errors = []
        for path in filter(_inside, paths):
            full = os.path.join(self.name, path)
            try:
                if os.path.lexists(full.rstrip(os.sep)):
                    walk.remove(full.rstrip(os.sep))
                    self.ret["changes"].setdefault("removed", []).append(full)
            except OSError as exc:
                errors.append(str(exc))
        if errors:
            raise Done(False, words + " The following errors were observed:\n" + "".join("\n- " + e for e in errors))

    def extract(self):
        if self.local and not __opts__["test"] and not self._is_extracted() and self._hold():
            self.contents = self._listed()
        if self.local and self.source_hash and not self.skip_verify:
            if not __salt__["file.check_hash"](self.cached, self.sum["hsum"]):
                words = "%s does not match the desired source_hash %s"
                raise Done(False, words % (self.shown, self.sum["hsum"]))
        if __opts__["test"]:
            words = "Archive %s would be extracted to %s" % (self.shown, self.name)
            words += ", after cleaning destination path(s)" if self.clean else ""
            raise Done(None, words + self._reason())
        if self.clean_parent:
            from thin.utils.files import walk

            if os.path.lexists(self.name.rstrip(os.sep)):
                walk.remove(self.name.rstrip(os.sep))
                words = "Directory %s was removed prior to the extraction" % self.name
                self.ret["changes"].setdefault("removed", words)
        if self.clean:
            top = self.contents["top_level_dirs"] + self.contents["top_level_files"]
            self._take_away(top, "One or more paths could not be cleaned.")
        if not os.path.isdir(self.name):
            __states__["file.directory"](self.name, user=self.user, makedirs=True)
            self.created = True
        from thin.utils.files import safepath

        try:
            self.files = self._extract()
        except (CommandExecutionError, Done):
            if self.created:
                try:
                    safepath.rmdir(self.name)
                except OSError:
                    pass
            raise

    def _hold(self):
        """Copy an archive that another user can change, so that the checked bytes are extracted.

        Returns whether it was copied.
        """
        from thin.utils.files import arguments, atomic, ownfolders, safepath

        if self.copy or not ownfolders.alterable(self.match):
            return False
        folder = os.path.join(arguments.cachedir(__opts__), "archives")
        try:
            atomic.makedirs(os.path.join(folder, "x"), mode="0700")
            descriptor, self.copy = safepath.temporary(folder)
            with os.fdopen(descriptor, "wb") as target, open(self.match, "rb", opener=safepath.opener) as stream:
                for piece in iter(lambda: stream.read(1 << 20), b""):
                    target.write(piece)
        except OSError as exc:
            raise Done(False, "Archive %s cannot be copied to %s: %s" % (self.shown, folder, exc))
        self.cached = self.copy
        return True

    def _is_extracted(self):
        """Whether the archive is completely extracted, even if not yet moved to its directory."""
        return self.ahead is not None and self.ahead.done is not None

    def _extract(self):
        if self.archive_format == "rar":
            return __salt__["archive.unrar"](self.cached, self.name, trim_output=self.trim_output, **self.allowed)
        if self.archive_format == "zip":
            function = __salt__["archive.cmd_unzip" if self.use_cmd_unzip else "archive.unzip"]
            more = dict(self.allowed)
            if not self.use_cmd_unzip:
                more["extract_perms"] = self.extract_perms
            files = function(
                self.cached,
                self.name,
                options=self.options,
                trim_output=self.trim_output,
                password=self.password,
                **more,
            )
            return [line.replace(self.copy, self.match) for line in files] if self.copy else files
        if self._is_extracted():
            done = self.ahead.finish(self.strip or 0)
        else:
            done = __salt__["archive.extract_tar"](
                self.cached, self.name, self.shown, self.options, self.list_options, self.strip or 0, **self.allowed
            )
        if done["retcode"] != 0:
            done.pop("members")
            self.ret["changes"] = done
            raise Done(False, "")
        files = done["members"] if self.options is None else done["stdout"].splitlines()
        return (files[: self.trim_output] if self.trim_output else files) or (
            "no tar output so far" if self.options is not None else []
        )

    def _reason(self):
        if self.updated:
            return ", due to source_hash update"
        return ", due to absence of one or more files/dirs" if self.missing else ""

    def own(self):
        """Set the owner and group of extracted files, also of earlier runs."""
        self.lost, self.failed = [], []
        if not self.user and not self.group:
            return
        folders, files = self.contents["top_level_dirs"], self.contents["top_level_files"]
        files = files + self.contents["top_level_links"]
        if self.enforce_ownership_on:
            inside = os.path.isdir(self.enforce_ownership_on)
            folders = [self.enforce_ownership_on] if inside else []
            files = [] if inside else [self.enforce_ownership_on]
        recurse = [key for key in ("user", "group") if getattr(self, key)]
        for folder in filter(_inside, folders) if not self.enforce_ownership_on else folders:
            full = os.path.join(self.name, folder)
            if not os.path.isdir(full):
                self.lost += [] if __opts__["test"] else [full]
                continue
            done = __states__["file.directory"](full, user=self.user, group=self.group, recurse=recurse)
            if done["changes"]:
                self.ret["changes"]["updated ownership"] = True
            if done["result"] is False:
                self.failed.append(full)
        for file in filter(_inside, files) if not self.enforce_ownership_on else files:
            self._own_file(os.path.join(self.name, file), file)

    def _own_file(self, path, shown):
        from thin.utils.files import safepath

        try:
            with safepath.at(path) as place, place.pin() as pinned:
                status = pinned.stat()
                if self.uid in (-1, status.st_uid) and self.gid in (-1, status.st_gid):
                    return
                if not __opts__["test"]:
                    pinned.chown(self.uid, self.gid)
            self.ret["changes"]["updated ownership"] = True
        except OSError as exc:
            if not __opts__["test"]:
                self.lost += [path] if exc.errno == errno.ENOENT else []
                self.failed.append(shown)

    def conclude(self):
        ret = self.ret
        if not self.needed:
            ret["result"], ret["comment"] = True, "All files in archive are already present"
            if __opts__["test"] and ret["changes"].get("updated ownership"):
                ret["result"] = None
                ret["comment"] += ". Ownership would be updated on one or more files/directories."
        elif self.files:
            if self.created:
                ret["changes"]["directories_created"] = [self.name]
            ret["changes"]["extracted_files"] = self.files
            ret["comment"] = "%s extracted to %s%s" % (self.shown, self.name, self._reason())
            if self.trim_output:
                ret["comment"] += ". Output was trimmed to %s number of lines" % self.trim_output
            ret["result"] = True
        else:
            ret["comment"] = "No files were extracted from %s" % self.shown
        for paths, words in (
            (self.lost, "the following paths were missing"),
            (self.failed, "Salt was unable to change ownership on the following paths"),
        ):
            if paths:
                ret["result"] = ret["result"] if paths is self.lost and self.if_missing else False
                ret["comment"] += "\n\nWhile trying to enforce user/group ownership, %s:\n" % words
                ret["comment"] += "".join("\n- " + path for path in paths)
        if not self.local and not self.keep:
            done = __states__["file.not_cached"](self.match, saltenv=__env__)
            if not done["result"]:
                self.warn(done["comment"])


def _inside(path):
    """Whether a path of an archive is inside the directory; with ``allow_outside``, other paths are accepted, too."""
    return not path.startswith("/") and ".." not in path.split("/")
