"""``pushsalt impact`` of one changed template, for 1,000 ids of 20 kinds: the whole process, several times.

    python benchmarks/impact.py [--ids 1000] [--kinds 20] [--times 5]

Prints wall-clock and CPU seconds of each run, and the medians. The project is made in a temporary folder: each kind has
an SLS of its own and three common ones, with templates that read grains and pillar.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COMMON = ("users", "ssh", "ntp")
SLS = """{{% for number in range(10) %}}
{name}-{{{{ number }}}}:
  file.managed:
    - name: /etc/{name}/{{{{ number }}}}.conf
    - source: salt://{name}/conf.jinja
    - template: jinja
    - mode: '0644'
    - context: {{kind: {{{{ grains.kind }}}}, port: {{{{ pillar.port }}}}}}
{{% endfor %}}
"""


def create_project(folder: Path, ids: int, kinds: int) -> None:
    """Make the project, commit it, and change one template."""
    names = [*COMMON, *(f"kind{number}" for number in range(kinds))]
    for name in names:
        sls = folder / "salt" / name
        sls.mkdir(parents=True)
        (sls / "init.sls").write_text(SLS.format(name=name))
        (sls / "conf.jinja").write_text("kind {{ kind }}\nport {{ port }}\nos {{ grains.os }}\n")
    rows = "".join(f"  'G@kind:kind{number}': [{{match: compound}}, kind{number}]\n" for number in range(kinds))
    (folder / "salt/top.sls").write_text(f"base:\n  '*': [{', '.join(COMMON)}]\n{rows}")
    (folder / "pillar").mkdir()
    (folder / "pillar/top.sls").write_text("base: {'*': [p]}\n")
    (folder / "pillar/p.sls").write_text("port: {{ 8000 + grains.kind[4:] | int }}\n")
    hosts = {
        f"id{number}": {
            "transport": "offline",
            "grains": {"os": "Debian", "os_family": "Debian", "kind": f"kind{number % kinds}", "serial": number},
        }
        for number in range(ids)
    }
    (folder / "inventory.yaml").write_text(json.dumps({"hosts": hosts}))
    (folder / "pushsalt.yaml").write_text("file_roots: {base: [salt]}\npillar_roots: {base: [pillar]}\n")
    git = ["git", "-C", str(folder), "-c", "user.name=b", "-c", "user.email=b@example.org"]
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "before"]):
        subprocess.run([*git, *arguments], check=True)
    template = folder / "salt/kind0/conf.jinja"
    template.write_text(template.read_text() + "changed\n")


def run(folder: Path, cache: Path) -> tuple[float, float, str]:
    """Wall-clock and CPU seconds of the command, and its output."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = {**os.environ, "PUSHSALT_CACHE": str(cache)}
    argv = [sys.executable, "-m", "pushsalt", "impact", "--out", "json"]
    done = subprocess.run(argv, cwd=folder, env=environment, check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - began, cpu, done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ids", type=int, default=1000)
    parser.add_argument("--kinds", type=int, default=20)
    parser.add_argument("--times", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder, cache = Path(scratch, "project"), Path(scratch, "cache")
        folder.mkdir()
        create_project(folder, options.ids, options.kinds)
        walls, cpus = [], []
        for _ in range(options.times):
            wall, cpu, out = run(folder, cache)
            assert len(json.loads(out)["ids"]) == len(range(0, options.ids, options.kinds))
            walls.append(wall)
            cpus.append(cpu)
            print(f"{wall:6.2f} s wall-clock, {cpu:6.2f} s CPU")
    print(f"median: {statistics.median(walls):.2f} s wall-clock, {statistics.median(cpus):.2f} s CPU")


if __name__ == "__main__":
    main()
