"""Records the data of each target for a plan file, while the target is planned (pushsalt.planning.planfile)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pushsalt.model import Blob, Target
from pushsalt.planning.planfile import PlanFile
from pushsalt.salturl import split_url
from thin import wire

if TYPE_CHECKING:
    from pushsalt.planning.forecast import Forecast
    from pushsalt.run.project import Project
    from pushsalt.run.rendered import Planned


class Recorder:
    """Records the targets of one job into a plan."""

    def __init__(self) -> None:
        self.plan = PlanFile()
        self._targets: dict[str, Recording] = {}

    def of(self, name: str) -> Recording:
        """The recording of the target of this name."""
        return self._targets.setdefault(name, Recording(self.plan.blobs))


@dataclass
class Recording:
    """The answers to one target's questions, and the blobs of all targets."""

    blobs: dict[str, bytes]
    files: dict[str, str | None] = field(default_factory=dict)
    trees: dict[str, Any] = field(default_factory=dict)
    templates: dict[str, bytes] = field(default_factory=dict)
    _sent: dict[str, Blob] = field(default_factory=dict)

    def answered(self, question: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        """Record the answer to a question of thin.wire."""
        if answer.get("error") is not None:
            return
        key = wire.file_key(str(question.get("url")), str(question.get("saltenv") or "base"))
        match question.get("k"):
            case "file":
                self.files[key] = answer.get("digest")
            case "tree":
                self.trees[key] = answer.get("entries")
            case "template" if "text" in answer:
                self.templates[str(question.get("key"))] = bytes(answer["text"])
        self._sent.update((blob.digest, blob) for blob, _ in answer.get("blobs") or ())

    def finish(
        self, project: Project, target: Target, planned: Planned, forecast: Forecast, pillar: Any, custom: Blob | None
    ) -> dict[str, Any]:
        """The target's entry in the plan file. Reads the files that a run of the plan may need. Raises OSError."""
        fields = dict(planned.fields)
        self.files = {**fields["files"], **self.files}
        for key, entries in self.trees.items():
            self.files.update(_children(key, entries or ()))
        self.add_files(project, self.files, planned)
        for digest in (*fields["templates"].values(), *(digest for digest, _ in fields["wants"])):
            if digest not in self.blobs:
                self._keep(digest, planned, None)
        return {
            "place": place(target),
            "data": forecast.as_data(),
            "run": fields,
            "files": self.files,
            "trees": self.trees,
            "templates": self.templates,
            "pillar": pillar,
            "disabled": planned.disabled,
            "custom": custom.digest if custom is not None else "",
        }

    def add_files(self, project: Project, files: Mapping[str, str | None], planned: Planned | None = None) -> None:
        """Add the content of files, by their keys and digests. Raises OSError."""
        for key, digest in files.items():
            if digest is not None and digest not in self.blobs:
                self._keep(digest, planned, self._found(project, key))

    def _found(self, project: Project, key: str) -> Blob | None:
        url, _, saltenv = key.partition("?saltenv=")
        where = split_url(url, saltenv)
        file = project.files.find(*where) if where else None
        return None if file is None else Blob(file.digest(), file.size, file.path, open=file.open)

    def _keep(self, digest: str, planned: Planned | None, content: Blob | None) -> None:
        """Store the bytes of a digest, of the run's blobs or ``content``; a file that has changed is left out."""
        is_sent = planned is not None and digest in planned.blobs
        blob = planned.blobs[digest] if planned is not None and is_sent else self._sent.get(digest, content)
        if blob is None:
            return
        if blob.data is None and blob.open is None:
            return
        data = blob.data
        if data is None and blob.open is not None:
            with blob.open() as stream:
                data = stream.read()
        if data is not None and hashlib.sha256(data).hexdigest() == digest:
            self.blobs[digest] = data


def _children(key: str, entries: Any) -> Iterator[tuple[str, str]]:
    """The file keys and digests of the files of a tree."""
    base, question, query = key.partition("?saltenv=")
    for path, kind, digest, *_ in entries:
        if kind == "f" and digest:
            yield f"{base.rstrip('/')}/{path}{question}{query}", digest


def needed(entry: Mapping[str, Any]) -> set[str]:
    """The digests of the files that the run of one target in a plan may request."""
    run = entry["run"]
    digests = (*entry["files"].values(), *run["templates"].values(), *(digest for digest, _ in run["wants"]))
    return {digest for digest in digests if digest is not None}


def place(target: Target) -> str:
    """A digest of the target's address, login and jump hosts: a plan must not run on another machine of the same id."""
    fields: list[object] = [
        target.key,
        target.transport,
        target.host,
        target.port,
        target.user,
        target.sudo,
        target.become,
    ]
    fields += [target.sudo_user, list(target.jump), target.resource, target.manager, list(target.enter)]
    return hashlib.sha256(json.dumps(fields).encode()).hexdigest()
