"""``fileserver_backend: [roots, releases]``: each folder of ``releases/`` beside the first file root is a saltenv."""

from pathlib import Path

from pushsalt.files.found import Listing, disk_file


class Releases:
    def __init__(self, top):
        self.top = Path(top)

    def envs(self):
        return sorted(path.name for path in self.top.iterdir() if path.is_dir())

    def find(self, path, saltenv):
        return disk_file(str(self.top / saltenv / path), path)

    def listing(self, saltenv):
        top = self.top / saltenv
        found = sorted(top.rglob("*")) if top.is_dir() else []
        files = [path.relative_to(top).as_posix() for path in found if path.is_file()]
        dirs = [path.relative_to(top).as_posix() for path in found if path.is_dir()]
        return Listing(files=files, dirs=dirs)


def backend(opts):
    return Releases(Path(opts["file_roots"]["base"][0]).parent / "releases")
