"""``ext_pillar: [{folders: DIR}]``: each file of ``DIR/ID/`` becomes a value, by the file's name."""

from pathlib import Path


def ext_pillar(minion_id, pillar, top):
    folder = Path(top, minion_id)
    return {path.name: path.read_text().strip() for path in sorted(folder.glob("*")) if path.is_file()}
