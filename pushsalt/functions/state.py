"""Salt's ``state`` module: compiles states on the controller, and shows or runs them. Returns have the shapes of
``salt-call state.*``.

Commands import this module for the traits of its functions, so the compiler is only imported in functions.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pushsalt.errors import FunctionError
from pushsalt.functions import decrypt_override
from pushsalt.modules.controller import Lowstate, returns_states, runs_states

if TYPE_CHECKING:
    from pushsalt.compile import CompileResult
    from pushsalt.minion.minion import Minion
    from pushsalt.trust import Template

__reads__ = (
    "test",
    "show_sls",
    "show_low_sls",
    "show_highstate",
    "show_lowstate",
    "show_states",
    "show_top",
    "graph",
    "graph_highstate",
    "sls_exists",
    "id_exists",
    "check_request",
    "running",
    "show_state_usage",
    "list_disabled",
)
__recorded__ = (
    "id_exists",
    "show_highstate",
    "show_low_sls",
    "show_lowstate",
    "show_sls",
    "show_states",
    "show_top",
    "sls_exists",
)
__reads_unless__ = {
    "apply": {"test": (True,)},
    "sls": {"test": (True,)},
    "highstate": {"test": (True,)},
    "top": {"test": (True,)},
    "single": {"test": (True,)},
    "low": {"test": (True,)},
    "high": {"test": (True,)},
    "template": {"test": (True,)},
    "template_str": {"test": (True,)},
    "sls_id": {"test": (True,)},
    "run_request": {"test": (True,)},
}
__changes__ = ("request", "clear_request", "disable", "enable")

log = logging.getLogger(__name__)


def _split(mods: Any) -> list[str]:
    """SLS names from a list, a comma-separated text or several of them. Salt: utils.args.split_input."""
    if mods is None:
        return []
    words = mods if isinstance(mods, (list, tuple)) else [mods]
    return [name.strip() for word in words for name in str(word).split(",")]


def _refuse(text: str, hint: str = "see the function's arguments in the Salt documentation") -> FunctionError:
    return FunctionError("exception", text, hint, "SaltInvocationError")


def _for_call(minion: Minion, test: Any, kwargs: dict[str, Any]) -> Minion:
    """The minion with the keyword arguments of this call: test, pillar, saltenv, pillarenv."""
    pillar = kwargs.get("pillar")
    if pillar is not None and kwargs.get("pillar_enc"):
        pillar = decrypt_override(minion, pillar, str(kwargs["pillar_enc"]))
        if not isinstance(pillar, dict):
            raise _refuse("Decrypted pillar override did not render to a dictionary")
    elif pillar is not None and not isinstance(pillar, dict):
        raise _refuse("Pillar data must be formatted as a dictionary, unless pillar_enc is specified.")
    wanted = None if test is None else test is not False
    minion = minion.derive(test=wanted, pillar=pillar, saltenv=kwargs.get("saltenv"), pillarenv=kwargs.get("pillarenv"))
    if wanted is None and (minion.own_grains.get("test") is True or minion.pillar_value("test") is True):
        return minion.derive(test=True)  # a target may have `test: true` in its options, which the call overrides
    return minion


def _for_sls(minion: Minion, test: Any, kwargs: dict[str, Any]) -> Minion:
    """As ``_for_call``, for calls that name SLS: templates see the saltenv, ``base`` if none is set."""
    minion = _for_call(minion, test, kwargs)
    return minion.derive(saltenv=minion.saltenv)


def _lowstate(minion: Minion, result: CompileResult, kwargs: Mapping[str, Any]) -> Any:
    """The chunks that will run, or the return with the reason why there are none."""
    for text in result.warnings:
        log.warning("%s: %s", minion.id, text)
    if result.errors:
        return result.errors
    _caution(minion, result)
    if result.no_states:
        from pushsalt.compile import no_states_return

        return no_states_return(result.no_states)
    return Lowstate(
        result.low,
        test=minion.test,
        declared=result.declared,
        groups=result.aggregates,
        disabled=result.disabled,
        mock=bool(kwargs.get("mock")),
    )


def _caution(minion: Minion, result: CompileResult) -> None:
    """Log a problem that does not prevent the run, once for all targets that have it."""
    for problem in result.cautions:
        place = f"{problem.where[0]}: " if problem.where else ""
        minion.warn(f"{place}{problem.text}. {problem.hint}")


def _excluded(exclude: Any) -> list[Any]:
    """``exclude`` of a command line: SLS names as text, or ``[{sls: ..}, {id: ..}]``. Salt: state.sls."""
    if not exclude:
        return []
    return [{"sls": name} for name in _split(exclude)] if isinstance(exclude, str) else list(exclude)


@returns_states
def apply_(minion: Minion, mods: Any = None, *more: Any, **kwargs: Any) -> Any:
    """Run these SLS, or the highstate if none is named. Salt: state.apply."""
    return sls(minion, [*_split(mods), *more], **kwargs) if mods else highstate(minion, **kwargs)


@returns_states
def test(minion: Minion, *args: Any, **kwargs: Any) -> Any:
    """``state.apply`` in test mode."""
    kwargs["test"] = True
    return apply_(minion, *args, **kwargs)


@returns_states
def sls(minion: Minion, mods: Any, test: Any = None, exclude: Any = None, **kwargs: Any) -> Any:
    """Run these SLS."""
    forbidden = [text for name in _split(mods) for text in _forbidden(minion, name)]
    if forbidden:
        return forbidden
    minion = _for_sls(minion, test, kwargs)
    return _lowstate(minion, minion.compiler.sls(_split(mods), minion.saltenv, exclude=_excluded(exclude)), kwargs)


@returns_states
def highstate(minion: Minion, test: Any = None, exclude: Any = None, **kwargs: Any) -> Any:
    """Run the SLS that the top file names for this target; with ``whitelist`` only those of them that it names."""
    if _forbidden(minion, "highstate"):
        name = "Salt highstate run is disabled. To re-enable, run state.enable highstate"
        return {"name": name, "result": "False", "comment": "Disabled"}
    minion = _for_call(minion, test, kwargs)
    whitelist = _split(kwargs.get("whitelist") or None)
    return _lowstate(minion, minion.compiler.highstate(exclude=_excluded(exclude), whitelist=whitelist), kwargs)


@returns_states
def top(minion: Minion, topfn: str, test: Any = None, exclude: Any = None, **kwargs: Any) -> Any:
    """Run the highstate of another top file."""
    minion = _for_call(minion, test, kwargs)
    _ = minion.pillar  # compiled with the usual top file of pillar
    minion.opts["state_top"] = topfn
    return _lowstate(minion, minion.compiler.highstate(exclude=_excluded(exclude)), kwargs)


@returns_states
def single(minion: Minion, fun: str, name: str, test: Any = None, **kwargs: Any) -> Any:
    """Run one state function: ``state.single pkg.installed name=vim``."""
    module, dot, function = str(fun).partition(".")
    if not dot or not function:
        return "Invalid function passed"
    minion = _for_call(minion, test, kwargs)
    for option in ("saltenv", "pillarenv", "pillar", "queue", "pillar_enc"):
        kwargs.pop(option, None)
    chunk = {
        "state": module,
        "fun": function,
        "__id__": name,
        "name": name,
        "__sls__": None,
        "__env__": minion.saltenv,
        **kwargs,
    }
    errors = minion.check_chunk(chunk)
    return errors or Lowstate([{**chunk, "order": 10000}], test=minion.test)


@runs_states
def low(minion: Minion, data: dict[str, Any], **kwargs: Any) -> Any:
    """Run one low chunk, unchanged. The value is the return of this chunk alone."""
    if not isinstance(data, dict):
        raise _refuse("state.low takes a low chunk (a dictionary)")
    missing = [f'Missing "{key}" data' for key in ("state", "fun", "name") if key not in data]
    if missing:
        return missing
    minion = _for_call(minion, kwargs.get("test"), kwargs)
    chunk = {"__id__": data.get("name"), "__sls__": None, "__env__": minion.saltenv, "order": 10000, **data}
    errors = minion.check_chunk(chunk)
    return errors or Lowstate([chunk], test=minion.test, bare=True)


@returns_states
def high(minion: Minion, data: dict[str, Any], test: Any = None, **kwargs: Any) -> Any:
    """Run high data, unchanged."""
    minion = _for_call(minion, test, kwargs)
    return _lowstate(minion, minion.compiler.high(data), kwargs)


@returns_states
def template(minion: Minion, tem: str, **kwargs: Any) -> Any:
    """Run one SLS file by its path below the file roots. Salt: state.template (there a path on the minion)."""
    minion = _for_call(minion, kwargs.get("test"), kwargs)
    file = minion.files.find(tem.removeprefix("salt://"), minion.saltenv)
    if file is None:
        return [f"Template {tem} not found in saltenv '{minion.saltenv}'"]
    from pushsalt.render import read_source

    return _template(minion, read_source(file, sls="", saltenv=minion.saltenv))


@returns_states
def template_str(minion: Minion, tem: str, **kwargs: Any) -> Any:
    """Run SLS text. Salt: state.template_str."""
    minion = _for_call(minion, kwargs.get("test"), kwargs)
    return _template(minion, minion.words(str(tem), "state.template_str"), **kwargs)


def _template(minion: Minion, text: Template, **kwargs: Any) -> Any:
    return _lowstate(minion, minion.compiler.template(minion.render_sls_text(text), "<template-str>"), kwargs)


@returns_states
def sls_id(minion: Minion, id_: str, mods: Any, test: Any = None, **kwargs: Any) -> Any:
    """Run one ID of these SLS, with the states that it requires."""
    minion = _for_sls(minion, test, kwargs)
    result = minion.compiler.sls(_split(mods), minion.saltenv)
    if result.errors:
        return result.errors
    wanted = [chunk for chunk in result.low if chunk.get("__id__") == id_]
    if not wanted:
        raise _refuse(
            f"No matches for ID '{id_}' found in SLS '{mods}' within saltenv '{minion.saltenv}'",
            "state.show_low_sls lists the IDs",
        )
    _caution(minion, result)
    from pushsalt.compile.select import with_requisites
    from pushsalt.model import tag_of

    chunks = with_requisites(result.low, wanted)
    tags = {*map(tag_of, chunks)}
    declared = [tag for tag in result.declared if tag in tags]
    return Lowstate(chunks, test=minion.test, declared=declared, only=[*map(tag_of, wanted)])


def _shown(result: CompileResult, what: str) -> Any:
    return result.errors or getattr(result, what)


def show_sls(minion: Minion, mods: Any, test: Any = None, **kwargs: Any) -> Any:
    """The high data of these SLS."""
    minion = _for_sls(minion, test, kwargs)
    return _shown(minion.compiler.show_sls(_split(mods), minion.saltenv), "high")


def show_low_sls(minion: Minion, mods: Any, test: Any = None, **kwargs: Any) -> Any:
    """The low data of these SLS."""
    minion = _for_sls(minion, test, kwargs)
    return _shown(minion.compiler.show_low_sls(_split(mods), minion.saltenv), "low")


def show_highstate(minion: Minion, **kwargs: Any) -> Any:
    """The high data of the SLS that the top file names."""
    return _shown(_for_call(minion, kwargs.get("test"), kwargs).compiler.show_highstate(), "high")


def show_lowstate(minion: Minion, **kwargs: Any) -> Any:
    """The low data of the SLS that the top file names."""
    return _shown(_for_call(minion, kwargs.get("test"), kwargs).compiler.show_lowstate(), "low")


def show_states(minion: Minion, **kwargs: Any) -> Any:
    """The SLS that a highstate would use, in the order of their first chunk. Salt: state.show_states."""
    low_data = show_lowstate(minion, **kwargs)
    if any(not isinstance(chunk, dict) for chunk in low_data):
        return low_data
    return list(dict.fromkeys(chunk["__sls__"] for chunk in low_data))


def show_top(minion: Minion, **kwargs: Any) -> Any:
    """The SLS that the top file names for this target, by saltenv."""
    return _shown(_for_call(minion, kwargs.get("test"), kwargs).compiler.show_top(), "matches")


def graph(minion: Minion, mods: Any, test: Any = None, **kwargs: Any) -> Any:
    """The requisites between the states of these SLS, as a graph in DOT for Graphviz."""
    minion = _for_sls(minion, test, kwargs)
    return _dot(minion, minion.plain_compiler.show_sls(_split(mods), minion.saltenv))


def graph_highstate(minion: Minion, **kwargs: Any) -> Any:
    """The requisites between the states of the highstate, as a graph in DOT for Graphviz."""
    minion = _for_call(minion, kwargs.get("test"), kwargs)
    return _dot(minion, minion.plain_compiler.show_highstate(verify=True))


def _dot(minion: Minion, result: CompileResult) -> Any:
    from pushsalt.compile.dot import dot

    return result.errors or dot(minion.plain_compiler.graph(result))


def sls_exists(minion: Minion, mods: Any, test: Any = None, **kwargs: Any) -> bool:
    """Whether all these SLS exist and compile."""
    return isinstance(show_sls(minion, mods, test=test, **kwargs), dict)


def id_exists(minion: Minion, ids: Any, mods: Any, test: Any = None, **kwargs: Any) -> bool:
    """Whether all these IDs are declared in these SLS."""
    low_data = show_low_sls(minion, mods, test=test, **kwargs)
    return {*_split(ids)} <= {chunk["__id__"] for chunk in low_data if isinstance(chunk, dict)}


@returns_states
def request(minion: Minion, mods: Any = None, **kwargs: Any) -> Any:
    """Run ``state.apply`` in test mode, and store the request under ``name`` until ``run_request`` runs it. Salt:
    state.request.
    """
    kwargs["test"] = True
    stored = {"mods": mods, "kwargs": dict(kwargs)}
    name = str(kwargs.get("name", "default"))

    def keep(returns: Any) -> None:
        minion.project.requests.put(minion.id, {**check_request(minion), name: {"test_run": returns, **stored}})

    value = apply_(minion, mods, **kwargs)
    if isinstance(value, Lowstate):
        value.done = keep
    else:
        keep(value)
    return value


def check_request(minion: Minion, name: str | None = None) -> Any:
    """The stored requests: ``{name: {test_run, mods, kwargs}}``, or the one of that name."""
    requests = minion.project.requests.get(minion.id) or {}
    if name is None:
        return requests
    if name not in requests:
        text = f"there is no request named '{name}'"
        raise FunctionError("exception", text, "state.check_request lists the requests", "KeyError")
    return requests[name]


def clear_request(minion: Minion, name: str | None = None) -> bool:
    """Remove all requests, or the request of that name. Returns False if there is none of that name."""
    requests = check_request(minion)
    if name is not None and requests and name not in requests:
        return False
    left = {key: requests[key] for key in requests if name is not None and key != name}
    if left:
        minion.project.requests.put(minion.id, left)
    else:
        minion.project.requests.delete(minion.id)
    return True


@returns_states
def run_request(minion: Minion, name: str = "default", **kwargs: Any) -> Any:
    """Run the request of this name, with ``kwargs`` merged over its own, and remove all requests, except in a dry run.
    Returns {} if there is none.
    """
    stored = check_request(minion).get(name)
    if not stored:
        return {}
    merged = {**stored["kwargs"], **kwargs}
    merged.pop("test", None)
    value = apply_(minion, stored["mods"], **merged)
    if isinstance(value, Lowstate) and not minion.test:
        value.done = lambda returns: minion.project.requests.delete(minion.id)
    return value


def running(minion: Minion, concurrent: bool = False) -> list[str]:
    """An empty list: while this call runs on the target, no other state run does."""
    return []


def show_state_usage(minion: Minion, **kwargs: Any) -> Any:
    """The SLS that the top file names for this target, and the others, by saltenv."""
    minion = _for_call(minion, kwargs.get("test"), kwargs)
    result = minion.compiler.show_top()
    if result.errors:
        return result.errors
    usage = {}
    for env in dict.fromkeys(["base", *minion.files.envs()]):
        named = result.matches.get(env, [])
        states = list(minion.files.list_states(env))
        used, unused = [name for name in states if name in named], [name for name in states if name not in named]
        counts = {"count_all": len(states), "count_used": len(used), "count_unused": len(unused)}
        usage[env] = {"used": used, "unused": unused, **counts}
    return usage


# disabled states ----------------------------------------------------------------------------------------------------


def list_disabled(minion: Minion) -> Any:
    """The names that ``state.disable`` has disabled on the target: its grain ``state_runs_disabled``."""
    return minion.grains.get("state_runs_disabled", "")


def disable(minion: Minion, states: Any) -> dict[str, Any]:
    """Disable runs of these SLS, of ``highstate``, or calls of these state functions (``pkg.*``)."""
    return _allow(minion, states, False)


def enable(minion: Minion, states: Any) -> dict[str, Any]:
    """Enable these names again, after ``state.disable``."""
    return _allow(minion, states, True)


def _allow(minion: Minion, states: Any, allowed: bool) -> dict[str, Any]:
    now = list_disabled(minion)
    now = before = list(now) if isinstance(now, list) else []
    word = "enabled" if allowed else "disabled"
    texts = []
    for state in _split(states):
        already = (state in now) is not allowed
        texts.append(f"Info: {state} state {'already ' if already else ''}{word}.")
        if not already:
            now = [name for name in now if name != state] if allowed else [*now, state]
    if now != before:
        minion.remote("grains.setval", ["state_runs_disabled", now], {})
    return {"res": True, "msg": "\n".join(texts)}


def _forbidden(minion: Minion, name: str) -> list[str]:
    """The reasons why these SLS may not run: they are disabled on the target."""
    texts = []
    disabled = minion.grains.get("state_runs_disabled")
    for pattern in disabled if isinstance(disabled, list) else []:
        if ".*" in pattern and name.startswith(pattern.split(".")[0] + "."):
            by = f'The state file "{name}" is currently disabled by "{pattern}", to re-enable, '
            texts.append(f"{by}run state.enable {pattern}.")
        elif pattern == name:
            texts.append(f'The state file "{name}" is currently disabled, to re-enable, run state.enable {name}.')
    return texts
