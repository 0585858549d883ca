"""A checkout that a git state makes or updates: the common part of git.latest, git.cloned and git.detached."""

import os

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.formats.gitwords import Done, failed, reason


class Job(object):
    """A checkout: the state's arguments as attributes. ``salt``, ``test`` and ``saltenv`` are the state's dunders."""

    def __init__(self, arguments, salt, test, saltenv):
        self.__dict__.update(arguments)
        self.salt, self.test, self.saltenv = salt, test, saltenv
        self.ret = {"name": self.name, "result": True, "comment": "", "changes": {}}
        self.comments = []
        self.https = {"https_user": self.https_user, "https_pass": self.https_pass}

    def done(self):
        """Run the steps of the state. Returns its return."""
        try:
            self.check()
            self.run()
        except Done as exc:
            self.ret["result"], self.ret["comment"] = exc.args
        except (CommandExecutionError, SaltInvocationError, OSError) as exc:
            self.ret["result"], self.ret["comment"] = failed(reason(exc), self.comments).args
        return self.ret

    def check(self):
        """Check the arguments. Raises Done if they are invalid."""
        unknown = sorted(key for key in self.kwargs if not key.startswith("__"))
        if unknown:
            raise Done(False, "The following keyword arguments are not valid: %s" % ", ".join(unknown))
        if not self.rev:
            raise Done(False, "'%s' is not a valid value for the 'rev' argument" % self.rev)
        if not self.target:
            raise Done(False, "'target' argument is required")
        self.rev, self.target, self.remote = str(self.rev), str(self.target), str(self.remote)
        if not os.path.isabs(self.target):
            raise Done(False, "target '%s' is not an absolute path" % self.target)
        if self.identity is not None:
            if not isinstance(self.identity, (str, list)):
                raise Done(False, "identity must be either a list or a string")
            keys = [self.identity] if isinstance(self.identity, str) else self.identity
            self.identity = [os.path.expanduser(key) for key in keys]
            for key in self.identity:
                if not key.startswith("salt://") and not os.path.isabs(key):
                    raise Done(False, "identity '%s' is not an absolute path" % key)
        if os.path.isfile(self.target):
            raise Done(False, "Target '%s' exists and is a regular file, cannot proceed" % self.target)
        self.salt["git.check_url"](self.name, **self.https)

    def git(self, function, *args, **kwargs):
        """Call a function of the module git on the target, as the user."""
        return self.salt["git." + function](
            self.target, *args, user=self.user, output_encoding=self.output_encoding, **kwargs
        )

    def tried(self, function, *args, **kwargs):
        """As ``git``, but None on failure."""
        try:
            return self.git(function, *args, ignore_retcode=True, **kwargs)
        except CommandExecutionError:
            return None

    def is_repository(self, sub=".git"):
        exists = os.path.isdir(os.path.join(self.target, sub))
        return exists or self.salt["git.is_worktree"](self.target, user=self.user)

    def say(self, words, *values):
        self.comments.append(words % values if values else words)

    def make_room(self, in_test):
        """Empty the target if ``force_clone`` allows it. Raises Done if it is not empty, or in a dry run that would
        empty it; ``in_test``: the changes of that."""
        contents = os.listdir(self.target) if os.path.isdir(self.target) else []
        if os.path.isdir(self.target) and self.force_clone:
            if self.test:
                self.ret["changes"].update(in_test)
                words = (
                    "Target directory %s exists. Since force_clone=True, the contents of %s would be deleted, and %s "
                    "would be cloned into this directory."
                )
                raise Done(None, words % (self.target, self.target, self.name))
            from thin.utils.files import walk

            for entry in contents:
                walk.remove(os.path.join(self.target, entry))
            self.ret["changes"]["forced clone"] = True
        elif contents:
            words = (
                "Target '%s' exists, is non-empty and is not a git repository. Set the 'force_clone' option to True to "
                "remove this directory's contents and proceed with cloning the remote repository"
            )
            raise Done(False, words % self.target)

    def clone(self, opts):
        try:
            self.git("clone", self.name, opts=opts, identity=self.identity, saltenv=self.saltenv, **self.https)
        except CommandExecutionError as exc:
            raise failed("Clone failed: %s" % reason(exc), self.comments)

    def update_submodules(self):
        try:
            self.git(
                "submodule", "update", opts=["--init", "--recursive"], identity=self.identity, saltenv=self.saltenv
            )
        except CommandExecutionError as exc:
            raise failed("Failed to update submodules: %s" % reason(exc), self.comments)
