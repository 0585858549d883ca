"""The ids whose return is an error, one a line."""


def output(data, **kwargs):
    return "".join(f"{id}\n" for id, ret in data.items() if isinstance(ret, dict) and "error" in ret)
