"""Selects the returns of an earlier run that a continued orchestration takes over. Pure."""

from thin.requisites import tag_of


def standing(graph, chunks, done):
    """The returns among ``done`` (by tag) that remain valid, in the order of the run: their states are not run again.

    A state that reacts to the failure (``onfail``) of a state that is run again is evaluated again, and so are states
    that wait for it.
    """
    stand = {tag: done[tag] for tag in (tag_of(low) for low in chunks) if tag in done}
    again = set()
    while True:
        lost = [tag for tag in stand if _is_open(graph.dependencies(graph.chunks[tag]), stand, again)]
        if not lost:
            return stand
        again.update(lost)
        for tag in lost:
            del stand[tag]


def _is_open(wanted, stand, again):
    """Whether a state reacts to the failure of one that is run again, or waits for one that does so."""
    for requisite, chunk in wanted:
        tag = tag_of(chunk)
        if tag in again or (requisite.startswith("onfail") and tag not in stand):
            return True
    return False
