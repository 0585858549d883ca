"""Events that states send; the controller keeps them with the run. Salt: ``salt/states/event.py``."""


def send(
    name, data=None, preload=None, with_env=False, with_grains=False, with_pillar=False, show_changed=True, **kwargs
):
    """
    An event with the tag ``name`` is sent, each time; the arguments are those of the function ``event.send``

    show_changed
        False: no changes, else tag and data are the changes

    .. code-block:: yaml

        mystack/started:
          event.send:
            - data: {version: 7}
    """
    ret = {"name": name, "changes": {}, "result": False, "comment": ""}
    if show_changed:
        ret["changes"] = {"tag": name, "data": data}
    if __opts__["test"]:
        ret["result"], ret["comment"] = None, "Event would have been fired"
        return ret
    ret["result"] = __salt__["event.send"](
        name, data=data, preload=preload, with_env=with_env, with_grains=with_grains, with_pillar=with_pillar, **kwargs
    )
    ret["comment"] = "Event fired"
    return ret


fire_master = send


def wait(name, sfun=None, data=None):
    """
    An event is sent when what is watched changes

    .. code-block:: yaml

        mystack/restarted:
          event.wait:
            - watch: [service: mystack]
    """
    return {"name": name, "changes": {}, "result": True, "comment": ""}


#: what is watched has changed
mod_watch = send
