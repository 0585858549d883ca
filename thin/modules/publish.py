"""Functions on other minions through a master. There is no master: each function raises an error. Salt:
modules/publish.py"""

from thin.utils import nomaster

__reads__ = ("publish", "full_data", "runner")

_RUN = "run it from the controller, `pushsalt run TARGET FUNCTION`; for data of other targets there is mine.get"


def publish(tgt, fun, arg=None, tgt_type="glob", returner="", timeout=5, via_master=None):
    """
    Not supported: a target never reaches other targets

    tgt, fun, arg, tgt_type, returner, timeout, via_master
        As in Salt

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' publish.publish 'db*' test.ping
    """
    nomaster.refuse("publish.publish", _RUN)


def full_data(tgt, fun, arg=None, tgt_type="glob", returner="", timeout=5):
    """
    Not supported: a target never reaches other targets

    tgt, fun, arg, tgt_type, returner, timeout
        As in Salt

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' publish.full_data '*' test.ping
    """
    nomaster.refuse("publish.full_data", _RUN)


def runner(fun, arg=None, timeout=5):
    """
    Not supported: there are no runners

    fun, arg, timeout
        As in Salt

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' publish.runner cache.grains
    """
    nomaster.refuse("publish.runner", "there are no runners")
