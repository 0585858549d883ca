"""Events that states send to the controller, which stores them with the job. Salt: ``salt/states/event.py``."""

__any_arguments__ = True  # arguments are data or options of a program: none is reported as misspelt
__usual__ = True


def send(
    name, data=None, preload=None, with_env=False, with_grains=False, with_pillar=False, show_changed=True, **kwargs
):
    """
    An event with the tag ``name`` is sent, each time; the arguments are those of the function ``event.send``

    show_changed
        False: no changes, else tag and data are the changes

    .. code-block:: yaml

        app/started:
          event.send:
            - data: {version: 7}
    """
    changes = {"tag": name, "data": data} if show_changed else {}
    if __opts__["test"]:
        return {"name": name, "changes": changes, "result": None, "comment": "Event would have been fired"}
    kwargs.update(data=data, preload=preload, with_env=with_env, with_grains=with_grains, with_pillar=with_pillar)
    return {
        "name": name,
        "changes": changes,
        "result": __salt__["event.send"](name, **kwargs),
        "comment": "Event fired",
    }


fire_master = send


def wait(name, sfun=None, data=None):
    """
    An event is sent if a watched state changed

    .. code-block:: yaml

        app/restarted:
          event.wait:
            - watch: [service: app]
    """
    return {"name": name, "changes": {}, "result": True, "comment": ""}


#: mod_watch is the same function
mod_watch = send
