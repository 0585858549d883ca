"""Settings in configuration files, by augtool(1). Salt (until 3007): states/augeas.py"""

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils import unified
from thin.utils.files import textfile
from thin.utils.programs import augtool


def change(name, context=None, changes=None, lens=None, load_path=None, **kwargs):
    """
    Commands of Augeas have been carried out

    context
        A prefix of each path, usually ``/files`` and the path of a file
    changes
        A list of commands: ``set``, ``setm``, ``clear``, ``clearm``, ``touch``, ``rm``, ``ins``, ``mv``
    lens
        The lens for a file that Augeas has no lens for by default
    load_path
        Directories with more lenses

    changes: ``{diff: text}`` of the file, ``{updates: [commands]}`` if there is more than one file.

    .. code-block:: yaml

        no_root_by_password:
          augeas.change:
            - context: /files/etc/ssh/sshd_config
            - changes:
                - set PermitRootLogin prohibit-password
                - rm X11Forwarding
    """
    ret = {"name": name, "result": False, "comment": "", "changes": {}}
    if not changes or not isinstance(changes, list):
        return dict(ret, comment="'changes' must be specified as a list")
    if "augeas.execute" not in __salt__:
        return dict(ret, comment=augtool.MISSING)
    how = {"context": context, "lens": lens, "load_path": load_path}
    try:
        files = __salt__["augeas.would_change"](commands=changes, **how)
    except (CommandExecutionError, SaltInvocationError) as exc:
        return dict(ret, comment="Error: %s" % exc)
    if not files:
        return dict(ret, result=True, comment="No changes made")
    if __opts__["test"]:
        where = ' in file "%s":\n' % context if context else "\n"
        return dict(ret, result=None, comment="Executing commands" + where + "\n".join(changes))
    before = textfile.lines(files[0])
    done = __salt__["augeas.execute"](commands=changes, **how)
    if not done["retval"]:
        return dict(ret, comment="Error: %s" % done["error"])
    ret.update(result=True, comment="Changes have been saved", changes={"updates": changes})
    if len(files) == 1:
        ret["changes"] = {"diff": "".join(unified.unified(before, textfile.lines(files[0])))}
    return ret
