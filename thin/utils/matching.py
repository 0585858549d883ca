"""What two sequences have in common, in the blocks that ``difflib`` would find; a minimal Python has no difflib.

The longest common block comes first (of equally long ones that which begins first in ``a``, then in ``b``), then the
longest on either side of it, and so on. In a ``b`` of 200 elements or more, an element that makes up more than one in
a hundred cannot begin a block, only lengthen one.

The runs of equal elements along each diagonal are found once; each step looks at those within its rectangle instead of
at the elements, which is what makes long files quick.
"""


def blocks(a, b):
    """``[(i, j, size)]`` with ``a[i:i+size] == b[j:j+size]``, in order, as long as can be; elements are hashable."""
    found, todo = [], [(0, len(a), 0, len(b), _runs(a, b))]
    while todo:
        alo, ahi, blo, bhi, runs = todo.pop()
        i, j, size = _longest(a, b, alo, ahi, blo, bhi, runs)
        if not size:
            continue
        found.append((i, j, size))
        for inner in ((alo, i, blo, j), (i + size, ahi, j + size, bhi)):
            if inner[0] < inner[1] and inner[2] < inner[3]:
                todo.append(inner + (_clipped(runs, *inner),))
    joined = []
    for i, j, size in sorted(found):
        if joined and joined[-1][0] + joined[-1][2] == i and joined[-1][1] + joined[-1][2] == j:
            joined[-1] = joined[-1][:2] + (joined[-1][2] + size,)
        else:
            joined.append((i, j, size))
    return joined


def _runs(a, b):
    """``[(i, j, size)]``: every run of equal elements along a diagonal, popular elements left out."""
    where = {}
    for j, element in enumerate(b):
        where.setdefault(element, []).append(j)
    if len(b) >= 200:
        most = len(b) // 100 + 1
        where = {element: places for element, places in where.items() if len(places) <= most}
    runs, ending = [], {}
    for i, element in enumerate(a):
        here = {}
        for j in where.get(element, ()):
            run = ending.get(j - 1)
            if run is None:
                run = [i, j, 0]
                runs.append(run)
            run[2] += 1
            here[j] = run
        ending = here
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
    """How much alike two sequences are, from 0.0 to 1.0."""
    total = len(a) + len(b)
    return 2.0 * sum(size for _, _, size in blocks(a, b)) / total if total else 1.0


def close(word, names, count=3, cutoff=0.6):
    """Up to ``count`` of the names that are at least ``cutoff`` like the word, the likest first."""
    scored = []
    for name in names:
        shorter = min(len(name), len(word))
        if 2.0 * shorter >= cutoff * (len(name) + len(word)):  # even if all of the shorter one fits
            score = ratio(name, word)
            if score >= cutoff:
                scored.append((score, name))
    return [name for _, name in sorted(scored, reverse=True)[:count]]
