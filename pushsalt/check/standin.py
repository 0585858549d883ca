"""Made-up answers of functions that templates call on a target, so that rendering can continue."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

_RAN: Final = {"pid": 4242, "retcode": 0, "stdout": "", "stderr": ""}

#: Answers by function; others return an empty text.
_ANSWERS: Final[dict[str, Any]] = {
    "cmd.run_all": _RAN,
    "cmd.exec_code_all": _RAN,
    "cmd.script": _RAN,
    "cmd.retcode": 0,
    "cmd.script_retcode": 0,
    "cmd.has_exec": False,
    "cmd.which": None,
    "cmd.which_bin": None,
    "file.access": False,
    "file.directory_exists": False,
    "file.file_exists": False,
    "file.path_exists_glob": False,
    "file.is_link": False,
    "file.contains": False,
    "file.contains_regex": False,
    "file.contains_glob": False,
    "file.search": False,
    "file.readdir": [],
    "file.find": [],
    "file.stats": {},
    "file.read": "",
    "file.get_mode": "0644",
    "file.get_user": "root",
    "file.get_group": "root",
    "file.get_uid": 0,
    "file.get_gid": 0,
    "pkg.list_pkgs": {},
    "pkg.list_upgrades": {},
    "pkg.list_repos": {},
    "pkg.version": "",
    "pkg.latest_version": "",
    "pkg.available_version": "",
    "pkg.upgrade_available": False,
    "pkg.version_cmp": 0,
    "service.available": False,
    "service.enabled": False,
    "service.status": False,
    "service.get_all": [],
    "service.get_enabled": [],
    "service.missing": True,
    "user.list_users": ["root"],
    "user.getent": [],
    "user.list_groups": [],
    "group.getent": [],
    "network.interfaces": {},
    "network.ip_addrs": ["192.0.2.10"],
    "network.ip_addrs6": ["2001:db8::a"],
    "network.ipaddrs": ["192.0.2.10"],
    "network.get_hostname": "host",
    "network.default_route": [],
    "mount.active": {},
    "mount.fstab": {},
    "disk.usage": {},
    "disk.blkid": {},
    "status.meminfo": {},
    "ps.virtual_memory": {},
    "alternatives.show_current": "",
    "alternatives.check_exists": False,
    "dig.A": [],
    "dig.AAAA": [],
    "dnsutil.A": [],
    "mysql.db_list": [],
    "mysql.db_tables": [],
    "postgres.db_list": {},
    "postgres.user_list": {},
    "git.current_branch": "",
    "kmod.lsmod": [],
    "sysctl.show": {},
    "selinux.getenforce": "Disabled",
    "saltutil.runner": {},
    "publish.publish": {},
    "publish.full_data": {},
}


class StandIn:
    """A target with made-up answers; ``asked`` has the functions that were called."""

    def __init__(self, grains: Mapping[str, Any]) -> None:
        self._grains = grains
        self.asked: list[str] = []

    def __call__(self, fun: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        self.asked.append(fun)
        answer: Callable[..., Any] | None = getattr(self, "_" + fun.replace(".", "_"), None)
        if answer is not None:
            return answer(*args, **kwargs)
        value = _ANSWERS.get(fun, "")
        return value.copy() if isinstance(value, (dict, list)) else value

    def _user_info(self, name: Any = "root", *args: Any, **kwargs: Any) -> dict[str, Any]:
        root = name == "root"
        return {
            "name": name,
            "passwd": "x",
            "uid": 0 if root else 1000,
            "gid": 0 if root else 1000,
            "home": "/root" if root else f"/home/{name}",
            "shell": "/bin/sh",
            "fullname": "",
            "groups": [name],
            "roomnumber": "",
            "workphone": "",
            "homephone": "",
            "other": "",
        }

    def _group_info(self, name: Any = "root", *args: Any, **kwargs: Any) -> dict[str, Any]:
        return {"name": name, "passwd": "x", "gid": 0 if name == "root" else 1000, "members": []}

    def _grains_items(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        return dict(self._grains)
