"""States that synchronize a Salt minion: in pushsalt everything is synchronized before a run, so they change nothing.

Salt: ``salt/states/saltutil.py``.
"""

__usual__ = True


def _in_force(name, kind):
    if __opts__["test"]:
        words = "saltutil.sync_%s would have been run" % kind
        return {"name": name, "changes": {}, "result": None, "comment": words}
    return {"name": name, "changes": {}, "result": True, "comment": "No updates to sync"}


def sync_all(name, **kwargs):
    """
    Users' own modules of every kind are in use

    .. code-block:: yaml

        our_own_modules:
          saltutil.sync_all: []
    """
    return _in_force(name, "all")


def sync_beacons(name, **kwargs):
    """
    Users' own beacons are in use

    .. code-block:: yaml

        sync:
          saltutil.sync_beacons: []
    """
    return _in_force(name, "beacons")


def sync_clouds(name, **kwargs):
    """
    Users' own clouds are in use

    .. code-block:: yaml

        sync:
          saltutil.sync_clouds: []
    """
    return _in_force(name, "clouds")


def sync_engines(name, **kwargs):
    """
    Users' own engines are in use

    .. code-block:: yaml

        sync:
          saltutil.sync_engines: []
    """
    return _in_force(name, "engines")


def sync_executors(name, **kwargs):
    """
    Users' own executors are in use

    .. code-block:: yaml

        sync:
          saltutil.sync_executors: []
    """
    return _in_force(name, "executors")


def sync_grains(name, **kwargs):
    """
    Users' own grains are in use

    .. code-block:: yaml

        sync:
          saltutil.sync_grains: []
    """
    return _in_force(name, "grains")


def sync_log_handlers(name, **kwargs):
    """
    Users' own log handlers are in use

    .. code-block:: yaml

        sync:
          saltutil.sync_log_handlers: []
    """
    return _in_force(name, "log_handlers")


def sync_matchers(name, **kwargs):
    """
    Users' own matchers are in use

    .. code-block:: yaml

        sync:
          saltutil.sync_matchers: []
    """
    return _in_force(name, "matchers")


def sync_modules(name, **kwargs):
    """
    Users' own modules are in use

    .. code-block:: yaml

        sync:
          saltutil.sync_modules: []
    """
    return _in_force(name, "modules")


def sync_output(name, **kwargs):
    """
    Users' own output are in use

    .. code-block:: yaml

        sync:
          saltutil.sync_output: []
    """
    return _in_force(name, "output")


def sync_outputters(name, **kwargs):
    """
    Users' own outputters are in use

    .. code-block:: yaml

        sync:
          saltutil.sync_outputters: []
    """
    return _in_force(name, "outputters")


def sync_pillar(name, **kwargs):
    """
    Users' own pillar are in use

    .. code-block:: yaml

        sync:
          saltutil.sync_pillar: []
    """
    return _in_force(name, "pillar")


def sync_proxymodules(name, **kwargs):
    """
    Users' own proxymodules are in use

    .. code-block:: yaml

        sync:
          saltutil.sync_proxymodules: []
    """
    return _in_force(name, "proxymodules")


def sync_renderers(name, **kwargs):
    """
    Users' own renderers are in use

    .. code-block:: yaml

        sync:
          saltutil.sync_renderers: []
    """
    return _in_force(name, "renderers")


def sync_resources(name, **kwargs):
    """
    Users' own resources are in use

    .. code-block:: yaml

        sync:
          saltutil.sync_resources: []
    """
    return _in_force(name, "resources")


def sync_returners(name, **kwargs):
    """
    Users' own returners are in use

    .. code-block:: yaml

        sync:
          saltutil.sync_returners: []
    """
    return _in_force(name, "returners")


def sync_sdb(name, **kwargs):
    """
    Users' own sdb are in use

    .. code-block:: yaml

        sync:
          saltutil.sync_sdb: []
    """
    return _in_force(name, "sdb")


def sync_serializers(name, **kwargs):
    """
    Users' own serializers are in use

    .. code-block:: yaml

        sync:
          saltutil.sync_serializers: []
    """
    return _in_force(name, "serializers")


def sync_states(name, **kwargs):
    """
    Users' own states are in use

    .. code-block:: yaml

        sync:
          saltutil.sync_states: []
    """
    return _in_force(name, "states")


def sync_thorium(name, **kwargs):
    """
    Users' own thorium are in use

    .. code-block:: yaml

        sync:
          saltutil.sync_thorium: []
    """
    return _in_force(name, "thorium")


def sync_tops(name, **kwargs):
    """
    Users' own tops are in use

    .. code-block:: yaml

        sync:
          saltutil.sync_tops: []
    """
    return _in_force(name, "tops")


def sync_utils(name, **kwargs):
    """
    Users' own utils are in use

    .. code-block:: yaml

        sync:
          saltutil.sync_utils: []
    """
    return _in_force(name, "utils")


def sync_wrapper(name, **kwargs):
    """
    Users' own wrapper modules are in use

    .. code-block:: yaml

        sync:
          saltutil.sync_wrapper: []
    """
    return _in_force(name, "wrapper")
