"""An SLS with IDs of its own and values for its template: see pushsalt.render.stateconf.

``#!stateconf [-G] [-o] [-s] [-p] [DATA [options] . TEMPLATE [options]]``; without renderers it is ``yaml . jinja``.

-G  no goal state, which requires all states of the SLS
-o  a state requires that above it in the file
-s  a start state, which all states require indirectly
-p  the data comes from the renderer before this one in the pipe
"""

from __future__ import annotations

import getopt
import posixpath
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from pushsalt.render.context import RenderContext
from pushsalt.render.problems import SourceError
from pushsalt.render.source import WrongInput, as_text
from pushsalt.render.stateconf import END_MARKER, Memory, Options, config_part, processed

USAGE: Final = "#!stateconf [-GoSp] [<data renderer> [options] . <template renderer> [options]]"
_DOT: Final = re.compile(r"\s+\.\s+")


def render(data: Any, saltenv: str = "base", sls: str = "", **kwargs: Any) -> Any:
    context: RenderContext = kwargs["render_context"]
    memory = context.kept.setdefault("stateconf", Memory())
    try:
        flags, words = getopt.getopt(str(kwargs.get("argline") or "").split(), "Gosp")
    except getopt.GetoptError as exc:
        raise SourceError(f"Invalid use of stateconf renderer: {exc.msg}", hint=f"Usage: {USAGE}") from None
    given = {flag for flag, _ in flags}
    ordered, goal, start = "-o" in given, "-G" not in given, "-s" in given
    options = Options(sls, saltenv, start=start, ordered=ordered, goal=goal)
    if "-p" in given:
        if not isinstance(data, Mapping):
            raise WrongInput("the data of states (option -p)", data)
        return processed(data, options, memory)

    pipe = [part.strip().replace("\\.", ".") for part in _DOT.split(" ".join(words) or "yaml . jinja", maxsplit=1)]
    if len(pipe) < 2:
        raise SourceError("Invalid use of stateconf renderer: it takes two renderers", hint=f"Usage: {USAGE}")
    (to_data, data_args), (to_text, text_args) = (_renderer(part, kwargs["renderers"]) for part in pipe)
    if ordered and pipe[0].split(" ", 1)[0] != "yaml":
        raise SourceError("Implicit ordering is only supported if the yaml renderer is used!")

    def high(text: str, variables: Mapping[str, Any], options: Options) -> Any:
        folder = posixpath.dirname(sls.replace(".", "/")) if "." in sls else sls
        names = {"sls_dir": folder or ".", **variables, **(kwargs.get("context") or {})}
        rendered = to_text(text, saltenv, sls, argline=text_args, context=names)
        found = to_data(rendered, saltenv, sls, argline=data_args)
        if not isinstance(found, Mapping):
            raise SourceError(f"the renderer {pipe[0].split(' ', 1)[0]!r} gives no mapping of states")
        return processed(found, options, memory)

    text = as_text(data)
    first = config_part(text, str(context.setting("stateconf_end_marker") or END_MARKER))
    if first is not None:
        # a first look at the part above the marker: the values there are variables of the whole
        high(first, {}, Options(sls, saltenv, start=start, goal=False))
    return high(text, memory.variables(sls), options)


def _renderer(part: str, renderers: Mapping[str, Callable[..., Any]]) -> tuple[Callable[..., Any], str]:
    name, _, argline = part.partition(" ")
    try:
        return renderers[name], argline.strip()
    except KeyError:
        raise SourceError(f"Renderer: {name!r} is not available!") from None
