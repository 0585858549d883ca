"""Checks of YAML files, by the program yamllint. Salt: modules/yaml.py"""

import re

from thin import process
from thin.exceptions import CommandExecutionError

__reads__ = ("lint",)

_ROW = re.compile(r"stdin:(\d+):(\d+): \[(\w+)\] (.*?)(?: \([\w-]+\))?$")
#: rules for SLS files: long lines and missing ends of documents are usual in them
_RULES = """{extends: relaxed, rules: {line-length: {max: 256, level: warning}, empty-lines: disable, empty-values:
{forbid-in-block-mappings: false, forbid-in-flow-mappings: true}, trailing-spaces: disable, key-ordering: disable}}"""


def __virtual__():
    return True if process.which("yamllint") else (False, "yamllint not installed")


def lint(source, saltenv=None, pre_render=None, **kwargs):
    """
    Check a file: ``{source: its text, problems: [{line, column, level, comment}]}``

    source
        A ``salt://`` URL or a path
    saltenv
        The saltenv of a ``salt://`` URL
    pre_render
        Render it before, with these renderers (``jinja``); only the controller can do this, so it is an error on a
        target
    kwargs
        Ignored

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' yaml.lint salt://app/settings.yaml
    """
    if pre_render is not None:
        raise CommandExecutionError("yaml.lint cannot render on a target: use `pushsalt check` for templates")
    path = __salt__["cp.cache_file"](source, saltenv or __salt__["config.get"]("saltenv", "base") or "base")
    if not path:
        return False, "Template was unable to be cached"
    with open(path, "rb") as stream:
        text = stream.read().decode("utf-8", "replace")
    done = __salt__["cmd.run_all"](
        ["yamllint", "-f", "parsable", "-d", _RULES, "-"],
        stdin=text,
        stdin_raw_newlines=True,
        python_shell=False,
        ignore_retcode=True,
    )
    rows = [row.groups() for row in map(_ROW.match, done["stdout"].splitlines()) if row]
    problems = [{"line": int(row[0]), "column": int(row[1]), "level": row[2], "comment": row[3]} for row in rows]
    return {"source": text, "problems": problems}
