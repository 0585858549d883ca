"""The demo's targets as booted Debian machines: packages, services and a web server that answers."""

from __future__ import annotations

import re
import time
import urllib.request
from contextlib import ExitStack
from pathlib import Path

from pushsalt.demo import project
from pushsalt.demo.machines import AptRepository, Machine, MachineBed, cache_dir, missing
from pushsalt.demo.tour import IDS, SITE, Scene, Tour
from pushsalt.errors import CommandError

SUITE = "bookworm"


def start(folder: Path, tour: Tour, stack: ExitStack) -> Scene:
    """Boot machines and write a project for them; returns the Scene. Raises CommandError if that is not possible."""
    if reason := missing():
        hint = "or run it without --machines; to install them on Debian and Ubuntu: apt-get install debootstrap "
        hint += "systemd-container iproute2 apt-utils openssh-client"
        raise CommandError(f"this machine cannot boot the demo's machines: {reason}", hint)
    began = time.monotonic()
    tour.say("Booting three Debian machines (the first time, system and packages are downloaded) ...", "2")
    repository = AptRepository(SUITE, ["apache2"])
    try:
        bed = stack.enter_context(MachineBed(repositories={SUITE: repository}))
        machines = bed.boot_all(IDS, SUITE)
    except (RuntimeError, OSError) as exc:
        raise CommandError(
            f"this machine cannot boot the demo's machines: {exc}", "try it without --machines"
        ) from None
    defaults = {"user": "root", "priv": str(bed.key), "agent": False}
    defaults["ssh_options"] = [f"UserKnownHostsFile={bed.known_hosts}", "ProxyJump=none"]
    hosts = {m.name: {"host": m.address, "grains": {"role": m.name.rstrip("0123456789")}} for m in machines}
    project.write(tour.project, defaults, hosts, project.PILLAR_ON_MACHINE)
    seconds = time.monotonic() - began

    def check() -> None:
        for machine in machines:
            if machine.name.startswith("web"):
                _ask(tour, machine)

    return Scene(
        f"booted Debian machines, ready after {seconds:.0f} s",
        "/etc/apache2",
        check,
        f"Downloaded files are kept for the next time: {cache_dir()}",
    )


def _ask(tour: Tour, machine: Machine) -> None:
    """Show the site's answer to an HTTP request, or the error."""
    url = f"http://{machine.address}/"
    request = urllib.request.Request(url, headers={"Host": SITE})
    tour.say(f"\n# Does {SITE} answer on {machine.name}?  GET {url}", "2")
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=10) as answer:
            page = answer.read(100_000).decode("utf-8", "replace")
            title = re.search("<h1>(.*?)</h1>", page)
            tour.say(f"{answer.status} {answer.reason}: {title[1] if title else 'a page that is not ours'}")
            if not title:
                tour.failed.append(f"GET {url}")
    except OSError as exc:
        tour.say(f"no answer: {exc}")
        tour.failed.append(f"GET {url}")
