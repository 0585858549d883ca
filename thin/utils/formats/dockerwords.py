"""Converts settings of containers and networks, named as in Salt's docker functions, to options of docker."""

import re


def _pairs(text):
    return dict(word.partition("=")[::2] for word in text.split())


def _table(**kinds):
    """``{setting: (option, kind of value)}``. A setting is its option with underscores, or ``name=option``."""
    return {
        name: ("--" + (option or name.replace("_", "-")), kind)
        for kind, text in kinds.items()
        for name, option in _pairs(text).items()
    }


#: Aliases of settings.
_ALIASES = _pairs("""
    interactive=stdin_open memory=mem_limit memory_swap=memswap_limit bind=binds volume=volumes
    env=environment cmd=command rm=auto_remove cpuset=cpuset_cpus dns_option=dns_opt dns_options=dns_opt label=labels
    link=links port=ports expose=ports publish=port_bindings publish_all=publish_all_ports restart=restart_policy
    ulimit=ulimits device=devices log_opts=log_opt ipc=ipc_mode pid=pid_mode net=network_mode userns=userns_mode
    workdir=working_dir security_opts=security_opt storage_opts=storage_opt sysctl=sysctls
    memory_swappiness=mem_swappiness user_ns_mode=userns_mode
""")
#: The settings of a container.
CONTAINER = _table(
    switch="""
    auto_remove=rm init oom_kill_disable privileged publish_all_ports=publish-all read_only stdin_open=interactive tty
    """,
    value="""
    blkio_weight cgroup_parent cpu_period cpu_quota cpu_shares cpus cpuset_cpus cpuset_mems domainname entrypoint
    hostname ipc_mode=ipc isolation log_driver mac_address mem_limit=memory mem_swappiness=memory-swappiness
    memory_reservation memswap_limit=memory-swap network_mode=network oom_score_adj pid_mode=pid pids_limit
    restart_policy=restart runtime shm_size stop_signal stop_timeout user userns_mode=userns uts_mode=uts
    volume_driver working_dir=workdir
    """,
    list="""
    binds=volume blkio_weight_device cap_add cap_drop device_read_bps device_read_iops device_write_bps
    device_write_iops devices=device dns dns_opt dns_search env_file group_add port_bindings=publish ports=expose
    security_opt ulimits=ulimit volumes=volume volumes_from
    """,
    map="labels=label log_opt storage_opt sysctls=sysctl",
    colons="extra_hosts=add-host links=link tmpfs",
)
#: The settings of a network.
NETWORK = _table(
    value="driver scope ipam_driver",
    switch="internal attachable ingress enable_ipv6=ipv6",
    map="driver_opts=opt options=opt labels=label ipam_opts=ipam-opt",
)
#: The settings of one address pool of a network.
POOL = _table(value="subnet iprange=ip-range ip_range gateway", map="aux_addresses=aux-address aux_address")
#: The settings of a container in a network.
CONNECTION = _table(
    value="ipv4_address=ip ipv6_address=ip6", list="aliases=alias link_local_ips=link-local-ip", colons="links=link"
)

#: Environment variables that the docker command itself reads.
_CLIENTS = re.compile(r"(PATH|HOME|LC_ALL|USER|TMPDIR|LD_.*|(DOCKER|CONTAINERS?|XDG|PODMAN|BUILDAH)_.*)$")


def environment(value):
    """(options, variables): options ``--env=NAME``, and ``{NAME: value}`` for the environment of the docker command,
    where only root can read the values. A variable that the docker command itself reads is ``--env=NAME=value``."""
    words, variables = [], {}
    for text in listed(value):
        name, equals, content = text.partition("=")
        if equals and (_CLIENTS.match(name) or not re.match(r"\w+$", name)):
            words.append("--env=" + text)
            continue
        words.append("--env=" + name)
        variables.update({name: content} if equals else {})
    return words, variables


def container(settings, collisions=False):
    """(options, command, variables) of a container's settings. Raises ValueError for an unknown setting.

    ``collisions``: if a setting and its alias are both given, the alias is ignored; otherwise this is a ValueError.
    """
    settings = dict(settings)
    for name in list(settings):
        if name in _ALIASES and name not in CONTAINER:
            value, meant = settings.pop(name), _ALIASES[name]
            if meant in settings and not collisions:
                raise ValueError("'%s' is an alias for '%s', they cannot both be used" % (name, meant))
            settings.setdefault(meant, value)
    command = settings.pop("command", None)
    for given in ("detach", "client_timeout"):
        settings.pop(given, None)
    if settings.pop("network_disabled", False):
        settings["network_mode"] = "none"
    entrypoint = _command(settings.pop("entrypoint", None))
    more = entrypoint[1:]
    if entrypoint:
        settings["entrypoint"] = entrypoint[0]
    if isinstance(settings.get("binds"), dict):
        settings["binds"] = [_bind(place, how) for place, how in settings["binds"].items()]
    if isinstance(settings.get("restart_policy"), dict):
        policy = settings["restart_policy"]
        count = policy.get("MaximumRetryCount")
        settings["restart_policy"] = "%s:%s" % (policy["Name"], count) if count else policy["Name"]
    if isinstance(settings.get("ulimits"), list):
        settings["ulimits"] = [_ulimit(each) for each in settings["ulimits"]]
    words, variables = environment(settings.pop("environment", None) or [])
    return options(settings, CONTAINER) + words, more + _command(command), variables


def options(settings, table):
    """The command-line options of settings, sorted by setting. Raises ValueError for one that is not in the table."""
    unknown = sorted(name for name in settings if name not in table)
    if unknown:
        raise ValueError("Unknown argument(s): %s" % ", ".join(unknown))
    words = []
    for name in sorted(settings):
        option, kind = table[name]
        words += _words(option, kind, settings[name])
    return words


def _words(option, kind, value):
    if value is None:
        return []
    if kind == "switch":
        return [option] if true(value) else []
    if kind == "value":
        return ["%s=%s" % (option, value)]
    sign = ":" if kind == "colons" else "="
    return ["%s=%s" % (option, each) for each in listed(value, sign)]


def true(value):
    """Whether a value of an SLS file or of a command line is true."""
    return value if isinstance(value, bool) else str(value).lower() in ("true", "yes", "on", "1")


def listed(value, sign="="):
    """The strings of a list, a dict, a list of dicts, or a comma-separated string."""
    if isinstance(value, dict):
        return ["%s%s%s" % (key, sign, value[key]) if value[key] is not None else str(key) for key in value]
    if isinstance(value, (list, tuple)):
        result = []
        for each in value:
            result += listed(each, sign) if isinstance(each, dict) else [str(each)]
        return result
    return [part for part in str(value).split(",") if part]


def merged(value):
    """A list of dicts, or of ``key=value``, as one dict."""
    return {text.partition("=")[0]: text.partition("=")[2] for text in listed(value)} if value else {}


def networks(value):
    """``{network: settings of the connection}`` from a dict, a list of names or dicts, or a comma-separated string."""
    if not value or isinstance(value, dict):
        return {name: dict(value[name] or {}) for name in value or ()}
    networks = {}
    for each in listed(value) if isinstance(value, str) else value:
        for name, how in each.items() if isinstance(each, dict) else [(each, {})]:
            networks[name] = {}
            for part in how if isinstance(how, list) else [how or {}]:
                networks[name].update(part)
    return networks


def pools(settings):
    """The options for the address pools of a network: ``ipam_pools``, or the settings of a single pool."""
    words = []
    given = settings.pop("ipam_pools", None) or []
    single = {key: settings.pop(key) for key in list(settings) if key in POOL}
    for pool in ([single] if single else []) + list(given):
        words += options(pool, POOL)
    return words


def _command(command):
    from thin.utils import words

    if not command:
        return []
    return [str(word) for word in command] if isinstance(command, (list, tuple)) else words.split(str(command))


def _bind(place, how):
    """``place:bind:mode`` from docker-py's ``{place: {bind: path, mode: mode}}``."""
    if not isinstance(how, dict):
        return "%s:%s" % (place, how)
    mode = how.get("mode") or ("ro" if how.get("ro") else "")
    return ":".join(str(part) for part in (place, how.get("bind") or place, mode) if part)


def _ulimit(value):
    if not isinstance(value, dict):
        return value
    low = {key.lower(): value[key] for key in value}
    if "name" in low:
        return "%s=%s:%s" % (low["name"], low.get("soft", low.get("hard")), low.get("hard", low.get("soft")))
    return ",".join("%s=%s" % pair for pair in value.items())


def human(size):
    """A number of bytes in readable form, as ``1.5 KiB``."""
    size = float(size)
    if size < 1024:
        return "%d bytes" % size
    for unit in ("KiB", "MiB", "GiB", "TiB", "PiB"):
        size /= 1024
        if size < 1024 or unit == "PiB":
            return "%.1f %s" % (size, unit)
    return ""


def size(text):
    """The number of bytes of a size as docker prints it, such as ``1.5MB``; 0 for another text."""
    match = re.match(r"\s*([\d.]+)\s*([kKMGT]?)B", str(text))
    return int(float(match.group(1)) * 1000 ** " KMGT".index(match.group(2).upper() or " ")) if match else 0


def made(created):
    """``{"Time_Created_Epoch", "Time_Created_Local"}`` of docker's time of creation; {} for another text."""
    import calendar
    import time

    match = re.match(r"(\d+)-(\d+)-(\d+)T(\d+):(\d+):(\d+)", str(created))
    if not match:
        return {}
    seconds = calendar.timegm(tuple(map(int, match.groups())))
    zone = re.search(r"([+-])(\d\d):(\d\d)$", str(created))
    if zone:
        shift = int(zone.group(2)) * 3600 + int(zone.group(3)) * 60
        seconds -= shift if zone.group(1) == "+" else -shift
    local = time.strftime("%Y-%m-%d %H:%M:%S %Z", time.localtime(seconds))
    return {"Time_Created_Epoch": seconds, "Time_Created_Local": local}


def full_name(image):
    """The name of an image with its tag, ``latest`` if it has none."""
    image = str(image)
    if re.match(r"(sha256:)?[0-9a-f]{12,64}$", image) or "@" in image:
        return image
    return image if ":" in image.rpartition("/")[2] else image + ":latest"
