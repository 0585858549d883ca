"""States as the rows of a table: ``ID | function | key=value key=value``."""

from pushsalt.render.problems import refused


def render(data, saltenv="base", sls="", **kwargs):
    states = {}
    for number, row in enumerate(str(data).splitlines(), 1):
        if not row.strip() or row.startswith("#"):
            continue
        cells = [cell.strip() for cell in row.split("|")]
        if len(cells) != 3:
            raise refused(data, f"a row has three cells, not {len(cells)}", number)
        name, function, arguments = cells
        pairs = [word.partition("=") for word in arguments.split()]
        states[name] = {function: [{key: value} for key, _, value in pairs]}
    return states
