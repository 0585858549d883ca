"""A Python module whose ``run()`` returns an SLS's data or a file's text. Trusted: it runs on the controller."""

from __future__ import annotations

from functools import lru_cache
from types import CodeType, ModuleType
from typing import Any

from pushsalt.render.context import RenderContext
from pushsalt.render.problems import SourceError, python_chain, raised_in_template
from pushsalt.render.source import Origin, as_text


@lru_cache(maxsize=256)
def _compiled(text: str, path: str) -> CodeType:
    return compile(text, path, "exec", dont_inherit=True)


def render(data: Any, saltenv: str = "base", sls: str = "", **kwargs: Any) -> Any:
    text = as_text(data)
    path = str(kwargs.get("tmplpath") or sls or "<text>")
    context: RenderContext = kwargs["render_context"]
    names = {
        **context.dunders(saltenv, sls),
        **context.names(saltenv),
        "sls": sls,
        "context": kwargs.get("context") or {},
        **(kwargs.get("context") or {}),
    }
    module = ModuleType(path)
    module.__file__ = path
    module.__dict__.update(names)
    try:
        exec(_compiled(text, path), module.__dict__)  # noqa: S102 - running it is what this renderer is for
        module.__dict__.update(names)  # overrides declarations that a module may have for an editor
        return module.run()
    except SyntaxError as exc:
        raise SourceError(f"Python: {exc.msg}", [Origin(path, exc.lineno or 1, text)]) from None
    except (Exception, SystemExit) as exc:
        if isinstance(exc, AttributeError) and not hasattr(module, "run"):
            raise SourceError("a #!py file needs a function run()", [Origin(path, 1, text)]) from None
        raise raised_in_template(exc, python_chain(exc.__traceback__, path, text)) from None
