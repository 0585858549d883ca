"""The project folder of the demo."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

#: Folders of the shipped formulas: in the package in a wheel, next to it in a checkout.
_PLACES = (Path(__file__).parent / "formulas", Path(__file__).parents[2] / "formulas")

_CONFIG = """\
# Options have the names of a Salt master's. Paths are relative to this file.
file_roots:
  base: [salt]
pillar_roots:
  base: [pillar]
cache_dir: ../cache
# The demo leaves nothing in your home: no compiled templates, and no key to encrypt a pillar cache.
template_cache: false
pillar_cache: false
"""
_STATE_TOP = """\
# Which states belong to which targets.
base:
  'web*':
    - apache
"""
_PILLAR_TOP = """\
# Which pillar belongs to which targets.
base:
  'web*':
    - apache
"""
#: Without root packages cannot be installed: the formula only writes its files, into each target's own folder.
PILLAR_IN_FOLDER = """\
# Settings of the apache formula. These targets share one machine, so all paths are in the target's own folder, and
# neither package nor service is touched.
{% set folder = grains['folder'] %}
apache:
  manage_package: false
  manage_service: false
  root_user: ''
  vhost_dir: {{ folder }}/apache2/sites-available
  enabled_dir: {{ folder }}/apache2/sites-enabled
  ports_file: {{ folder }}/apache2/ports.conf
  docroot_base: {{ folder }}/www
  log_dir: {{ folder }}/log
  listen: [8080]
  sites:
    shop.example:
      port: 8080
      aliases: [www.shop.example]
      index: Hello from {{ grains['id'] }}
"""
PILLAR_ON_MACHINE = """\
# Settings of the apache formula; everything else has its defaults.
apache:
  absent:
    - /etc/apache2/sites-enabled/000-default.conf
  sites:
    shop.example:
      aliases: [www.shop.example]
      index: Hello from {{ grains['id'] }}
"""


def formulas() -> Path:
    """The folder of the shipped formulas."""
    return next(place for place in _PLACES if (place / "apache" / "init.sls").is_file())


def write(folder: Path, defaults: Mapping[str, Any], hosts: Mapping[str, Mapping[str, Any]], pillar: str) -> None:
    """Write a project to ``folder``, which must not exist: configuration, inventory, the apache formula, pillar."""
    (folder / "pillar").mkdir(parents=True)
    shutil.copytree(formulas() / "apache", folder / "salt" / "apache")
    texts = {
        "pushsalt.yaml": _CONFIG,
        "inventory.yaml": _inventory(defaults, hosts),
        "salt/top.sls": _STATE_TOP,
        "pillar/top.sls": _PILLAR_TOP,
        "pillar/apache.sls": pillar,
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    for path in (folder, *(folder / name for name in texts)):
        # Independent of the umask: a project that others can write to is not trusted.
        path.chmod(0o755 if path.is_dir() else 0o644)


def _inventory(defaults: Mapping[str, Any], hosts: Mapping[str, Mapping[str, Any]]) -> str:
    """The text of the inventory, in the form in which people write it."""
    lines = ["# Targets that last as long as `pushsalt demo` runs.", "defaults:"]
    lines += [f"  {key}: {json.dumps(value)}" for key, value in defaults.items()]
    lines += ["hosts:"]
    lines += [f"  {id}: {json.dumps(host)}" for id, host in hosts.items()]
    return "\n".join(lines) + "\n"
