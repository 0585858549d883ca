"""Waiting until a function returns an expected value. Salt: ``salt/states/loop.py``."""

import operator
import time

from thin import waiting
from thin.log import getLogger

log = getLogger(__name__)


def until(name, m_args=None, m_kwargs=None, condition=None, period=1, timeout=60):
    """
    A function is called until a condition holds

    name
        The function
    m_args, m_kwargs
        Its arguments
    condition
        A Python expression over ``m_ret``, what the function returned; it is evaluated as it is
    period, timeout
        Seconds between two calls, and in all

    .. code-block:: yaml

        network.ping:
          loop.until:
            - m_args: [db1]
            - condition: "'0% packet loss' in m_ret"
    """
    ret = {"name": name, "changes": {}, "result": False, "comment": ""}
    if name not in __salt__:
        return dict(ret, comment="Cannot find module %s" % name)
    if condition is None:
        return dict(ret, comment="An exit condition must be specified")
    for what, value in (("Period", period), ("Timeout", timeout)):
        if not isinstance(value, (int, float)):
            return dict(ret, comment="%s must be specified as a float in seconds" % what)
    if __opts__["test"]:
        return dict(ret, result=None, comment="The execution module %s will be run" % name)
    end = time.time() + timeout
    while time.time() < end:
        m_ret = __salt__[name](*(m_args or ()), **(m_kwargs or {}))
        if eval(condition, {}, {"m_ret": m_ret}):  # noqa: S307 - it is the operator's own expression
            return dict(ret, result=True, comment="Condition %s was met" % condition)
        waiting.sleep(period)
    return dict(ret, comment="Timed out while waiting for condition %s" % condition)


def until_no_eval(name, expected, compare_operator="eq", timeout=60, period=1, init_wait=0, args=None, kwargs=None):
    """
    A function is called until it returns the expected value

    name
        The function, with ``args`` and ``kwargs``
    expected
        What it shall return
    compare_operator
        How that is compared: a function of Python's module ``operator``, an execution function, or a utility
    timeout, period, init_wait
        Seconds in all, between two calls, before the first one

    .. code-block:: yaml

        test.echo:
          loop.until_no_eval:
            - args: [ready]
            - expected: ready
    """
    ret = {"name": name, "comment": "", "changes": {}, "result": False}
    compare = None
    if name not in __salt__:
        ret["comment"] = 'Module.function "%s" is unavailable.' % name
    elif not isinstance(period, (int, float)):
        ret["comment"] = "Period must be specified as a float in seconds"
    elif not isinstance(timeout, (int, float)):
        ret["comment"] = "Timeout must be specified as a float in seconds"
    else:
        compare = _comparing(compare_operator)
        if compare is None:
            ret["comment"] = 'Invalid operator "%s" supplied.' % compare_operator
    if __opts__["test"]:
        return dict(ret, result=None, comment='Would have waited for "%s" to produce "%s".' % (name, expected))
    if ret["comment"]:
        return ret
    if init_wait:
        waiting.sleep(init_wait)
    attempt, end = 0, time.time() + timeout
    while time.time() < end:
        attempt += 1
        try:
            answer = __salt__[name](*(args or ()), **(kwargs or {}))
        except Exception as exc:
            return dict(ret, comment="Exception occurred while executing %s: %s:%s" % (name, type(exc), exc))
        log.debug("%s: attempt %d returned %r, expected %r", name, attempt, answer, expected)
        if compare(answer, expected):
            return dict(ret, result=True, comment="Call provided the expected results in %d attempts" % attempt)
        waiting.sleep(period)
    return dict(ret, comment="Call did not produce the expected result after %d attempts" % attempt)


def _comparing(name):
    if name in __salt__:
        return __salt__[name]
    if name in __utils__:
        return __utils__[name]
    return getattr(operator, name, None)
