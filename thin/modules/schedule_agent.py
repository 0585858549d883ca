"""Functions of ``schedule`` that need a minion's process, which systemd's timers cannot replace. Salt:
``salt/modules/schedule.py``.

Each raises CommandExecutionError that names an alternative.
"""

from thin import process
from thin.exceptions import CommandExecutionError

__virtualname__ = "schedule"
__changes__ = ("move", "copy", "postpone_job", "skip_job")


def __virtual__():
    if process.which("systemctl"):
        return __virtualname__
    return False, "The schedule module needs systemd, whose timers run the jobs: there is no systemctl"


def move(name, target, **kwargs):
    """
    Not supported: it would need a request from one minion to another

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' schedule.move nightly web02
    """
    raise CommandExecutionError("schedule.move needs agents: add the job on the other target, and delete it here")


def copy(name, target, **kwargs):
    """
    Not supported: it would need a request from one minion to another

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' schedule.copy nightly web02
    """
    raise CommandExecutionError("schedule.copy needs agents: add the job on the other target")


def postpone_job(name, current_time, new_time, **kwargs):
    """
    Not supported: systemd's timers cannot postpone one run

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' schedule.postpone_job nightly 2030-01-01T00:00:00 2030-01-02T00:00:00
    """
    raise CommandExecutionError("schedule.postpone_job: a timer cannot put off one run; disable the job meanwhile")


def skip_job(name, current_time, **kwargs):
    """
    Not supported: systemd's timers cannot skip one run

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' schedule.skip_job nightly 2030-01-01T00:00:00
    """
    raise CommandExecutionError("schedule.skip_job: a timer cannot leave out one run; disable the job meanwhile")
