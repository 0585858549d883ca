"""``test.ping`` of a dummy."""

__reads__ = ("ping",)


def ping():
    """
    True: a dummy always answers

    CLI Example:

    .. code-block:: bash

        pushsalt run -C 'T@dummy:shelf-1' test.ping
    """
    return __resource_funcs__["dummy.ping"]()
