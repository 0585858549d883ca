"""Clones that are not updated, and checkouts of one commit: a part of ``git``. Salt: states/git.py"""

import os

from thin import detail
from thin.exceptions import CommandExecutionError
from thin.utils.formats.gitwords import Done, failed, is_digest, joined
from thin.utils.programs.gitjob import Job

__virtualname__ = "git"


def __virtual__():
    return "git" if "git.version" in __salt__ else (False, "git module could not be loaded")


def cloned(
    name,
    target,
    branch=None,
    user=None,
    password=None,
    identity=None,
    https_user=None,
    https_pass=None,
    output_encoding=None,
):
    """``target`` is a clone of the repository, with this branch checked out; it is not updated."""
    arguments = dict(locals(), rev="HEAD", remote="origin", kwargs={})
    return _Cloned(arguments, __salt__, __opts__["test"], __env__).done()


class _Cloned(Job):
    def check(self):
        if self.target is not None and not os.path.isabs(str(self.target)):
            raise Done(False, "'target' path must be absolute")
        if self.branch is not None and not str(self.branch):
            raise Done(False, "Invalid 'branch' argument")
        self.branch = None if self.branch is None else str(self.branch)
        super(_Cloned, self).check()

    def run(self):
        if not os.path.exists(self.target):
            self.make()
            return
        try:
            self.git("status")
        except CommandExecutionError as exc:
            raise Done(False, str(exc))
        exists = "Repository already exists at %s" % self.target
        if self.branch is None:
            raise Done(True, exists)
        current = self.git("current_branch")
        if current == self.branch:
            raise Done(True, "%s and is checked out to branch '%s'" % (exists, self.branch))
        if self.test:
            self.ret["changes"]["branch"] = {"old": current, "new": self.branch}
            raise Done(None, "Branch would be changed to '%s'" % self.branch)
        local = self.tried("rev_parse", self.branch) is not None
        try:
            self.git(
                "checkout", self.branch if local else "origin/" + self.branch, opts=[] if local else ["-b", self.branch]
            )
        except CommandExecutionError as exc:
            raise Done(False, "Failed to change branch to '%s': %s" % (self.branch, exc))
        self.ret["changes"]["branch"] = {"old": current, "new": self.branch}
        self.ret["comment"] = "Branch changed to '%s'" % self.branch

    def make(self):
        change = {"new": "%s => %s" % (self.name, self.target)}
        more = " with branch '%s'" % self.branch if self.branch is not None else ""
        if self.test:
            self.ret["changes"] = change
            raise Done(None, "%s would be cloned to %s%s" % (self.name, self.target, more))
        self.clone(["--branch", self.branch] if self.branch is not None else [])
        self.ret["changes"] = change
        self.ret["comment"] = "%s cloned to %s%s" % (self.name, self.target, more)


def detached(
    name,
    rev,
    target,
    remote="origin",
    user=None,
    password=None,
    force_clone=False,
    force_checkout=False,
    fetch_remote=True,
    hard_reset=False,
    submodules=False,
    identity=None,
    https_user=None,
    https_pass=None,
    output_encoding=None,
    **kwargs,
):
    """``target`` is a checkout of the repository with HEAD detached at a commit, tag or remote branch.

    ``hard_reset``: local changes are reset first. changes: ``HEAD``: old and new commit.
    """
    arguments = locals()
    return _Detached(arguments, __salt__, __opts__["test"], __env__).done()


class _Detached(Job):
    def run(self):
        self.digest = is_digest(self.rev)
        self.rev = self.rev.lower() if self.digest else self.rev
        old, present = None, False
        if self.is_repository():
            old = self.tried("revision")
            present = self.digest and self.tried("describe", self.rev) is not None
            if not self.digest:
                self.set_remote()
        else:
            self.make()
        if not present and self.fetch_remote is not False:
            self.fetch()
        commit = self.find()
        if self.hard_reset:
            if self.test:
                detail.unsure("whether the reset changes files is not known before")
                raise Done(None, "Hard reset to HEAD would be performed on %s" % self.target)
            self.git("reset", opts=["--hard", "HEAD"])
            self.say("Repository was reset to HEAD before checking out revision")
        new = None
        if commit != old:
            if self.test:
                self.ret["changes"]["HEAD"] = {"old": old, "new": commit}
                raise Done(None, "Commit ID %s would be checked out at %s" % (commit, self.target))
            self.git("checkout", commit, force=self.force_checkout)
            self.say("Commit ID %s was checked out at %s", commit, self.target)
            new = self.tried("revision")
        if self.submodules and not self.test:
            self.update_submodules()
            self.say("Submodules were updated")
        if new is not None:
            self.ret["changes"]["HEAD"] = {"old": old, "new": new}
        else:
            self.say("Already checked out at correct revision")
        self.ret["comment"] = joined(self.comments)

    def set_remote(self):
        url = self.git("remotes", redact_auth=False).get(self.remote, {}).get("fetch")
        if url is not None and self.name in url:
            return
        if self.test:
            raise Done(None, "Remote %s would be set to %s" % (self.remote, self.name))
        self.git("remote_set", url=self.name, remote=self.remote, **self.https)
        self.say("Remote %s updated from '%s' to '%s'", self.remote, url, self.name)

    def make(self):
        self.make_room({})
        if self.test:
            raise Done(None, "Repository %s would be cloned to %s" % (self.name, self.target))
        self.clone(["--no-checkout"] + (["--origin", self.remote] if self.remote != "origin" else []))
        self.say("%s cloned to %s", self.name, self.target)

    def fetch(self):
        if self.test:
            detail.unsure("what the remote has is not known before it is fetched")
            raise Done(None, "Repository remote %s would be fetched" % self.remote)
        refspecs = ["refs/heads/*:refs/remotes/%s/*" % self.remote, "+refs/tags/*:refs/tags/*"]
        try:
            output = self.git(
                "fetch",
                remote=self.remote,
                force=True,
                refspecs=refspecs,
                identity=self.identity,
                saltenv=self.saltenv,
                **self.https,
            )
        except CommandExecutionError as exc:
            raise failed("Fetch failed:\n\n%s" % exc, self.comments)
        if output:
            self.say("Remote %s was fetched, resulting in updated refs", self.remote)

    def find(self):
        if self.digest:
            self.git("describe", self.rev)
            return self.rev
        for prefix in ("refs/remotes/%s/" % self.remote, "refs/tags/"):
            revision = self.tried("rev_parse", prefix + self.rev, opts=["--verify", "--quiet"])
            if revision:
                return revision
        raise Done(False, "Revision '%s' does not exist" % self.rev)
