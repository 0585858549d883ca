"""A runtime with modules from texts: the part of `thin.runtime` that the loader needs."""

from __future__ import annotations

from types import CodeType

from thin.folder import index


class MemoryRuntime:
    """``sources`` maps full names (``thin.states.odd``) to the text of the module."""

    def __init__(self, sources: dict[str, str]) -> None:
        self.sources = sources

    def code(self, name: str) -> CodeType:
        return compile(self.sources[name], name, "exec")

    def source(self, name: str) -> str:
        return self.sources[name]

    def names(self, prefix: str) -> list[str]:
        return sorted(name for name in self.sources if name.rpartition(".")[0] == prefix)

    def virtual_index(self, kind: str) -> dict[str, list[str]]:
        return index((name.rpartition(".")[2], self.sources[name]) for name in self.names(f"thin.{kind}"))
