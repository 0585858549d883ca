"""Options of a mount, as wanted and as the kernel shows them: which differ so that it has to be mounted anew."""

import re

#: options that the kernel does not show
UNSEEN = frozenset(
    "_netdev actimeo bg comment defaults delay_connect direct-io-mode intr loop nointr nobootwait nofail password "
    "reconnect retry soft auto users bind nonempty transform_symlinks port backup-volfile-servers".split()
)
#: the same with a value
UNSEEN_KEYS = frozenset("actimeo comment credentials direct-io-mode password port retry secretfile".split())

_KIB = {"k": 1, "m": 1024, "g": 1024 * 1024}
_SIZE = re.compile(r"size=(\d+)([kmg])")


def changed(wanted, mount, fstype, unseen, unseen_keys, ignored, translated):
    """``(options that ask for a remount, the option looked at last)``.

    ``mount`` is an entry of ``mount.active``; ``wanted`` has numbers for users and groups; ``unseen`` and
    ``unseen_keys`` are sets, ``ignored`` is ``{fstype: [keys]}``, ``translated`` ``{option: as shown}``.
    """
    shown = [_size(opt) for opt in mount.get("superopts", [])]
    size = next((opt for opt in reversed(shown) if _SIZE.match(opt)), None)
    keys = ignored.get(fstype, [])
    found, opt = [], None
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
            # As in Salt: where the kernel shows a size (tmpfs), it leaves out and rewrites so many options that
            # comparing would remount on each run. What a state changes is told by how it was mounted the last time.
            opt = size
        if opt not in mount["opts"] and opt not in shown and opt not in unseen | unseen_keys and opt not in keys:
            found.append(opt)
    return found, opt


def _size(opt):
    given = _SIZE.match(opt)
    return "size=%dk" % (int(given.group(1)) * _KIB[given.group(2)]) if given else opt
