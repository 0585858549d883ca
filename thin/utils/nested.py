"""Formats data as indented text, as Salt's ``nested`` outputter does, without colours."""


def text(data):
    """The lines of ``data``: keys sorted by their text, four spaces for each level, no newline at the end."""
    return "\n".join(_lines(data, 0, ""))


def _lines(data, indent, prefix):
    pad = " " * indent
    if isinstance(data, dict):
        out = [pad + "----------"] if indent else []
        for key in sorted(data, key=str):
            out.append("%s%s:" % (pad, key))
            out.extend(_lines(data[key], indent + 4, ""))
        return out
    if isinstance(data, (list, tuple, set, frozenset)):
        out = []
        for item in data:
            if isinstance(item, (dict, list, tuple)):
                out.append(pad + "|_")
                out.extend(_lines(item, indent + 2, ""))
            else:
                out.extend(_lines(item, indent, "- "))
        return out
    lines = str(data).splitlines()
    return [pad + (" " * len(prefix) if number else prefix) + line for number, line in enumerate(lines)]
