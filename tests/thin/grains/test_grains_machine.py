"""Hardware, virtualization, init and others: parsed from texts, or read from this machine."""

import os
import platform

import pytest

from thin.grains import hardware, linux, process, virtual

X86 = """processor\t: 0
vendor_id\t: GenuineIntel
model name\t: Intel(R) Xeon(R) CPU
flags\t\t: fpu sse avx2

processor\t: 1
vendor_id\t: GenuineIntel
model name\t: Intel(R) Xeon(R) CPU
flags\t\t: fpu sse avx2
"""
ARM64 = "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd\n\nprocessor\t: 1\nFeatures\t: fp asimd\n"
S390X = "vendor_id       : IBM/S390\n# processors    : 2\nfeatures\t: esan3 zarch\nprocessor 0: version = FF\n"
POWER = "processor\t: 0\ncpu\t\t: POWER9 (architected), altivec supported\n"


@pytest.mark.parametrize(
    "text, count, model, flags",
    [
        (X86, 2, "Intel(R) Xeon(R) CPU", ["fpu", "sse", "avx2"]),
        (ARM64, 2, "Unknown", ["fp", "asimd"]),
        (S390X, 2, "IBM/S390", []),
        (POWER, 1, "POWER9 (architected), altivec supported", []),
        ("", 0, "Unknown", []),
    ],
    ids=["x86", "arm64", "s390x", "power", "none"],
)
def test_cpuinfo_is_parsed(text, count, model, flags):
    assert hardware.cpu(text) == {"num_cpus": count, "cpu_model": model, "cpu_flags": flags}


def test_meminfo_is_parsed():
    text = "MemTotal:        4005912 kB\nMemFree: 1 kB\nSwapTotal:       1048572 kB\n"
    assert hardware.memory(text) == {"mem_total": 3912, "swap_total": 1023}


def test_mdstat_is_parsed():
    assert hardware.raids("Personalities : [raid1]\nmd1 : active raid1 a\nmd0 : active\nunused devices: <none>\n") == [
        "md0",
        "md1",
    ]


def test_missing_firmware_values_are_left_out(tmp_path):
    (tmp_path / "sys_vendor").write_text("QEMU\n")
    (tmp_path / "product_uuid").write_text("ABCD-EF\n")
    (tmp_path / "product_name").write_bytes(b"bad \xff\n")
    assert hardware.firmware(str(tmp_path)) == {"manufacturer": "QEMU", "uuid": "abcd-ef", "productname": "bad \ufffd"}


@pytest.mark.parametrize(
    "model, expected",
    [("acme,board\0", {"manufacturer": "acme", "productname": "board"}), ("Board 3\0", {"productname": "Board 3"})],
)
def test_the_device_tree_is_parsed(tmp_path, model, expected):
    (tmp_path / "model").write_text(model)
    (tmp_path / "serial-number").write_text("42\0")
    assert hardware.device_tree(str(tmp_path)) == dict(expected, serialnumber="42")


def test_output_of_lspci_is_parsed():
    text = (
        "Slot:\t00:02.0\nClass:\tVGA compatible controller\nVendor:\tNVIDIA Corporation\nDevice:\tGA100\n\n"
        "Slot:\t00:03.0\nClass:\tEthernet controller\nVendor:\tIntel\nDevice:\tX\n\n"
        "Slot:\t00:04.0\nClass:\tDisplay controller\nVendor:\tSomebody\nDevice:\tY\n"
    )
    assert hardware.parse_lspci(text) == [
        {"vendor": "nvidia", "model": "GA100"},
        {"vendor": "unknown", "model": "Y"},
    ]


@pytest.mark.parametrize(
    "word, expected",
    [
        ("kvm", ("kvm", None)),
        ("microsoft", ("VirtualPC", None)),
        ("lxc-libvirt", ("container", "LXC")),
        ("amazon", ("Nitro", "Amazon EC2")),
        ("none", (None, None)),
        ("something-new", (None, None)),
    ],
)
def test_output_of_systemd_detect_virt_is_mapped(word, expected):
    assert virtual.systemd_detect_virt(word) == expected


@pytest.mark.parametrize(
    "text, expected",
    [
        ("hyperv\n", ("HyperV", None)),
        ("xen\nxen-hvm\n", ("xen", None)),
        ("kvm\naws\n", ("kvm", None)),
        ("", (None, None)),
    ],
)
def test_output_of_virt_what_is_mapped(text, expected):
    assert virtual.virt_what(text) == expected


@pytest.mark.parametrize(
    "dmi, expected",
    [
        ({"manufacturer": "QEMU"}, ("kvm", None)),
        ({"biosvendor": "SeaBIOS", "manufacturer": "Red Hat"}, ("kvm", None)),
        ({"manufacturer": "VMware, Inc."}, ("VMware", None)),
        ({"manufacturer": "innotek GmbH", "productname": "VirtualBox"}, ("VirtualBox", None)),
        ({"manufacturer": "Microsoft Corporation", "productname": "Virtual Machine"}, ("VirtualPC", None)),
        ({"manufacturer": "Nutanix", "productname": "AHV"}, ("kvm", "Nutanix AHV")),
        ({"manufacturer": "Dell Inc.", "productname": "PowerEdge"}, (None, None)),
    ],
)
def test_the_hypervisor_is_recognized_by_the_firmware(dmi, expected):
    assert virtual.from_firmware(dmi) == expected


@pytest.mark.parametrize(
    "cgroup, environ, expected",
    [
        ("0::/init.scope\n", "", {}),
        ("1:cpu:/docker/abc\n", "", {"virtual": "container", "virtual_subtype": "Docker"}),
        ("1:cpu:/lxc/abc\n", "", {"virtual": "container", "virtual_subtype": "LXC"}),
        ("0::/\n", "container=lxc\0", {"virtual": "container", "virtual_subtype": "LXC"}),
        ("1:cpu:/kubepods/x\n", "", {"virtual_subtype": "kubernetes"}),
    ],
)
def test_containers_are_recognized(cgroup, environ, expected):
    grains = {}
    virtual._containers(grains, cgroup, environ)
    assert grains == expected


@pytest.mark.parametrize(
    "text, expected",
    [
        ("root=/dev/vda1 ro quiet", [["root", "/dev/vda1"], ["ro", None], ["quiet", None]]),
        ("root=UUID=1 x='a b'", [["root", None], ["x", "a b"]]),
        ("x='a", [["x", "'a"]]),
    ],
)
def test_kernel_parameters_are_parsed(text, expected):
    assert linux.kernelparams(text) == expected


@pytest.mark.parametrize(
    "code, text, expected",
    [
        (0, "systemd 252 (252.30-1)\n+PAM -X\n", {"version": "252", "features": "+PAM -X"}),
        (127, "", {"version": "UNDEFINED", "features": ""}),
        (0, "something else", {"version": "UNDEFINED", "features": ""}),
    ],
)
def test_output_of_systemctl_version_is_parsed(code, text, expected):
    assert linux.systemd(code, text) == expected


@pytest.mark.skipif(
    platform.machine() != "x86_64" or not os.path.exists("/usr/bin/dpkg"), reason="needs an amd64 Debian"
)
def test_osarch_equals_that_of_dpkg():
    import subprocess

    architecture = (
        subprocess.run(["dpkg", "--print-architecture"], stdout=subprocess.PIPE, check=True).stdout.decode().strip()
    )
    assert linux.osarch("Debian") == architecture
    assert linux.osarch("Arch") == platform.machine()


def test_server_id_equals_salts():
    assert process.server_id("vm") == 2067164805


def test_a_missing_or_hanging_program_has_no_output(monkeypatch):
    from thin.grains import probe

    assert probe.Command(["/no/such/program"]).output() == (127, "")
    monkeypatch.setattr(probe, "COMMAND_SECONDS", 0.05)
    assert probe.Command(["sleep", "60"]).output() == (127, "")
