"""Salt: ``salt/utils/jid.py``."""

from datetime import datetime


def gen_jid(opts=None):
    """A JID: the current time in digits."""
    return datetime.now().strftime("%Y%m%d%H%M%S%f")


def is_jid(jid):
    return isinstance(jid, str) and len(jid) >= 20 and jid[:20].isdigit()


def jid_to_time(jid):
    text = str(jid)[:20]
    return datetime.strptime(text, "%Y%m%d%H%M%S%f").strftime("%Y, %b %d %H:%M:%S.%f") if is_jid(text) else ""
