"""Paths and data of downloaded package files."""

import os


def downloaded(folder, about, ending=".rpm"):
    """``{name: {version: {"path", "size", "creation_date_time", "creation_date_time_t"}}}`` of all files below a
    folder.

    ``about(path)`` returns a file's ``{"name", "version"}``, or None if it is no package.
    """
    import datetime

    result = {}
    for place, _, files in os.walk(folder):
        for path in (os.path.join(place, name) for name in files if name.endswith(ending)):
            data, stat = about(path), os.stat(path)
            if data is None:
                continue
            created = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=int(stat.st_ctime))
            result.setdefault(data["name"], {})[data["version"]] = {
                "path": path,
                "size": stat.st_size,
                "creation_date_time_t": int(stat.st_ctime),
                "creation_date_time": created.isoformat(),
            }
    return result
