"""Checks of web servers by queries. Salt: ``salt/states/http.py``."""

import re

from thin import waiting

__monitor__ = ["query"]


def query(name, match=None, match_type="string", status=None, status_type="string", wait_for=None, **kwargs):
    """
    The response of a URL has this text, or this status

    name
        The URL
    match, match_type
        Expected content, a ``string`` or a ``pcre``
    status, status_type
        Expected status: a ``string``, a ``pcre``, or a ``list`` of statuses
    wait_for
        Seconds during which to try again
    kwargs
        Those of the function ``http.query``

    .. code-block:: yaml

        http://127.0.0.1/health:
          http.query:
            - status: 200
            - match: fine
    """
    ret = {"name": name, "result": None, "comment": "", "changes": {}, "data": {}}
    if match is None and status is None:
        return dict(ret, result=False, comment=" Either match text (match) or a status code (status) is required.")
    kwargs = dict({"decode": False}, text=True, status=True, **kwargs)
    if __opts__["test"]:
        kwargs["test"] = True
    if wait_for:
        data = __salt__["http.wait_for_successful_query"](name, wait_for=wait_for, **kwargs)
    else:
        data = __salt__["http.query"](name, **kwargs)
    comments, good = [], []
    if match is not None:
        text = str(data.get("text", ""))
        is_match = str(match) in text if match_type == "string" else bool(re.search(str(match), text))
        what = "text" if match_type == "string" else "pattern"
        comments.append('Match %s "%s" was %s.' % (what, match, "found" if is_match else "not found"))
        good.append(is_match)
    if status is not None:
        is_match, words = _status(str(data.get("status", "")), status, status_type)
        comments.append(words)
        good.append(is_match)
    ret.update(result=all(good), comment=" ".join(comments), data=data)
    if __opts__["test"]:
        ret["result"] = None
        where = ", TEST URL WAS: %s" % kwargs["test_url"] if "test_url" in kwargs else ""
        ret["comment"] += " (TEST MODE%s)" % where
    return ret


def _status(status, wanted, kind):
    """(whether the status is as expected, a text about it)"""
    if kind == "list":
        if status in [str(one) for one in wanted]:
            return True, "Status %s was found." % status
        return False, "Statuses %s were not found." % (wanted,)
    if kind == "pcre":
        good, what = bool(re.search(str(wanted), status)), 'Status pattern "%s"' % wanted
    else:
        good, what = status == str(wanted), "Status %s" % wanted
    return good, "%s was %s." % (what, "found" if good else "not found")


def wait_for_successful_query(name, wait_for=300, **kwargs):
    """
    The same as ``http.query``, tried until it succeeds or ``wait_for`` seconds have passed

    request_interval
        Seconds between two tries

    .. code-block:: yaml

        http://127.0.0.1/health:
          http.wait_for_successful_query:
            - wait_for: 60
            - request_interval: 2
            - status: 200
    """
    import time

    end = time.time() + wait_for
    while True:
        problem = ret = None
        try:
            ret = query(name, **kwargs)
            if ret["result"] or __opts__["test"]:
                return ret
        except Exception as exc:
            problem = exc
        if time.time() > end:
            if problem is not None:
                raise problem
            return ret
        waiting.sleep(kwargs.get("request_interval") or 0.2)
