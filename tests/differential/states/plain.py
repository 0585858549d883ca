"""A state module without hooks: ``watch`` works as ``require``."""


def done(name, changes=False, **kwargs):
    result = None if changes and __opts__["test"] else True
    return {"name": name, "changes": {"done": name} if changes else {}, "result": result, "comment": "done"}


def not_done(name, **kwargs):
    return {"name": name, "changes": {}, "result": False, "comment": ["not", "done"]}
