"""Work to be done while the worker waits: for the end of a program, for the controller, or for a pause.

The worker has one thread. Where it waits, it also looks at the descriptors named here, so that parallel states
(thin.parallel), whose questions go through it, do not stand still meanwhile.
"""

import time

#: Has ``descriptors()``, the ones to poll now, and ``attend()``, which is called when one of them is readable.
current = None


def descriptors():
    """Descriptors to poll while waiting; mostly none."""
    return current.descriptors() if current is not None else ()


def attend():
    if current is not None:
        current.attend()


def readable(descriptor):
    """Wait until the descriptor can be read, or until the others have been attended to: which of both it was."""
    if current is not None:
        import select

        if descriptor not in select.select([descriptor] + list(descriptors()), [], [])[0]:
            attend()
            return False
    return True


def sleep(seconds):
    end = time.monotonic() + seconds
    while current is not None:
        import select

        rest = end - time.monotonic()
        if rest <= 0:
            return
        if select.select(list(descriptors()), [], [], rest)[0]:
            attend()
    time.sleep(max(0, end - time.monotonic()))
