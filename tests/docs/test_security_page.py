"""docs/security.md: its statements about folders on the controller and on the target hold on this machine."""

import stat


def modes(folder):
    found = {path: stat.S_IMODE(path.lstat().st_mode) for path in [folder, *folder.rglob("*")]}
    return {(path, oct(mode)) for path, mode in found.items() if mode != (0o700 if path.is_dir() else 0o600)}


def test_caches_are_private_and_templates_are_the_users(project):
    project.write(
        "salt/made.sls", "/srv/made:\n  file.managed:\n    - contents: {{ grains.id }}\n    - makedirs: true\n"
    )
    assert project.run("apply", "*", "made").returncode == 0
    assert project.run("run", "*", "pillar.items").returncode == 0
    kept = project.folder / "home" / ".cache" / "pushsalt"
    assert not modes(project.folder / "cache")
    assert not modes(kept)
    assert list((kept / "templates").iterdir()) and not (project.folder / "cache" / "templates").exists()


def test_data_on_a_target_is_in_one_folder_and_is_removed(project):
    project.write("srv/file", "old\n")
    project.write("salt/backup.sls", "/srv/file:\n  file.managed:\n    - contents: new\n    - backup: minion\n")
    assert project.run("apply", "*", "backup").returncode == 0
    kept = project.folder / "home" / ".cache" / "pushsalt"
    assert [path for path in kept.rglob("minion/file_backup/**/*") if path.is_file()]
    assert list(kept.glob("thin-*"))
    assert project.run("clean", "*").returncode == 0
    assert not list(kept.glob("thin-*")) and not (kept / "minion").exists()
