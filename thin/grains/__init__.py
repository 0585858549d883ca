"""Grains: properties of a target. Names and values are Salt's.

``collect(opts)`` returns all of them as a plain dict. The modules are divided by subject: ``os_release`` and ``linux``,
``bsd`` or ``macos`` (the system), ``hardware``, ``virtual``, ``storage``, ``network``, ``process``; ``static`` parses
the grains file of a minion. Grains are read from files where possible; the few programs that are needed run while
everything else is read.
"""

import os

from thin.grains import probe


def collect(opts, parse_yaml=None, own=None, folder=None):
    """The grains of this machine under these minion options.

    The collected grains are overridden by those of the grains file in the folder of ``conf_file`` (/etc/salt/grains)
    and of the option ``grains``; ``grains_blacklist`` removes names. If a part fails, only its grains are missing.
    ``own`` (grains so far -> grains) returns the users' own; they override the collected grains and are overridden by
    the fixed ones. ``parse_yaml`` (text -> data) is called for a grains file that ``static.parse`` cannot read.
    ``folder`` is the private directory, in which outputs of programs are stored (``answers``).
    """
    ret = {}
    kernel, nodename, kernelrelease, kernelversion, cpuarch = os.uname()
    ret.update(
        kernel=kernel, nodename=nodename, kernelrelease=kernelrelease, kernelversion=kernelversion, cpuarch=cpuarch
    )
    for part in (_linux if kernel == "Linux" else _other, _network, _process):
        _merge(ret, part, opts, ret, folder)
    if own is not None:
        ret.update(own(ret))
    deep = bool(opts.get("grains_deep_merge"))
    _update(ret, _file(opts, parse_yaml), deep)
    static = opts.get("grains")
    if type(static) is dict:  # later it may be the LazyDict of the collected grains, which would call this function
        _update(ret, static, deep)
    return _allowed(ret, opts.get("grains_blacklist") or [])


def _merge(ret, part, *args):
    try:
        ret.update(part(*args))
    except Exception as exc:  # an unusual machine must get the other grains
        import logging

        logging.getLogger(__name__).warning("some grains are missing (%s): %r", part.__module__, exc)


def _linux(opts, so_far, folder):
    from thin.grains import hardware, linux, os_release, storage, virtual
    from thin.grains.answers import Answers

    answers = Answers(folder)
    systemctl, detect, volumes = linux.start(answers.command), virtual.start(answers.command), storage.start()
    ret = os_release.grains()
    _merge(ret, hardware.grains, opts)
    _merge(ret, linux.grains, systemctl, ret["os_family"])
    _merge(ret, storage.grains, opts, volumes)
    _merge(ret, virtual.grains, detect, {name: ret[name] for name, _ in hardware.FIRMWARE if name in ret})
    answers.keep()
    return ret


def _other(opts, so_far, folder):
    """Grains of kernels other than Linux; an unknown kernel has the generic grains."""
    kernel, ret = so_far["kernel"], {"efi": False, "efi-secure-boot": False, "transactional": False}
    if kernel == "Darwin":
        from thin.grains import macos

        return dict(ret, **macos.grains())
    if kernel in ("FreeBSD", "DragonFly", "OpenBSD", "NetBSD"):
        from thin.grains import bsd, storage

        ret.update(bsd.grains(kernel, so_far["kernelrelease"]))
        _merge(ret, storage.grains, opts)
        return ret
    return {"os": so_far["kernel"], "os_family": "Unknown", "osarch": so_far["cpuarch"], "num_gpus": 0, "gpus": []}


def _network(opts, so_far, folder):
    from thin.grains import network

    return network.grains(opts)


def _process(opts, so_far, folder):
    from thin.grains import process

    return process.grains(opts)


def _file(opts, parse_yaml):
    path = os.path.join(os.path.dirname(opts.get("conf_file") or "/etc/salt/minion"), "grains")
    text = probe.read(path)
    if not text.strip():
        return {}
    from thin.grains import static

    try:
        data = static.parse(text)
    except ValueError as exc:
        data = parse_yaml(text) if parse_yaml else None
        if not isinstance(data, dict):
            import logging

            logging.getLogger(__name__).warning("%s is left out: %s", path, exc)
            return {}
    return data


def _update(ret, static, deep):
    for name, value in static.items():
        if deep and isinstance(value, dict) and isinstance(ret.get(name), dict):
            ret[name] = dict(ret[name])
            _update(ret[name], value, deep)
        else:
            ret[name] = value


def _allowed(ret, blacklist):
    if not blacklist:
        return ret
    from fnmatch import fnmatch

    return {name: value for name, value in ret.items() if not any(fnmatch(name, str(each)) for each in blacklist)}
