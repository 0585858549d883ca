"""The files of a new formula: package, configuration and service, parameters by system, files that can be
overridden.
"""

from __future__ import annotations

import datetime
import re
from pathlib import Path
from typing import Final

from pushsalt.errors import CommandError, UsageError

_MAP = """\
{#- The parameters of NAME: parameters/defaults.yaml, then those of the system, the more special ones last, then what
    the pillar (or the configuration) has under NAME. In an SLS:
    {% from tplroot ~ "/map.jinja" import mapdata as NAME with context %} #}
{%- set tplroot = tpldir.split("/")[0] %}
{%- import_yaml tplroot ~ "/parameters/defaults.yaml" as defaults %}
{%- set stack = namespace(data=defaults.get("values", {})) %}
{%- for source in ["os_family", "os", "osfinger"] %}
{%-   set path = tplroot ~ "/parameters/" ~ source ~ "/" ~ grains.get(source, "") ~ ".yaml" %}
{%-   if salt["cp.list_master"](saltenv, path) %}
{%-     import_yaml path as layer %}
{%-     set stack.data = salt["slsutil.merge"](stack.data, layer.get("values", {})) %}
{%-   endif %}
{%- endfor %}
{%- set mapdata = salt["slsutil.merge"](stack.data, salt["config.get"]("NAME", default={})) %}
"""
_TOFS = """\
{#- Template override and files switch: where a file may come from, the most special place first.
    The pillar NAME:tofs:files_switch lists grains (by default id, osfinger, os, os_family); a file of
    salt://NAME/files/<value of the grain>/ then wins over that of salt://NAME/files/default/. #}
{%- macro files_switch(source_files, lookup="", indent=6) %}
{%-   set tplroot = tpldir.split("/")[0] %}
{%-   set tofs = salt["config.get"](tplroot ~ ":tofs", {}) %}
{%-   set dirs = tofs.get("dirs", {}) %}
{%-   set files = tofs.get("source_files", {}).get(lookup, []) + source_files %}
{%-   for grain in tofs.get("files_switch", ["id", "osfinger", "os", "os_family"]) + ["default"] %}
{%-     set folder = dirs.get("default", "default") if grain == "default" else grains.get(grain, "") %}
{%-     for file in files if folder %}
{%-       set path = [tplroot, dirs.get("files", "files"), folder, file.lstrip("/")] | join("/") %}
{{ ("- salt://" ~ path) | indent(indent, true) }}
{%     endfor %}
{%-   endfor %}
{%- endmacro %}
"""

FILES: Final = {
    "NAME/init.sls": "# Installs, configures and runs NAME.\ninclude:\n  - .package\n  - .config\n  - .service\n",
    "NAME/clean.sls": """\
# Removes what NAME installs.
include:
  - .service.clean
  - .config.clean
  - .package.clean
""",
    "NAME/map.jinja": _MAP,
    "NAME/libtofs.jinja": _TOFS,
    "NAME/parameters/defaults.yaml": """\
values:
  pkg:
    name: NAME
  config: /etc/NAME.conf
  rootgroup: root
  service:
    name: NAME
    enable: true
  settings: {}
""",
    "NAME/parameters/os_family/FreeBSD.yaml": "values:\n  config: /usr/local/etc/NAME.conf\n  rootgroup: wheel\n",
    "NAME/package/init.sls": "# Installs the package.\ninclude:\n  - .install\n",
    "NAME/package/install.sls": """\
# Installs the package.
{%- set tplroot = tpldir.split("/")[0] %}
{%- from tplroot ~ "/map.jinja" import mapdata as NAME with context %}

NAME-package-install-pkg-installed:
  pkg.installed:
    - name: {{ NAME.pkg.name }}
""",
    "NAME/package/clean.sls": """\
# Removes the package.
{%- set tplroot = tpldir.split("/")[0] %}
{%- set sls_config_clean = tplroot ~ ".config.clean" %}
{%- from tplroot ~ "/map.jinja" import mapdata as NAME with context %}

include:
  - {{ sls_config_clean }}

NAME-package-clean-pkg-removed:
  pkg.removed:
    - name: {{ NAME.pkg.name }}
    - require:
      - sls: {{ sls_config_clean }}
""",
    "NAME/config/init.sls": "# Writes the configuration.\ninclude:\n  - .file\n",
    "NAME/config/file.sls": """\
# Writes the configuration.
{%- set tplroot = tpldir.split("/")[0] %}
{%- set sls_package_install = tplroot ~ ".package.install" %}
{%- from tplroot ~ "/map.jinja" import mapdata as NAME with context %}
{%- from tplroot ~ "/libtofs.jinja" import files_switch with context %}

include:
  - {{ sls_package_install }}

NAME-config-file-file-managed:
  file.managed:
    - name: {{ NAME.config }}
    - source:
{{ files_switch(["NAME.conf.jinja"], lookup="NAME-config-file-file-managed") }}
    - mode: '0644'
    - user: root
    - group: {{ NAME.rootgroup }}
    - makedirs: true
    - template: jinja
    - context:
        settings: {{ NAME.settings | json }}
    - require:
      - sls: {{ sls_package_install }}
""",
    "NAME/config/clean.sls": """\
# Removes the configuration.
{%- set tplroot = tpldir.split("/")[0] %}
{%- set sls_service_clean = tplroot ~ ".service.clean" %}
{%- from tplroot ~ "/map.jinja" import mapdata as NAME with context %}

include:
  - {{ sls_service_clean }}

NAME-config-clean-file-absent:
  file.absent:
    - name: {{ NAME.config }}
    - require:
      - sls: {{ sls_service_clean }}
""",
    "NAME/service/init.sls": "# Runs the service.\ninclude:\n  - .running\n",
    "NAME/service/running.sls": """\
# Runs the service, and restarts it when its configuration changes.
{%- set tplroot = tpldir.split("/")[0] %}
{%- set sls_config_file = tplroot ~ ".config.file" %}
{%- from tplroot ~ "/map.jinja" import mapdata as NAME with context %}

include:
  - {{ sls_config_file }}

NAME-service-running-service-running:
  service.running:
    - name: {{ NAME.service.name }}
    - enable: {{ NAME.service.enable }}
    - watch:
      - sls: {{ sls_config_file }}
""",
    "NAME/service/clean.sls": """\
# Stops the service.
{%- set tplroot = tpldir.split("/")[0] %}
{%- from tplroot ~ "/map.jinja" import mapdata as NAME with context %}

NAME-service-clean-service-dead:
  service.dead:
    - name: {{ NAME.service.name }}
    - enable: false
""",
    "NAME/_mapdata/init.sls": """\
# Shows the parameters of this machine, for tests and bug reports.
{%- set tplroot = tpldir.split("/")[0] %}
{%- from tplroot ~ "/map.jinja" import mapdata with context %}

NAME-mapdata-test-show:
  test.configurable_test_state:
    - name: NAME
    - changes: false
    - result: true
    - comment: {{ mapdata | json | tojson }}
""",
    "NAME/files/default/NAME.conf.jinja": """\
# Managed by the formula NAME: changes made here are lost.
{%- for key, value in settings | dictsort %}
{{ key }} = {{ value }}
{%- endfor %}
""",
    "pillar.example": """\
# Settings of NAME; the defaults are in NAME/parameters/.
NAME:
  pkg:
    name: NAME
  service:
    enable: true
  settings:
    key: value
  # tofs:
  #   files_switch: [id, os_family]
""",
    "README.md": """\
# NAME-formula

States that install, configure and run NAME.

| state | |
|---|---|
| `NAME` | all of the following |
| `NAME.package` | the package |
| `NAME.config` | its configuration |
| `NAME.service` | its service |
| `NAME.clean` | removes all of it; each part also has its own `clean` |

`pillar.example` shows the settings. Files of `NAME/files/default/` can be overridden by those of
`NAME/files/<id, osfinger, os or os_family>/`.

    pushsalt check .
    pushsalt apply TARGET NAME --test
""",
    "VERSION": "0.1.0\n",
    "CHANGELOG.md": "# Changelog\n\n## 0.1.0 (DATE)\n\n- The first one.\n",
    "FORMULA": """\
name: NAME
os: Debian, Ubuntu, RedHat, Rocky, Fedora, SUSE, Arch, Alpine, FreeBSD
os_family: Debian, RedHat, Suse, Arch, Alpine, FreeBSD
version: 0.1.0
release: 1
minimum_version: 3006
summary: NAME formula
description: Formula to install, configure and run NAME
top_level_dir: NAME
""",
    "tests/pillar/top.sls": "base:\n  '*':\n    - NAME\n",
    "tests/pillar/NAME.sls": "NAME:\n  settings:\n    key: value\n",
    "tests/pushsalt.yaml": "file_roots:\n  base: [..]\npillar_roots:\n  base: [pillar]\n",
    "tests/inventory.yaml": """\
# Machines that are never connected to:  cd tests && pushsalt run '*' state.show_sls NAME
hosts:
  debian: {transport: offline, grains: {os: Debian, os_family: Debian, osfinger: Debian-12, kernel: Linux}}
  rocky: {transport: offline, grains: {os: Rocky, os_family: RedHat, osfinger: Rocky Linux-9, kernel: Linux}}
  freebsd: {transport: offline, grains: {os: FreeBSD, os_family: FreeBSD, osfinger: FreeBSD-14, kernel: FreeBSD}}
""",
}


def scaffold(name: str, folder: Path) -> list[str]:
    """Write a new formula; returns the paths. Raises UsageError for an invalid name, CommandError if the folder is not
    empty or cannot be written.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise UsageError(
            f"{name!r} is not a valid name of a formula", hint="small letters, digits and _, as in an SLS name"
        )
    if folder.exists() and any(folder.iterdir() if folder.is_dir() else [folder]):
        raise CommandError(f"{folder} exists and is not empty", hint="name another folder")
    today = datetime.date.today().isoformat()
    written = []
    try:
        for path, text in FILES.items():
            place = folder / path.replace("NAME", name)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text.replace("NAME", name).replace("DATE", today), "utf-8")
            written.append(str(place))
    except OSError as exc:
        raise CommandError(f"{folder} cannot be written: {exc.strerror}", hint="check its permissions") from None
    return written
