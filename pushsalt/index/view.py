"""A snapshot of the grains of a fleet, and queries on it. Results are bits (``bits``): one position for each id.

Positions are valid within one view only. ``&``, ``|`` and ``view.everything & ~found`` combine terms::

    view = index.view()
    web = view.grain("roles:web") & ~view.grain("os:(debian|ubuntu)", regex=True) & view.subnet("10.3.0.0/16")
    view.ids(web), view.oldest(web)
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable, Mapping, Set
from itertools import compress
from typing import Any, TypeVar

from pushsalt.index import bits, terms
from pushsalt.index.columns import Query
from pushsalt.index.format import Damage
from pushsalt.index.part import Entry, Part, unpack
from pushsalt.index.terms import Manner
from thin.utils import data

_T = TypeVar("_T")


class View:
    """See the module. For damaged bytes, raises the exception that ``corrupt`` returns."""

    def __init__(
        self,
        parts: list[Part],
        dead: Mapping[str, bytes | bytearray],
        entries: Mapping[str, Entry],
        corrupt: Callable[[str], Exception],
    ) -> None:
        self._parts = parts
        self._dead = {name: bytes(flags) for name, flags in dead.items()}
        self._entries = list(entries.values())
        self._grains: list[dict[str, Any]] = []
        self._corrupt = corrupt
        self.size = sum(part.rows for part in parts) + len(self._entries)
        #: the positions of all ids
        self.everything = self._everything()

    def _everything(self) -> int:
        mask, at = 0, 0
        for part in self._parts:
            living = bits.everything(part.rows)
            if part.name in self._dead:
                living &= ~bits.of_flags(self._dead[part.name])
            mask |= living << at
            at += part.rows
        return mask | (bits.everything(len(self._entries)) << at)

    # --- queries ---------------------------------------------------------------------------------------------------

    def grain(self, expr: str, *, delimiter: str = ":", regex: bool = False, exact: bool = False) -> int:
        """The ids whose grains match ``path:pattern``, by Salt's rules. Raises ValueError for an empty delimiter."""
        manner = Manner(regex, exact)
        return self._ask(lambda: self._grain(expr, delimiter, manner))

    def subnet(self, expr: str) -> int:
        """The ids with an address in this network, or with this address. Raises ValueError if ``expr`` is neither."""
        network = ipaddress.ip_network(expr)
        inside = _inside(network)

        def ask(value: Any, same: terms.Same) -> bool:
            return any(same(item, "") for item in (value if isinstance(value, list) else [value]))

        query = Query(ask, Manner(), inside, _likely(network))
        return self._ask(lambda: self._column(f"ipv{network.version}", query))

    def where(self, grain: str, test: Callable[[Any], bool]) -> int:
        """The ids whose value of this grain passes the test, which is called once for each different value."""

        def ask() -> int:
            mask, at = 0, 0
            for part in self._parts:
                column = part.column(grain)
                if column is not None and column.values is not None:
                    mask |= column.find(Query(lambda value, _: test(value), Manner())) << at
                elif column is not None:
                    mask |= bits.of_rows((row for row, value in column.each() if test(value)), part.rows) << at
                at += part.rows
            ours = self._among_entries(lambda grains: grain in grains and test(grains[grain]), at)
            return (mask | ours) & self.everything

        return self._ask(ask)

    def bits(self, ids: Iterable[str]) -> int:
        """The positions of these ids; unknown ones are ignored."""
        wanted = ids if isinstance(ids, Set) else set(ids)
        return self._ask(lambda: self._by_id(wanted.__contains__))

    # --- results ---------------------------------------------------------------------------------------------------

    def ids(self, mask: int) -> list[str]:
        """The ids at these positions, sorted."""
        return self._ask(lambda: self._ids(mask))

    def _ids(self, mask: int) -> list[str]:
        flags = bits.flags(mask & self.everything, self.size)
        ids: list[str] = []
        at = 0
        for part in self._parts:
            piece = flags[at : at + part.rows]
            if 1 in piece:
                ids += part.ids.pick(piece)
            at += part.rows
        ids += compress([entry.id for entry in self._entries], flags[at:])
        ids.sort()
        return ids

    def oldest(self, mask: int) -> float | None:
        """The time of the oldest grains among these ids, in seconds since the epoch."""
        return self._ask(lambda: min(self._seen(mask), default=None))

    def _seen(self, mask: int) -> list[float]:
        flags = bits.flags(mask & self.everything, self.size)
        seen: list[float] = []
        at = 0
        for part in self._parts:
            piece = flags[at : at + part.rows]
            if 1 in piece:
                seen.append(min(compress(part.seen, piece)))
            at += part.rows
        return seen + list(compress([entry.seen for entry in self._entries], flags[at:]))

    def value(self, id: str, grain: str) -> Any:
        """One id's value of a top-level grain. Raises KeyError if it is unknown."""
        return self._ask(lambda: self._value(id, grain))

    def _value(self, id: str, grain: str) -> Any:
        for entry in self._entries:
            if entry.id == id:
                return unpack(entry.grains)[grain]
        for part in self._parts:
            row = part.row(id)
            if row is not None and not (part.name in self._dead and self._dead[part.name][row]):
                column = part.column(grain)
                if column is None:
                    raise KeyError(grain)
                return column.value(row)
        raise KeyError(id)

    # --- terms -----------------------------------------------------------------------------------------------------

    def _ask(self, function: Callable[[], _T]) -> _T:
        try:
            return function()
        except Damage as exc:
            raise self._corrupt(str(exc)) from None

    def _grain(self, expr: str, delimiter: str, manner: Manner) -> int:
        parts = expr.split(delimiter)
        if len(parts) < 2:
            return 0
        same = terms.comparison(manner)
        name = parts[0]
        mask, at = 0, 0
        for part in self._parts:
            mask |= self._grain_in(part, name, expr, delimiter, manner) << at
            if name == "*":
                mask |= self._any_in(part, expr, manner) << at
            at += part.rows
        ours = self._among_entries(lambda grains: terms.matches(grains, expr, delimiter, same), at)
        return (mask | ours) & self.everything

    def _grain_in(self, part: Part, name: Any, expr: str, delimiter: str, manner: Manner) -> int:
        """The rows where the value of a grain matches; ``name`` is a text key, or if there is none, a number."""
        mask, named = 0, 0
        number = data.scalar(name)
        for key in (name,) if number is name else (name, number):
            column = part.column(key)
            if column is not None:

                def ask(value: Any, same: terms.Same, key: Any = key) -> bool:
                    # below the first level only: _any_in handles "*" as the first part
                    return terms.matches_below({key: value}, expr, delimiter, same)

                mask |= column.find(Query(ask, manner)) & ~named
                named |= column.present() if number is not name else 0
        return mask

    def _any_in(self, part: Part, expr: str, manner: Manner) -> int:
        """The rows that match with ``*`` as the path: any key, or the value of any key."""
        wildcard, pattern = terms.below_any(expr)
        same = terms.comparison(manner)
        mask = 0
        for grain in part.grains:
            column = part.column(grain)
            assert column is not None
            if pattern == "*" or grain == pattern or same(grain, pattern):
                mask |= column.present()
            elif wildcard:
                mask |= column.find(Query(lambda value, same: terms.under_any(value, pattern, same), manner))
        if data.DELIMITER in pattern:
            name = pattern.split(data.DELIMITER)[0]
            mask |= self._grain_in(part, name, pattern, data.DELIMITER, manner)
            if name == "*":
                mask |= self._any_in(part, pattern, manner)
        return mask

    def _column(self, grain: str, query: Query) -> int:
        mask, at = 0, 0
        for part in self._parts:
            column = part.column(grain)
            if column is not None:
                mask |= column.find(query) << at
            at += part.rows
        ours = self._among_entries(lambda grains: grain in grains and query.of(grains[grain]), at)
        return (mask | ours) & self.everything

    def _among_entries(self, test: Callable[[dict[str, Any]], bool], at: int) -> int:
        if len(self._grains) != len(self._entries):
            self._grains = [unpack(entry.grains) for entry in self._entries]
        hits = (row for row, grains in enumerate(self._grains) if test(grains))
        return bits.of_rows(hits, len(self._entries)) << at

    def _by_id(self, test: Callable[[str], object]) -> int:
        mask, at = 0, 0
        for part in self._parts:
            mask |= bits.of_flags(bytes(map(bool, map(test, part.ids.all())))) << at
            at += part.rows
        ours = bytes(bool(test(entry.id)) for entry in self._entries)
        return (mask | (bits.of_flags(ours) << at)) & self.everything


def _inside(network: ipaddress.IPv4Network | ipaddress.IPv6Network) -> Callable[[str], bool]:
    """A function: whether a text is an address of the network. Most addresses are parsed by the C library."""
    import socket  # only needed here

    family = socket.AF_INET if network.version == 4 else socket.AF_INET6
    first, last = network.network_address.packed, network.broadcast_address.packed
    parse = socket.inet_pton

    def inside(text: str) -> bool:
        try:
            return first <= parse(family, text) <= last
        except (OSError, ValueError):
            pass
        try:
            return ipaddress.ip_address(text) in network
        except ValueError:
            return False

    return inside


def _likely(network: ipaddress.IPv4Network | ipaddress.IPv6Network) -> re.Pattern[str] | None:
    """A pattern as of ``terms.scanner`` that finds all possible addresses of the network; None if most texts would
    match."""
    packed, length = network.network_address.packed, network.prefixlen
    begin = ""
    if network.version == 4:
        whole, rest = divmod(length, 8)
        begin = "".join(f"{octet}\\." for octet in packed[:whole])[: None if whole < 4 else -2]
        if rest:
            some = range(packed[whole], packed[whole] + (1 << (8 - rest)))
            begin += f"(?:{'|'.join(map(str, some))})" + ("\\." if whole < 3 else "")
    else:
        # Only the part before zeros that may be omitted, and before a last part that may be written as IPv4.
        for at in range(0, min(length // 16 * 2, 12), 2):
            number = int.from_bytes(packed[at : at + 2], "big")
            if not number:
                break
            begin += f"0{{0,3}}{number:x}:"
    return re.compile(f"\0{begin}[^\0]*(?=\0)", re.IGNORECASE) if begin else None
