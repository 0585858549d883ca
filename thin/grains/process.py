"""Grains of the running process: user, PATH, Python, locale, and the Salt version for formulas."""

import os
import sys

SALT_VERSION = "3008.3"
SALT_VERSION_INFO = [3008, 3]


def grains(opts):
    id = opts.get("id") or ""
    path = os.environ.get("PATH", "").strip()
    ret = {
        "id": id,
        "master": opts.get("master", ""),
        "server_id": server_id(id),
        "path": path,
        "systempath": path.split(os.pathsep),
        "shell": os.environ.get("SHELL", "/bin/sh"),
        "pid": os.getpid(),
        "uid": os.geteuid(),
        "gid": os.getegid(),
        "pythonversion": list(sys.version_info),
        "pythonpath": list(sys.path),
        "pythonexecutable": sys.executable,
        "saltpath": os.path.dirname(os.path.dirname(__file__)),
        "saltversion": SALT_VERSION,
        "saltversioninfo": list(SALT_VERSION_INFO),
        "package": None,
        "ca_truststore": "os",
        "locale_info": locale_info(),
    }
    try:
        ret["cwd"] = os.getcwd()
    except OSError:
        pass  # the working directory was removed
    if "append_domain" in opts:
        ret["append_domain"] = opts["append_domain"]
    if opts.get("resources"):
        ret["salt_resources"] = opts["resources"]
    ret.update(user())
    return ret


def user():
    import grp
    import pwd

    ret = {"username": "", "groupname": ""}
    try:
        entry = pwd.getpwuid(os.geteuid())
        ret["username"] = entry.pw_name
        ret["groupname"] = grp.getgrgid(entry.pw_gid).gr_name
    except KeyError:
        pass
    return ret


def server_id(id):
    """A number below 2**31 that is computed from the id. Salt: ``get_server_id``."""
    try:
        from _sha256 import sha256  # Python 3.6 to 3.11; faster to import than hashlib
    except ImportError:
        from hashlib import sha256
    return int(sha256(id.encode("utf-8")).hexdigest(), 16) % (2**31)


def locale_info():
    import locale
    import time

    try:
        language, encoding = locale.getlocale()
    except ValueError:
        language = encoding = "unknown"
    return {
        "defaultlanguage": language,
        "defaultencoding": encoding,
        "detectedencoding": sys.getfilesystemencoding(),
        "timezone": time.localtime().tm_zone,
    }
