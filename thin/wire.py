"""Frames and messages, for both sides of the channel.

Down (controller -> target), after the first stage has started Python::

    1 byte type | 4 bytes big-endian length | payload

    b"M"  a msgpack message
    b"A"  the runtime archive: a tar, compressed by zlib
    b"B"  32 bytes SHA-256, then a piece of this blob; pieces are in order, an empty one ends the blob
    b"X"  to the supervisor of a run that may outlive its channel (thin.surviving), empty: stop the run, store nothing
    b"L"  to the same, empty: the controller will leave, and will not answer questions then
    b"T"  to the same, 16 bytes, padded with spaces: the return is stored; note that this hand-out of the job has run
          (thin.handouts)
    b"P"  after b"D", if a channel has several sessions (thin.sessions): begins the next one. "key=value" lines with
          those of lock, wait, deadline and lock_name that it has
    b"K"  before b"P": a msgpack map with ``name`` and ``value``, which is kept for the next session and all later ones

Up (target -> controller)::

    16 bytes nonce | 1 byte type | 4 bytes big-endian length | payload

    b"M"  a msgpack message
    b"S"  the worker's stderr (its last 64 KiB), after a normal end
    b"G"  Python runs and reads stdin; only sent on request (pushsalt.bundle.shim)

and from the first stage and the supervisor, which do not use msgpack, as "key=value" lines, percent-encoded, UTF-8::

    b"H"  hello: python, exe, uid, pid, dir (private directory or empty), have (0: send b"A"), warm, warnings
    b"N"  notice: kind=waiting (for the lock; message: its holder), warning (message), cleaned (removed, repeated), kept
          (jid, repeated: of ended runs whose frames were not collected)
    b"D"  the session ended normally, and another may follow (no fields)
    b"R"  about a run that may outlive its channel: state (running, ended, gone, unknown, refused), got (number of
          received bytes), at (number of the next frame, if some are left out), message; see thin.surviving
    b"E"  the session has ended: kind (locked, timeout, worker_died, disk_full, protocol_error, bootstrap_failed,
          connection_lost: the run lost its controller; finished: this job has run; done: it has, and its return
          was stored by the process that ran it), message, stderr

The nonce is new for each connection; the first stage receives it. Bytes before a nonce (banners, MOTD, output of login
scripts) are skipped, up to NOISE_LIMIT bytes. Frames are limited to FRAME_LIMIT; those that go up to UP_LIMIT, and to
SMALL_LIMIT if they are no messages.

Messages are msgpack maps with the key ``k``. A message that needs an answer has ``n``, a number that its sender counts
up; the answer has the same number as ``re``. Messages down, with their fields and the messages that answer them::

    init       id, opts, defaults: bool (to ``opts``, add those of thin._index.DEFAULTS that it lacks), grains
               (override), want_grains: bool, log_level, jid (of the job), survives: bool (the run may outlive
               its channel: thin.surviving)
               custom: {sha, size, coming: bool (they are sent without request)}, of users' own modules, if there are
               any
               salt: {version, python}, if Salt's own modules may be requested
               resource: {type, id, manager, inside: bool, declared (the type's declaration), or kept (the name with
               which b"K" sent the declaration)}, if the session is for a managed resource (thin.resourcetypes)
        ->     ready: python, grains|None, uid, user, pid, warnings
               error: kind, message, hint
               before these, need: the sha of ``custom``, if it is not stored on the target;
               at any time, need: the digest of the runtime's other archive
    call       n, fun, args, kwargs, cli: bool, keep: bool (it may outlive its channel, as a run)
        ->     ret: re, ret, retcode, salt (the version of Salt, if Salt's own module was run)
               exc: re, type, message, tb, known: bool; for an unknown function also nearest, hint
    grains     n, refresh: bool
        ->     ret
    resources  n, declared: {type: its declaration, as in the pillar}: discover the resources of these types
        ->     ret: re, ret={"found": {type: {id: {"grains": {…}, "enter": [word, …]}}}, "failed": {type: text}},
               see thin.resourcetypes.discover
    run        n, chunks, test, mock, files, templates
               wants: [[digest, destination|None]], the blobs that may have to be sent
               detail: bool, collect notes for a plan (thin.detail)
               backups: bool, keep files that ``file`` states change (thin.utils.files.keeping)
               look: bool, and then planned: tags of the states to compare with a plan file (thin.planned)
               declared, groups, only: numbers of chunks in the order of the SLS files (None: in the given order), of
               those to aggregate, and of the wanted ones (None: all)
               then: [``call`` messages to process after the run]
               orchestration_jid: of an orchestration, for ``__orchestration_jid__`` of its states
               done: {tag: return} of the run that an orchestration continues
        ->     need: digests, parts (if blobs are missing)
               start: tag (often left out for a state whose return follows at once)
               state: tag, ret, detail
               event: name (the chunk's ``fire_event``), ret; or tag, data (of ``event.send``)
               ret: re, ret={"states": count}, then the answers to ``then``
    copy       n, what, and its arguments, see thin.utils.files.transfer
        ->     need: digests, parts (of ``put``)
               ret
    answer     re, and the fields of the question's answer; or error: text, exception: class name
    resume     digest, at: the b"B" frames of this blob begin after ``at`` bytes, which the target reported to have
    stop       end the run before its next state; the returns of the others say that they were not run
    bye        end the session; the target closes its side

Questions of the target, each with ``n``; the controller sends ``answer``. While the target waits, it continues to
process ``call``, since rendering on the controller may call its functions::

    file      url, saltenv                   -> digest, size (the bytes follow in b"B" frames if the digest is not in
                                                ``have``), or missing: true
              have: [digests]
              stat: true                     -> digest, size; the bytes are not sent
              part: [size, SHA-256] | None      the part that an interrupted transfer left; also in ``files``, and in
                                                ``need`` for each digest
    files     files: [[url, part]], saltenv  -> digests: of those that follow in b"B" frames, one after the other
    tree      url, saltenv                   -> entries: [[relpath, kind "f"|"d"|"l", digest|target|None, mode, size]]
    template  key, url|None, text|None,      -> text: bytes | digest, or error
              saltenv, engine, context, defaults, tag, sls,
              names: {name: value} | None
    salt      Salt's own modules (``salt_python``), one of:
              module: [kind, virtual name]   -> modules: their dotted names, functions: names, files: [[dotted name,
                                                package: bool, digest, bytes]] of them and of all that they import,
                                                tops: {top-level name: [has C extensions, [lowest Python version]]}
              import: dotted name            -> files: as above, of this module; native: it is a C extension
              digests: [[digest, part]]      -> digests: of those that follow in b"B" frames
    pillar                                   -> pillar: the compiled pillar
    ask       fun, args, kwargs              -> ret: of a function that only the controller can answer (mine.get)

Other messages up, without an answer: log: level, text; stderr: text (the worker's, limited).

Only the supervisor (thin.__main__, thin.relay) uses the channel. The worker exchanges the same frames, without a nonce,
over a socket pair with it. The supervisor is responsible for lock, deadline and clean-up; the first stage passes their
parameters to it.
"""

import _struct as struct  # `struct` itself is one more file to read
import sys

from thin import packing
from thin.boot import sha256

NOISE_LIMIT = 1024 * 1024
FRAME_LIMIT = 64 * 1024 * 1024
#: The maximum message of a target: two texts of thin.cut.TEXT_LIMIT (``cmd.run_all``) fit into it.
UP_LIMIT = 36 * 1024 * 1024
SMALL_LIMIT = 1024 * 1024
#: The maximum nesting of lists and maps, including the message itself.
DEPTH_LIMIT = 64
BLOB_PIECE = 256 * 1024
HEAD = struct.Struct(">cI")

#: The fields of messages up, by ``k``: field -> type, or tuple of types. With NoneType among them the field may be
#: missing. ``object`` accepts any type. Fields that are not listed are ignored (pushsalt.session.intake).
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
#: The same for questions; these also have a number.
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


#: The module msgpack after it was loaded. Targets rarely need it: ``packing`` supports nearly all messages.
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
    """A frame exceeds the limit of the other side."""


def _plain(value):
    """A value without msgpack type as the most similar one with a type; any other value as text."""
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
    """The message as msgpack bytes. Bytes in texts that are not UTF-8 (file names) are encoded as surrogates."""
    if _PACKS_ITSELF:
        try:
            return packing.packed(message)
        except packing.Unusual:
            pass
    packb = msgpack().packb
    try:
        return packb(message, use_bin_type=True, default=_plain, unicode_errors="surrogateescape")
    except (OverflowError, ValueError):  # integers beyond 64 bits, endless nesting, lone surrogates
        return packb(_packable(message), use_bin_type=True, default=_plain, unicode_errors="surrogateescape")


def _whole(text):
    """The text with lone surrogates, as JSON may contain them, replaced; those of bytes that are not UTF-8 stay."""
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        text = "".join("\ufffd" if 0xD800 <= ord(c) < 0xDC80 or 0xDD00 <= ord(c) < 0xE000 else c for c in text)
    return text


def _packable(value, depth=0):
    if depth > 200:
        return str(type(value))
    if isinstance(value, dict):
        return {_packable(key, depth + 1): _packable(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_packable(item, depth + 1) for item in value]
    if isinstance(value, str):
        return _whole(value)
    if isinstance(value, (set, frozenset)):
        return _packable(_plain(value), depth)
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return str(value)
    return value


def unpack(data):
    """The message in these bytes. Raises ValueError if they are not exactly one msgpack map."""
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
    except Exception as exc:  # the two implementations of msgpack have different classes
        raise ValueError("not a msgpack message: %s" % exc)
    return _mapping(message)


def _mapping(message):
    if not isinstance(message, dict):
        raise ValueError("not a msgpack map")
    return message


def frame(kind, payload):
    """One frame in the downward form, which supervisor and worker use, too."""
    return HEAD.pack(kind, len(payload)) + payload


class Frames(object):
    """Splits a byte stream into frames: ``feed`` bytes, then iterate over ``(kind, payload)``.

    With a nonce, it reads the upward form and skips other bytes between frames. ``noise`` has the first 4 KiB of the
    skipped bytes, for error messages. Raises ValueError if more than NOISE_LIMIT bytes are skipped, Excess for a frame
    over ``limit``, or over ``small`` if it is no message. A payload of more than SMALL_LIMIT is a bytearray.
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
        else:  # do not copy a large payload
            payload, self._buffer = buffer, buffer[end:]
            del payload[end:]
            del payload[: skip + HEAD.size]
        return kind, payload


def file_key(url, saltenv):
    """The key of a source file in Plan.files: its URL with ``?saltenv=``."""
    return url if "?saltenv=" in url else "%s?saltenv=%s" % (url, saltenv)


def template_key(source, saltenv, engine, context, defaults, tag, names=None):
    """The key of a template call. Both sides compute it, with the same result for equal arguments."""
    data = pack([source, saltenv, engine, _ordered(context or {}), _ordered(defaults or {}), tag, _ordered(names)])
    return sha256(data).hexdigest()


def _ordered(value):
    if isinstance(value, dict):
        return [[_ordered(key), _ordered(value[key])] for key in sorted(value, key=repr)]
    if isinstance(value, (list, tuple)):
        return [_ordered(item) for item in value]
    return value
