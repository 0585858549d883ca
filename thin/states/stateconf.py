"""States without effect that hold values for the renderer ``stateconf``. Salt: ``salt/states/stateconf.py``."""

__any_arguments__ = True  # arguments are data or options of a program: none is reported as misspelt

__func_alias__ = {"set_": "set"}
__usual__ = True


def set_(name, **kwargs):
    """
    Hold values, which the renderer reads from the SLS

    name
        Not used.
    """
    return {"name": name, "result": True, "changes": {}, "comment": ""}


def context(name, **kwargs):
    """
    The old name of ``set``

    name
        Not used.
    """
    return set_(name)
