"""Undoing what the ``file`` states of a job changed. Salt has no such function."""

from thin.exceptions import CommandExecutionError
from thin.utils.files.arguments import cachedir

__virtualname__ = "file"
__changes__ = ("undo",)


def undo(jid, test=None, accept_drift=False, keys=None, **kwargs):
    """
    Restore what the ``file`` states of a job changed, if backups were kept: ``backup: minion`` of a state, or
    ``backups`` of the run

    Returns ``files``: each ``path`` with ``action`` and ``result``; an empty list if nothing was kept. The command
    ``pushsalt undo`` shows it, and what cannot be undone.

    jid
        The job's id.
    test
        Only report what would be done.
    accept_drift
        Also restore what was changed after the job.
    keys
        Keys that dry runs returned. Nothing is done if the plan has another key now.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' file.undo 20261126101500000000 test=True
    """
    from thin.utils.files import keeping
    from thin.utils.files import undo as undoing

    jid, folder = str(jid), cachedir(__opts__)
    if not (jid.isdigit() and len(jid) == 20):
        raise CommandExecutionError("%r is no JID" % jid)
    if __opts__["test"] if test is None else test:
        return undoing.plan(folder, jid) or {"files": []}
    own = str(kwargs.get("__pub_jid") or "")
    keeper = keeping.Keeper(folder, own).of("file.undo") if own.isdigit() else keeping.NoKeeper()
    with keeper:
        result = undoing.run(folder, jid, accept_drift, keys)
    if result and result.get("stale"):
        raise CommandExecutionError("the files have changed since it was looked at; nothing was done")
    if result and any(entry["result"] is False for entry in result["files"]):
        __context__["retcode"] = 2
    return result or {"files": []}
