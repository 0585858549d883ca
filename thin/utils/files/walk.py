"""Walks directories: by depth, by include and exclude patterns; finds what ``clean`` removes."""

import os

ASPECTS = ("user", "group", "mode", "ignore_files", "ignore_dirs", "silent")


def check_include_exclude(path, include_pat=None, exclude_pat=None):
    """Whether ``path`` matches the patterns: globs, or regular expressions after ``E@``; one or a list. Salt:
    stringutils."""
    if include_pat and not _any(path, include_pat):
        return False
    return not (exclude_pat and _any(path, exclude_pat))


def _any(path, patterns):
    from fnmatch import fnmatch

    for pattern in patterns if isinstance(patterns, list) else [patterns]:
        if pattern.startswith("E@"):
            import re

            if re.search(pattern[2:], path):
                return True
        elif fnmatch(path, pattern):
            return True
    return False


def aspects(recurse):
    """The values of ``recurse`` of file.directory as a set. Raises TypeError, ValueError with Salt's texts."""
    if not recurse:
        return set()
    if not isinstance(recurse, list):
        raise TypeError('"recurse" must be formed as a list of strings')
    if not all(isinstance(word, str) and word in ASPECTS for word in recurse):
        raise ValueError('Types for "recurse" limited to %s.' % ", ".join('"%s"' % word for word in ASPECTS))
    if "ignore_files" in recurse and "ignore_dirs" in recurse:
        raise ValueError('Must not specify "recurse" options "ignore_files" and "ignore_dirs" at the same time.')
    return set(recurse)


def walk(top, max_depth=None):
    """The result of os.walk as a list, at most ``max_depth`` levels deep."""
    base, result = top.rstrip(os.sep).count(os.sep), []
    for root, dirs, files in os.walk(top):
        if max_depth is not None and root.rstrip(os.sep).count(os.sep) - base >= max_depth:
            del dirs[:]
            continue
        result.append((root, list(dirs), list(files)))
    return result


def with_parents(root, keep):
    """The paths to keep, and all directories above them, as a set."""
    real = {root}
    for path in keep:
        if os.path.isabs(path):
            path = os.path.abspath(path)
            while path not in real:
                real.add(path)
                path = os.path.dirname(path)
    return real


def unwanted(root, keep, exclude_pat):
    """The paths below ``root`` that ``clean`` removes: those that are neither kept nor excluded. A directory precedes
    its content."""
    kept, result = with_parents(root, keep), []
    for folder, dirs, files in os.walk(root):
        for name in files + dirs:
            path = os.path.join(folder, name)
            if path not in kept and check_include_exclude(os.path.relpath(path, root), None, exclude_pat):
                result.append(path)
    return result


def below(top):
    """``top`` and all paths below it; an empty set if it is no directory."""
    result = set()
    for root, dirs, files in os.walk(top):
        result.add(root)
        result.update(os.path.join(root, name) for name in dirs + files)
    return result


def is_child(path, directory):
    return not os.path.relpath(os.path.abspath(path), os.path.abspath(directory)).startswith(os.pardir)


def remove(path):
    """Remove a file, a link or a directory with its content. Returns False if nothing was there. Raises OSError."""
    from thin.utils.files import safepath

    return safepath.remove(path)
