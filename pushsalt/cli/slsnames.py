"""SLS names as words of a command line."""

from __future__ import annotations

from pushsalt.errors import UsageError


def sls_names(words: list[str]) -> list[str]:
    """``a,b c`` as three names. Raises UsageError for Salt's KEY=VALUE."""
    for word in words:
        if not word.strip(" ,"):
            raise UsageError("an SLS name is empty", hint="omit it for the highstate")
        key, equals, value = word.partition("=")
        if equals:
            option = {
                "test": "--test",
                "pillar": f"--pillar {value!r}",
                "saltenv": f"--saltenv {value}",
                "pillarenv": f"--pillarenv {value}",
            }.get(key)
            hint = f"write {option}" if option else f"or: pushsalt run TARGET state.apply SLS {word}"
            raise UsageError(f"{word!r} is not an SLS name", hint=hint)
    return [name for word in words for name in word.split(",") if name]
