"""Date, time, time zone and time server of macOS, by systemsetup(8). Salt: modules/mac_timezone.py"""

from thin.exceptions import SaltInvocationError
from thin.utils.programs import macos

__virtualname__ = "timezone"
__fits__ = {"kernel": ("Darwin",)}
__reads__ = (
    "get_date",
    "get_time",
    "get_zone",
    "get_zonecode",
    "get_offset",
    "list_zones",
    "zone_compare",
    "get_using_network_time",
    "get_time_server",
    "get_hwclock",
)
__changes__ = ("set_date", "set_time", "set_zone", "set_using_network_time", "set_time_server", "set_hwclock")

TIMES = ("%H:%M", "%H:%M:%S")
DATES = ("%m:%d:%y", "%m:%d:%Y", "%m/%d/%y", "%m/%d/%Y")


def __virtual__():
    if __grains__.get("kernel") == "Darwin":
        return __virtualname__
    return False, "The mac_timezone module could not be loaded: module only works on macOS systems."


# Date and time


def get_date():
    """
    Return the date, as ``11/21/2026``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' timezone.get_date
    """
    return _ask("-getdate")


def set_date(date):
    """
    Set the date; returns True. Raises SaltInvocationError for an invalid date

    date
        month, day and year with ``:`` or ``/`` between them

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' timezone.set_date 1/13/2030
    """
    return _do("-setdate", _written(date, DATES, "%m:%d:%Y"))


def get_time():
    """
    Return the time, as ``17:05:09``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' timezone.get_time
    """
    return _ask("-gettime")


def set_time(time):
    """
    Set the time; returns True. Raises SaltInvocationError for an invalid time

    time
        ``HH:MM`` or ``HH:MM:SS``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' timezone.set_time 06:45
    """
    return _do("-settime", _written(time, TIMES, "%H:%M:%S"))


# The zone


def get_zone():
    """
    Return the name of the time zone, as ``America/Denver``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' timezone.get_zone
    """
    return _ask("-gettimezone")


def get_zonecode():
    """
    Return the abbreviation of the time zone, as ``MDT``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' timezone.get_zonecode
    """
    return macos.ask(__salt__, ["date", "+%Z"])


def get_offset():
    """
    Return the present offset from UTC, as ``-0700``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' timezone.get_offset
    """
    return macos.ask(__salt__, ["date", "+%z"])


def list_zones():
    """
    Return the names of all time zones

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' timezone.list_zones
    """
    return [line.strip() for line in _ask("-listtimezones").splitlines() if line.strip()]


def set_zone(time_zone):
    """
    Set the time zone; returns whether it worked. Raises SaltInvocationError for an unknown one

    time_zone
        the zone's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' timezone.set_zone Europe/Berlin
    """
    if time_zone not in list_zones():
        raise SaltInvocationError("Invalid Timezone: %s" % time_zone)
    _do("-settimezone", time_zone)
    return time_zone in get_zone()


def zone_compare(time_zone):
    """
    Return whether this is the system's time zone

    time_zone
        the zone's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' timezone.zone_compare Europe/Berlin
    """
    return time_zone == get_zone()


# Network time


def get_using_network_time():
    """
    Return whether the clock is set by a time server

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' timezone.get_using_network_time
    """
    return macos.on_off(_ask("-getusingnetworktime")) == "on"


def set_using_network_time(enable):
    """
    Enable or disable network time; returns whether the setting is as wanted

    enable
        ``on`` or ``off``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' timezone.set_using_network_time on
    """
    state = macos.on_off(enable)
    _do("-setusingnetworktime", state)
    return get_using_network_time() == (state == "on")


def get_time_server():
    """
    Return the name of the time server

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' timezone.get_time_server
    """
    return _ask("-getnetworktimeserver")


def set_time_server(time_server="time.apple.com"):
    """
    Set the time server; returns whether it worked

    time_server
        its name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' timezone.set_time_server ntp.example.org
    """
    _do("-setnetworktimeserver", time_server)
    return time_server in get_time_server()


# The hardware clock


def get_hwclock():
    """
    Return False: not supported by macOS

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' timezone.get_hwclock
    """
    return False


def set_hwclock(clock):
    """
    Return False: not supported by macOS

    clock
        without effect

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' timezone.set_hwclock localtime
    """
    return False


def _ask(option):
    return macos.value(macos.ask(__salt__, ["systemsetup", option]))


def _do(option, value):
    macos.ask(__salt__, ["systemsetup", option, value])
    return True


def _written(text, forms, form):
    from datetime import datetime

    for form_given in forms:
        try:
            return datetime.strptime(str(text), form_given).strftime(form)
        except ValueError:
            continue
    raise SaltInvocationError("Invalid Date/Time Format: %s" % text)
