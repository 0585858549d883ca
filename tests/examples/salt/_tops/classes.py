"""``master_tops: {classes: DIR}``: the SLS names in the file ``DIR/ID``."""

from pathlib import Path


def top(**kwargs):
    path = Path(kwargs["opts"]["master_tops"]["classes"], kwargs["opts"]["id"])
    return {"base": path.read_text().split() if path.is_file() else []}
