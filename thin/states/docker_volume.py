"""Volumes of containers. Salt (until 3007): ``salt/states/docker_volume.py``."""

from thin.exceptions import CommandExecutionError
from thin.utils.formats import dockerwords


def __virtual__():
    return True if "docker.volumes" in __salt__ else (False, "docker module could not be loaded")


def present(name, driver=None, driver_opts=None, force=False):
    """
    There is a volume.

    name
        The volume.
    driver
        Its driver; an existing volume must have this driver.
    driver_opts
        Options of the driver, for a new volume.
    force
        A volume of another driver is removed with its content and created again.
    """
    ret = {"name": name, "changes": {}, "result": False, "comment": ""}
    try:
        volume = _volume(name)
        if volume and (driver is None or volume["Driver"] == driver):
            return dict(ret, result=True, comment="Volume '%s' already exists." % name)
        if volume and not force:
            words = "Driver for existing volume '%s' ('%s') does not match specified driver ('%s') and force is False"
            result = None if __opts__["test"] else False
            return dict(ret, result=result, comment=words % (name, volume["Driver"], driver))
        if __opts__["test"]:
            words = "The volume '%s' will be created" if volume is None else "The volume '%s' will be replaced"
            return dict(ret, result=None, comment=words % name)
        if volume:
            ret["changes"]["removed"] = __salt__["docker.remove_volume"](name)
        ret["changes"]["created"] = __salt__["docker.create_volume"](
            name, driver=driver, driver_opts=dockerwords.merged(driver_opts)
        )
    except CommandExecutionError as exc:
        return dict(ret, comment="Failed to create volume '%s': %s" % (name, exc))
    return dict(ret, result=True, comment="Volume '%s' created" % name)


def absent(name, driver=None):
    """
    The volume does not exist.

    name
        The volume.
    driver
        Without effect.
    """
    ret = {"name": name, "changes": {}, "result": False, "comment": ""}
    try:
        if _volume(name) is None:
            return dict(ret, result=True, comment="Volume '%s' already absent" % name)
        if __opts__["test"]:
            return dict(ret, result=None, comment="The volume '%s' will be removed" % name)
        ret["changes"]["removed"] = __salt__["docker.remove_volume"](name)
    except CommandExecutionError as exc:
        return dict(ret, comment="Failed to remove volume '%s': %s" % (name, exc))
    return dict(ret, result=True, comment="Volume '%s' removed" % name)


def _volume(name):
    for volume in __salt__["docker.volumes"]()["Volumes"]:
        if volume["Name"] == name:
            return volume
    return None
