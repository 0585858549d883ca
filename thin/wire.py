"""Frames and message shapes, for both sides of the channel.

Down (controller -> target), after the first stage has started Python::

    1 byte type | 4 bytes big-endian length | payload
    b"M"  msgpack message            b"A"  the runtime archive, zlib-compressed tar
    b"B"  32 bytes SHA-256, then a piece of that blob (in order; an empty piece ends it)
and to the supervisor of a run that may outlive its channel (thin.surviving), both empty:
    b"X"  stop the run and keep nothing of it      b"L"  the controller leaves: it will not answer
and where several sessions follow each other (thin.sessions), after b"D" has come:
    b"P"  begins the next: lock, wait, deadline and lock_name of it, those that it has, as "key=value" lines
    b"K"  before that: a msgpack map with ``name`` and ``value``, which is kept for this session and all further ones

Up (target -> controller)::

    16 bytes nonce | 1 byte type | 4 bytes big-endian length | payload

The nonce is fresh for each connection and is given to the first stage. What stands before a nonce (banners, MOTD,
noise of the login) is skipped, up to NOISE_LIMIT bytes; a frame is never longer than FRAME_LIMIT, one that goes up than
UP_LIMIT, and one that goes up and is no message than SMALL_LIMIT.
    b"M"  msgpack message                b"S"  what the worker printed (its last 64 KiB), at an orderly end
    b"G"  Python runs and reads stdin; only when it was asked to say so (pushsalt.bundle.shim)
and from first stage and supervisor, which know no msgpack, as "key=value" lines, percent-encoded, UTF-8:
    b"H"  hello: python, exe, uid, pid, dir (private directory or empty), have (0: send b"A"), warm, warnings
    b"N"  notice: kind=waiting (for the lock; message: its holder), warning (message), cleaned (removed, repeated), kept
          (jid, repeated: of runs that nobody has collected)
    b"D"  the session is over in order, and another may follow (no fields)
    b"R"  of a run that may outlive its channel: state (running, ended, gone, unknown, refused), got (bytes that have
          come down), at (number of the next frame, where some are left out), message; see thin.surviving
    b"E"  the session is over: kind (locked, timeout, worker_died, disk_full, protocol_error, bootstrap_failed,
          connection_lost: its controller was gone; finished: this job has run), message, stderr

Messages are msgpack maps with the key ``k``. Those that want an answer carry ``n``, a number of the asking side's own
count; the answer carries the same ``n`` as ``re``.

========= =========================================================== ==========================================
down      fields                                                      up: what answers
========= =========================================================== ==========================================
init      id, opts, grains (override), want_grains: bool,             ready: python, grains|None, uid, user, pid,
          log_level, jid (the job's id),                              warnings | error: kind, message, hint. Before
          custom (users' own modules, if there are any: sha, size,
          coming: they follow unasked), salt (version,                it, need: the sha, when it is not here; at any
          python: that Salt's modules may be asked for), resource     time, need: the runtime's other archive
          (type, id, manager, inside: bool, declared: that of the
          type, or kept: the name that it was sent under by b"K";
          what the session is about, see thin.resourcetypes)
call      n, fun, args, kwargs, cli: bool, keep: bool (it goes on     ret: re, ret, retcode, salt (whose own module it
          without its channel, as a run does)                         was, if so) | exc: re, type, message, tb, known,
                                                                      and of an unknown function: nearest, hint
grains    n, refresh: bool                                            ret
resources n, declared: {type: its declaration, as in the pillar}:     ret: re, ret={"found": {type: {id: {"grains":
          discover the resources of these types                       {…}, "enter": [word, …]}}}, "failed": {type:
                                                                      text}}, see thin.resourcetypes.discover
run       n, chunks, test, mock, files, templates, wants              need: digests, parts (only when some are
          ([[digest, dest path|None]]: what may have to be sent),     missing), then start: tag; state: tag, ret,
          detail: for a plan (thin.detail), backups: bool (what       detail;
          ``file`` states change is kept, thin.utils.files.keeping),
          of a plan file (thin.planned) look: bool, and then
          planned: tags of the states that are compared with it,
          and numbers of chunks: declared (in the order in which      event: name (the chunk's ``fire_event``), ret,
                                                                      or tag, data (of ``event.send``);
          they are written; None: as they come), groups (to be        and ret: re, ret={"states": count}
          aggregated), only (that are wanted; None: all), then        and what answers these calls
          (``call`` messages that come after it), done (tag: return of
          the run that an orchestration goes on with)
answer    re, and what the question defines; or error: text,          (to a question of the target)
          exception: class name
copy      n, what, and what that takes: see thin.utils.files.transfer       need: digests, parts (of ``put``), and ret
resume    digest, at: the b"B" frames that follow begin behind so     (nothing)
          many bytes, which the target has said to have
stop      (nothing): end the run before its next state        (nothing; what is not run is returned as such)
bye       (nothing): end of session                                   (the target closes its side)
========= =========================================================== ==========================================

Questions of the target, each with ``n``, answered by ``answer``. While it waits the target still serves ``call``,
because what renders on the controller may ask it something::

    file      url, saltenv                   -> digest, size (the bytes follow as b"B" frames if ``have`` was false)
              have: [digests]                   or missing: true
              stat: true                     -> digest, size: the bytes are not wanted
              part: [size, SHA-256]             what a cut-off transfer has left there, or None; so in ``files`` and
                                                in ``need``, there for each digest
    files     files: [[url, part]], saltenv  -> digests: of those that follow as b"B" frames, one after the other
    tree      url, saltenv                   -> entries: [[relpath, kind "f"|"d"|"l", digest|target|None, mode, size]]
    template  key, url|None, text|None,      -> text: bytes | digest, or error
              saltenv, engine, context, defaults, tag, sls,
              names: {name: value} | None
    salt      of Salt's own modules (``salt_python``), one of:
              module: [kind, virtual name]   -> modules: their dotted names, functions: names, files: [[dotted name,
                                                package: bool, digest, bytes]] of them and of all that they import,
                                                tops: {top-level name: [has C extensions, [least Python]]}
              import: dotted name            -> files: as above, of this module; native: it is a C extension
              digests: [[digest, part]]      -> digests: of those that follow as b"B" frames
    pillar    (nothing)                      -> pillar: the compiled pillar
    ask       fun, args, kwargs              -> ret     (what only the controller can answer: mine.get, cp.list_states)

Other messages up, without an answer: log: level, text; stderr: text (what the worker printed, capped).

Only the supervisor (thin.__main__, thin.relay) touches the channel; the worker speaks the same frames, without nonce,
over a socket pair to it. Lock, deadline and clean-up are the supervisor's: it has them from the first stage.
"""

import struct
import sys

from thin import packing
from thin.boot import sha256

NOISE_LIMIT = 1024 * 1024
FRAME_LIMIT = 64 * 1024 * 1024
#: What a target may send at a time: two texts of thin.cut.TEXT_LIMIT (``cmd.run_all``) fit into a message.
UP_LIMIT = 36 * 1024 * 1024
SMALL_LIMIT = 1024 * 1024
#: Lists and maps within each other, the message itself included.
DEPTH_LIMIT = 64
BLOB_PIECE = 256 * 1024
HEAD = struct.Struct(">cI")

#: What goes up, by ``k``: field -> type, or types; with None among them the field may be missing. ``object`` takes
#: anything. A field that is not named here is not read (pushsalt.session.intake).
_MAYBE = type(None)
UP = {
    "ready": {
        "python": str,
        "grains": (dict, _MAYBE),
        "uid": (int, _MAYBE),
        "user": (str, _MAYBE),
        "pid": (int, _MAYBE),
        "warnings": (list, _MAYBE),
    },
    "error": {"kind": str, "message": str, "hint": (str, _MAYBE), "tb": (str, _MAYBE)},
    "ret": {"re": (int, _MAYBE), "ret": object, "retcode": object, "salt": (str, _MAYBE)},
    "exc": {
        "re": (int, _MAYBE),
        "type": str,
        "message": str,
        "tb": (str, _MAYBE),
        "known": (bool, _MAYBE),
        "nearest": (list, _MAYBE),
        "hint": (str, _MAYBE),
    },
    "need": {"re": (int, _MAYBE), "digests": list, "parts": (dict, _MAYBE)},
    "start": {"tag": str},
    "state": {"tag": str, "ret": dict, "detail": (dict, _MAYBE)},
    "event": {"name": object, "ret": (dict, _MAYBE), "tag": (str, _MAYBE), "data": object},
    "log": {"level": str, "text": str, "time": (int, float, _MAYBE)},
    "stderr": {"text": str},
}
#: The same for questions, which also have a number.
QUESTIONS = {
    "file": {"url": object, "saltenv": object, "have": (list, _MAYBE), "stat": object, "part": object},
    "files": {"files": list, "saltenv": object},
    "tree": {"url": object, "saltenv": object},
    "template": {
        "key": object,
        "url": object,
        "text": object,
        "saltenv": object,
        "engine": object,
        "context": object,
        "defaults": object,
        "tag": object,
        "sls": object,
        "names": object,
    },
    "salt": {"module": object, "import": object, "digests": object},
    "pillar": {},
    "ask": {"fun": object, "args": (list, _MAYBE), "kwargs": (dict, _MAYBE)},
}


#: msgpack, once it was loaded. On a target ``packing`` does nearly all of its work, and it takes long to load.
_msgpack = None
_PACKS_ITSELF = sys.flags.no_site and "msgpack" not in sys.modules


def msgpack():
    """The module msgpack: the compiled one if it is installed; targets always use the vendored one."""
    global _msgpack
    if _msgpack is None:
        if _PACKS_ITSELF:
            from thin.vendor import msgpack as found
        else:
            try:
                import msgpack as found
            except ImportError:
                from thin.vendor import msgpack as found
        _msgpack = found
    return _msgpack


class Excess(ValueError):
    """More than the other side may send."""


def _plain(value):
    """What msgpack has no type for, as the nearest that it has; at last as text, so that a return always travels."""
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "items"):
        return dict(value.items())
    if hasattr(value, "__iter__") and not isinstance(value, (str, bytes)):
        return list(value)
    return str(value)


def pack(message):
    """The message as msgpack bytes. Text that is not UTF-8 (file names) travels as surrogates."""
    if _PACKS_ITSELF:
        try:
            return packing.packed(message)
        except packing.Unusual:
            pass
    packb = msgpack().packb
    try:
        return packb(message, use_bin_type=True, default=_plain, unicode_errors="surrogateescape")
    except (OverflowError, ValueError):  # integers beyond 64 bits, nesting without end, halves of characters
        return packb(_tame(message), use_bin_type=True, default=_plain, unicode_errors="surrogateescape")


def _whole(text):
    """The text without halves of characters beyond 16 bits, as JSON may have them; bytes that are not UTF-8 stay."""
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        text = "".join("\ufffd" if 0xD800 <= ord(c) < 0xDC80 or 0xDD00 <= ord(c) < 0xE000 else c for c in text)
    return text


def _tame(value, depth=0):
    if depth > 200:
        return str(type(value))
    if isinstance(value, dict):
        return {_tame(key, depth + 1): _tame(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_tame(item, depth + 1) for item in value]
    if isinstance(value, str):
        return _whole(value)
    if isinstance(value, (set, frozenset)):
        return _tame(_plain(value), depth)
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return str(value)
    return value


def unpack(data):
    """The message in these bytes. Raises ValueError on anything that is not exactly one msgpack map."""
    if _PACKS_ITSELF:
        try:
            return _mapping(packing.unpacked(data))
        except packing.Unusual:
            pass
    size = len(data)
    try:
        message = msgpack().unpackb(
            data,
            raw=False,
            strict_map_key=False,
            unicode_errors="surrogateescape",
            max_str_len=size,
            max_bin_len=size,
            max_array_len=size,
            max_map_len=size,
            max_ext_len=0,
        )
    except Exception as exc:  # msgpack's own classes differ between its two implementations
        raise ValueError("not a msgpack message: %s" % exc)
    return _mapping(message)


def _mapping(message):
    if not isinstance(message, dict):
        raise ValueError("not a msgpack map")
    return message


def frame(kind, payload):
    """One frame in the downward form, which is also that between supervisor and worker."""
    return HEAD.pack(kind, len(payload)) + payload


class Frames(object):
    """Cuts a byte stream into frames: ``feed`` bytes, iterate ``(kind, payload)`` pairs.

    With a nonce it reads the upward form and skips noise between frames. ``noise`` has what was skipped (its first
    4 KiB), for messages to people. Raises ValueError on noise beyond the limit, Excess on a frame beyond ``limit``, or
    beyond ``small`` when it is no message. A payload of more than SMALL_LIMIT is a bytearray.
    """

    def __init__(self, nonce=b"", limit=FRAME_LIMIT, small=None):
        self.nonce = nonce
        self.limit = limit
        self.small = limit if small is None else small
        self.noise = bytearray()
        self.skipped = 0
        self._buffer = bytearray()

    def feed(self, data):
        self._buffer += data

    def __iter__(self):
        while True:
            item = self._next()
            if item is None:
                return
            yield item

    def rest(self):
        """Bytes of an incomplete frame."""
        return bytes(self._buffer)

    def _next(self):
        buffer, skip = self._buffer, len(self.nonce)
        if skip and not buffer.startswith(self.nonce):
            at = buffer.find(self.nonce)
            cut = at if at >= 0 else max(0, len(buffer) - skip + 1)
            if cut:
                self.skipped += cut
                self.noise += buffer[: max(0, min(cut, 4096 - len(self.noise)))]
                del buffer[:cut]
            if self.skipped > NOISE_LIMIT:
                raise ValueError("more than %d bytes that are no frame" % NOISE_LIMIT)
            if at < 0:
                return None
        if len(buffer) < skip + HEAD.size:
            return None
        kind, length = HEAD.unpack_from(buffer, skip)
        limit = self.limit if kind == b"M" else self.small
        if length > limit:
            raise Excess("a frame of %d bytes, over the limit of %d" % (length, limit))
        end = skip + HEAD.size + length
        if len(buffer) < end:
            return None
        if length <= SMALL_LIMIT:
            payload = bytes(buffer[skip + HEAD.size : end])
            del buffer[:end]
        else:  # no copy of what is large
            payload, self._buffer = buffer, buffer[end:]
            del payload[end:]
            del payload[: skip + HEAD.size]
        return kind, payload


def file_key(url, saltenv):
    """The key of a source file in Plan.files: its URL with the saltenv written out."""
    return url if "?saltenv=" in url else "%s?saltenv=%s" % (url, saltenv)


def template_key(source, saltenv, engine, context, defaults, tag, names=None):
    """The name of a template call, computed identically on both sides: equal inputs have equal keys."""
    data = pack([source, saltenv, engine, _ordered(context or {}), _ordered(defaults or {}), tag, _ordered(names)])
    return sha256(data).hexdigest()


def _ordered(value):
    if isinstance(value, dict):
        return [[_ordered(key), _ordered(value[key])] for key in sorted(value, key=repr)]
    if isinstance(value, (list, tuple)):
        return [_ordered(item) for item in value]
    return value
