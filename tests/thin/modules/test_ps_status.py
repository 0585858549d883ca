"""The modules ps and status with this machine's /proc, and status of other systems with recorded outputs."""

import os
import signal
import subprocess
import sys

import pytest

from thin.utils.system import procfs


@pytest.fixture
def sleeper():
    """A process that waits, with a unique name."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)", "pushsalt-test-sleeper"])
    yield child
    child.kill()
    child.wait()


@pytest.fixture
def ps(make_loaders):
    return make_loaders().modules


def test_a_process_is_found_described_and_killed(ps, sleeper):
    assert ps["ps.pgrep"]("pushsalt-test-sleeper", full=True) == [sleeper.pid]
    assert ps["ps.pgrep"]("test-sl..per$", full=True, pattern_is_regex=True) == [sleeper.pid]
    assert ps["ps.pgrep"]("pushsalt-test-sleeper", user="no such user", full=True) is None
    assert sleeper.pid in ps["ps.get_pid_list"]()
    info = ps["ps.proc_info"](sleeper.pid)
    assert (info["pid"], info["ppid"], info["cmdline"][-1]) == (sleeper.pid, os.getpid(), "pushsalt-test-sleeper")
    assert info["uids"] == [os.getuid()] * 3 and info["num_threads"] == 1 and info["environ"]["PATH"]
    assert ps["ps.proc_info"](sleeper.pid, attrs=["pid"]) == {"pid": sleeper.pid}
    assert any(row["pid"] == sleeper.pid for row in ps["ps.top"](num_processes=100000, interval=0))
    assert ps["ps.pkill"]("pushsalt-test-sleeper", full=True) == {"killed": [sleeper.pid]}
    assert sleeper.wait(10) == -signal.SIGTERM
    assert ps["ps.pkill"]("pushsalt-test-sleeper", full=True) is None
    assert ps["ps.kill_pid"](sleeper.pid) is False


def test_invalid_processes_and_attributes_are_errors(ps):
    with pytest.raises(Exception, match="process no longer exists"):
        ps["ps.proc_info"](4194305)
    with pytest.raises(Exception, match="invalid attr name 'nonsense'"):
        ps["ps.proc_info"](os.getpid(), attrs=["nonsense"])
    with pytest.raises(Exception, match="Filter is required"):
        ps["ps.status"]("")


def test_figures_of_this_machine_are_consistent(ps):
    memory = ps["ps.virtual_memory"]()
    assert 0 < memory["available"] <= memory["total"] == ps["ps.total_physical_memory"]()
    assert ps["ps.disk_usage"]("/")["total"] == os.statvfs("/").f_blocks * os.statvfs("/").f_frsize
    assert ps["ps.num_cpus"]() == len(ps["ps.cpu_times"](per_cpu=True))
    assert 0 <= ps["ps.cpu_percent"](interval=0.01) <= 100
    total, lo = ps["ps.network_io_counters"](), ps["ps.network_io_counters"]("lo")
    assert total["bytes_sent"] >= lo["bytes_sent"] and ps["ps.network_io_counters"]("nosuch0") is False
    assert {"device", "mountpoint", "fstype", "opts"} == set(ps["ps.disk_partitions"](all=True)[0])
    assert ps["ps.boot_time"]("%Y").isdigit()


def test_cpu_time_and_escaped_names_are_parsed():
    before = {"user": 1.0, "idle": 1.0, "iowait": 0.0}
    assert procfs.cpu_busy(before, {"user": 2.0, "idle": 3.5, "iowait": 0.5}) == 25.0
    assert procfs.cpu_busy(before, before) == 0.0
    assert procfs._unescaped("/mnt/a\\040b\\134c") == "/mnt/a b\\c"


def test_utmp_is_parsed(tmp_path):
    import struct

    row = struct.pack("=h2xi32s4s32s256shhiii16s20x", 7, 42, b"pts/0", b"", b"ada", b"192.0.2.7", 0, 0, 0, 99, 0, b"")
    path = tmp_path / "utmp"
    path.write_bytes(row.replace(b"\7\0", b"\2\0", 1) + row)
    expected = {"name": "ada", "terminal": "pts/0", "host": "192.0.2.7", "started": 99.0, "pid": 42}
    assert procfs.users([str(path)]) == [expected]
    assert procfs.users([str(tmp_path / "none")]) == []


def test_status_of_this_machine_is_returned(ps, sleeper):
    # an orphan: lines with our own process id are excluded
    command = ["sh", "-c", "sleep 299.125 >/dev/null 2>&1 & echo $!"]
    orphan = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode().strip()
    try:
        assert ps["status.pid"](r"sleep 299\.1+25$") == orphan
    finally:
        os.kill(int(orphan), signal.SIGKILL)
    assert ps["status.procs"]()[str(sleeper.pid)]["cmd"].endswith("pushsalt-test-sleeper")
    assert ps["status.cpustats"]()["btime"] == ps["ps.boot_time"]()
    assert ps["status.netdev"]()["lo"]["iface"] == "lo" and "TcpExt" in ps["status.netstats"]()
    assert ps["status.meminfo"]()["MemTotal"]["unit"] == "kB"
    assert set(ps["status.diskusage"]("/")) == {"/"}
    assert ps["status.nproc"]() == len(os.sched_getaffinity(0))
    assert set(ps["status.all_status"]()) > {"w", "uptime", "vmstats"}
    assert ps["status.master"]() is None and ps["status.ping_master"]("x") is ps["status.proxy_reconnect"]("x") is False


# Synthetic, in the columns of vmstat(8), iostat(8), netstat(1) and w(1) of FreeBSD.
FREEBSD = {
    "vmstat -P": (
        "procs  memory      page                    disks     faults         cpu0     cpu1\n"
        "r b w  avm   fre   flt  re  pi  po    fr   sr ad0 cd0   in   sy   cs us sy id us sy id\n"
        "0 0 0 514M  1.7G   212   0   0   0   236    9   0   0    9  154  232  1  2 97  3  4 93\n"
    ),
    "sysctl -n kern.version": "FreeBSD 14.1-RELEASE releng/14.1-n267679-10e31f0946d8 GENERIC",
    "sysctl hw.model hw.ncpu": "hw.model: AMD EPYC 7R32\nhw.ncpu: 2",
    "w -h": "ada      pts/0    192.0.2.7        10:27AM     - w -h",
    "iostat -xzd": (
        "                        extended device statistics\n"
        "device       r/s     w/s     kr/s     kw/s  ms/r  ms/w  ms/o  ms/t qlen  %b\n"
        "ada0           1       2     10.5     20.0     1     2     0     1    0   0\n"
    ),
    "netstat -s": "tcp:\n\t12 packets sent\n\t\t5 data packets (80 bytes)\nudp:\n\t3 datagrams received\n",
}


def test_output_of_freebsd_is_parsed(make_loaders):
    modules = make_loaders(grains={"os": "FreeBSD", "kernel": "FreeBSD"}).modules
    modules["cmd.run"]
    fakes = {
        "cmd.run": lambda command, **kwargs: FREEBSD[" ".join(command)].rstrip("\n"),
        "sysctl.get": lambda name: {"kern.boottime": "{ sec = 100, usec = 5 } Sat", "hw.ncpu": "2"}[name],
        "cmd.which": lambda name: None,
    }
    for name in ("status.w", "status.diskstats"):  # a function of each file
        modules[name].__globals__["__salt__"] = fakes
    expected = {"cpu0": {"us": 1, "sy": 2, "id": 97}, "cpu1": {"us": 3, "sy": 4, "id": 93}}
    assert modules["status.cpustats"]() == expected
    assert modules["status.cpuinfo"]() == {"hw.model": "AMD EPYC 7R32", "hw.ncpu": "2"}
    assert modules["status.nproc"]() == 2 and modules["status.version"]().startswith("FreeBSD 14.1")
    assert modules["status.w"]() == [
        {"user": "ada", "tty": "pts/0", "from": "192.0.2.7", "login": "10:27AM", "idle": "-", "what": "w -h"}
    ]
    assert modules["status.diskstats"]()["ada0"]["kw/s"] == 20.0
    assert modules["status.netstats"]() == {"tcp": {"packets sent": "12"}, "udp": {"datagrams received": "3"}}
    assert modules["status.uptime"]()["since_t"] in (100, 101)
