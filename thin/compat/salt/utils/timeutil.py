"""Salt: ``salt/utils/timeutil.py``."""

import time
from datetime import datetime, timedelta


def get_timestamp_at(time_in=None, time_at=None):
    """Seconds since 1970 of a time in a number of hours (or ``1h30m``), or of a time of day."""
    if time_in:
        hours, minutes = time_in, 0
        if isinstance(time_in, str):
            text = time_in.replace("h", ":").replace("m", "") if "h" in time_in else "0:" + time_in.replace("m", "")
            hours, minutes = [int(part or 0) for part in text.split(":")]
        return int((datetime.now() + timedelta(hours=hours, minutes=minutes)).timestamp())
    return int(datetime.fromtimestamp(float(time_at)).timestamp()) if time_at else int(time.time())


def get_time_at(time_in=None, time_at=None, out_fmt="%Y-%m-%dT%H:%M:%S"):
    return time.strftime(out_fmt, time.localtime(get_timestamp_at(time_in, time_at)))
