"""File systems ext2, ext3 and ext4, by e2fsprogs. Salt: modules/extfs.py"""

__reads__ = ("attributes", "blocks", "dump")
__changes__ = ("mkfs", "tune")

_MKFS = {
    "block_size": "b",
    "check": "c",
    "direct": "D",
    "ext_opts": "E",
    "fragment_size": "f",
    "force": "F",
    "blocks_per_group": "g",
    "number_of_groups": "G",
    "bytes_per_inode": "i",
    "inode_size": "I",
    "journal": "j",
    "journal_opts": "J",
    "blocks_file": "l",
    "label": "L",
    "reserved": "m",
    "last_dir": "M",
    "test": "n",
    "number_of_inodes": "N",
    "creator_os": "o",
    "opts": "O",
    "revision": "r",
    "super": "S",
    "usage_type": "T",
    "uuid": "U",
    "cluster_size": "C",
    "root_directory": "d",
    "errors_behavior": "e",
}
_TUNE = {
    "max": "c",
    "count": "C",
    "error": "e",
    "extended_opts": "E",
    "force": "f",
    "group": "g",
    "interval": "i",
    "journal": "j",
    "journal_opts": "J",
    "label": "L",
    "last_dir": "M",
    "opts": "o",
    "feature": "O",
    "mmp_check": "p",
    "reserved": "r",
    "reserved_percentage": "m",
    "quota_opts": "Q",
    "time": "T",
    "user": "u",
    "uuid": "U",
}
_PROGRESS = (
    "mke2fs",
    "Discarding device blocks",
    "Allocating group tables",
    "Writing inode tables",
    "Creating journal",
    "Writing superblocks",
)


def mkfs(device, fs_type, full_return=False, **kwargs):
    """
    Make a file system; returns the lines of mke2fs, or with ``full_return`` what cmd.run_all returns, with the lines as
    ``comment``

    device
        The device
    fs_type
        ext2, ext3 or ext4
    full_return
        Return more
    block_size, check, direct, ext_opts, fragment_size, force, blocks_per_group, number_of_groups, bytes_per_inode
        Options of mke2fs: -b -c -D -E -f -F -g -G -i
    inode_size, journal, journal_opts, blocks_file, label, reserved, last_dir, test, number_of_inodes, creator_os
        -I -j -J -l -L -m -M -n -N -o
    opts, revision, super, usage_type, uuid, cluster_size, root_directory, errors_behavior
        -O -r -S -T -U -C -d -e; true for those without a value

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' extfs.mkfs /dev/vdb1 fs_type=ext3 opts=sync
    """
    done = _run(["mke2fs", "-F", "-t", str(fs_type)] + _options(_MKFS, kwargs) + [device])
    lines = [line for line in _output_lines(done) if line and not line.startswith(_PROGRESS)]
    return dict(done, comment=lines) if full_return else lines


def tune(device, full_return=False, **kwargs):
    """
    Change settings of a file system; returns the lines of tune2fs, or more with ``full_return`` as ``extfs.mkfs``

    device
        The device
    full_return
        Return more
    max, count, error, extended_opts, force, group, interval, journal, journal_opts, label
        Options of tune2fs: -c -C -e -E -f -g -i -j -J -L
    last_dir, opts, feature, mmp_check, reserved, reserved_percentage, quota_opts, time, user, uuid
        -M -o -O -p -r -m -Q -T -u -U; true for those without a value

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' extfs.tune /dev/vdb1 force=True label=data opts=acl
    """
    done = _run(["tune2fs"] + _options(_TUNE, kwargs) + [device])
    return dict(done, comment=_output_lines(done)) if full_return else _output_lines(done)


def attributes(device, args=None):
    """
    Return the attributes that dumpe2fs reports for a file system: ``{name: text}``

    device
        The device
    args
        Letters for dumpe2fs

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' extfs.attributes /dev/vdb1
    """
    return dump(device, args)["attributes"]


def blocks(device, args=None):
    """
    Return the block groups that dumpe2fs reports for a file system: ``{"Group 0": {group, range, extra, ...}}``

    device
        The device
    args
        Letters for dumpe2fs

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' extfs.blocks /dev/vdb1
    """
    return dump(device, args)["blocks"]


def dump(device, args=None):
    """
    Return ``{attributes, blocks}`` of a file system, as returned by the two functions of these names

    device
        The device
    args
        Letters for dumpe2fs

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' extfs.dump /dev/vdb1
    """
    command = ["dumpe2fs"] + (["-" + args] if args else []) + [device]
    parts, group = {"attributes": {}, "blocks": {}}, None
    for line in __salt__["cmd.run"](command, python_shell=False).splitlines():
        key, mark, value = line.replace("\t", " ").partition(": ")
        if not line or line.startswith("dumpe2fs"):
            continue
        if line.startswith("Group ") and not line.startswith("Group descriptor size"):
            words = line.translate({ord(sign): None for sign in ":()[]"}).split()
            group = {"group": words[1], "range": words[3], "extra": []}
            parts["blocks"]["Group %s" % words[1]] = group
        elif group is None:
            if mark:
                parts["attributes"][key] = value.split() if key == "Filesystem features" else value.strip()
        elif "Free blocks:" in line or "Free inodes:" in line:
            group[key.strip().lower()] = value.split(", ")
        else:
            group["extra"].append(line.strip())
    return parts


def _run(command):
    return __salt__["cmd.run_all"](command, python_shell=False)


def _output_lines(done):
    return "\n".join([done["stdout"] or "", done["stderr"] or ""]).splitlines()


def _options(valid, given):
    options = []
    for key, value in given.items():
        if key in valid:
            options += ["-" + valid[key]] + ([] if str(value).lower() == "true" else [str(value)])
    return options
