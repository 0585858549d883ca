"""Runs code with the rights of another user, in this process."""

import os

from thin.exceptions import SaltInvocationError


class AsUser(object):
    """A context manager in which files are accessed as the user ``name``; None: as ourselves. ``info``: ``user.info``.
    Raises SaltInvocationError if the user does not exist."""

    def __init__(self, name, info):
        self.ids = None
        if name:
            account = info(name)
            if not account:
                raise SaltInvocationError("User '%s' does not exist" % name)
            if (account["uid"], account["gid"]) != (os.geteuid(), os.getegid()):
                self.ids = account["uid"], account["gid"], os.getgrouplist(name, account["gid"])

    def __enter__(self):
        if self.ids:
            self.was = os.geteuid(), os.getegid(), os.getgroups()
            os.setgroups(self.ids[2])
            os.setegid(self.ids[1])
            os.seteuid(self.ids[0])

    def __exit__(self, *exc):
        if self.ids:
            os.seteuid(self.was[0])
            os.setegid(self.was[1])
            os.setgroups(self.was[2])
