"""Names of subjects, streams, consumers and buckets on the NATS server, and what a site's worker may do with them.

    pushsalt.work.SITE                  shards of targets; a work queue per site
    pushsalt.returns.SITE.WORKER.JID    taken shards and returns, of all sites in one stream
    pushsalt.progress.SITE.JID          phases and states of running targets; not stored
    pushsalt.control.JID                stop a job; not stored
    KV pushsalt-jobs        JID         state of a job; for controllers only
    KV pushsalt-stopped     JID.SITE    jobs that were stopped: no shard of them begins
    KV pushsalt-workers     SITE.WORKER presence of workers; entries end by themselves. SITE.controller has no content:
                                        by it controllers try whether the server stores something
    pushsalt.events.log, .part.NAME.N   events, and parts of large ones (``eventstream.py``); for controllers only
    KV pushsalt-events      KEY         cursors, and the state of ``react`` and ``watch``; for controllers only
    KV pushsalt-locks       NAME        which process reacts; entries end by themselves; for controllers only
    KV pushsalt-SITE                    the project, for the workers of one site (``objects.py``)

Controllers may use everything below ``pushsalt.`` and the JetStream API. ``worker_publishes`` and
``worker_subscribes`` are the permissions of the workers of one site.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any, Final

from pushsalt.errors import UsageError

DEFAULT_SITE: Final = "default"

RETURNS_STREAM: Final = "PUSHSALT_RETURNS"
RETURNS: Final = "pushsalt.returns.*.*.*"
#: the durable consumer of a site's work queue, which its workers share
CONSUMER: Final = "workers"

EVENTS_STREAM: Final = "PUSHSALT_EVENTS"
EVENTS_LOG: Final = "pushsalt.events.log"
EVENTS: Final = (EVENTS_LOG, "pushsalt.events.part.*.*")
EVENTS_BUCKET: Final = "pushsalt-events"
LOCKS_BUCKET: Final = "pushsalt-locks"

JOBS_BUCKET: Final = "pushsalt-jobs"
STOPPED_BUCKET: Final = "pushsalt-stopped"
WORKERS_BUCKET: Final = "pushsalt-workers"

#: seconds of a generation of keys in the bucket of a site's project
GENERATION: Final = 30 * 86400

#: header by which the server drops a message that it has stored already
MESSAGE_ID: Final = "Nats-Msg-Id"

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")


def check_site(name: str) -> str:
    """The name of a site, if it is valid. Raises UsageError."""
    if not _NAME.fullmatch(name):
        hint = "use letters, digits, - and _, at most 32, and begin with a letter or digit"
        raise UsageError(f"{name!r} is not a name of a site", hint)
    return name


def is_name(text: str) -> bool:
    """Whether a text can be the name of a site or the id of a worker."""
    return _NAME.fullmatch(text) is not None


def api(domain: str = "") -> str:
    """The beginning of the subjects of JetStream's API, in a domain of JetStream if one is named."""
    return f"$JS.{domain}.API" if domain else "$JS.API"


def api_of(nc: Any) -> str:
    """The same for a connected client: that of pushsalt, or of nats-py itself."""
    return str(getattr(nc, "api", api()))


def put_subject(nc: Any, bucket: str, key: str) -> str:
    """The subject that stores a value in a bucket: servers with another domain do not pass on ``$KV`` itself."""
    subject, prefix = f"$KV.{bucket}.{key}", api_of(nc)
    return subject if prefix == api() else f"{prefix}.{subject}"


def work_stream(site: str) -> str:
    """The stream of a site's shards."""
    return f"PUSHSALT_WORK_{site}"


def work_subject(site: str) -> str:
    """The subject of a site's shards."""
    return f"pushsalt.work.{site}"


def returns_subject(site: str = "*", worker: str = "*", jid: str = "*") -> str:
    """The subject of what a worker stores about a job."""
    return f"pushsalt.returns.{site}.{worker}.{jid}"


def progress_subject(site: str = "*", jid: str = "*") -> str:
    """The subject of the progress of a job's targets at a site."""
    return f"pushsalt.progress.{site}.{jid}"


def control_subject(jid: str = "*") -> str:
    """The subject of a controller's orders for a running job."""
    return f"pushsalt.control.{jid}"


def event_part_subject(name: str, n: int) -> str:
    """The subject of a part of an event that is larger than a message."""
    return f"pushsalt.events.part.{name}.{n}"


def cursor_key(name: str) -> str:
    """The key of a consumer's cursor in the bucket of events. Names of consumers are any texts."""
    return f"cursor.{hashlib.sha256(name.encode('utf-8', 'surrogateescape')).hexdigest()[:32]}"


def presence_key(site: str, worker: str) -> str:
    """The key of a worker's presence."""
    return f"{site}.{worker}"


def objects_bucket(site: str) -> str:
    """The key-value bucket with the project for a site."""
    return f"pushsalt-{site}"


def inbox(site: str) -> str:
    """The prefix of the inboxes of a site's workers, so that no site reads answers to another one."""
    return f"_INBOX_pushsalt_{site}"


def worker_publishes(site: str) -> list[str]:
    """The subjects to which the workers of a site publish, with the requests to JetStream that they make.

    The requests may also name a domain: those of workers at a leaf node do.
    """
    work, objects = work_stream(site), objects_bucket(site)
    requests = [
        "INFO",
        f"STREAM.INFO.{work}",
        f"CONSUMER.INFO.{work}.{CONSUMER}",
        f"CONSUMER.MSG.NEXT.{work}.{CONSUMER}",
        # the site's own returns of a job, when a shard is delivered again; the names of consumers cannot be guessed
        f"CONSUMER.CREATE.{RETURNS_STREAM}.*.pushsalt.returns.{site}.>",
        f"CONSUMER.MSG.NEXT.{RETURNS_STREAM}.*",
        f"CONSUMER.DELETE.{RETURNS_STREAM}.*",
        # whether a job was stopped
        f"DIRECT.GET.KV_{STOPPED_BUCKET}.$KV.{STOPPED_BUCKET}.*.{site}",
        # the project: pieces by their names
        f"DIRECT.GET.KV_{objects}.>",
    ]
    presence = f"$KV.{WORKERS_BUCKET}.{site}.*"
    return [
        returns_subject(site),
        progress_subject(site),
        presence,
        f"{api('*')}.{presence}",
        f"$JS.ACK.{work}.{CONSUMER}.>",
        *(f"{prefix}.{each}" for prefix in (api(), api("*")) for each in requests),
    ]


def leaf_publishes(site: str, domain: str) -> list[str]:
    """The subjects that a leaf node near a site passes on to the hub, which keeps its streams in this domain.

    A leaf passes messages on only for interest of the hub that lies within its permissions, and the stream of returns
    and controllers are interested in all sites. What workers may do at the leaf is in ``worker_publishes``.
    """
    prefix = api(domain)
    requests = [each for each in worker_publishes(site) if each.startswith(f"{api('*')}.")]
    return [
        RETURNS,
        progress_subject(),
        f"$JS.ACK.{work_stream(site)}.{CONSUMER}.>",
        *(each.replace(api("*"), prefix, 1) for each in requests),
    ]


def worker_subscribes(site: str) -> list[str]:
    """The subjects to which the workers of a site subscribe."""
    return [f"{inbox(site)}.>", control_subject()]
