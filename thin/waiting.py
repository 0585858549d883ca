"""Work to be done while the worker waits: for the end of a program, for the controller, or for the end of a pause.

The worker has one thread. While it waits, it also polls the descriptors of this module, so that it answers questions of
parallel states (thin.parallel), which go through it.
"""

import time

#: An object with ``descriptors()``, those to poll now, and ``attend()``, which is called when one of them is readable.
current = None


def descriptors():
    """Descriptors to poll while waiting; usually none."""
    return current.descriptors() if current is not None else ()


def attend():
    if current is not None:
        current.attend()


def readable(descriptor):
    """Wait until the descriptor is readable, or other descriptors were processed: in that case the result is False."""
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
