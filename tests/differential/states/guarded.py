"""A state module that handles ``onlyif`` and similar guards itself, and ``check_cmd`` if it is an argument."""

import json


def mod_run_check(*args, **kwargs):
    return True


def mod_run_check_cmd(cmd, filename, **check_cmd_opts):
    return True


def own(name, onlyif=None, unless=None, creates=None, check_cmd=None, **kwargs):
    comment = json.dumps([onlyif, unless, creates, check_cmd])
    return {"name": name, "changes": {"own": name}, "result": None if __opts__["test"] else True, "comment": comment}


def open(name, **kwargs):
    return {"name": name, "changes": {}, "result": True, "comment": " ".join(sorted(kwargs))}
