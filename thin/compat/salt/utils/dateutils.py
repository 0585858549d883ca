"""Salt: ``salt/utils/dateutils.py``."""

import datetime


def date_cast(date):
    """A datetime from a number of seconds or an ISO text; without an argument the current time. Raises ValueError."""
    if date is None:
        return datetime.datetime.now()
    if isinstance(date, datetime.datetime):
        return date
    try:
        return datetime.datetime.fromtimestamp(float(date))
    except (TypeError, ValueError):
        pass
    for form in ("%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d", "%d/%m/%Y", "%Y/%m/%d"):
        try:
            return datetime.datetime.strptime(str(date), form)
        except ValueError:
            continue
    raise ValueError("Unable to parse %s" % date)


def date_format(date=None, format="%Y-%m-%d"):
    return date_cast(date).strftime(format)


strftime = date_format


def total_seconds(td):
    return td.total_seconds()
