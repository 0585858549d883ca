"""Salt's ``jinja`` module: the values of a map or a data file for this target."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pushsalt.functions.slsutil import renderer

if TYPE_CHECKING:
    from pushsalt.minion.minion import Minion

__reads__ = ("load_map", "import_yaml", "import_json")
__recorded__ = ("import_json", "import_yaml", "load_map")


def load_map(minion: Minion, path: str, value: str) -> Any:
    """One value of a map file (``apache/map.jinja``). Salt: jinja.load_map."""
    return _rendered(minion, f"{{% from {json.dumps(path)} import {value} with context %}}", value)


def import_yaml(minion: Minion, path: str) -> Any:
    """A YAML file of the file roots, as templates import it. Salt: jinja.import_yaml."""
    return _rendered(minion, f"{{% import_yaml {json.dumps(path)} as imported %}}", "imported")


def import_json(minion: Minion, path: str) -> Any:
    """A JSON file of the file roots, as templates import it. Salt: jinja.import_json."""
    return _rendered(minion, f"{{% import_json {json.dumps(path)} as imported %}}", "imported")


def _rendered(minion: Minion, statement: str, value: str) -> Any:
    """A value as plain data: mappings become dicts with text keys."""
    text = f"{statement}\n{{{{ {value} | tojson }}}}\n"
    return json.loads(renderer(minion, string=text, default_renderer="jinja", saltenv=minion.saltenv))
