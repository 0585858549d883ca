"""A project on this machine, for workers on this machine, when there are no keys of a site.

Its names are part of the job's description, which only this user can have sealed (``parties.Plain``).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pushsalt.discover import NAME
from pushsalt.errors import CommandError
from pushsalt.job import Settings

if TYPE_CHECKING:
    from pushsalt.run.project import Project


def given(project: Project, settings: Settings) -> dict[str, Any]:
    """What names the project: its files and the options of the command."""
    folder = project.config.project
    config = settings.config or (folder / NAME if folder is not None and (folder / NAME).is_file() else None)
    return {
        "config": str(config.absolute()) if config else "",
        "inventories": [str(path.absolute()) for path in project.config.inventories],
        "file_roots": [str(path.absolute()) for path in settings.file_roots],
        "pillar_roots": [str(path.absolute()) for path in settings.pillar_roots],
        "options": settings.options,
    }


def settings_of(named: Any, cache_dir: Path) -> Settings:
    """The settings of a project that ``given`` has named, with caches of its own. Raises CommandError."""
    try:
        return Settings(
            inventories=[Path(path) for path in named["inventories"]],
            config=Path(named["config"]) if named["config"] else None,
            file_roots=[Path(path) for path in named["file_roots"]],
            pillar_roots=[Path(path) for path in named["pillar_roots"]],
            cache_dir=cache_dir,
            options={**named["options"], "workers": ""},
        )
    except (KeyError, TypeError) as exc:
        raise CommandError(f"the work names no project: {exc}", "use the same version everywhere") from None
