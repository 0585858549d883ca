"""Software RAID of Linux. Salt: states/mdadm_raid.py

.. code-block:: yaml

    /dev/md127:
      raid.present:
        - level: 1
        - devices: [/dev/vdb1, /dev/vdc1]
"""

from thin import process

__any_arguments__ = True  # arguments are data or options of a program: none is reported as misspelt

__virtualname__ = "raid"


def __virtual__():
    if __grains__.get("kernel") != "Linux":
        return False, "Only supported on Linux"
    if not process.which("mdadm"):
        return False, "Unable to locate command: mdadm"
    return __virtualname__


def present(name, level, devices, **kwargs):
    """The array exists: it was created, or started from devices that are its members; new devices are added to it.

    changes: the data of a new array in raid.list, and ``{added: [device, ...]}``.

    name
        Its device
    level
        Its level
    devices
        Its devices; devices that do not exist, and ``missing``, can be added later
    kwargs
        Further options of mdadm, such as ``chunk: 256``
    """
    ret = {"name": name, "result": True, "changes": {}, "comment": ""}
    present = __salt__["raid.list"]().get(name)
    missing, members, new = _sorted(devices)
    if len(members) > 1:
        words = "Devices are a mix of RAID constituents with multiple MD_UUIDs: %s."
        return dict(ret, result=False, comment=words % sorted(members))
    uuid, ready = next(iter(members.items())) if members else (None, [])
    if present and uuid and present.get("uuid") != uuid:
        words = "Devices MD_UUIDs: %s differs from present RAID uuid %s."
        return dict(ret, result=False, comment=words % (uuid, present.get("uuid")))
    if not present and not ready and not new:
        return dict(ret, result=False, comment="All devices are missing: %s." % missing)
    comments = ["Raid %s already present." % name]
    if not present:
        if ready:
            verb, act, args = "assembled", "raid.assemble", (name, ready)
        else:
            verb, act, args = "created", "raid.create", (name, level, new + ["missing"] * len(missing))
        if __opts__["test"]:
            ret["result"] = None
            comments = ["Raid will be %s with: %s" % (verb, __salt__[act](*args, test_mode=True, **kwargs))]
        else:
            answer = __salt__[act](*args, **kwargs)
            ret["changes"] = __salt__["raid.list"]().get(name) or {}
            if not ret["changes"]:
                return dict(ret, result=False, comment="Raid %s failed to be %s.\n%s" % (name, verb, answer))
            comments = ["Raid %s %s." % (name, verb)]
            __salt__["raid.save_config"]()
    if new and (present or ready):
        if __opts__["test"]:
            ret["result"] = None
            comments.append("New devices will be added: %s" % new)
        else:
            _add(ret, name, new, comments)
    if missing:
        comments.append("Missing devices: %s" % missing)
    return dict(ret, comment=" ".join(comments))


def absent(name):
    """The array does not exist; its devices are members of none. changes: none.

    name
        The array
    """
    ret = {"name": name, "result": True, "changes": {}, "comment": ""}
    if name not in __salt__["raid.list"]():
        return dict(ret, comment="Raid %s already absent" % name)
    if __opts__["test"]:
        return dict(ret, result=None, comment="Raid %s is set to be destroyed" % name)
    if __salt__["raid.destroy"](name):
        return dict(ret, comment="Raid %s has been destroyed" % name)
    return dict(ret, result=False, comment="Raid %s failed to be destroyed" % name)


def _sorted(devices):
    """(those that are not there, ``{array's uuid: its members}``, those that belong to none)."""
    missing, members, new = [], {}, []
    for device in devices:
        if device == "missing" or not __salt__["file.access"](device, "f"):
            missing.append(device)
            continue
        uuid = __salt__["raid.examine"](device, quiet=True).get("MD_UUID")
        (members.setdefault(uuid, []) if uuid else new).append(device)
    return missing, members, new


def _add(ret, name, devices, comments):
    for device in devices:
        if __salt__["raid.add"](name, device):
            comments.append("Added new device %s to %s.\n" % (device, name))
        else:
            ret["result"] = False
            comments.append("Unable to add %s to %s.\n" % (device, name))
    if ret["result"]:
        ret["changes"]["added"] = devices
