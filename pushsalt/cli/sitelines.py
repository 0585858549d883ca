"""The sites of a job that workers run, in the live view and in lines of progress."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from pushsalt.display.style import Line, line

#: Number of sites that a line of progress names.
_NAMED = 5


class Sites:
    """Counts of the targets of each site; without ``begin`` there are none, and nothing is shown."""

    def __init__(self) -> None:
        #: site -> number of its workers
        self.workers: dict[str, int] = {}
        self._sites: dict[str, str] = {}
        self._totals: Counter[str] = Counter()
        self._done: Counter[str] = Counter()

    def begin(self, sites: Mapping[str, str]) -> None:
        """The site of each target."""
        self._sites = dict(sites)
        self._totals = Counter(self._sites.values())
        self._done.clear()

    def done(self, id: str) -> None:
        """A target is done."""
        if id in self._sites:
            self._done[self._sites[id]] += 1

    def _open(self) -> list[str]:
        """The sites with targets that are not done, then the others."""
        return sorted(self._totals, key=lambda site: (self._done[site] >= self._totals[site], site))

    def _manned(self, site: str) -> str:
        number = self.workers.get(site, 0)
        return "no worker" if not number else "1 worker" if number == 1 else f"{number} workers"

    def lines(self, room: int) -> list[Line]:
        """At most ``room`` lines."""
        sites = self._open()
        shown = sites if len(sites) <= room else sites[: max(0, room - 1)]
        width = max(map(len, shown), default=0)
        rows = []
        for site in shown:
            is_lacking = not self.workers.get(site) and self._done[site] < self._totals[site]
            count = f"{self._done[site]}/{self._totals[site]} done  "
            rows.append(
                line(f"{site:<{width}}  ", count, (self._manned(site), "bad" if is_lacking else "dim"), indent=2)
            )
        if len(shown) < len(sites) and room > 0:
            rows.append(line((f"and {len(sites) - len(shown)} more sites", "dim"), indent=2))
        return rows

    def in_a_line(self) -> str:
        """The progress of sites as a part of one line; empty without sites."""
        sites = self._open()
        texts = [f"{site} {self._done[site]}/{self._totals[site]} ({self._manned(site)})" for site in sites[:_NAMED]]
        more = f" and {len(sites) - _NAMED} more" if len(sites) > _NAMED else ""
        return f"; sites: {', '.join(texts)}{more}" if texts else ""
