"""``test.ping`` of a dummy."""


def ping():
    """
    True: a dummy always answers

    CLI Example:

    .. code-block:: bash

        pushsalt run -C 'T@dummy:dummy-01' test.ping
    """
    return __resource_funcs__["dummy.ping"]()
