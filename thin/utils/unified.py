"""Unified diffs, identical to those of ``difflib.unified_diff``, which a minimal Python lacks."""

from thin.utils import matching


def unified(old, new, old_name="", new_name="", context=3, end="\n"):
    """Yield the lines of the diff between two lists of lines; nothing if they are equal. ``end``: the line end of the
    header lines."""
    titled = False
    for hunk in _hunks(_changes(old, new), context):
        if not titled:
            titled = True
            yield "--- %s%s" % (old_name, end)
            yield "+++ %s%s" % (new_name, end)
        first, last = hunk[0], hunk[-1]
        before, after = min(context, first[0]), min(context, len(old) - last[1])
        at, to = first[0] - before, first[2] - before
        yield "@@ -%s +%s @@%s" % (_span(at, last[1] + after), _span(to, last[3] + after), end)
        for old_from, old_to, new_from, new_to in hunk:
            for line in old[at:old_from]:
                yield " " + line
            for line in old[old_from:old_to]:
                yield "-" + line
            for line in new[new_from:new_to]:
                yield "+" + line
            at = old_to
        for line in old[at : at + after]:
            yield " " + line


def _changes(old, new):
    """Yield ``(old from, old to, new from, new to)`` of each difference, in order."""
    at, to = 0, 0
    for i, j, size in matching.blocks(old, new) + [(len(old), len(new), 0)]:
        if at < i or to < j:
            yield at, i, to, j
        at, to = i + size, j + size


def _hunks(changes, context):
    """Lists of changes that are so close that their contexts touch."""
    hunk = []
    for change in changes:
        if hunk and change[0] - hunk[-1][1] > 2 * context:
            yield hunk
            hunk = []
        hunk.append(change)
    if hunk:
        yield hunk


def _span(start, stop):
    length = stop - start
    if length == 1:
        return str(start + 1)
    return "%d,%d" % (start + 1 if length else start, length)
