"""Common blocks of two sequences, the same as those of ``difflib``, which a minimal Python lacks.

The longest common block is found first (of equally long ones the one that begins first in ``a``, then in ``b``), then
the longest before and after it, and so on. If ``b`` has 200 elements or more, an element that is more than one in a
hundred can only extend a block, not begin one.

The runs of equal elements along each diagonal are computed once; each step searches the runs within its rectangle
instead of the elements, which makes it fast for long files.
"""


def blocks(a, b):
    """``[(i, j, size)]`` with ``a[i:i+size] == b[j:j+size]``, in order, of maximum length. Elements must be
    hashable."""
    blocks, todo = [], [(0, len(a), 0, len(b), _runs(a, b))]
    while todo:
        alo, ahi, blo, bhi, runs = todo.pop()
        i, j, size = _longest(a, b, alo, ahi, blo, bhi, runs)
        if not size:
            continue
        blocks.append((i, j, size))
        for inner in ((alo, i, blo, j), (i + size, ahi, j + size, bhi)):
            if inner[0] < inner[1] and inner[2] < inner[3]:
                todo.append(inner + (_clipped(runs, *inner),))
    joined = []
    for i, j, size in sorted(blocks):
        if joined and joined[-1][0] + joined[-1][2] == i and joined[-1][1] + joined[-1][2] == j:
            joined[-1] = joined[-1][:2] + (joined[-1][2] + size,)
        else:
            joined.append((i, j, size))
    return joined


def _runs(a, b):
    """``[(i, j, size)]``: every run of equal elements along a diagonal, without frequent elements."""
    where = {}
    for j, element in enumerate(b):
        where.setdefault(element, []).append(j)
    if len(b) >= 200:
        most = len(b) // 100 + 1
        where = {element: places for element, places in where.items() if len(places) <= most}
    runs, ending = [], {}
    for i, element in enumerate(a):
        next_ending = {}
        for j in where.get(element, ()):
            run = ending.get(j - 1)
            if run is None:
                run = [i, j, 0]
                runs.append(run)
            run[2] += 1
            next_ending[j] = run
        ending = next_ending
    return runs


def _clipped(runs, alo, ahi, blo, bhi):
    """The parts of the runs within a rectangle."""
    inside = []
    for i, j, size in runs:
        skip = max(alo - i, blo - j, 0)
        rest = min(size, ahi - i, bhi - j) - skip
        if rest > 0:
            inside.append((i + skip, j + skip, rest))
    return inside


def _longest(a, b, alo, ahi, blo, bhi, runs):
    i, j, size = alo, blo, 0
    for at, to, length in runs:
        if length > size or (length == size and (at, to) < (i, j)):
            i, j, size = at, to, length
    while i > alo and j > blo and a[i - 1] == b[j - 1]:
        i, j, size = i - 1, j - 1, size + 1
    while i + size < ahi and j + size < bhi and a[i + size] == b[j + size]:
        size += 1
    return i, j, size


def ratio(a, b):
    """The similarity of two sequences, from 0.0 to 1.0."""
    total = len(a) + len(b)
    return 2.0 * sum(size for _, _, size in blocks(a, b)) / total if total else 1.0


def close(word, names, count=3, cutoff=0.6):
    """Up to ``count`` of the names whose similarity to ``word`` is at least ``cutoff``, the most similar first."""
    scored = []
    for name in names:
        shorter = min(len(name), len(word))
        if 2.0 * shorter >= cutoff * (len(name) + len(word)):  # the maximum similarity for these lengths
            score = ratio(name, word)
            if score >= cutoff:
                scored.append((score, name))
    return [name for _, name in sorted(scored, reverse=True)[:count]]
