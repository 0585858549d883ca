"""Processes, processors, memory and counters from Linux's /proc, with the names and units of psutil.

Times are in seconds, sizes in bytes. Values that another user's process does not show are None. Salt's module ``ps``
uses the library psutil, which a target need not have.
"""

import os

STATUS = {
    "R": "running",
    "S": "sleeping",
    "D": "disk-sleep",
    "T": "stopped",
    "t": "tracing-stop",
    "Z": "zombie",
    "X": "dead",
    "x": "dead",
    "K": "wake-kill",
    "W": "waking",
    "I": "idle",
    "P": "parked",
}
CPU_FIELDS = (
    "user",
    "nice",
    "system",
    "idle",
    "iowait",
    "irq",
    "softirq",
    "steal",
    "guest",
    "guest_nice",
)
NET_FIELDS = (
    ("bytes_sent", 8),
    ("bytes_recv", 0),
    ("packets_sent", 9),
    ("packets_recv", 1),
    ("errin", 2),
    ("errout", 10),
    ("dropin", 3),
    ("dropout", 11),
)
#: Name -> (column of /proc/diskstats after the device's name, factor).
DISK_FIELDS = (
    ("read_count", 0, 1),
    ("write_count", 4, 1),
    ("read_bytes", 2, 512),
    ("write_bytes", 6, 512),
    ("read_time", 3, 1),
    ("write_time", 7, 1),
    ("read_merged_count", 1, 1),
    ("write_merged_count", 5, 1),
    ("busy_time", 9, 1),
)


class Gone(Exception):
    """There is no such process, or it has ended."""


def read(path, default=None):
    """The text of a file of /proc; ``default`` if it does not exist or cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as handle:
            return handle.read()
    except OSError:
        return default


def pids():
    """The sorted ids of all processes."""
    return sorted(int(name) for name in os.listdir("/proc") if name.isdigit())


def processes():
    """A Process for each process that runs now."""
    for pid in pids():
        try:
            yield Process(pid)
        except Gone:
            continue


def ticks():
    """The number of clock ticks per second."""
    return float(os.sysconf("SC_CLK_TCK"))


def boot_time():
    """The time of the boot, in seconds since 1970."""
    for line in (read("/proc/stat") or "").splitlines():
        if line.startswith("btime "):
            return int(line.split()[1])
    return 0


class Process(object):
    """One process. Its ``stat`` is read once, other files when they are needed. Raises Gone."""

    def __init__(self, pid):
        self.pid = int(pid)
        text = read("/proc/%d/stat" % self.pid)
        if not text:
            raise Gone("process no longer exists (pid=%s)" % pid)
        self.comm = text[text.index("(") + 1 : text.rindex(")")]
        self.stat = text[text.rindex(")") + 2 :].split()

    def _text(self, name, default=None):
        return read("/proc/%d/%s" % (self.pid, name), default)

    def _status(self):
        rows = (line.partition(":") for line in (self._text("status") or "").splitlines())
        return {row[0]: row[2].split() for row in rows}

    def cmdline(self):
        """The command line as a list; [] for a kernel thread."""
        text = self._text("cmdline", "")
        if not text:
            return []
        return text[:-1].split("\0") if text.endswith("\0") else text.split("\0" if "\0" in text else " ")

    def name(self):
        """The program's name. The kernel stores 15 characters; the rest may be in the command line."""
        if len(self.comm) >= 15:
            words = self.cmdline()
            if words and os.path.basename(words[0]).startswith(self.comm):
                return os.path.basename(words[0])
        return self.comm

    def status(self):
        """``running``, ``sleeping``, ``zombie`` …"""
        return STATUS.get(self.stat[0], "?")

    def uids(self):
        """[real, effective, saved] user ids."""
        uids = self._status().get("Uid")
        if uids is None:
            raise Gone("process no longer exists (pid=%d)" % self.pid)
        return [int(number) for number in uids[:3]]

    def username(self):
        """The name of the real user, or its number as text."""
        import pwd

        uid = self.uids()[0]
        try:
            return pwd.getpwuid(uid).pw_name
        except KeyError:
            return str(uid)

    def cpu_times(self):
        """``{"user", "system", "children_user", "children_system", "iowait"}``"""
        names = ("user", "system", "children_user", "children_system")
        times = dict(zip(names, [int(value) / ticks() for value in self.stat[11:15]]))
        times["iowait"] = int(self.stat[39]) / ticks() if len(self.stat) > 39 else 0.0
        return times

    def create_time(self):
        """The time of its start, in seconds since 1970."""
        return round(boot_time() + int(self.stat[19]) / ticks(), 2)

    def memory_info(self):
        """``{"rss", "vms", "shared", "text", "lib", "data", "dirty"}``"""
        page = os.sysconf("SC_PAGE_SIZE")
        result = [int(number) * page for number in (self._text("statm") or "0 " * 7).split()]
        return dict(zip(("vms", "rss", "shared", "text", "lib", "data", "dirty"), result))

    def as_dict(self, attrs=None):
        """All properties, or ``attrs``; None for those that only its owner may read. ValueError for an unknown one."""
        names = {name[4:] for name in dir(self) if name.startswith("_of_")}
        unknown = [name for name in attrs or () if name not in names]
        if unknown:
            raise ValueError("invalid attr name%s %s" % ("s" if unknown[1:] else "", ", ".join(map(repr, unknown))))
        result = {}
        for name in attrs or sorted(names):
            try:
                result[name] = getattr(self, "_of_" + name)()
            except (OSError, IndexError, KeyError):
                result[name] = None
        return result

    # the attributes of ``as_dict``

    def _of_pid(self):
        return self.pid

    def _of_ppid(self):
        return int(self.stat[1])

    def _of_name(self):
        return self.name()

    def _of_status(self):
        return self.status()

    def _of_cmdline(self):
        return self.cmdline()

    def _of_username(self):
        return self.username()

    def _of_uids(self):
        return self.uids()

    def _of_gids(self):
        return [int(number) for number in self._status()["Gid"][:3]]

    def _of_create_time(self):
        return self.create_time()

    def _of_cpu_times(self):
        names = ("user", "system", "children_user", "children_system", "iowait")
        times = self.cpu_times()
        return [times[name] for name in names]

    def _of_cpu_percent(self):
        return 0.0  # as of psutil's first call: it is the usage since the call before

    def _of_cpu_num(self):
        return int(self.stat[36])

    def _of_cpu_affinity(self):
        return sorted(os.sched_getaffinity(self.pid))

    def _of_nice(self):
        return int(self.stat[16])

    def _of_num_threads(self):
        return int(self.stat[17])

    def _of_num_fds(self):
        return len(os.listdir("/proc/%d/fd" % self.pid))

    def _of_num_ctx_switches(self):
        status = self._status()
        return [int(status[name][0]) for name in ("voluntary_ctxt_switches", "nonvoluntary_ctxt_switches")]

    def _of_memory_info(self):
        memory = self.memory_info()
        return [memory[name] for name in ("rss", "vms", "shared", "text", "lib", "data", "dirty")]

    def _of_memory_percent(self):
        return self.memory_info()["rss"] * 100.0 / (virtual_memory()["total"] or 1)

    def _of_terminal(self):
        return _terminals().get(int(self.stat[4]))

    def _of_exe(self):
        return os.readlink("/proc/%d/exe" % self.pid).split(" (deleted)")[0]

    def _of_cwd(self):
        return os.readlink("/proc/%d/cwd" % self.pid)

    def _of_environ(self):
        with open("/proc/%d/environ" % self.pid, encoding="utf-8", errors="replace") as handle:
            pairs = [pair.partition("=") for pair in handle.read().split("\0")]
        return {pair[0]: pair[2] for pair in pairs if pair[1]}

    def _of_threads(self):
        of_threads = []
        for name in sorted(os.listdir("/proc/%d/task" % self.pid), key=int):
            text = self._text("task/%s/stat" % name)
            if text:
                fields = text[text.rindex(")") + 2 :].split()
                of_threads.append([int(name), int(fields[11]) / ticks(), int(fields[12]) / ticks()])
        return of_threads

    def _of_io_counters(self):
        with open("/proc/%d/io" % self.pid, encoding="utf-8") as handle:
            rows = dict(line.split(": ") for line in handle.read().splitlines())
        return [int(rows[name]) for name in ("syscr", "syscw", "read_bytes", "write_bytes", "rchar", "wchar")]

    def _of_open_files(self):
        of_open_files = []
        for name in os.listdir("/proc/%d/fd" % self.pid):
            try:
                path = os.readlink("/proc/%d/fd/%s" % (self.pid, name))
            except OSError:
                continue
            if path.startswith("/") and os.path.isfile(path):
                rows = [line.split() for line in (self._text("fdinfo/" + name) or "").splitlines()]
                info = {row[0]: row[1] for row in rows if len(row) > 1}
                flags = int(info.get("flags:", "0"), 8)
                of_open_files.append([path, int(name), int(info.get("pos:", 0)), _mode(flags), flags])
        return of_open_files


def _mode(flags):
    mode = {os.O_RDONLY: "r", os.O_WRONLY: "w", os.O_RDWR: "w+"}.get(flags & os.O_ACCMODE, "r")
    if flags & os.O_APPEND:
        mode = mode.replace("w", "a", 1)
    return mode.replace("w+", "r+")


def _terminals():
    import glob

    terminals = {}
    for path in glob.glob("/dev/tty*") + glob.glob("/dev/pts/*"):
        try:
            terminals.setdefault(os.stat(path).st_rdev, path)
        except OSError:
            continue
    return terminals


# The machine


def cpu_times():
    """``(all, [each])``: ``{field: seconds}`` since the boot, of all processors together and of each."""
    each = []
    for line in (read("/proc/stat") or "").splitlines():
        if line.startswith("cpu"):
            values = [int(value) / ticks() for value in line.split()[1:]]
            each.append(dict(zip(CPU_FIELDS, values)))
    return each[0] if each else {}, each[1:]


def cpu_busy(before, after):
    """The percentage of the time between two ``cpu_times`` in which the processor was busy."""
    passed = {name: max(0.0, after[name] - before[name]) for name in after}
    whole = sum(passed.values()) - passed.get("guest", 0) - passed.get("guest_nice", 0)
    idle = passed.get("idle", 0) + passed.get("iowait", 0)
    return round((whole - idle) / whole * 100, 1) if whole > 0 else 0.0


def _meminfo():
    rows = (line.partition(":") for line in (read("/proc/meminfo") or "").splitlines())
    return {row[0]: int(row[2].split()[0]) * 1024 for row in rows if row[2].split()}


def virtual_memory():
    """``{"total", "available", "percent", "used", "free", "active", "inactive", "buffers", "cached", …}``"""
    info = _meminfo()
    total, free = info.get("MemTotal", 0), info.get("MemFree", 0)
    cached = info.get("Cached", 0) + info.get("SReclaimable", 0)
    available = min(info.get("MemAvailable", free + cached), total)
    used = total - available
    return {
        "total": total,
        "available": available,
        "percent": _percent(used, total),
        "used": used,
        "free": free,
        "active": info.get("Active", 0),
        "inactive": info.get("Inactive", 0),
        "buffers": info.get("Buffers", 0),
        "cached": cached,
        "shared": info.get("Shmem", 0),
        "slab": info.get("Slab", 0),
    }


def swap_memory():
    """``{"total", "used", "free", "percent", "sin", "sout"}``"""
    info = _meminfo()
    total, free = info.get("SwapTotal", 0), info.get("SwapFree", 0)
    rows = dict(line.split()[:2] for line in (read("/proc/vmstat") or "").splitlines())
    return {
        "total": total,
        "used": total - free,
        "free": free,
        "percent": _percent(total - free, total),
        "sin": int(rows.get("pswpin", 0)) * 4096,
        "sout": int(rows.get("pswpout", 0)) * 4096,
    }


def partitions(everything=False):
    """[{"device", "mountpoint", "fstype", "opts"}] of the mounts: those with a device, or all."""
    with_device = {"zfs"}
    for line in (read("/proc/filesystems") or "").splitlines():
        if not line.startswith("nodev"):
            with_device.add(line.strip())
    partitions = []
    for line in (read("/proc/self/mounts") or "").splitlines():
        device, mountpoint, fstype, opts = [_unescaped(word) for word in line.split()[:4]]
        device = "" if device == "none" else device
        if everything or (device and fstype in with_device):
            partitions.append({"device": device, "mountpoint": mountpoint, "fstype": fstype, "opts": opts})
    return partitions


def _unescaped(text):
    for code, char in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, char)
    return text


def disk_usage(path):
    """``{"total", "used", "free", "percent"}`` of the file system of a path. Raises OSError."""
    status = os.statvfs(path)
    total, free = status.f_blocks * status.f_frsize, status.f_bavail * status.f_frsize
    used = total - status.f_bfree * status.f_frsize
    return {"total": total, "used": used, "free": free, "percent": _percent(used, used + free)}


def net_counters():
    """``{interface: {"bytes_sent", "bytes_recv", "packets_sent", …}}``"""
    net_counters = {}
    for line in (read("/proc/net/dev") or "").splitlines()[2:]:
        name, _, rest = line.rpartition(":")
        values = [int(value) for value in rest.split()]
        net_counters[name.strip()] = {field: values[at] for field, at in NET_FIELDS}
    return net_counters


def disk_counters():
    """``{device: {"read_count", "write_count", "read_bytes", …}}`` of disks and their partitions."""
    disk_counters = {}
    for line in (read("/proc/diskstats") or "").splitlines():
        words = line.split()
        if len(words) >= 14:
            disk_counters[words[2]] = {name: int(words[3 + at]) * factor for name, at, factor in DISK_FIELDS}
    return disk_counters


def summed(counters):
    """One dict with the sums of many."""
    result = {}
    for each in counters:
        for name, value in each.items():
            result[name] = result.get(name, 0) + value
    return result


def users(paths=("/run/utmp", "/var/run/utmp")):
    """[{"name", "terminal", "host", "started", "pid"}] of the users that are logged in, from utmp."""
    import struct

    form = struct.Struct("=h2xi32s4s32s256shhiii16s20x")
    for path in paths:
        try:
            with open(path, "rb") as handle:
                data = handle.read()
            break
        except OSError:
            continue
    else:
        return []
    users = []
    for at in range(0, len(data) - form.size + 1, form.size):
        kind, pid, line, _, user, host, _, _, _, started, _, _ = form.unpack_from(data, at)
        if kind == 7:  # USER_PROCESS
            name, terminal, host = [part.split(b"\0")[0].decode("utf-8", "replace") for part in (user, line, host)]
            users.append(
                {
                    "name": name,
                    "terminal": terminal or None,
                    "host": "localhost" if host in (":0", ":0.0") else host,
                    "started": float(started),
                    "pid": pid,
                }
            )
    return users


def _percent(part, whole):
    return round(part * 100.0 / whole, 1) if whole else 0.0
