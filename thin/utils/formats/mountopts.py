"""Compares the wanted options of a mount with those that the kernel shows, to find the ones that need a remount."""

import re

#: Options that the kernel does not show.
UNSEEN = frozenset(
    "_netdev actimeo bg comment defaults delay_connect direct-io-mode intr loop nointr nobootwait nofail password "
    "reconnect retry soft auto users bind nonempty transform_symlinks port backup-volfile-servers".split()
)
#: The same for options with a value.
UNSEEN_KEYS = frozenset("actimeo comment credentials direct-io-mode password port retry secretfile".split())

_KIB = {"k": 1, "m": 1024, "g": 1024 * 1024}
_SIZE = re.compile(r"size=(\d+)([kmg])")


def changed(wanted, mount, fstype, unseen, unseen_keys, ignored, translated):
    """``(options that need a remount, the last option in the form in which it was compared)``.

    ``wanted``: the options, with numbers for users and groups; ``mount``: an entry of ``mount.active``; ``unseen`` and
    ``unseen_keys``: sets of options that are not shown; ``ignored``: ``{fstype: [keys]}``; ``translated``:
    ``{option: the same as the kernel shows it}``.
    """
    shown = [_size(opt) for opt in mount.get("superopts", [])]
    size = next((opt for opt in reversed(shown) if _SIZE.match(opt)), None)
    keys = ignored.get(fstype, [])
    result, opt = [], None
    for opt in wanted:
        opt = translated.get(opt, opt)
        key, mark, value = opt.partition("=")
        if key in unseen_keys:
            opt = key
        opt = _size(opt)
        if fstype == "cifs" and key == "user" and mark:
            opt = "username=" + value
        if key in keys:
            opt = key
        if size:
            # As in Salt: the options of a file system with a size (tmpfs) are not compared. The kernel omits and
            # rewrites so many of them that each run would remount it. The state compares with the options that were
            # last used for the mount instead.
            opt = size
        if opt not in mount["opts"] and opt not in shown and opt not in unseen | unseen_keys and opt not in keys:
            result.append(opt)
    return result, opt


def _size(opt):
    given = _SIZE.match(opt)
    return "size=%dk" % (int(given.group(1)) * _KIB[given.group(2)]) if given else opt
