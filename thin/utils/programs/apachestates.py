"""The common part of the states for Apache's sites, modules and configurations."""


def switched(salt, opts, kind, title, name, wanted):
    """The return of a state that enables (``wanted``) or disables something. ``kind``: site, mod or conf; ``title``:
    its name in comments."""
    ret = {"name": name, "result": True, "comment": "", "changes": {}}
    word = "enable" if wanted else "disable"
    if salt["apache.check_%s_enabled" % kind](name) is wanted:
        return dict(ret, comment="%s already %sd." % (name, word))
    changes = {"old": None, "new": name} if wanted else {"old": name, "new": None}
    if opts["test"]:
        return dict(ret, result=None, changes=changes, comment="Apache %s %s is set to be %sd." % (title, name, word))
    status = salt["apache.a2%s%s" % ("en" if wanted else "dis", kind)](name)["Status"]
    if not status.endswith(" %sd" % word):
        return dict(ret, result=False, comment="Failed to %s %s Apache %s (%s)" % (word, name, title, status))
    return dict(ret, changes=changes, comment="Apache %s %s %sd." % (title, name, word))
