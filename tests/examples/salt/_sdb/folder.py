"""``{driver: folder, path: DIR}``: ``sdb://PROFILE/KEY`` is the text of the file ``DIR/KEY``."""

from pathlib import Path


def get(key, service=None, profile=None):
    path = Path(profile["path"], key)
    return path.read_text().rstrip("\n") if path.is_file() else None
