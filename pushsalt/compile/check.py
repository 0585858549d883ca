"""Checks functions and arguments of all chunks before anything runs. Salt does it chunk by chunk: State.verify_data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pushsalt.compile.arguments import GLOBAL, ArgumentCheck, Unknown
from pushsalt.compile.source import ArgSpec, Problem, SourcePositions, StateFunctions
from pushsalt.compile.words import RUNTIME_KEYWORDS, did_you_mean
from pushsalt.model import Chunk


def check_chunks(
    chunks: Sequence[Chunk], functions: StateFunctions, sources: SourcePositions | None = None, strict: str = "near"
) -> list[Problem]:
    """Unknown state functions, invalid arguments and missing arguments, of all chunks.

    Unknown arguments of functions that accept any are reported according to ``strict`` (pushsalt.compile.arguments),
    maybe as warnings.
    """
    sources = sources or SourcePositions()
    arguments = ArgumentCheck(chunks, functions, strict)
    problems: dict[str, Problem] = {}  # by text, since chunks of one declaration have the same problems
    seen: set[int] = set()
    for chunk in chunks:
        if id(chunk) in seen:  # a chunk that others have as `prereq` is in the list twice
            continue
        seen.add(id(chunk))
        full = f"{chunk['state']}.{chunk['fun']}"
        spec = functions.spec(full)
        of = (chunk, chunk.get("__id__"), chunk["state"])
        if spec is None:
            sls = chunk.get("__sls__")
            text = f"State '{full}' was not found in SLS '{sls}'" if sls else f"Specified state '{full}' was not found"
            place = sources.where(*of, chunk["fun"])
            hint = did_you_mean(full, functions.names()) or getattr(functions, "limits", "")
            problems.setdefault(text + str(place), Problem(text, place, hint, rule="unknown-state", compiling=False))
            continue
        for text, key, hint in _check_args(chunk, full, spec):
            rule = "missing-argument" if key is None else "unknown-argument"
            problems.setdefault(text, Problem(text, sources.where(*of, key), hint, rule=rule, compiling=False))
        for unknown in arguments.unknown(chunk, full, spec):
            text, hint = _words(unknown, full, _place(chunk))
            where = sources.where(*of, unknown.name)
            problem = Problem(text, where, hint, rule=unknown.rule, level=unknown.level, compiling=False)
            problems.setdefault(text, problem)
    return list(problems.values())


def _check_args(chunk: Chunk, full: str, spec: ArgSpec) -> Iterable[tuple[str, str | None, str]]:
    """(text, argument, hint) of each problem."""
    place = _place(chunk)
    for arg in spec.required:
        if arg not in chunk:
            yield f"Missing parameter {arg} for state {full}{place}", None, ""
    if not spec.kwargs:
        for key in chunk:
            if key not in spec.args and key not in RUNTIME_KEYWORDS and key != "name":
                text = f"'{key}' is an invalid keyword argument for '{full}'{place}"
                yield text, key, did_you_mean(key, {*spec.args, *GLOBAL})


def _place(chunk: Chunk) -> str:
    return f" (ID '{chunk.get('__id__')}' in SLS '{chunk.get('__sls__')}')" if chunk.get("__sls__") else ""


def _words(unknown: Unknown, full: str, place: str) -> tuple[str, str]:
    """Text and hint of an unknown argument. Errors have Salt's text for invalid arguments; Salt accepts these."""
    hint = f"Did you mean '{unknown.near}'?" if unknown.near else "remove it, or correct its name"
    if unknown.level == "error":
        text = f"'{unknown.name}' is an invalid keyword argument for '{full}'{place}"
        return text, f"{hint} `strict_arguments: warn` in the configuration lets such states run"
    return f"'{full}' has no argument '{unknown.name}', so it has no effect{place}", hint
