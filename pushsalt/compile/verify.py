"""Verifies the shape of high data, which later steps rely on. Salt: salt.state._verify_high."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, NamedTuple

from pushsalt.compile.source import High, Problem, SourcePositions
from pushsalt.compile.words import REQUISITE_LISTS, first_key, is_meta


class _Wrong(NamedTuple):
    """An error, and its position in a body: state module, argument, item."""

    text: str
    module: str = ""
    key: Any = None
    value: Any = None


def verify_high(high: High, sources: SourcePositions) -> list[Problem]:
    """All errors in the bodies of high data, in order."""
    return [problem for _, problems in malformed(high, sources) for problem in problems]


def malformed(high: High, sources: SourcePositions) -> Iterator[tuple[Any, list[Problem]]]:
    """(ID, problems) for each ID with a malformed body."""
    for id_, body in high.items():
        if is_meta(id_):
            continue
        if not isinstance(body, dict):
            yield id_, [Problem(f"The type {id_} in {body} is not formatted as a dictionary")]
        elif problems := list(_verify_body(id_, body)):
            yield id_, [Problem(text, sources.where(body, id_, *keys)) for text, *keys in problems]


def _verify_body(id_: Any, body: dict[Any, Any]) -> Iterator[_Wrong]:
    sls = body.get("__sls__")
    if not isinstance(id_, str):
        yield _Wrong(
            f"ID '{id_}' in SLS '{sls}' is not formed as a string, but is type {type(id_).__name__}. "
            "It may need to be quoted."
        )
    for module, args in body.items():
        if is_meta(module):
            continue
        if not isinstance(module, str):
            yield _Wrong(f"State '{module}' of ID '{id_}' in SLS '{sls}' is not formed as a string")
        elif args is None:
            yield _Wrong(
                f"ID '{id_}' in SLS '{sls}' contains a short declaration ({module}) with a trailing colon. "
                "When not passing any arguments to a state, the colon must be omitted.",
                module,
            )
        elif not isinstance(args, list):
            yield _Wrong(f"State '{id_}' in SLS '{sls}' is not formed as a list", module)
        else:
            yield from _verify_declaration(id_, sls, module, args)


def _verify_declaration(id_: Any, sls: Any, module: str, args: list[Any]) -> Iterator[_Wrong]:
    # Dotted modules were normalized before, except in high data that is an argument (state.high).
    functions = [module.split(".", 1)[1]] if "." in module else []
    for arg in args:
        if isinstance(arg, str):
            functions.append(arg)
            if " " in arg.strip():
                yield _Wrong(
                    f'The function "{arg}" in state "{id_}" in SLS "{sls}" has whitespace, a function with whitespace '
                    'is not supported, perhaps this is an argument that is missing a ":"',
                    module,
                    arg,
                )
        elif isinstance(arg, dict) and arg:
            key = first_key(arg)
            if "names" in arg:
                yield from (_Wrong(text, module, "names") for text in _verify_names(id_, sls, arg["names"]))
            if key in REQUISITE_LISTS:
                for text, reference in _verify_requisite(id_, sls, key, arg[key]):
                    yield _Wrong(text, module, key, reference)
                if len(arg) != 1:
                    text = f"Multiple dictionaries defined in argument of state '{id_}' in SLS '{sls}'"
                    yield _Wrong(text, module, key)
    if not functions:
        yield _Wrong(f"No function declared in state '{id_}' in SLS '{sls}'", module)
    elif len(functions) > 1:
        yield _Wrong(
            f"Too many functions declared in state '{id_}' in SLS '{sls}'. Please choose one of the following: "
            + ", ".join(functions),
            module,
        )


def _verify_names(id_: Any, sls: Any, names: Any) -> Iterator[str]:
    """Errors in ``names``: an entry must be a name, or a name with a list of arguments; Salt fails for others."""
    if not isinstance(names, list):
        yield f"The 'names' argument in state '{id_}' in SLS '{sls}' needs to be formed as a list"
        return
    for name in names:
        if isinstance(name, dict):
            overrides = next(iter(name.values()), None)
            if len(name) != 1 or not isinstance(overrides, list) or not all(isinstance(arg, dict) for arg in overrides):
                yield (
                    f"The entry {name} of 'names' in state '{id_}' in SLS '{sls}' is not formed as one name with a "
                    "list of arguments"
                )
        elif isinstance(name, list):
            yield f"The entry {name} of 'names' in state '{id_}' in SLS '{sls}' is not formed as a string"


def _verify_requisite(id_: Any, sls: Any, requisite: str, references: Any) -> Iterator[tuple[str, Any]]:
    """(error, reference) of a requisite's references."""
    if not isinstance(references, list):
        yield f"The {requisite} statement in state '{id_}' in SLS '{sls}' needs to be formed as a list", None
        return
    for reference in references:
        if isinstance(reference, str):
            continue
        if not isinstance(reference, dict) or len(reference) != 1:
            yield (
                f"Requisite declaration {reference} in state {id_} in SLS {sls} "
                "is not formed as a single key dictionary",
                reference,
            )
            continue
        [(kind, name)] = reference.items()
        if "." in str(kind):
            yield (
                f"Invalid requisite type '{kind}' in state '{id_}', in SLS '{sls}'. Requisite types must not contain "
                f"dots, did you mean '{str(kind).split('.')[0]}'?",
                reference,
            )
        if not isinstance(name, Hashable):
            yield f'Illegal requisite "{name}" in SLS "{sls}", please check your syntax.\n', reference
