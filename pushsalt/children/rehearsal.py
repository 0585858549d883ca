"""Renders invented states in the starter of a kept session while it waits: its forks then render faster.

Python runs code faster after it has run a few times, and some libraries compute something at their first use; a fork
has both from its parent. Nothing here depends on a command, and no thread or program is started.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any, Final

from pushsalt import plugins
from pushsalt.config import Config
from pushsalt.job import JobOptions
from pushsalt.model import Target
from pushsalt.modules import resourcetypes
from pushsalt.options import OPTIONS, UNSET

#: How many targets are rendered: Python adapts code to its values when it runs for the second time or later.
_TIMES: Final = 4
_STATES: Final = 4
_GRAINS: Final = {"os": "Debian", "os_family": "Debian", "kernel": "Linux", "cpus": [1, 2], "dns": {"search": []}}
_SLS: Final = """\
{%- set settings = salt['pillar.get']('settings', {'mode': '0644'}) %}
{%- for name in ('a', 'b', 'c') %}
/etc/{{ name }}.conf:
  file.managed:
    - source: salt://{{ name }}.conf
    - mode: {{ settings.mode }}
    - require:
      - test: first
{%- endfor %}
{%- if grains['os_family'] == 'Debian' %}
first:
  test.nop: []
{%- endif %}
"""


def rehearse() -> None:
    """Render, compile and plan states for some targets. Raises OSError without a writable temporary folder."""
    with tempfile.TemporaryDirectory(prefix="pushsalt-rehearsal-") as folder:
        _render(Path(folder))
    plugins.forget_installed()
    resourcetypes.forget_installed()


def _render(place: Path) -> None:
    from pushsalt.children import codec
    from pushsalt.children.project import RenderProject
    from pushsalt.minion.filetemplates import prerender
    from pushsalt.minion.minion import Minion
    from pushsalt.plan import make_plan

    (place / "states").mkdir()
    (place / "pillar").mkdir()
    (place / "states" / "web.sls").write_text(_SLS)
    (place / "pillar" / "top.sls").write_text("base:\n  '*':\n    - web\n")
    (place / "pillar" / "web.sls").write_text("settings:\n  mode: '0600'\n")
    for name in "abc":
        (place / "states" / f"{name}.conf").write_text("setting = value\n")
    opts: dict[str, Any] = {name: each.default for name, each in OPTIONS.items() if each.default is not UNSET}
    opts.update(cache_dir=str(place / "cache"), template_cache=False)
    opts.update(file_roots={"base": [str(place / "states")]}, pillar_roots={"base": [str(place / "pillar")]})
    config = Config(opts=opts, path=None, project=None, cache_dir=place / "cache", inventories=[], given=frozenset())
    for number in range(_TIMES):
        project: Any = RenderProject(config, _answer, _ignore)  # one for each: results are not memoized
        for twin in (0, 1):
            target = Target(f"rehearsal{number}{twin}", transport="offline")
            minion = Minion(project, target, JobOptions(), {**_GRAINS, "id": target.id}, None)
            lowstate = minion.call("state.apply", [["web"]], {})
            assert len(lowstate.chunks) == _STATES
            plan, wants = make_plan(
                lowstate.chunks, project.shared.plan_files(), partial(prerender, minion), test=False
            )
            codec.unpack(codec.pack({"plan": plan.chunks, "wants": wants, "grains": _GRAINS})[codec.HEAD :])


def _answer(what: str, **fields: Any) -> Any:
    """No external pillar, tops or resources."""
    return {}


def _ignore(secrets: list[str]) -> None:
    """The invented values are no secrets."""
