"""Checkouts of git repositories, and git's settings. Salt: states/git.py

git_clones.py and git_settings.py have the other functions of the same Salt module.
"""

from thin import detail
from thin.exceptions import CommandExecutionError
from thin.utils.formats.gitwords import Done, equal, failed, is_digest, joined, reason, short
from thin.utils.programs.gitjob import Job


def __virtual__():
    return True if "git.version" in __salt__ else (False, "git module could not be loaded")


def latest(
    name,
    target=None,
    rev="HEAD",
    branch=None,
    user=None,
    password=None,
    update_head=True,
    force_checkout=False,
    force_clone=False,
    force_fetch=False,
    force_reset=False,
    submodules=False,
    bare=False,
    mirror=False,
    remote="origin",
    fetch_tags=True,
    sync_tags=True,
    depth=None,
    identity=None,
    https_user=None,
    https_pass=None,
    refspec_branch="*",
    refspec_tag="*",
    output_encoding=None,
    **kwargs,
):
    """``target`` is a checkout of the repository ``name`` at the present commit of ``rev`` (branch, tag, commit or
    HEAD) there.

    ``branch``: the local branch that is checked out. ``update_head`` False: fetch only. ``force_reset``: hard-reset if
    the update is no fast-forward or there are local changes; ``remote-changes``: only if the remote has new commits.
    ``force_checkout`` discards local changes when the branch changes, ``force_clone`` empties a directory that is no
    repository. ``bare``, ``mirror``, ``depth``: kinds of clones. changes: ``revision``, ``new``, ``forced update`` ...
    """
    arguments = locals()
    return _Latest(arguments, __salt__, __opts__["test"], __env__).done()


class _Latest(Job):
    def check(self):
        if not self.remote:
            raise Done(False, "'remote' argument is required")
        if self.force_reset not in (True, False, "remote-changes"):
            raise Done(False, "'force_reset' must be one of True, False, or 'remote-changes'")
        self.branch = None if self.branch is None else str(self.branch)
        self.bare = self.bare or self.mirror
        super(_Latest, self).check()
        if self.rev != "HEAD" and self.bare:
            raise Done(False, "'rev' is not compatible with the 'mirror' and 'bare' arguments")

    def run(self):
        self.ask_remote()
        if self.is_repository("refs" if self.bare else ".git"):
            self.update()
        else:
            self.make()

    # the remote

    def ask_remote(self):
        """Ask the remote. wanted: the commit, None for a bare or empty one; kind; upstream (None: no change, False:
        none); where."""
        try:
            refs = self.salt["git.remote_refs"](
                self.name,
                user=self.user,
                identity=self.identity,
                saltenv=self.saltenv,
                output_encoding=self.output_encoding,
                **self.https,
            )
        except CommandExecutionError as exc:
            raise Done(False, "Failed to check remote refs: %s" % reason(exc))
        self.refs, head = refs, refs.get("HEAD")
        heads = [name[11:] for name, digest in refs.items() if name.startswith("refs/heads/") and digest == head]
        self.default = heads[0] if heads else None
        self.wanted = self.kind = self.where = None
        self.upstream = False
        if not self.bare:
            self._find(refs, head)
        if self.depth is not None and self.kind not in ("branch", "tag"):
            words = "When 'depth' is used, 'rev' must be set to the name of a branch or tag on the remote repository"
            raise Done(False, words)
        if self.wanted is None and not self.bare and self.rev != "HEAD":
            raise Done(False, "No revision matching '%s' exists in the remote repository" % self.rev)

    def _find(self, refs, head):
        rev = self.rev
        if rev == "HEAD":
            if head is not None:
                self.wanted, self.kind, self.upstream = head, "sha1", None
                self.where = "remote HEAD (%s)" % short(head)
        elif "refs/heads/" + rev in refs:
            self.wanted, self.kind = refs["refs/heads/" + rev], "branch"
            self.upstream = "%s/%s" % (self.remote, rev)
            self.where = "%s (%s)" % (self.upstream, short(self.wanted))
        elif "refs/tags/" + rev in refs:
            self.wanted, self.kind = refs.get("refs/tags/%s^{}" % rev, refs["refs/tags/" + rev]), "tag"
            self.where = "%s (%s)" % (rev, short(self.wanted))
        elif is_digest(rev):
            self.rev = self.wanted = rev.lower()
            self.kind, self.where = "sha1", short(self.wanted)

    # an existing repository

    def update(self):
        self.look()
        if self.bare:
            self.update_bare()
        elif self.wanted is not None:
            self.set_remote()
            self.plan_upstream()
            self.foresee()
            self.bring()
            self.switch()
        new = self.tried("revision")
        if not self.bare and not equal(new, self.wanted, self.kind):
            raise failed("Failed to update repository", self.comments)
        if self.local_rev == new:
            self.up_to_date(self.comments)
        self.ret["comment"] = joined(self.comments)
        self.ret["changes"]["revision"] = {"old": self.local_rev, "new": new}

    def up_to_date(self, comments=(), changed=False):
        words = "Repository %s is up-to-date" % self.target
        if changed:
            words += ", but with uncommitted changes. Set 'force_reset' to True to purge uncommitted changes."
        if comments:
            shown = comments if isinstance(comments, str) else joined(comments)
            words += "\n\nChanges %smade: %s" % ("that would be " if self.test else "", shown)
        raise Done(True, words)

    def switching(self):
        return self.branch is not None and self.branch != self.local_branch

    def look(self):
        """The current revision of the checkout, and the kind of update.

        fast_forward: None if only a fetch can tell.
        """
        self.branches, self.tags = self.git("list_branches"), set(self.git("list_tags"))
        self.local_rev, self.local_branch = self.tried("revision"), self.tried("current_branch")
        if not self.bare and self.wanted is None and self.local_rev is not None:
            words = "Remote repository is empty, cannot update from a non-empty to an empty repository"
            raise Done(False, words)
        self.base_rev, self.base_branch = self.local_rev, self.local_branch
        if self.switching():
            if self.branch in self.branches:
                self.base_branch = self.branch
                self.base_rev = self.git("rev_parse", self.branch + "^{commit}", ignore_retcode=True)
            else:
                self.base_rev = self.wanted
        self.remotes = self.git("remotes", redact_auth=False)
        self.same = equal(self.local_rev, self.wanted, self.kind)
        self.changed = not self.bare and bool(self._diff())
        if self.changed and self.same:
            if self.force_reset is not True:
                self.up_to_date(changed=True)
            if self.test:
                self.ret["changes"]["forced update"] = True
                words = (
                    "%s is up-to-date, but with uncommitted changes. Since 'force_reset' is set to True, these local "
                    "changes would be reset. To only reset when there are changes in the remote repository, set "
                    "'force_reset' to 'remote-changes'."
                )
                raise Done(None, words % self.target)
        self.have = self._have()
        self.fast_forward = False if self.changed and self.force_reset != "remote-changes" else None
        if self.have:
            self._stay(self.where)
            if self.fast_forward is not False:
                self.fast_forward = self._is_fast_forward()
        if self.fast_forward is False and self.force_reset is False:
            self.refuse()
        self.tracking = None
        if self.base_branch is not None:
            upstream = self.tried("rev_parse", self.base_branch + "@{upstream}", opts=["--abbrev-ref"])
            self.tracking = upstream if upstream is not None else False

    def _diff(self):
        try:
            return self.git("diff", "HEAD")
        except CommandExecutionError:
            return ""

    def _stay(self, where):
        """Return if the branch must not be moved."""
        if self.same or self.update_head or self.switching():
            return
        words = (
            "%s is already present and local HEAD (%s) does not match, but update_head=False. HEAD has not been "
            "updated locally."
        )
        raise Done(True, words % (where.capitalize() if self.rev == "HEAD" else where, short(self.local_rev)))

    def _is_fast_forward(self):
        if self.base_rev is None:
            return True
        return self.git("merge_base", refs=[self.base_rev, self.wanted], is_ancestor=True, ignore_retcode=True)

    def _have(self):
        """Whether the wanted commit is available, and the remote's ref still points to it."""
        if self.wanted is None:
            return False
        if self.kind == "sha1" and self.base_rev is not None and self.base_rev.startswith(self.wanted):
            return True
        if self.tried("rev_parse", self.wanted + "^{commit}") is None:
            return False
        if self.kind == "branch":
            return self.remote in self.remotes and self.tried("rev_parse", self.upstream) == self.wanted
        if self.kind == "tag":
            if self.rev not in self.tags:
                return False
            local = self.tried("rev_parse", self.rev + "^{commit}")
            if local != self.wanted and not self.force_reset:
                words = (
                    "'%s' is a tag, but the remote SHA1 for this tag (%s) doesn't match the local SHA1 (%s). Set "
                    "'force_reset' to True to force this update."
                )
                raise Done(False, words % (self.rev, short(self.wanted), short(local)))
            return local == self.wanted
        return True

    def refuse(self):
        """The error if the update is no fast-forward and may not be forced."""
        more = ""
        if self.branch is None and self.rev != "HEAD" and self.local_branch != self.rev:
            more = (
                " The desired rev (%s) differs from the name of the local branch (%s), if the desired rev is a branch "
                "name then a forced update could possibly be avoided by setting the 'branch' argument to '%s' instead."
                % (self.rev, self.local_branch, self.rev)
            )
        elif self.branch is None and self.rev == "HEAD" and self.default not in (None, self.local_branch):
            more = (
                " The default remote branch (%s) differs from the local branch (%s). This could be caused by changing "
                "the default remote branch, or if the local branch was manually changed. Rather than forcing an "
                "update, it may be advisable to set the 'branch' argument to '%s' instead. To ensure that this state "
                "follows the '%s' branch instead of the remote HEAD, set the 'rev' argument to '%s'."
                % ((self.default, self.local_branch) + (self.default,) * 3)
            )
        old, new = short(self.base_rev), short(self.wanted)
        words = "Repository would be updated %s%s, but %s. Set 'force_reset' to True%s to force this update%s.%s" % (
            "from %s to %s" % (old, new) if self.changed and old != new else "to %s" % new,
            " (after checking out local branch '%s')" % self.branch if self.switching() else "",
            "there are uncommitted changes" if self.changed else "this is not a fast-forward merge",
            " (or 'remote-changes')" if self.changed else "",
            " and discard these changes" if self.changed else "",
            more,
        )
        raise failed(words, self.comments)

    def set_remote(self):
        from thin.utils.programs import gitrun

        url = self.remotes.get(self.remote, {}).get("fetch")
        if url == self.name:
            return
        if self.test:
            words = "Remote '%s' would be changed from %s to %s"
            actions = [words % (self.remote, url and gitrun.redact(url), self.name)]
            if not self.have:
                actions.append("Remote would be fetched")
            if not self.same and self.update_head:
                self.ret["changes"]["revision"] = {"old": self.local_rev, "new": self.wanted}
                if self.fast_forward is False:
                    self.ret["changes"]["forced update"] = True
                how = {False: "hard-reset", True: "fast-forwarded", None: "updated"}[self.fast_forward]
                actions.append("Repository would be %s to %s" % (how, short(self.wanted)))
            if self.ret["changes"]:
                raise Done(None, joined(actions))
            if not self.same:
                raise Done(True, joined(actions))
            self.up_to_date(actions)
        self.git("remote_set", url=self.name, remote=self.remote, **self.https)
        if url is None:
            self.say("Remote '%s' set to %s", self.remote, gitrun.redact(self.name))
            self.ret["changes"]["new"] = "%s => %s" % (self.name, self.remote)
        else:
            self.say("Remote '%s' changed from %s to %s", self.remote, gitrun.redact(url), gitrun.redact(self.name))

    def plan_upstream(self):
        """The change of the upstream branch: a text, and options for git branch."""
        self.tracking_words, self.tracking_opts = "", None
        new_branch = self.branch is not None and self.branch not in self.branches
        if self.upstream and self.tracking != self.upstream:
            self.tracking_words = "%s to " + self.upstream
            self.tracking_words %= "updated" if self.tracking else "set"
            # a new branch tracks the branch from which it was created
            self.tracking_opts = None if new_branch else ["--set-upstream-to", self.upstream]
        elif self.tracking and self.upstream is False:
            self.tracking_words, self.tracking_opts = "unset", ["--unset-upstream"]

    def foresee(self):
        """The end of a dry run."""
        if not self.test:
            return
        actions = [] if self.have else ["Remote '%s' would be fetched" % self.remote]
        if not self.same and (self.update_head or self.switching()):
            self.ret["changes"]["revision"] = {"old": self.local_rev, "new": self.wanted}
        if self.switching():
            if self.branch not in self.branches:
                words = "New branch '%s' would be checked out, with %s as a starting point"
                actions.append(words % (self.branch, self.where))
                if self.upstream:
                    actions.append("Tracking branch would be set to %s" % self.upstream)
            else:
                how = {False: "hard-reset", True: "fast-forwarded", None: "updated"}[self.fast_forward]
                words = "Branch '%s' would be checked out and %s to %s"
                actions.append(words % (self.branch, how, short(self.wanted)))
        elif not self.same and self.update_head:
            how = "hard-reset" if self.force_reset and self.have else "updated"
            how = "fast-forwarded" if self.fast_forward else how
            words = "Repository would be %s from %s to %s"
            actions.append(words % (how, short(self.local_rev), short(self.wanted)))
        elif not self.same:
            words = "Local HEAD (%s) does not match %s but update_head=False, HEAD would not be updated locally"
            actions.append(words % (short(self.local_rev), self.where))
        if self.tracking_words:
            actions.append("Tracking branch would be %s" % self.tracking_words)
        if self.ret["changes"]:
            raise Done(None, joined(actions))
        if not self.same and not self.update_head and actions:
            raise Done(True, joined(actions))
        self.up_to_date(actions)

    def bring(self):
        """Fetch missing objects, including tags."""
        if self.tracking_opts is not None and self.local_branch is None:
            words = (
                "Cannot set/unset upstream tracking branch, local HEAD refers to nonexistent branch. This may have "
                "been caused by cloning a remote repository for which the default branch was renamed or deleted. If "
                "you are unable to fix the remote repository, you can work around this by setting the 'branch' "
                "argument (which will ensure that the named branch is created if it does not already exist)."
            )
            raise failed(words, self.comments)
        theirs = {name[10:] for name in self.refs if name.startswith("refs/tags/") and not name.endswith("^{}")}
        if self.tags != theirs:
            self.have = False
            if theirs - self.tags:
                self.ret["changes"]["new_tags"] = sorted(theirs - self.tags)
            gone = sorted(self.tags - theirs) if self.sync_tags else []
            for tag in gone:
                self.git("tag", tag, opts="-d")
            if gone:
                self.ret["changes"]["deleted_tags"] = gone
                self.say("The following tags were removed from the local checkout: %s", ", ".join(gone))
        if self.have:
            return
        if self.fetch():
            self.say("%s was fetched, resulting in updated refs", self.name)
        try:
            self.git("rev_parse", self.wanted + "^{commit}", ignore_retcode=True)
        except CommandExecutionError as exc:
            raise Done(False, "Fetch did not successfully retrieve rev '%s' from %s: %s" % (self.rev, self.name, exc))
        self._stay(self.where)
        self.fast_forward = self._is_fast_forward()
        if self.force_reset is False and (not self.fast_forward or self.changed):
            self.refuse()

    def fetch(self):
        refspecs = None
        if self.fetch_tags:
            refspecs = [
                "refs/heads/%s:refs/remotes/%s/%s" % (self.refspec_branch, self.remote, self.refspec_branch),
                "+refs/tags/%s:refs/tags/%s" % (self.refspec_tag, self.refspec_tag),
            ]
        try:
            return self.git(
                "fetch",
                remote=self.remote,
                force=self.force_fetch,
                refspecs=refspecs,
                identity=self.identity,
                saltenv=self.saltenv,
                **self.https,
            )
        except CommandExecutionError as exc:
            words = (
                "Fetch failed. Set 'force_fetch' to True to force the fetch if the failure was due to not being able "
                "to fast-forward. Output of the fetch command follows:\n\n%s"
            )
            raise failed(words % reason(exc), self.comments)

    def switch(self):
        """Check out the branch at the wanted commit."""
        if self.switching():
            self._check_out()
        if self.fast_forward is False:
            self.git("reset", opts=["--hard", self.wanted])
            self.ret["changes"]["forced update"] = True
            if self.changed:
                self.say("Uncommitted changes were discarded")
            self.say("Repository was hard-reset to %s", self.where)
        elif self.fast_forward and self.changed and self.force_reset is not False:
            self.git("discard_local_changes")
            self.say("Uncommitted changes were discarded")
        if self.tracking_opts is not None:
            self.git("branch", opts=self.tracking_opts)
            self.say("Tracking branch was %s", self.tracking_words)
        if self.fast_forward and not equal(self.base_rev, self.wanted, self.kind):
            if not self.upstream and self.rev != "HEAD":
                self.git("reset", opts=["--hard", self.rev])
                self.say("Repository was reset to %s (fast-forward)", self.rev)
            elif not self.git("symbolic_ref", "HEAD", opts=["--quiet"], ignore_retcode=True):
                raise failed("Unable to fast-forward, HEAD is detached", self.comments)
            else:
                self.git("merge", rev=self.wanted, opts=["--ff-only"])
                self.say("Repository was fast-forwarded to %s", self.where)
        if self.submodules:
            self.update_submodules()

    def _check_out(self):
        if self.changed and not self.force_checkout:
            words = "Local branch '%s' has uncommitted changes. Set 'force_checkout' to True to discard them and "
            raise Done(False, words % self.local_branch + "proceed.")
        if self.branch in self.branches:
            self.git("checkout", self.branch, force=self.force_checkout)
            self.say("'%s' was checked out", self.branch)
        else:
            start = self.wanted if self.rev == "HEAD" else self.upstream or self.rev
            self.git("checkout", start, force=self.force_checkout, opts=["-b", self.branch])
            self.say("New branch '%s' was checked out, with %s as a starting point", self.branch, self.where)

    def update_bare(self):
        if self.test:
            detail.unsure("what the remote has is not known before it is fetched")
            self.up_to_date("Bare repository at %s would be fetched" % self.target)
        more = ", resulting in updated refs" if self.fetch() else ""
        self.say("Bare repository at %s was fetched%s", self.target, more)

    # a new clone

    def make(self):
        change = "%s => %s" % (self.name, self.target)
        self.make_room({"forced clone": True, "new": change})
        self.ret["changes"]["new"] = change
        if self.test:
            raise Done(None, "Repository %s would be cloned to %s" % (self.name, self.target))
        del self.ret["changes"]["new"]
        opts = ["--mirror"] if self.mirror else ["--bare"] if self.bare else []
        opts += ["--origin", self.remote] if self.remote != "origin" else []
        opts += ["--depth", str(self.depth), "--branch", self.rev] if self.depth is not None else []
        self.clone(opts)
        self.ret["changes"]["new"] = change
        kind = " as mirror" if self.mirror else " as bare repository" if self.bare else ""
        self.say("%s cloned to %s%s", self.name, self.target, kind)
        if not self.bare and self.wanted:
            self.arrange()
        if self.submodules and self.wanted:
            self.update_submodules()
        new = self.tried("revision")
        self.ret["comment"] = joined(self.comments)
        if new is not None:
            self.ret["changes"]["revision"] = {"old": None, "new": new}

    def arrange(self):
        """Branch, commit and upstream of a new clone."""
        if self.kind == "tag" and self.rev not in self.git("list_tags"):
            raise failed("Revision '%s' does not exist in clone" % self.rev, self.comments)
        if self.branch is not None and self.branch not in self.git("list_branches"):
            start = self.wanted if self.rev == "HEAD" else self.upstream or self.rev
            self.git("checkout", start, opts=["-b", self.branch])
            self.say("Branch '%s' checked out, with %s as a starting point", self.branch, self.where)
        local_rev, local_branch = self.tried("revision"), self.tried("current_branch")
        if local_branch is None and "HEAD" not in self.refs:
            words = (
                "Remote HEAD refers to a ref that does not exist. This can happen when the default branch on the "
                "remote repository is renamed or deleted. If you are unable to fix the remote repository, you can work "
                "around this by setting the 'branch' argument (which will ensure that the named branch is created if "
                "it does not already exist)."
            )
            raise failed(words, self.comments)
        if not equal(local_rev, self.wanted, self.kind):
            self.git("reset", opts=["--hard", self.wanted])
            self.say("Repository was reset to %s", self.where)
        self.tracking = self.tried("rev_parse", "%s@{upstream}" % local_branch, opts=["--abbrev-ref"]) or False
        self.branches = self.git("list_branches")
        self.plan_upstream()
        if self.tracking_opts is not None:
            self.git("branch", opts=self.tracking_opts)
            self.say("Tracking branch was %s", self.tracking_words)
