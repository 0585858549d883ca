"""``pushsalt cp``: files and trees to targets, and from them."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from pushsalt.cli.app import Command
from pushsalt.cli.options import GLOBAL, JOB, MATCHERS, STATES, Given, takes
from pushsalt.cli.stdio import TERMINAL
from pushsalt.errors import UsageError

app = typer.Typer(rich_markup_mode=None, add_completion=False)

EXAMPLES = """
pushsalt cp app.conf 'web*':/etc/app/ --mode 640 --owner root:app
pushsalt cp site/ web1:/srv/site            the content of site; without slash: the folder
pushsalt cp 'web*':/var/log/app.log logs    logs/web1/app.log, logs/web2/app.log
pushsalt cp web1:/etc/nginx . --test        report what would be copied
"""
_TEST = tuple(opt for opt in STATES if opt.name == "test")
_UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}


@app.command(cls=Command, epilog=EXAMPLES)
@takes(_TEST, MATCHERS, JOB, GLOBAL)
def cp(
    source: Annotated[str, typer.Argument(metavar="SRC", help="File or folder: a local path, or TARGET:PATH.")],
    destination: Annotated[str, typer.Argument(metavar="DST", help="Destination: a local path, or TARGET:PATH.")],
    given: Given,
    owner: Annotated[str | None, typer.Option("--owner", metavar="USER[:GROUP]", help="Owner of the copies.")] = None,
    mode: Annotated[str | None, typer.Option("--mode", metavar="MODE", help="Mode of copied files.")] = None,
    dir_mode: Annotated[str | None, typer.Option("--dir-mode", metavar="MODE", help="Mode of copied folders.")] = None,
    max_size: Annotated[
        str | None,
        typer.Option("--max-size", metavar="SIZE", help="Maximum size to fetch from a target (default 10G)."),
    ] = None,
) -> int:
    """Copy a file or a tree to or from targets. Files that the destination has are not sent."""
    from pushsalt.cli.job import run_job
    from pushsalt.session.copying import MOST_BYTES, Copy, problem

    above, below = split(source), split(destination)
    if (above is None) == (below is None):
        which = "neither" if above is None else "each"
        hint = "pushsalt cp SRC TARGET:DST, or pushsalt cp TARGET:SRC DST; a local path with a colon: ./PATH"
        raise UsageError(f"one of SRC and DST must be on targets, as TARGET:PATH, but {which} is", hint=hint)
    user, _, group = (owner or "").partition(":")
    copy = Copy(
        source=above[1] if above else source,
        target=below[1] if below else destination,
        to_target=above is None,
        user=_name(user),
        group=_name(group),
        mode=mode,
        dir_mode=dir_mode,
        max_size=MOST_BYTES if max_size is None else _bytes(max_size),
    )
    if wrong := problem(copy):
        hint = "for example --mode 0644" if wrong.startswith("--") else "name a file or a folder of this machine"
        raise UsageError(wrong, hint=hint)
    options = {"--owner": owner, "--mode": mode, "--dir-mode": dir_mode, "--max-size": max_size}
    own = [word for flag, value in options.items() if value is not None for word in (flag, value)]

    def again(ids: str) -> list[str]:
        # a single remaining target gets the same destination as one of several
        into = destination if "{id}" in destination else f"{destination.rstrip('/')}/{{id}}/"
        paths = [f"{ids}:{above[1]}", into] if above else [source, f"{ids}:{copy.target}"]
        return ["cp", *own, *(["--"] if any(path.startswith("-") for path in paths) else []), *paths]

    target = (above or below or ("", ""))[0]
    return run_job(
        given,
        TERMINAL.get(),
        target,
        lambda client, selection, options: client.stream_copy(selection, copy, options),
        words=again,
    )


def split(word: str) -> tuple[str, str] | None:
    """TARGET and PATH of ``TARGET:PATH``; None for a local path.

    TARGET may contain colons (``os:Debian``): an absolute path begins at the first ``:/`` or ``:~``, a relative one
    after the last colon. As in scp, a text with a slash before its first colon is a local path, except
    ``10.0.0.0/8:/etc``.
    """
    if word.startswith(("/", "./", "../", "~")) or word in (".", ".."):
        return None
    match = re.search(r":(?=[/~])", word)
    if match is not None and match.start():
        return word[: match.start()], word[match.end() :]
    target, colon, path = word.rpartition(":")
    if not colon or not target or "/" in target:
        return None
    return target, path


def _name(word: str) -> str | int | None:
    return int(word) if word.isascii() and word.isdigit() else word or None


def _bytes(text: str) -> int:
    match = re.fullmatch(r"(\d{1,15})\s*([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if not match:
        raise UsageError(f"--max-size: {text!r} is not a size", hint="bytes, or 500M, 20G")
    return int(match[1]) * _UNITS[match[2].upper()]
