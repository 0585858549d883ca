"""The page of ``--report`` with many targets: its size, and how long headless Chromium takes to load it.

    python benchmarks/reports.py [--targets 1000] [--states 50] [--times 5]

Two pages: all targets return the same, and each returns something else (every tenth fails, every third changes a file).
The time is that of the browser's own clock from the start of the navigation to the load event, with the layout of the
page.
"""

from __future__ import annotations

import argparse
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pushsalt.jobs.model import JobEnd, JobStart
from pushsalt.model import TargetReturn
from pushsalt.reports.html import Report

MEASURE = """
addEventListener("load", () => {
  document.body.getBoundingClientRect();
  document.title = "took " + Math.round(performance.now()) + " ms";
});
"""


def states(number: int, own: str) -> dict[str, Any]:
    """The returns of a target's states; ``own`` makes them different from those of other targets."""
    returns: dict[str, Any] = {}
    for position in range(number):
        changed = bool(own) and position % 3 == 0
        body = f"--- \n+++ \n@@ -1,3 +1,3 @@\n # file {position}\n-host = old\n+host = {own}\n end\n"
        returns[f"file_|-c{position}_|-/etc/app/c{position}.conf_|-managed"] = {
            "result": not (own.endswith("0") and position == number - 1),
            "changes": {"diff": body} if changed else {},
            "comment": f"The file /etc/app/c{position}.conf {'is updated' if changed else 'is in the correct state'}",
            "name": f"/etc/app/c{position}.conf",
            "__id__": f"c{position}",
            "__sls__": "app",
            "__run_num__": position,
            "duration": 1.5 + position,
        }
    return returns


def page(path: Path, targets: int, number: int, alike: bool) -> None:
    report = Report(path)
    ids = [f"web{n:04}" for n in range(targets)]
    report.job_begins(JobStart("20261126160000123456", "state.apply", ["app"], ids=ids, start=1.0))
    for id in ids:
        returns = states(number, "" if alike else id)
        failed = any(ret["result"] is False for ret in returns.values())
        phases = {"connect": 0.4, "render": 0.1, "run": 1.2}
        report.target_returned(TargetReturn(id, returns, "states", 2 if failed else 0, phases=phases))
    report.job_ends(JobEnd(2, "done", 30.0))


def load(path: Path, folder: Path) -> int:
    """Milliseconds until the page is loaded and laid out."""
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", path.read_text("utf-8"))
    measured = path.with_suffix(".measured.html")
    measured.write_text(text.replace("</head>", f"<script>{MEASURE}</script></head>", 1), "utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/chromium"]
    argv = ["chromium", *options, "--dump-dom", f"file://{measured}"]
    dom = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=300).stdout
    match = re.search(r"<title>took (\d+) ms</title>", dom)
    if match is None:
        raise SystemExit("the page did not load")
    return int(match[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", type=int, default=1000)
    parser.add_argument("--states", type=int, default=50)
    parser.add_argument("--times", type=int, default=5)
    options = parser.parse_args()
    if shutil.which("chromium") is None:
        raise SystemExit("there is no chromium on this machine")
    with tempfile.TemporaryDirectory() as folder:
        for name in ("alike", "different"):
            path = Path(folder, f"{name}.html")
            page(path, options.targets, options.states, name == "alike")
            times = [load(path, Path(folder)) for _ in range(options.times)]
            size = path.stat().st_size / 2**20
            print(f"{name:10} {size:6.2f} MiB {statistics.median(times):6.0f} ms (of {sorted(times)})", flush=True)


if __name__ == "__main__":
    main()
